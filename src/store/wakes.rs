//! Which world is to be woken next, and when, on the clock of the whole suite.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use tokio::sync::watch;

use super::Scope;

/// Keeps the earliest wake of each world that has one; clones share it. Its lock is taken last, under a world's.
#[derive(Clone, Default)]
pub(crate) struct Wakes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    register: Mutex<Register>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Register {
    by_time: BTreeSet<(OffsetDateTime, Scope)>,
    of: HashMap<Scope, OffsetDateTime>,
}

impl Wakes {
    /// Notes when a world is to be woken; none where nothing is due there.
    pub(super) fn set(&self, scope: &Scope, at: Option<OffsetDateTime>) {
        let mut register = self.lock();
        let old = match at {
            Some(at) => register.of.insert(scope.clone(), at),
            None => register.of.remove(scope),
        };
        if old == at {
            return;
        }
        if let Some(old) = old {
            register.by_time.remove(&(old, scope.clone()));
        }
        if let Some(at) = at {
            register.by_time.insert((at, scope.clone()));
        }
        drop(register);
        self.changed();
    }

    /// Says that the clock was moved, or a wake: whoever waits looks again.
    pub(super) fn changed(&self) {
        self.0.changed.send_modify(|()| {});
    }

    /// Returns the earliest wake of a world, or of all.
    pub(super) fn first(&self, scope: Option<&Scope>) -> Option<(OffsetDateTime, Scope)> {
        let register = self.lock();
        match scope {
            Some(scope) => register.of.get(scope).map(|at| (*at, scope.clone())),
            None => register.by_time.first().cloned(),
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.0.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;
    use crate::ledger::{Ledger, Limits};
    use crate::store::{Object, Store};

    struct Alarm(Arc<str>, Option<OffsetDateTime>);

    impl Object for Alarm {
        const TABLE: &'static str = "alarms";

        fn id(&self) -> Arc<str> {
            Arc::clone(&self.0)
        }

        fn due(&self) -> Option<OffsetDateTime> {
            self.1
        }
    }

    fn store() -> Store {
        Store::new(Ledger::new(Limits::default()))
    }

    fn scope(name: impl std::fmt::Display) -> Scope {
        Scope::parse(&name.to_string()).unwrap()
    }

    fn set(store: &Store, scope: &Scope, id: &str, left: Option<Duration>) {
        let put = |tx: &mut crate::store::Tx<'_>| {
            let at = left.map(|left| tx.now() + left);
            tx.put(Alarm(id.into(), at));
        };
        store.arrange(scope, put).unwrap();
    }

    fn due(store: &Store, scope: &Scope) -> Vec<Arc<str>> {
        store.read(scope, |tx| tx.due::<Alarm>().map(|(_, _, alarm)| alarm.id()).collect())
    }

    #[test]
    fn the_earliest_of_a_world_is_known_whatever_is_put_moved_or_removed() {
        let (store, alice) = (store(), scope("alice"));
        let hours = |n| Some(Duration::hours(n));
        set(&store, &alice, "b", hours(2));
        set(&store, &alice, "a", hours(1));
        set(&store, &alice, "c", hours(3));
        set(&store, &alice, "never", None);
        assert!(due(&store, &alice).is_empty());
        store
            .advance(Some(&alice), Duration::hours(2) + Duration::SECOND)
            .unwrap();
        assert_eq!(
            due(&store, &alice),
            ["a".into(), Arc::from("b")],
            "in the order of time"
        );
        let (first, _) = store.first_due(Some(&alice)).unwrap();
        assert!(first < store.now(None), "the world's clock is ahead of the suite's");
        set(&store, &alice, "a", None);
        store.arrange(&alice, |tx| tx.remove::<Alarm>("b")).unwrap();
        assert!(due(&store, &alice).is_empty());
        let (first, _) = store.first_due(None).unwrap();
        assert!(first > store.now(None) && first < store.now(None) + Duration::HOUR);
        store.arrange(&alice, |tx| tx.remove::<Alarm>("c")).unwrap();
        assert_eq!(store.first_due(None), None);
    }

    #[test]
    fn of_ten_thousand_worlds_the_next_is_found_at_once_and_a_reset_forgets_all() {
        let store = store();
        for n in 0..crate::store::MAX_SCOPES {
            let left = Duration::seconds(1 + (n as i64 * 7919) % 10_000);
            set(&store, &scope(n), "alarm", Some(left));
        }
        let began = std::time::Instant::now();
        for _ in 0..10_000 {
            assert_eq!(store.first_due(None).unwrap().1, scope(0));
        }
        assert!(
            began.elapsed() < std::time::Duration::from_secs(2),
            "no world is searched for"
        );
        store.advance(Some(&scope(7)), Duration::days(1)).unwrap();
        assert_eq!(store.first_due(None).unwrap().1, scope(7));
        store.reset(Some(&scope(7)), || {});
        assert_eq!(store.first_due(None).unwrap().1, scope(0));
        store.reset(None, || {});
        assert_eq!(store.first_due(None), None);
    }

    #[test]
    fn whoever_waits_is_told_of_a_new_wake_and_of_a_moved_clock() {
        let (store, alice) = (store(), scope("alice"));
        let mut changes = store.due_changes();
        let mut changed = |what: &str| {
            assert!(changes.has_changed().unwrap(), "{what}");
            changes.mark_unchanged();
        };
        set(&store, &alice, "a", Some(Duration::HOUR));
        changed("a wake");
        store.advance(Some(&alice), Duration::HOUR).unwrap();
        changed("a world's clock");
        store.advance(None, Duration::HOUR).unwrap();
        changed("the suite's clock");
        set(&store, &alice, "b", Some(Duration::HOUR));
        assert!(!changes.has_changed().unwrap(), "a later one changes nothing");
    }
}
