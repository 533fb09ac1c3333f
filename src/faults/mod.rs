//! Fault rules: which attempts, at which point, what the client gets.
//!
//! Deciding is a pure function over an attempt's [`Facts`]; applying the [`Verdict`] is elsewhere.
//! The one thing that changes is the rule set with its counts, behind the one lock of [`Rules`].
//!
//! In reading order: `rule` (the words of a rule and of a verdict), `facts` and `condition` (matching), `wildcard`,
//! `direction` (what comes in, what is sent), `occasion` (the `on` field), `rules` (the rule set and the decision), `view` (what users see of a rule),
//! `in_request` (rules that travel in a request or a mail), then reading: `bind`, `parse`, `reader`, `check`, `catalog`,
//! `word`, `problem`.

mod bind;
mod catalog;
mod check;
mod condition;
mod direction;
mod facts;
mod in_request;
mod occasion;
mod parse;
mod problem;
mod reader;
mod rule;
mod rules;
mod short_form;
mod view;
mod wildcard;
mod word;

#[cfg(test)]
mod tests;

pub use bind::bind_scope;
pub use catalog::{Catalog, Known, Protocol};
pub use condition::comparable_sql;
pub use facts::Facts;
pub use in_request::{InRequest, parse_header, parse_mail_header, parse_recipient};
pub use parse::{parse_json, parse_value};
pub use problem::Problem;
pub use rule::{Action, Answer, How, Loss, Mode, Point, RuleSpec, Step, Tamper, Verdict};
pub use rules::{MAX_API_RULES, Met, Rules, Source};
pub use short_form::read_rules;
pub use view::{NearMiss, Totals, View};
