//! Rules that travel in a request, in a mail, or in the name of a recipient.
//!
//! SDKs and engines repeat them on a retry, so their `on` counts by scope, provider, operation and key.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::catalog::Reach;
use super::facts::Facts;
use super::occasion::On;
use super::parse;
use super::problem::Problem;
use super::rule::RuleSpec;
use super::word::words;

/// How many counters are kept; past it the oldest go.
const MAX_COUNTERS: usize = 1_000_000;
/// The fields that such a rule may have.
const FIELDS: [&str; 8] = ["how", "on", "bytes", "delay", "at", "status", "code", "barrier"];
/// The domain of magic recipients.
const DOMAIN: &str = "fault.test";

/// Holds a rule that came with the attempt it is about.
#[derive(Clone, Debug)]
pub struct InRequest {
    pub(super) place: Place,
    pub(super) spec: RuleSpec,
}

words! {
    /// Names where such a rule stood, in the order in which they are asked.
    pub(super) enum Place {
        Header = "header",
        MailHeader = "mail-header",
        Recipient = "recipient",
    }
}

impl Place {
    pub(super) fn id(self) -> &'static str {
        self.as_str()
    }
}

impl InRequest {
    /// Tells whether the two are one rule, said twice.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.place == other.place && self.spec.given == other.spec.given
    }
}

/// Reads the value of a request's `X-Ackdrop-Fault`: `drop-after-commit; how=reset; on=1`.
///
/// # Errors
/// Fails with the first thing that is wrong.
pub fn parse_header(text: &str) -> Result<InRequest, Problem> {
    in_header(text, Place::Header)
}

/// Reads the value of a mail's `X-Ackdrop-Fault`.
///
/// # Errors
/// Fails with the first thing that is wrong.
pub fn parse_mail_header(text: &str) -> Result<InRequest, Problem> {
    in_header(text, Place::MailHeader)
}

/// Reads a recipient `drop-after-commit+reset+on1@fault.test`; any other domain's recipients are none of ours.
#[must_use]
pub fn parse_recipient(address: &str) -> Option<Result<InRequest, Problem>> {
    let (local, domain) = address.rsplit_once('@')?;
    domain
        .eq_ignore_ascii_case(DOMAIN)
        .then(|| in_recipient(address, &local.to_ascii_lowercase()))
}

fn in_header(text: &str, place: Place) -> Result<InRequest, Problem> {
    let mut parts = text.split(';').map(str::trim);
    let mut given = Map::new();
    let mode = parts.next().unwrap_or_default();
    given.insert("mode".to_owned(), mode.into());
    for part in parts.filter(|part| !part.is_empty()) {
        let Some((field, value)) = part.split_once('=') else {
            return Err(wrong("header", part, "is not of the form field=value").allowing(FIELDS));
        };
        let (field, value) = (field.trim().to_ascii_lowercase(), value.trim());
        if !FIELDS.contains(&field.as_str()) {
            return Err(wrong(&field, value, "is no field of a rule in a header").allowing(FIELDS));
        }
        let value = typed(&field, value);
        if given.insert(field.clone(), value).is_some() {
            return Err(wrong(&field, part, "is given twice"));
        }
    }
    read(&given, place)
}

fn in_recipient(address: &str, local: &str) -> Result<InRequest, Problem> {
    let mut words = local.split('+');
    let mut given = Map::new();
    given.insert("mode".to_owned(), words.next().unwrap_or_default().into());
    for word in words {
        let (field, value) = match word {
            "close" | "reset" | "hang" | "truncate" => ("how", word),
            "before" | "after" => ("at", word),
            _ => ["on", "bytes", "delay", "status", "barrier"]
                .into_iter()
                .find_map(|field| Some((field, word.strip_prefix(field)?)))
                .ok_or_else(|| {
                    let why = format!("{word:?} is no word of a magic recipient");
                    wrong("recipient", address, &why).allowing([
                        "close",
                        "reset",
                        "hang",
                        "truncate",
                        "before",
                        "after",
                        "on1",
                        "bytes20",
                        "delay2s",
                        "status451",
                        "barrier20",
                    ])
                })?,
        };
        let value = typed(field, value);
        if given.insert(field.to_owned(), value).is_some() {
            return Err(wrong("recipient", address, &format!("gives {field} twice")));
        }
    }
    read(&given, Place::Recipient)
}

