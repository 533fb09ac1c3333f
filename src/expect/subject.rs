//! What can be counted, and how it is looked up.

use std::fmt;

use super::look::Look;
use crate::ledger::{Counts, Entry, Fate, Outcome};

/// Is what one expectation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Attempts: of one operation, of one provider, or of all.
    Attempts {
        /// The provider.
        provider: Option<&'static str>,
        /// The operation; never without its provider.
        operation: Option<&'static str>,
        /// Which of them.
        tally: Tally,
    },
    /// Effects of one kind: at one provider, or at all.
    Effects {
        /// The provider.
        provider: Option<&'static str>,
        /// The kind.
        kind: &'static str,
    },
    /// Requests that no provider knows.
    Unmatched,
    /// Rules that may still fire.
    FaultsArmed,
    /// How often any rule has fired.
    FaultsFired,
}

/// Says which attempts are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// All.
    Received,
    /// Those with an outcome.
    Outcome(Outcome),
    /// Those that have none yet.
    InFlight,
    /// Those with a fate.
    Fate(Fate),
    /// Those that have none yet.
    Open,
    /// Accepted ones that repeat an earlier one.
    Duplicates,
}

impl Tally {
    /// Iterates over all of them, in the order in which `/_stats` shows them.
    pub fn all() -> impl Iterator<Item = Self> {
        let outcomes = Outcome::ALL.map(Self::Outcome);
        let fates = Fate::ALL.map(Self::Fate);
        let outcomes = [Self::Received].into_iter().chain(outcomes).chain([Self::InFlight]);
        outcomes.chain(fates).chain([Self::Open, Self::Duplicates])
    }

    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Outcome(outcome) => outcome.as_str(),
            Self::InFlight => "in_flight",
            Self::Fate(fate) => fate.as_str(),
            Self::Open => "open",
            Self::Duplicates => "duplicates",
        }
    }

    fn count(self, counts: &Counts) -> u64 {
        match self {
            Self::Received => counts.received,
            Self::Outcome(Outcome::Accepted) => counts.accepted,
            Self::Outcome(Outcome::Replayed) => counts.replayed,
            Self::Outcome(Outcome::Refused) => counts.refused,
            Self::Outcome(Outcome::Read) => counts.read,
            Self::Outcome(Outcome::Failed) => counts.failed,
            Self::Outcome(Outcome::Incomplete) => counts.incomplete,
            Self::Outcome(Outcome::Unknown) => counts.unknown,
            Self::InFlight => counts.in_flight,
            Self::Fate(Fate::Answered) => counts.answered,
            Self::Fate(Fate::Withheld) => counts.withheld,
            Self::Fate(Fate::Lost) => counts.lost,
            Self::Open => counts.open,
            Self::Duplicates => counts.duplicates,
        }
    }

    fn counts(self, entry: &Entry) -> bool {
        match self {
            Self::Received => true,
            Self::Outcome(outcome) => entry.outcome == Some(outcome),
            Self::InFlight => entry.outcome.is_none(),
            Self::Fate(fate) => entry.fate == Some(fate),
            Self::Open => entry.fate.is_none(),
            Self::Duplicates => entry.duplicate.is_some(),
        }
    }
}

impl Subject {
    /// Counts.
    pub(super) fn count(&self, look: &Look) -> u64 {
        let providers = &look.snapshot.providers;
        match *self {
            Self::Attempts {
                provider,
                operation,
                tally,
            } => match (provider, operation) {
                (None, _) => providers.values().map(|summary| tally.count(&summary.counts)).sum(),
                (Some(provider), None) => providers.get(provider).map_or(0, |s| tally.count(&s.counts)),
                (Some(provider), Some(operation)) => providers
                    .get(provider)
                    .and_then(|summary| summary.operations.get(operation))
                    .map_or(0, |counts| tally.count(counts)),
            },
            Self::Effects { provider, kind } => providers
                .iter()
                .filter(|(name, _)| provider.is_none_or(|provider| provider == &***name))
                .filter_map(|(_, summary)| summary.effects.get(kind))
                .sum(),
            Self::Unmatched => look.unmatched,
            Self::FaultsArmed => look.faults.armed,
            Self::FaultsFired => look.faults.fired,
        }
    }

    /// Says whether an attempt is one of those that are counted.
    pub(super) fn counts(&self, entry: &Entry) -> bool {
        match *self {
            Self::Attempts { tally, .. } => self.concerns(entry) && tally.counts(entry),
            Self::Effects { kind, .. } => self.concerns(entry) && entry.effects.iter().any(|e| e.kind == kind),
            Self::FaultsFired => !entry.fired.is_empty(),
            Self::Unmatched | Self::FaultsArmed => false,
        }
    }

    /// Says whether an attempt is not counted and might have been, as far as a reader would look.
    pub(super) fn misses(&self, entry: &Entry) -> bool {
        let look_up = entry.outcome == Some(Outcome::Read);
        match self {
            Self::Attempts {
                tally: Tally::Received | Tally::Duplicates,
                ..
            } => false,
            Self::Attempts {
                tally: Tally::Outcome(Outcome::Read),
                ..
            } => self.concerns(entry) && !look_up,
            Self::Attempts { .. } | Self::Effects { .. } => self.concerns(entry) && !look_up && !self.counts(entry),
            Self::Unmatched | Self::FaultsArmed | Self::FaultsFired => false,
        }
    }

    fn concerns(&self, entry: &Entry) -> bool {
        let is = |wanted: Option<&str>, got: &str| wanted.is_none_or(|wanted| wanted == got);
        match *self {
            Self::Attempts {
                provider, operation, ..
            } => is(provider, &entry.arrival.provider) && is(operation, &entry.arrival.operation),
            Self::Effects { provider, .. } => is(provider, &entry.arrival.provider),
            Self::Unmatched | Self::FaultsArmed | Self::FaultsFired => false,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (provider, operation, what) = match *self {
            Self::Attempts {
                provider,
                operation,
                tally,
            } => (provider, operation, tally.as_str()),
            Self::Effects { provider, kind } => (provider, None, kind),
            Self::Unmatched => (None, None, "unmatched"),
            Self::FaultsArmed => (Some("faults"), None, "armed"),
            Self::FaultsFired => (Some("faults"), None, "fired"),
        };
        for part in [provider, operation].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        f.write_str(what)
    }
}
