//! Counts: an incremental fold over what happened, never trimmed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Class, Fate, Outcome};

/// Sixteen bytes of a SHA-256: a correlation value, a fingerprint.
pub type Hash = [u8; 16];

/// Hashes the parts of a value, each with its length, so that no two lists of parts meet.
#[must_use]
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Hash {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    let digest = sha.finalize();
    let mut hash = [0; 16];
    hash.copy_from_slice(&digest[..16]);
    hash
}

/// Counts attempts by outcome and by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each field is the count of the word it is named after")]
pub struct Counts {
    pub received: u64,
    pub accepted: u64,
    pub replayed: u64,
    pub refused: u64,
    pub read: u64,
    pub failed: u64,
    pub incomplete: u64,
    pub unknown: u64,
    pub in_flight: u64,
    pub answered: u64,
    pub withheld: u64,
    pub lost: u64,
    pub open: u64,
    pub duplicates: u64,
}

impl Counts {
    fn outcome(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Accepted => &mut self.accepted,
            Outcome::Replayed => &mut self.replayed,
            Outcome::Refused => &mut self.refused,
            Outcome::Read => &mut self.read,
            Outcome::Failed => &mut self.failed,
            Outcome::Incomplete => &mut self.incomplete,
            Outcome::Unknown => &mut self.unknown,
        }
    }

    fn fate(&mut self, fate: Fate) -> &mut u64 {
        match fate {
            Fate::Answered => &mut self.answered,
            Fate::Withheld => &mut self.withheld,
            Fate::Lost => &mut self.lost,
        }
    }

    /// Adds another count to this one, field by field.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.in_flight += other.in_flight;
        self.open += other.open;
        self.duplicates += other.duplicates;
        let mut other = *other;
        for outcome in Outcome::ALL {
            *self.outcome(outcome) += *other.outcome(outcome);
        }
        for fate in Fate::ALL {
            *self.fate(fate) += *other.fate(fate);
        }
    }

    /// Says whether both sums hold: every received attempt has one outcome or is in flight, and one fate or is open.
    #[must_use]
    pub fn balanced(&self) -> bool {
        let mut copy = *self;
        let decided: u64 = Outcome::ALL.iter().map(|o| *copy.outcome(*o)).sum();
        let ended: u64 = Fate::ALL.iter().map(|f| *copy.fate(*f)).sum();
        self.received == decided + self.in_flight && self.received == ended + self.open
    }
}

/// Names one thing that exists because of an accepted attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The kind: a new thing's own (`charge`), or `kind_verb` for a change (`charge_capture`).
    pub kind: Cow<'static, str>,
    /// The id of the thing.
    pub id: Arc<str>,
    /// How many of it: one, but for mail recipients and database rows.
    pub count: u64,
}

/// Names one value by which attempts that meant the same are found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correlation {
    /// What the value was taken from: `message-id`, `content`, `parameters`, …
    pub by: &'static str,
    /// The value's hash.
    pub hash: Hash,
}

/// Sums up one provider, as `/_stats` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Whether the provider enforces its key.
    pub class: Class,
    /// The sum over all operations.
    #[serde(flatten)]
    pub counts: Counts,
    /// Of the duplicates, how many were known by what.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub duplicates_by: BTreeMap<&'static str, u64>,
    /// Effects by kind.
    pub effects: BTreeMap<Cow<'static, str>, u64>,
    /// The counts of each operation.
    pub operations: BTreeMap<Arc<str>, Counts>,
}

impl Summary {
    /// Returns an empty summary of a provider.
    #[must_use]
    pub fn new(class: Class) -> Self {
        Self {
            class,
            counts: Counts::default(),
            duplicates_by: BTreeMap::new(),
            effects: BTreeMap::new(),
            operations: BTreeMap::new(),
        }
    }

    /// Adds another world's summary of the same provider.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (by, n) in &other.duplicates_by {
            *self.duplicates_by.entry(by).or_default() += n;
        }
        for (kind, n) in &other.effects {
            *self.effects.entry(kind.clone()).or_default() += n;
        }
        for (name, counts) in &other.operations {
            self.operations.entry(Arc::clone(name)).or_default().add(counts);
        }
    }
}

#[derive(Debug)]
struct Live {
    provider: Arc<str>,
    operation: Arc<str>,
    outcome: Option<Outcome>,
    fate: Option<Fate>,
}

/// Keeps the counts of one world.
///
/// Only the store calls it, under the world's lock, so that a count and the object that it counts change together.
#[derive(Debug, Default)]
pub struct Book {
    providers: BTreeMap<Arc<str>, Summary>,
    live: HashMap<u64, Live>,
    seen: HashSet<Hash>,
}

impl Book {
    /// Counts an arrival.
    pub fn begin(&mut self, id: u64, provider: &Arc<str>, class: Class, operation: &Arc<str>) {
        let live = Live {
            provider: Arc::clone(provider),
            operation: Arc::clone(operation),
            outcome: None,
            fate: None,
        };
        self.providers
            .entry(Arc::clone(provider))
            .or_insert_with(|| Summary::new(class));
        self.each(&live, |c| {
            c.received += 1;
            c.in_flight += 1;
            c.open += 1;
        });
        self.live.insert(id, live);
    }