fn read(given: &Map<String, Value>, place: Place) -> Result<InRequest, Problem> {
    let reach = match place {
        Place::Header => Reach::HTTP,
        Place::MailHeader | Place::Recipient => Reach::SMTP,
    };
    parse::read_in_request(given, reach)
        .map(|spec| InRequest { place, spec })
        .map_err(|problems| {
            let first = problems.into_iter().next();
            first.expect("a rule that is not read has a problem")
        })
}

/// Gives a value the type that its field has in JSON. What does not look like it stays text, for the reader to refuse.
fn typed(field: &str, text: &str) -> Value {
    let number = |text: &str| text.trim().parse::<u64>().map(Value::from);
    match field {
        "bytes" | "status" | "barrier" => number(text).unwrap_or_else(|_| text.into()),
        "on" if text.contains(',') => text
            .split(',')
            .map(number)
            .collect::<Result<Vec<_>, _>>()
            .map_or_else(|_| text.into(), Value::from),
        "on" => number(text).unwrap_or_else(|_| text.into()),
        _ => text.into(),
    }
}

fn wrong(field: &str, value: &str, why: &str) -> Problem {
    Problem::new(None, field, &value.into(), why)
}

type Hash = [u8; 16];

/// Counts the matches of rules in requests.
#[derive(Default)]
pub(super) struct Counters {
    counts: HashMap<Hash, Counter>,
    /// Oldest first.
    order: VecDeque<Hash>,
}

struct Counter {
    scope: Hash,
    matched: u64,
}

impl Counters {
    /// Counts a match, and tells whether the rule may fire at it.
    pub(super) fn advance(&mut self, rule: &InRequest, facts: &Facts<'_>) -> bool {
        // What fires at every match needs no count.
        if rule.spec.on == On::Always {
            return true;
        }
        let scope = facts.scope.unwrap_or_default();
        let text = Value::Object(rule.spec.given.clone()).to_string();
        let key = hash(&[
            rule.place.id().as_bytes(),
            text.as_bytes(),
            scope.as_bytes(),
            facts.provider.as_bytes(),
            facts.operation.unwrap_or_default().as_bytes(),
            &facts.content,
        ]);
        let Self { counts, order } = self;
        let counter = counts.entry(key).or_insert_with(|| {
            order.push_back(key);
            let scope = hash(&[scope.as_bytes()]);
            Counter { scope, matched: 0 }
        });
        counter.matched += 1;
        let may_fire = rule.spec.on.allows(counter.matched);
        self.trim(MAX_COUNTERS);
        may_fire
    }

    fn trim(&mut self, limit: usize) {
        while self.order.len() > limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.counts.remove(&oldest);
        }
    }

    /// Forgets all counts, or those of one scope alone.
    pub(super) fn forget(&mut self, scope: Option<&str>) {
        let Some(scope) = scope else {
            *self = Self::default();
            return;
        };
        let scope = hash(&[scope.as_bytes()]);
        self.counts.retain(|_, counter| counter.scope != scope);
        let counts = &self.counts;
        self.order.retain(|key| counts.contains_key(key));
    }
}

/// Hashes the parts so that no two lists of parts look alike.
fn hash(parts: &[&[u8]]) -> Hash {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut short = Hash::default();
    short.copy_from_slice(&hash.finalize()[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_limit_the_oldest_counter_goes() {
        let rule = parse_header("refuse; on=1").unwrap();
        let facts = |content| Facts {
            content: [content; 16],
            ..Facts::new("stripe")
        };
        let mut counters = Counters::default();
        assert!((1..=3).all(|content| counters.advance(&rule, &facts(content))));
        counters.trim(2);
        assert_eq!((counters.counts.len(), counters.order.len()), (2, 2));
        assert!(!counters.advance(&rule, &facts(3)));
        assert!(counters.advance(&rule, &facts(1)));
    }

    #[test]
    fn what_fires_always_keeps_no_counter() {
        let rule = parse_header("refuse").unwrap();
        let mut counters = Counters::default();
        assert!(counters.advance(&rule, &Facts::new("stripe")));
        assert!(counters.counts.is_empty());
    }
}
