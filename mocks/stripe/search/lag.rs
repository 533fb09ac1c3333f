//! What a search sees that lags: every object as it was so long ago.
//!
//! Each write notes the versions that it made; a later write moves those that have become visible into the index. A search takes the index,
//! and over it the notes that have become visible since.

use std::collections::HashSet;
use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use super::Searchable;
use crate::mocks::stripe::objects::{Charge, Customer, Intent, Invoice, Price, Product, Subscription};
use crate::store::{Object, Tx};

/// Is a version that will be seen later.
struct Noted<T> {
    id: Arc<str>,
    at: OffsetDateTime,
    object: Arc<str>,
    version: Option<Arc<T>>,
}

/// Is the version that a search sees.
struct Indexed<T> {
    object: Arc<str>,
    version: Option<Arc<T>>,
}

impl<T: Searchable> Object for Noted<T> {
    const TABLE: &'static str = T::NOTES;

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl<T: Searchable> Object for Indexed<T> {
    const TABLE: &'static str = T::INDEX;

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.object)
    }
}

/// Notes what this transaction has made or changed; comes last in it.
pub(crate) fn note(tx: &mut Tx<'_>, lag: Duration) {
    if lag.is_zero() {
        return;
    }
    note_of::<Charge>(tx, lag);
    note_of::<Customer>(tx, lag);
    note_of::<Intent>(tx, lag);
    note_of::<Invoice>(tx, lag);
    note_of::<Price>(tx, lag);
    note_of::<Product>(tx, lag);
    note_of::<Subscription>(tx, lag);
}

fn note_of<T: Searchable>(tx: &mut Tx<'_>, lag: Duration) {
    let changed = tx.changed::<T>();
    if changed.is_empty() {
        return;
    }
    let ripe: Vec<_> = tx
        .list::<Noted<T>>()
        .rev()
        .take_while(|n| tx.passed(n.at, lag))
        .collect();
    for note in ripe {
        tx.remove::<Noted<T>>(&note.id);
        tx.put(Indexed {
            object: Arc::clone(&note.object),
            version: note.version.clone(),
        });
    }
    for (object, version) in changed {
        let (id, at) = (tx.new_id("note_"), tx.now());
        tx.put(Noted {
            id,
            at,
            object,
            version,
        });
    }
}

/// Lists what a search sees now, in no order.
pub(super) fn visible<'t, T: Searchable>(tx: &'t Tx<'_>, lag: Duration) -> impl Iterator<Item = Arc<T>> + 't {
    let notes = tx.list::<Noted<T>>().filter(move |n| tx.passed(n.at, lag));
    let notes = notes.map(|n| (Arc::clone(&n.object), n.version.clone()));
    let index = tx
        .list::<Indexed<T>>()
        .map(|i| (Arc::clone(&i.object), i.version.clone()));
    let mut seen = HashSet::new();
    notes
        .chain(index)
        .filter_map(move |(id, version)| if seen.insert(id) { version } else { None })
}
