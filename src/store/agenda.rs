//! What of a world has a time of its own: its objects by the moment in which they are due.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use time::OffsetDateTime;

/// Names an object: its table, its partition, its id.
type Place = (&'static str, Arc<str>, Arc<str>);
/// A moment, and a number that keeps apart, and in the order of their making, what is due in the same.
type Moment = (OffsetDateTime, u64);

/// Keeps the objects that are due some time, the earliest first.
#[derive(Default)]
pub(super) struct Agenda {
    by_time: BTreeMap<Moment, Place>,
    moments: HashMap<Place, Moment>,
    next: u64,
}

impl Agenda {
    /// Notes when an object's current version is due; none takes it off.
    pub(super) fn set(
        &mut self,
        table: &'static str,
        partition: &Arc<str>,
        id: &Arc<str>,
        due: Option<OffsetDateTime>,
    ) {
        if due.is_none() && self.moments.is_empty() {
            return;
        }
        let place = (table, Arc::clone(partition), Arc::clone(id));
        if let Some(old) = self.moments.remove(&place) {
            self.by_time.remove(&old);
        }
        if let Some(at) = due {
            self.next += 1;
            let moment = (at, self.next);
            self.by_time.insert(moment, place.clone());
            self.moments.insert(place, moment);
        }
    }

    /// Returns the first moment in which something is due.
    pub(super) fn first(&self) -> Option<OffsetDateTime> {
        self.by_time.keys().next().map(|(at, _)| *at)
    }

    /// Iterates over what of a table is due by now, in the order of its time: when, partition, id.
    pub(super) fn due(
        &self,
        table: &'static str,
        now: OffsetDateTime,
    ) -> impl Iterator<Item = (OffsetDateTime, &Arc<str>, &Arc<str>)> {
        self.by_time
            .range(..=(now, u64::MAX))
            .filter(move |(_, (own, _, _))| *own == table)
            .map(|((at, _), (_, partition, id))| (*at, partition, id))
    }
}
