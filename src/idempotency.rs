//! Reservation and record of a key.
//!
//! A *reservation* is volatile and says "in progress"; its guard gives it up on whatever way the attempt ends. A *record* is an object like
//! any other, written in the commit and only there: it stores what the provider did, never what the transport delivered.

use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use crate::ledger::{Content, Hash, Reply};
use crate::store::{Object, Reserved, Ticket, Tx, World};

/// Names one operation for a provider that enforces keys.
#[derive(Clone, Debug)]
pub struct Key {
    /// The table of keys: the provider and its account. One table over all endpoints.
    pub partition: Arc<str>,
    /// What the caller sent.
    pub value: Arc<str>,
    /// A hash of what was asked for.
    pub fingerprint: Hash,
    /// The path that was called.
    pub endpoint: Arc<str>,
    /// How long a record is kept, on the world's clock.
    pub kept: Duration,
}

/// Is what the provider did under a key.
#[derive(Debug)]
pub struct Record {
    value: Arc<str>,
    /// The fingerprint of the first request.
    pub fingerprint: Hash,
    /// The path of the first request.
    pub endpoint: Arc<str>,
    /// When it was made, on the world's clock.
    pub made: OffsetDateTime,
    /// Whether the first request was accepted.
    pub accepted: bool,
    /// The status of the first answer.
    pub status: u16,
    /// The provider's name of the first answer (Stripe: its request id).
    pub reference: Arc<str>,
    /// The headers that a user gave to the first answer.
    pub extra: Vec<(String, String)>,
    /// The body of the first answer.
    pub content: Content,
}

impl Object for Record {
    const TABLE: &'static str = "keys";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.value)
    }
}

/// Says how a key was found.
#[derive(Debug)]
pub enum Admission {
    /// Unknown, expired, or reserved by this very attempt: go on.
    Fresh,
    /// Another attempt with the same request is in progress.
    InFlight,
    /// Done before: answer from the record.
    Replay(Arc<Record>),
    /// Used before, or just now, for something else: at this endpoint.
    Mismatch(Arc<str>),
}

/// Looks a key up. A mismatch is found before a replay.
#[must_use]
pub fn admit(tx: &mut Tx<'_>, key: &Key, attempt: u64) -> Admission {
    tx.enter(&key.partition);
    if let Some(reserved) = tx.reserved(&key.value) {
        return match reserved {
            own if own.attempt == attempt => Admission::Fresh,
            other if other.fingerprint == key.fingerprint => Admission::InFlight,
            other => Admission::Mismatch(Arc::clone(&other.endpoint)),
        };
    }
    match tx.get::<Record>(&key.value) {
        Some(record) if tx.passed(record.made, key.kept) => Admission::Fresh,
        Some(record) if record.fingerprint != key.fingerprint => Admission::Mismatch(Arc::clone(&record.endpoint)),
        Some(record) => Admission::Replay(record),
        None => Admission::Fresh,
    }
}

/// Writes the record of what was done under a key.
pub fn record(tx: &mut Tx<'_>, key: &Key, reply: &Reply, reference: Arc<str>) {
    let accepted = tx.has_effects();
    tx.enter(&key.partition);
    tx.put(Record {
        value: Arc::clone(&key.value),
        fingerprint: key.fingerprint,
        endpoint: Arc::clone(&key.endpoint),
        made: tx.now(),
        accepted,
        status: reply.status,
        reference,
        extra: reply.extra.clone(),
        content: reply.content.clone(),
    });
}

/// Reserves a key that was found fresh.
pub fn reserve(tx: &mut Tx<'_>, key: &Key, attempt: u64) {
    tx.enter(&key.partition);
    let reserved = Reserved {
        attempt,
        fingerprint: key.fingerprint,
        endpoint: Arc::clone(&key.endpoint),
    };
    tx.reserve(&key.value, reserved);
}

/// Gives up an attempt's own reservation, in the same moment as its commit or refusal.
pub fn give_up(tx: &mut Tx<'_>, key: &Key, attempt: u64) {
    tx.enter(&key.partition);
    tx.give_up(&key.value, attempt);
}

/// Holds a reservation over an await; gives it up when dropped, if it is still the attempt's own.
pub struct Reservation {
    world: Arc<World>,
    key: Key,
    attempt: u64,
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reservation")
            .field("key", &self.key.value)
            .finish_non_exhaustive()
    }
}

impl Reservation {
    /// Guards the reservation that an attempt has just made.
    #[must_use]
    pub fn guard(ticket: &Ticket, key: &Key) -> Self {
        Self {
            world: Arc::clone(ticket.world()),
            key: key.clone(),
            attempt: ticket.id(),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.world.give_up(&self.key.partition, &self.key.value, self.attempt);
    }
}
