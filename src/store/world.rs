//! One scope's world: plain data behind one mutex.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::{Duration, OffsetDateTime};
use tokio_util::sync::CancellationToken;

use super::agenda::Agenda;
use super::table::Table;
use super::tx::{Commit, Tx};
use super::wakes::Wakes;
use super::{Beginning, Scope, Snapshot};
use crate::ledger::{Book, Ledger};

/// Is a volatile reservation of a key: in progress, and whose.
#[derive(Clone, Debug)]
pub(crate) struct Reserved {
    pub(crate) attempt: u64,
    pub(crate) fingerprint: crate::ledger::Hash,
    pub(crate) endpoint: Arc<str>,
}

type Partitioned<V> = HashMap<Arc<str>, HashMap<Arc<str>, V>>;

pub(crate) struct State {
    pub(crate) generation: u64,
    pub(crate) since: OffsetDateTime,
    pub(crate) clock: Duration,
    pub(crate) book: Book,
    /// Cancelled by the reset that ends this generation: holds and hangs are let go.
    pub(super) over: CancellationToken,
    tables: HashMap<&'static str, HashMap<Arc<str>, Table>>,
    uniques: HashMap<&'static str, Partitioned<Arc<str>>>,
    reservations: Partitioned<Reserved>,
    agenda: Agenda,
    /// Whether anything was changed since it began.
    touched: bool,
}

impl State {
    pub(super) fn new(generation: u64) -> Self {
        Self {
            generation,
            since: OffsetDateTime::now_utc(),
            clock: Duration::ZERO,
            book: Book::default(),
            over: CancellationToken::new(),
            tables: HashMap::new(),
            uniques: HashMap::new(),
            reservations: HashMap::new(),
            agenda: Agenda::default(),
            touched: false,
        }
    }

    pub(crate) fn table(&self, name: &str, partition: &str) -> Option<&Table> {
        self.tables.get(name)?.get(partition)
    }

    pub(crate) fn unique(&self, index: &str, partition: &str) -> Option<&HashMap<Arc<str>, Arc<str>>> {
        self.uniques.get(index)?.get(partition)
    }

    pub(super) fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    pub(crate) fn reservations(&self, partition: &str) -> Option<&HashMap<Arc<str>, Reserved>> {
        self.reservations.get(partition)
    }

    pub(crate) fn reserve(&mut self, partition: Arc<str>, value: Arc<str>, reserved: Reserved) {
        self.reservations.entry(partition).or_default().insert(value, reserved);
    }

    pub(crate) fn give_up(&mut self, partition: &str, value: &str, attempt: u64) -> bool {
        let Some(values) = self.reservations.get_mut(partition) else {
            return false;
        };
        let own = values.get(value).is_some_and(|r| r.attempt == attempt);
        if own {
            values.remove(value);
        }
        own
    }

    pub(super) fn apply(&mut self, commit: Commit) {
        for change in commit.changes {
            self.agenda.set(change.table, &change.partition, &change.id, change.due);
            let table = self.tables.entry(change.table).or_default();
            let table = table.entry(change.partition).or_default();
            match change.version {
                Some(version) => table.put(change.id, version),
                None => table.remove(&change.id),
            }
        }
        for claim in commit.claims {
            let index = self.uniques.entry(claim.index).or_default();
            index.entry(claim.partition).or_default().insert(claim.value, claim.id);
        }
    }
}

/// Is one scope's world.
pub(crate) struct World {
    pub(crate) scope: Scope,
    state: Mutex<State>,
    wakes: Wakes,
}

impl World {
    /// Makes a world; it is woken by nobody until it is told that it may be.
    pub(super) fn new(scope: Scope, beginning: &Beginning, wakes: Wakes) -> Self {
        let state = Mutex::new(beginning.state(&scope, 1));
        Self { scope, state, wakes }
    }

    /// Locks the world. A panic under the lock leaves no half change: a commit is applied only after the closure returned.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up a reservation, if it is the attempt's own. Attempt ids are never used twice, so none of a later generation can be hit.
    pub(crate) fn give_up(&self, partition: &str, value: &str, attempt: u64) {
        self.lock().give_up(partition, value, attempt);
    }

    /// Changes the world outside any attempt.
    pub(crate) fn arrange<R>(&self, now: OffsetDateTime, work: impl FnOnce(&mut Tx<'_>) -> R) -> R {
        let mut state = self.lock();
        let now = now.saturating_add(state.clock);
        let mut tx = Tx::new(&mut state, now);
        let result = work(&mut tx);
        let commit = std::mem::take(&mut tx.commit);
        self.apply(&mut state, commit);
        result
    }

    /// Applies a commit, and has the world woken when the first of what is due now is.
    pub(super) fn apply(&self, state: &mut State, commit: Commit) {
        let before = state.agenda.first();
        state.touched |= !(commit.changes.is_empty() && commit.claims.is_empty());
        state.apply(commit);
        if state.agenda.first() != before {
            self.plan(state);
        }
    }

    /// Has the world woken when the first of its objects is due.
    pub(super) fn plan(&self, state: &State) {
        let first = state.agenda.first();
        self.wakes
            .set(&self.scope, first.map(|at| at.saturating_sub(state.clock)));
    }

    /// Says whether nothing has happened here since the last reset.
    pub(crate) fn is_blank(&self) -> bool {
        let state = self.lock();
        state.book.summaries().is_empty() && !state.touched && state.clock.is_zero()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        Snapshot {
            generation: state.generation,
            since: state.since,
            providers: state.book.summaries().clone(),
        }
    }

    /// Returns the token that the next reset cancels.
    pub(crate) fn over(&self) -> CancellationToken {
        self.lock().over.clone()
    }

    /// Begins these worlds anew in one moment, and does `with_it` in the same: whatever began before changes nothing any more, and whatever
    /// begins after finds all of it done. One call at a time.
    pub(crate) fn reset(worlds: &[Arc<Self>], beginning: &Beginning, ledger: &Ledger, with_it: impl FnOnce()) {
        let mut states: Vec<_> = worlds.iter().map(|world| world.lock()).collect();
        let mut old = Vec::with_capacity(states.len());
        for (world, state) in worlds.iter().zip(&mut states) {
            let next = beginning.state(&world.scope, state.generation + 1);
            old.push(std::mem::replace(&mut **state, next));
            world.plan(state);
            ledger.forget(world.scope.as_str());
        }
        with_it();
        drop(states);
        for state in old {
            state.over.cancel();
        }
    }
}
