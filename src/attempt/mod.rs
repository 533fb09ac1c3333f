//! The way of one attempt, the same for every provider:
//!
//! ```text
//! listener -> identify head (scope, provider, operation; pure) -> begin -> read the body -> identify body (key, facts; pure)
//!   -> ask faults "before"  -> [fail, refuse that is not saved]
//!   -> reserve the key      -> [hold, delay before]
//!   -> COMMIT: one transact (objects, effects, saved answer); a relay forwards first
//!   -> "after" verdict, taken with the commit -> [drop, hang, truncate, error, hold, delay after]
//!   -> answer -> finish(answered | withheld | lost)
//! ```
//!
//! The socket side reads the request and begins the attempt; from there on [`walk`] is the way, with a mock's work or a relay's as its
//! [`Errand`], and [`Line`] leads back to the socket.

mod asked;
mod budget;
mod clockwork;
mod errand;
mod handled;
mod holds;
mod line;
pub mod mail_header;
mod notice;
mod orders;
mod outbox;
mod pause;
mod provider;
mod request;
mod seed;
mod sent;
#[cfg(test)]
mod tests;
mod way;

pub use asked::{Asked, fired};
pub use budget::{Budget, Share};
pub use clockwork::{Clockwork, SCHEDULE, Scheduled, Woken};
pub use errand::{Errand, Reserved, Settled};
pub use holds::{Gathered, Held, Hold, Holds, Release};
pub use line::{Delivery, Flow, Line, Outgoing, Passing};
pub use notice::{Ended, Notice};
pub use orders::{Orders, Sealer};
pub use outbox::{End, Outbox, Post, Postman, Seal};
pub use pause::{Pause, Paused};
pub use provider::{About, Conflict, Describe, HttpProvider, Identified, Kind, Operation, Provider, Refusal};
pub use request::{HttpRequest, Mail};
pub use seed::{Put, Resource, Seed, Wrong};
pub use way::{Way, Whole, carry_out, walk};

pub use crate::ledger::hash;