    /// Counts the outcome of an attempt that has none yet, with its effects; returns whether it did, and what it duplicates.
    pub fn decide(
        &mut self,
        id: u64,
        outcome: Outcome,
        effects: &[Effect],
        correlations: &[Correlation],
    ) -> Option<Decided> {
        let mut live = self.live.remove(&id)?;
        if live.outcome.is_some() {
            self.live.insert(id, live);
            return None;
        }
        live.outcome = Some(outcome);
        let duplicate = (outcome == Outcome::Accepted)
            .then(|| self.correlate(correlations))
            .flatten();
        self.each(&live, |c| {
            c.in_flight -= 1;
            *c.outcome(outcome) += 1;
            c.duplicates += u64::from(duplicate.is_some());
        });
        if let Some(summary) = self.providers.get_mut(&live.provider) {
            let several_ways = correlations.len() > 1 || summary.class == Class::KeyAdvisory;
            if outcome == Outcome::Accepted && several_ways {
                for correlation in correlations {
                    *summary.duplicates_by.entry(correlation.by).or_default() +=
                        u64::from(duplicate == Some(correlation.by));
                }
            }
            for effect in effects {
                *summary.effects.entry(effect.kind.clone()).or_default() += effect.count;
            }
        }
        if live.fate.is_none() {
            self.live.insert(id, live);
        }
        Some(Decided { duplicate })
    }

    /// Counts the fate of an attempt that has none yet; returns whether it did.
    pub fn finish(&mut self, id: u64, fate: Fate) -> bool {
        let Some(mut live) = self.live.remove(&id) else {
            return false;
        };
        let first = live.fate.is_none();
        if first {
            live.fate = Some(fate);
            self.each(&live, |c| {
                c.open -= 1;
                *c.fate(fate) += 1;
            });
        }
        if live.outcome.is_none() || live.fate.is_none() {
            self.live.insert(id, live);
        }
        first
    }

    /// Returns the sums by provider.
    #[must_use]
    pub fn summaries(&self) -> &BTreeMap<Arc<str>, Summary> {
        &self.providers
    }

    /// Remembers the values of an accepted attempt; returns by which of them it repeats an earlier one.
    fn correlate(&mut self, correlations: &[Correlation]) -> Option<&'static str> {
        let mut repeated = None;
        for correlation in correlations {
            if !self.seen.insert(correlation.hash) && repeated.is_none() {
                repeated = Some(correlation.by);
            }
        }
        repeated
    }

    fn each(&mut self, live: &Live, change: impl Fn(&mut Counts)) {
        if let Some(summary) = self.providers.get_mut(&live.provider) {
            change(&mut summary.counts);
            change(summary.operations.entry(Arc::clone(&live.operation)).or_default());
        }
    }
}

/// Says what a decision found out.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// By which value the attempt repeats an earlier accepted one.
    pub duplicate: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> (Book, Arc<str>, Arc<str>) {
        (Book::default(), "stripe".into(), "charges.create".into())
    }

    #[test]
    fn outcome_and_fate_are_counted_once_whatever_is_said_again() {
        let (mut book, provider, operation) = book();
        book.begin(1, &provider, Class::KeyEnforced, &operation);
        assert!(book.decide(1, Outcome::Accepted, &[], &[]).is_some());
        assert!(book.decide(1, Outcome::Failed, &[], &[]).is_none());
        assert!(book.finish(1, Fate::Withheld));
        assert!(!book.finish(1, Fate::Answered));
        let counts = book.summaries()["stripe"].counts;
        assert_eq!((counts.received, counts.accepted, counts.failed), (1, 1, 0));
        assert_eq!((counts.withheld, counts.answered, counts.open), (1, 0, 0));
        assert!(counts.balanced());
        assert!(book.live.is_empty());
    }

    #[test]
    fn a_fate_may_come_before_the_outcome() {
        let (mut book, provider, operation) = book();
        book.begin(1, &provider, Class::KeyEnforced, &operation);
        assert!(book.finish(1, Fate::Lost));
        let counts = book.summaries()["stripe"].counts;
        assert_eq!((counts.in_flight, counts.open, counts.lost), (1, 0, 1));
        assert!(book.decide(1, Outcome::Accepted, &[], &[]).is_some());
        let counts = book.summaries()["stripe"].counts;
        assert_eq!((counts.in_flight, counts.accepted), (0, 1));
        assert!(counts.balanced());
    }

    #[test]
    fn a_duplicate_counts_once_and_by_the_first_value_that_repeats() {
        let (mut book, provider, operation) = book();
        let values = |id: u8, content: u8| {
            [
                Correlation {
                    by: "message-id",
                    hash: [id; 16],
                },
                Correlation {
                    by: "content",
                    hash: [content; 16],
                },
            ]
        };
        for (id, values) in [(1, values(1, 2)), (2, values(1, 2)), (3, values(3, 2))] {
            book.begin(id, &provider, Class::KeyAdvisory, &operation);
            book.decide(id, Outcome::Accepted, &[], &values);
        }
        let summary = &book.summaries()["stripe"];
        assert_eq!(summary.counts.duplicates, 2);
        assert_eq!(summary.duplicates_by["message-id"], 1);
        assert_eq!(summary.duplicates_by["content"], 1);
    }

    #[test]
    fn what_was_not_accepted_is_never_a_duplicate_nor_makes_one() {
        let (mut book, provider, operation) = book();
        let value = [Correlation {
            by: "parameters",
            hash: [1; 16],
        }];
        for (id, outcome) in [(1, Outcome::Refused), (2, Outcome::Replayed), (3, Outcome::Accepted)] {
            book.begin(id, &provider, Class::KeyEnforced, &operation);
            book.decide(id, outcome, &[], &value);
        }
        assert_eq!(book.summaries()["stripe"].counts.duplicates, 0);
    }
}
