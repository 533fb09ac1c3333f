//! All counts in one moment, and every change of them.

use tokio::sync::watch;

use super::{Expectation, Sources};
use crate::faults::Totals;
use crate::ledger::Counts;
use crate::store::{Scope, Snapshot};

/// Is what was seen in one moment: of one scope under its world's lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) snapshot: Snapshot,
    pub(super) faults: Totals,
    /// How often each rule has fired, if somebody asks.
    pub(super) rules: Vec<u64>,
    pub(super) unmatched: u64,
    /// Whether something is due that the suite does of itself, such as a webhook, and has not begun.
    due: bool,
    /// The journal's revision, for the sum of all scopes: it could be the same again after the reset of one.
    revision: Option<u64>,
}

/// Hears of every change of what [`Look`] shows.
#[derive(Debug)]
pub(super) struct Changes {
    journal: watch::Receiver<u64>,
    rules: watch::Receiver<()>,
    strays: watch::Receiver<()>,
    due: watch::Receiver<()>,
}

impl Sources {
    /// Looks. The changes are taken in first: whatever comes after them wakes again.
    pub(super) fn look(&self, scope: Option<&Scope>, rules: bool, changes: &mut Changes) -> Look {
        let revision = changes.take_in();
        let name = scope.map(Scope::as_str);
        let rules = if rules { self.rules.list(name) } else { Vec::new() };
        // Before the snapshot: what begins between the two is seen in it, and what becomes due is a change.
        let due = self
            .store
            .first_due(scope)
            .is_some_and(|(at, _)| at <= self.store.now(None));
        Look {
            due,
            snapshot: scope.map_or_else(|| self.store.total(), |scope| self.store.snapshot(scope)),
            faults: self.rules.totals(name),
            rules: rules.into_iter().map(|rule| rule.fired).collect(),
            unmatched: self.strays.count(name),
            revision: scope.is_none().then_some(revision),
        }
    }

    pub(super) fn changes(&self) -> Changes {
        Changes {
            journal: self.store.ledger().subscribe(),
            rules: self.rules.subscribe(),
            strays: self.strays.subscribe(),
            due: self.store.due_changes(),
        }
    }
}

impl Changes {
    fn take_in(&mut self) -> u64 {
        self.rules.borrow_and_update();
        self.strays.borrow_and_update();
        self.due.borrow_and_update();
        *self.journal.borrow_and_update()
    }

    /// Waits for the next change since the last look.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.journal.changed() => {}
            _ = self.rules.changed() => {}
            _ = self.strays.changed() => {}
            _ = self.due.changed() => {}
        }
    }
}

impl Look {
    /// Returns how many attempts have no outcome or no fate yet, one that is due and has not begun among them.
    pub(super) fn unfinished(&self) -> u64 {
        let mut total = Counts::default();
        for summary in self.snapshot.providers.values() {
            total.add(&summary.counts);
        }
        total.in_flight.max(total.open) + u64::from(self.due)
    }

    /// Returns what an expectation counts, what it should be, and whether it holds.
    pub(super) fn judge(&self, expectation: &Expectation) -> (u64, u64, bool) {
        match *expectation {
            Expectation::Count {
                subject,
                operator,
                number,
            } => {
                let counted = subject.count(self);
                (counted, number, operator.holds(counted, number))
            }
            Expectation::AllFaultsFired => {
                let fired = self.rules.iter().filter(|fired| **fired > 0).count() as u64;
                // Of no rule at all nothing has fired, or a rule that was never armed would pass for ever.
                let wanted = (self.rules.len() as u64).max(1);
                (fired, wanted, fired == wanted)
            }
        }
    }
}
