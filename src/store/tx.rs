//! What a closure sees and changes: a view of the world, and the commit that it builds.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use super::table::{Object, Table, Version};
use super::world::State;
use crate::ledger::Effect;

/// Is all that one closure changed, as one value: what memory applies, a disk appends, a database runs.
#[derive(Clone, Default)]
pub(crate) struct Commit {
    pub(crate) changes: Vec<Change>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) effects: Vec<Effect>,
}

#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) table: &'static str,
    pub(crate) partition: Arc<str>,
    pub(crate) id: Arc<str>,
    /// The new version; none removes the object.
    pub(crate) version: Option<Version>,
    /// When that version is due.
    pub(crate) due: Option<OffsetDateTime>,
}

#[derive(Clone)]
pub(crate) struct Claim {
    pub(crate) index: &'static str,
    pub(crate) partition: Arc<str>,
    pub(crate) value: Arc<str>,
    pub(crate) id: Arc<str>,
}

impl Commit {
    /// Adds what another changed after it; effects are no state and stay out.
    pub(super) fn extend(&mut self, later: Self) {
        self.changes.extend(later.changes);
        self.claims.extend(later.claims);
    }
}

/// Gives a closure its view of one world. Nothing it does is seen by others until the closure has returned.
pub struct Tx<'a> {
    state: &'a mut State,
    pub(crate) commit: Commit,
    partition: Arc<str>,
    now: OffsetDateTime,
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("partition", &self.partition)
            .finish_non_exhaustive()
    }
}

impl<'a> Tx<'a> {
    pub(crate) fn new(state: &'a mut State, now: OffsetDateTime) -> Self {
        Self {
            state,
            commit: Commit::default(),
            partition: "".into(),
            now,
        }
    }

    /// Moves to a partition inside the world (Stripe: a connected account); the empty name is the world's own.
    pub fn enter(&mut self, partition: &Arc<str>) {
        self.partition = Arc::clone(partition);
    }

    /// Returns the partition in which it stands.
    #[must_use]
    pub fn partition(&self) -> &Arc<str> {
        &self.partition
    }

    /// Returns the time on the world's clock.
    #[must_use]
    pub fn now(&self) -> OffsetDateTime {
        self.now
    }

    /// Makes an id: the prefix and 24 letters and digits.
    pub fn new_id(&mut self, prefix: &str) -> Arc<str> {
        let mut id = String::with_capacity(prefix.len() + 24);
        id.push_str(prefix);
        id.extend(std::iter::repeat_with(fastrand::alphanumeric).take(24));
        id.into()
    }

    /// Returns the current version of an object.
    #[must_use]
    pub fn get<T: Object>(&self, id: &str) -> Option<Arc<T>> {
        let own = self.commit.changes.iter().rev();
        let mut own = own.filter(|c| c.table == T::TABLE && *c.id == *id && c.partition == self.partition);
        match own.next() {
            Some(change) => change.version.as_ref().and_then(downcast),
            None => self.table::<T>().and_then(|t| t.get(id)).and_then(downcast),
        }
    }

    /// Puts an object's new version, and returns it.
    pub fn put<T: Object>(&mut self, object: T) -> Arc<T> {
        let object = Arc::new(object);
        self.change::<T>(object.id(), Some(object.clone()), object.due());
        object
    }

    /// Removes an object.
    pub fn remove<T: Object>(&mut self, id: &str) {
        self.change::<T>(id.into(), None, None);
    }

