//! Events: told in the transaction that did what they tell of.

use super::expand::shown;
use super::objects::{Event, Thing};
use super::scene::Origin;
use super::webhooks::delivery;
use crate::store::Tx;

/// How many events an account keeps; Stripe keeps those of 30 days.
const KEPT: usize = 10_000;

/// Tells of something that happened.
pub(crate) fn tell(tx: &mut Tx<'_>, origin: &Origin, kind: &'static str, thing: Thing, before: Option<Thing>) {
    let request = match origin {
        Origin::Request(request) => Some(request.clone()),
        Origin::Schedule => None,
        Origin::Seed => return,
    };
    let id = tx.new_id("evt_");
    let pending = delivery::plan(tx, &id, kind);
    let event = Event {
        id,
        created: tx.now().unix_timestamp(),
        kind,
        object: shown(tx, thing),
        before: before.map(|before| shown(tx, before)),
        request,
        pending,
        api_version: None,
        account: None,
    };
    tx.put(event);
}

/// Forgets the oldest events that are too many; comes last in a transaction.
pub(crate) fn trim(tx: &mut Tx<'_>) {
    tx.trim::<Event>(KEPT);
}
