//! One table of objects: by id, and in the order of their making.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use time::OffsetDateTime;

/// Is kept in the store in immutable versions. The table is the type's own; no two types share a name.
pub trait Object: Any + Send + Sync {
    /// The table's name.
    const TABLE: &'static str;

    /// Returns the id, unique in its table and partition.
    fn id(&self) -> Arc<str>;

    /// Says when this version is due, on the world's clock: then the suite wakes whoever keeps it. None where it has no time.
    fn due(&self) -> Option<OffsetDateTime> {
        None
    }
}

/// One version of any object.
pub(crate) type Version = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
pub(crate) struct Table {
    order: HashMap<Arc<str>, u64>,
    rows: BTreeMap<u64, Version>,
    next: u64,
}

impl Table {
    pub(crate) fn get(&self, id: &str) -> Option<&Version> {
        self.rows.get(self.order.get(id)?)
    }

    /// Puts a version; a new id takes the last place, a known one keeps its own.
    pub(crate) fn put(&mut self, id: Arc<str>, version: Version) {
        let place = *self.order.entry(id).or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.rows.insert(place, version);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        if let Some(place) = self.order.remove(id) {
            self.rows.remove(&place);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Iterates from the oldest to the newest.
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = &Version> {
        self.rows.values()
    }

    /// Iterates over what was made after (`true`) or before the object with this id, oldest first.
    pub(crate) fn beside<'t>(
        &'t self,
        id: &str,
        after: bool,
    ) -> Option<impl DoubleEndedIterator<Item = &'t Version> + use<'t>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let place = *self.order.get(id)?;
        let range = if after {
            (Excluded(place), Unbounded)
        } else {
            (Unbounded, Excluded(place))
        };
        Some(self.rows.range(range).map(|(_, version)| version))
    }
}