    /// Iterates over a table, newest first, as it was before this closure.
    pub fn list<T: Object>(&self) -> impl DoubleEndedIterator<Item = Arc<T>> + '_ {
        self.table::<T>()
            .into_iter()
            .flat_map(Table::rows)
            .rev()
            .filter_map(downcast)
    }

    /// Iterates, newest first, over what was made before the object with this id; none if there is no such object.
    #[must_use]
    pub fn older<'t, T: Object>(&'t self, id: &str) -> Option<impl Iterator<Item = Arc<T>> + use<'t, 'a, T>> {
        Some(self.table::<T>()?.beside(id, false)?.rev().filter_map(downcast))
    }

    /// Iterates, oldest first, over what was made after the object with this id; none if there is no such object.
    #[must_use]
    pub fn newer<'t, T: Object>(&'t self, id: &str) -> Option<impl Iterator<Item = Arc<T>> + use<'t, 'a, T>> {
        Some(self.table::<T>()?.beside(id, true)?.filter_map(downcast))
    }

    /// Lists what this closure has changed in a table: the newest version of each object, or none where it was removed.
    #[must_use]
    pub fn changed<T: Object>(&self) -> Vec<(Arc<str>, Option<Arc<T>>)> {
        let mut out: Vec<(Arc<str>, Option<Arc<T>>)> = Vec::new();
        let own = self.commit.changes.iter();
        for change in own.filter(|c| c.table == T::TABLE && c.partition == self.partition) {
            let version = change.version.as_ref().and_then(downcast);
            match out.iter_mut().find(|(id, _)| *id == change.id) {
                Some((_, known)) => *known = version,
                None => out.push((Arc::clone(&change.id), version)),
            }
        }
        out
    }

    /// Iterates over what of a table is due by now, in all partitions and in the order of its time, as it was before this closure: when it
    /// was due, its partition, the object.
    pub fn due<T: Object>(&self) -> impl Iterator<Item = (OffsetDateTime, Arc<str>, Arc<T>)> + '_ {
        let due = self.state.agenda().due(T::TABLE, self.now);
        due.filter_map(|(at, partition, id)| {
            let object = downcast(self.state.table(T::TABLE, partition)?.get(id)?)?;
            Some((at, Arc::clone(partition), object))
        })
    }

    /// Removes the oldest objects of a table that has more than this many.
    pub fn trim<T: Object>(&mut self, most: usize) {
        let Some(table) = self.table::<T>() else {
            return;
        };
        let own = self.commit.changes.iter();
        let own = own.filter(|c| c.table == T::TABLE && c.partition == self.partition);
        let fresh = own
            .filter(|c| c.version.is_some() && table.get(&c.id).is_none())
            .count();
        let over = (table.len() + fresh).saturating_sub(most);
        let oldest: Vec<_> = table.rows().take(over).filter_map(downcast::<T>).collect();
        for object in oldest {
            self.remove::<T>(&object.id());
        }
    }

    /// Claims a value in a unique index for an object.
    ///
    /// # Errors
    ///
    /// Returns the id of the object that already holds the value.
    pub fn claim(&mut self, index: &'static str, value: &str, id: &str) -> Result<(), Arc<str>> {
        if let Some(holder) = self.holder(index, value) {
            return Err(holder);
        }
        let (partition, value, id) = (Arc::clone(&self.partition), value.into(), id.into());
        self.commit.claims.push(Claim {
            index,
            partition,
            value,
            id,
        });
        Ok(())
    }

    /// Returns the id of the object that holds a value in a unique index.
    #[must_use]
    pub fn holder(&self, index: &'static str, value: &str) -> Option<Arc<str>> {
        let mut own = self.commit.claims.iter();
        own.find(|c| c.index == index && *c.value == *value && c.partition == self.partition)
            .map(|c| Arc::clone(&c.id))
            .or_else(|| self.state.unique(index, &self.partition)?.get(value).cloned())
    }

    /// Accepts: says that something exists now because of this attempt.
    pub fn effect(&mut self, kind: impl Into<Cow<'static, str>>, id: &str) {
        self.effects(kind, id, 1);
    }

    /// Accepts several of a kind at once.
    pub fn effects(&mut self, kind: impl Into<Cow<'static, str>>, id: &str, count: u64) {
        let (kind, id) = (kind.into(), id.into());
        self.commit.effects.push(Effect { kind, id, count });
    }

    /// Throws away all that the closure has changed so far.
    pub fn discard(&mut self) {
        self.commit = Commit::default();
    }

    /// Says whether the closure has accepted.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        !self.commit.effects.is_empty()
    }

    /// Returns who holds a volatile reservation of a value.
    pub(crate) fn reserved(&self, value: &str) -> Option<&super::Reserved> {
        self.state.reservations(&self.partition)?.get(value)
    }

    /// Reserves a value for an attempt; volatile, and no part of the commit.
    pub(crate) fn reserve(&mut self, value: &Arc<str>, reserved: super::Reserved) {
        let partition = Arc::clone(&self.partition);
        self.state.reserve(partition, Arc::clone(value), reserved);
    }

    /// Gives a reservation up, if it is the attempt's own; returns whether it was.
    pub(crate) fn give_up(&mut self, value: &str, attempt: u64) -> bool {
        let partition = Arc::clone(&self.partition);
        self.state.give_up(&partition, value, attempt)
    }

    /// Says whether so much time has passed on the world's clock since then.
    #[must_use]
    pub fn passed(&self, since: OffsetDateTime, duration: Duration) -> bool {
        self.now - since >= duration
    }

    fn change<T: Object>(&mut self, id: Arc<str>, version: Option<Version>, due: Option<OffsetDateTime>) {
        let partition = Arc::clone(&self.partition);
        self.commit.changes.push(Change {
            table: T::TABLE,
            partition,
            id,
            version,
            due,
        });
    }

    fn table<T: Object>(&self) -> Option<&Table> {
        self.state.table(T::TABLE, &self.partition)
    }
}

fn downcast<T: Any + Send + Sync>(version: impl std::borrow::Borrow<Version>) -> Option<Arc<T>> {
    Arc::clone(version.borrow()).downcast().ok()
}
