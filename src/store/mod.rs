//! All state, and the one place where it changes: [`Ticket::transact`].
//!
//! Invariants: an object, its key's record and its count change under one lock or not at all; every change carries the generation of its
//! world and does nothing after a reset; no lock is held across an await. Lock order: world, then rules, then journal.

mod agenda;
mod beginning;
mod scope;
mod table;
mod ticket;
mod tx;
mod wakes;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;
use time::{Duration, OffsetDateTime};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ledger::{Arrival, Ledger, Summary};

pub use beginning::Beginning;
pub use scope::{InvalidScope, Scope};
pub use table::Object;
pub use ticket::{Decision, Ticket};
pub use tx::Tx;
use wakes::Wakes;
pub(crate) use world::{Reserved, World};

/// How many worlds there may be: scopes are made by whoever names them.
pub const MAX_SCOPES: usize = 10_000;

/// Says that the world was reset since the attempt began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scope was reset while this was in flight")]
pub struct Stale;

/// Says that there are too many worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {MAX_SCOPES} scopes already, and no more are made; POST /_reset leaves room for others")]
pub struct TooManyScopes;

/// Shows one world, or the sum of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// How often it was reset, and one.
    pub generation: u64,
    /// Since when it counts.
    pub since: OffsetDateTime,
    /// The sums by provider.
    pub providers: BTreeMap<Arc<str>, Summary>,
}

/// Is the handle of all worlds; clones share them.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    ledger: Ledger,
    beginning: Beginning,
    worlds: DashMap<Scope, Arc<World>>,
    wakes: Wakes,
    generation: AtomicU64,
    since: Mutex<OffsetDateTime>,
    /// Cancelled by the next reset of all worlds, for what belongs to none.
    over: Mutex<CancellationToken>,
    /// What the clock of the whole suite was advanced by.
    advanced: Mutex<Duration>,
    /// Held by the one reset that goes on.
    resetting: Mutex<()>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("worlds", &self.0.worlds.len())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Makes a store without a world; a world is made by its first attempt, and is empty.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self::beginning_with(ledger, Beginning::default())
    }

    /// Makes a store whose worlds begin with this, each time they begin.
    #[must_use]
    pub fn beginning_with(ledger: Ledger, beginning: Beginning) -> Self {
        Self(Arc::new(Shared {
            ledger,
            beginning,
            worlds: DashMap::new(),
            wakes: Wakes::default(),
            generation: AtomicU64::new(1),
            since: Mutex::new(OffsetDateTime::now_utc()),
            over: Mutex::default(),
            advanced: Mutex::new(Duration::ZERO),
            resetting: Mutex::new(()),
        }))
    }

    /// Returns the ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Counts an arrival and returns the right to carry it out.
    ///
    /// # Errors
    ///
    /// Fails if it would need one world too many.
    pub fn begin(&self, scope: &Scope, arrival: Arrival) -> Result<Ticket, TooManyScopes> {
        let world = self.world(scope)?;
        Ok(Ticket::begin(Arc::clone(&self.0), world, arrival))
    }

    /// Counts an arrival that the suite makes itself, if the world wants it in that moment; an unknown world is not made.
    pub fn begin_if(
        &self,
        scope: &Scope,
        arrival: Arrival,
        wanted: impl FnOnce(&mut Tx<'_>) -> bool,
    ) -> Option<Ticket> {
        let world = self.0.worlds.get(scope).map(|world| Arc::clone(&world))?;
        Ticket::begin_if(Arc::clone(&self.0), world, arrival, wanted)
    }

    /// Returns the first moment, on the suite's own clock, in which something is due in a world, or in any; and in which.
    #[must_use]
    pub fn first_due(&self, scope: Option<&Scope>) -> Option<(OffsetDateTime, Scope)> {
        self.0.wakes.first(scope)
    }

    /// Subscribes to changes of what [`first_due`](Self::first_due) returns, and of the clocks.
    #[must_use]
    pub fn due_changes(&self) -> watch::Receiver<()> {
        self.0.wakes.subscribe()
    }

    /// Reads a world by a closure; an unknown world is as it would begin, and is not made. What the closure changes is thrown away.
    pub fn read<R>(&self, scope: &Scope, look: impl FnOnce(&mut Tx<'_>) -> R) -> R {
        let world = self.0.worlds.get(scope).map(|w| Arc::clone(&w));
        let world = world.unwrap_or_else(|| self.0.begin(scope));
        let mut state = world.lock();
        let now = self.0.now().saturating_add(state.clock);
        look(&mut Tx::new(&mut state, now))
    }

    /// Changes a world outside any attempt (an admin call); counts nothing.
    ///
    /// # Errors
    ///
    /// Fails if it would need one world too many.
    pub fn arrange<R>(&self, scope: &Scope, work: impl FnOnce(&mut Tx<'_>) -> R) -> Result<R, TooManyScopes> {
        let world = self.world(scope)?;
        Ok(world.arrange(self.0.now(), work))
    }

    /// Shows one world; an unknown one is all zeros.
    #[must_use]
    pub fn snapshot(&self, scope: &Scope) -> Snapshot {
        match self.0.worlds.get(scope) {
            Some(world) => world.snapshot(),
            None => Snapshot {
                generation: 1,
                since: self.since(),
                providers: BTreeMap::new(),
            },
        }
    }

    /// Shows the sum of all worlds.
    #[must_use]
    pub fn total(&self) -> Snapshot {
        let mut providers: BTreeMap<Arc<str>, Summary> = BTreeMap::new();
        for world in &self.0.worlds {
            for (name, summary) in world.lock().book.summaries() {
                let sum = providers
                    .entry(Arc::clone(name))
                    .or_insert_with(|| Summary::new(summary.class));
                sum.add(summary);
            }
        }
        Snapshot {
            generation: self.0.generation.load(Ordering::Relaxed),
            since: self.since(),
            providers,
        }
    }

    /// Lists the worlds by name.
    #[must_use]
    pub fn scopes(&self) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = self.0.worlds.iter().map(|w| w.key().clone()).collect();
        scopes.sort();
        scopes
    }

    /// Resets one world, or all of them and the suite's clock, and does `with_it` in the same moment, under the worlds' locks.
    pub fn reset(&self, scope: Option<&Scope>, with_it: impl FnOnce()) {
        // Two that lock many worlds could wait for each other; nobody else ever holds more than one.
        let _alone = lock(&self.0.resetting);
        let worlds: Vec<_> = match scope {
            Some(scope) => self.0.worlds.get(scope).map(|w| Arc::clone(&w)).into_iter().collect(),
            None => {
                *lock(&self.0.advanced) = Duration::ZERO;
                *lock(&self.0.since) = OffsetDateTime::now_utc();
                self.0.generation.fetch_add(1, Ordering::Relaxed);
                self.0.worlds.iter().map(|w| Arc::clone(&w)).collect()
            }
        };
        World::reset(&worlds, &self.0.beginning, &self.0.ledger, with_it);
        if scope.is_none() {
            std::mem::take(&mut *lock(&self.0.over)).cancel();
        }
    }

    /// Returns the token that the next reset of a scope cancels, for what waits without an attempt; an unknown world is not made.
    #[must_use]
    pub fn over(&self, scope: &Scope) -> CancellationToken {
        let world = self.0.worlds.get(scope).map(|world| world.over());
        world.unwrap_or_else(|| lock(&self.0.over).clone())
    }

    /// Advances the clock of one world, or of the whole suite.
    ///
    /// # Errors
    ///
    /// Fails if it would need one world too many.
    pub fn advance(&self, scope: Option<&Scope>, by: Duration) -> Result<(), TooManyScopes> {
        match scope {
            Some(scope) => {
                let world = self.world(scope)?;
                let mut state = world.lock();
                state.clock = state.clock.saturating_add(by);
                world.plan(&state);
            }
            None => {
                let mut advanced = lock(&self.0.advanced);
                *advanced = advanced.saturating_add(by);
                drop(advanced);
                self.0.wakes.changed();
            }
        }
        Ok(())
    }

    /// Returns the time on the clock of a world, or of the suite.
    #[must_use]
    pub fn now(&self, scope: Option<&Scope>) -> OffsetDateTime {
        let world = scope.and_then(|s| self.0.worlds.get(s).map(|w| w.lock().clock));
        self.0.now().saturating_add(world.unwrap_or(Duration::ZERO))
    }

    fn since(&self) -> OffsetDateTime {
        *lock(&self.0.since)
    }

    /// Forgets worlds that a reset left empty and that nobody is in: they are as good as unknown ones.
    fn forget_blank(&self) {
        self.0
            .worlds
            .retain(|_, world| Arc::strong_count(world) > 1 || !world.is_blank());
    }

    fn world(&self, scope: &Scope) -> Result<Arc<World>, TooManyScopes> {
        if let Some(world) = self.0.worlds.get(scope) {
            return Ok(Arc::clone(&world));
        }
        if self.0.worlds.len() >= MAX_SCOPES {
            self.forget_blank();
        }
        if self.0.worlds.len() >= MAX_SCOPES {
            return Err(TooManyScopes);
        }
        let world = self.0.worlds.entry(scope.clone());
        let world = world.or_insert_with(|| {
            let world = self.0.begin(scope);
            world.plan(&world.lock());
            world
        });
        Ok(Arc::clone(&world))
    }
}

impl Shared {
    fn begin(&self, scope: &Scope) -> Arc<World> {
        Arc::new(World::new(scope.clone(), &self.beginning, self.wakes.clone()))
    }

    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc().saturating_add(*lock(&self.advanced))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Limits;

    fn store() -> Store {
        Store::new(Ledger::new(Limits::default()))
    }

    fn scope(name: impl std::fmt::Display) -> Scope {
        Scope::parse(&name.to_string()).unwrap()
    }

    #[test]
    fn a_reset_leaves_room_for_other_scopes_and_nothing_else_does() {
        let (store, hour) = (store(), Duration::HOUR);
        for n in 0..MAX_SCOPES {
            store.advance(Some(&scope(n)), hour).unwrap();
        }
        assert_eq!(store.advance(Some(&scope("other")), hour), Err(TooManyScopes));
        store.reset(None, || {});
        let far = store.now(None) + hour / 2;
        store.advance(Some(&scope(17)), hour).unwrap();
        store.advance(Some(&scope("other")), hour).unwrap();
        assert!(store.now(Some(&scope(17))) > far && store.now(Some(&scope("other"))) > far);
        assert_eq!(store.scopes().len(), 2);
    }

    #[test]
    fn what_a_world_begins_with_takes_no_room_after_a_reset() {
        struct Thing;
        impl Object for Thing {
            const TABLE: &'static str = "things";

            fn id(&self) -> Arc<str> {
                "thing".into()
            }
        }
        let mut beginning = Beginning::default();
        let put = beginning.arrange(None, |tx| Ok::<_, Stale>(tx.put(Thing)));
        drop(put.unwrap());
        let store = Store::beginning_with(Ledger::new(Limits::default()), beginning);
        for n in 0..MAX_SCOPES {
            store.arrange(&scope(n), |tx| drop(tx.put(Thing))).unwrap();
        }
        assert_eq!(store.arrange(&scope("other"), |_| ()), Err(TooManyScopes));
        store.reset(None, || {});
        store.arrange(&scope("other"), |_| ()).unwrap();
        assert!(store.read(&scope("other"), |tx| tx.get::<Thing>("thing").is_some()));
    }

    #[test]
    fn a_clock_stops_at_the_end_of_time() {
        let (store, scope) = (store(), scope("alice"));
        for _ in 0..10_000 {
            store.advance(Some(&scope), Duration::days(365)).unwrap();
            store.advance(None, Duration::days(365)).unwrap();
        }
        let end = store.now(Some(&scope));
        assert_eq!((end.year(), store.now(None).year()), (9999, 9999));
        assert_eq!(store.arrange(&scope, |tx| tx.now()).unwrap(), end);
        assert_eq!(store.read(&scope, |tx| tx.now()), end);
    }
}
