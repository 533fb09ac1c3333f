//! Deliveries: which event has still to go to which endpoint, how often it was tried, and when it is next.

use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use crate::mocks::stripe::objects::{Endpoint, Event};
use crate::store::{Object, Tx};

/// How long it is until the next try, after each that failed; then it is given up. A sandbox of Stripe's tries thrice more over a few
/// hours, at times that it does not tell.
const RETRIES: [Duration; 3] = [Duration::hours(1), Duration::hours(2), Duration::hours(3)];

/// Is one event on its way to one endpoint. It stands with its event, and goes when it has been delivered or is given up.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) id: Arc<str>,
    pub(crate) event: Arc<str>,
    pub(crate) endpoint: Arc<str>,
    /// Whether the endpoint is the platform's, and the event a connected account's.
    pub(crate) connect: bool,
    /// How many tries failed.
    failed: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Due(OffsetDateTime),
    /// So many tries of it are on their way.
    Taken(u32),
}

/// Counts what has reached an endpoint.
#[derive(Clone, Debug)]
struct Reached {
    endpoint: Arc<str>,
    events: u64,
}

impl Object for Delivery {
    const TABLE: &'static str = "stripe.deliveries";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    fn due(&self) -> Option<OffsetDateTime> {
        match self.state {
            State::Due(at) => Some(at),
            State::Taken(_) => None,
        }
    }
}

impl Object for Reached {
    const TABLE: &'static str = "stripe.reached";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.endpoint)
    }
}

/// Plans the deliveries of an event that is being told; returns how many there are.
pub(crate) fn plan(tx: &mut Tx<'_>, event: &Arc<str>, kind: &str) -> u32 {
    let account = Arc::clone(tx.partition());
    let own = wanting(tx, kind, false);
    let mut platforms = Vec::new();
    if !account.is_empty() {
        in_platform(tx, |tx| platforms = wanting(tx, kind, true));
    }
    let now = tx.now();
    let all = own
        .into_iter()
        .map(|id| (id, false))
        .chain(platforms.into_iter().map(|id| (id, true)));
    let mut planned = 0;
    for (endpoint, connect) in all {
        planned += 1;
        tx.put(Delivery {
            id: format!("{event}:{endpoint}").into(),
            event: Arc::clone(event),
            endpoint,
            connect,
            failed: 0,
            state: State::Due(now),
        });
    }
    planned
}

fn wanting(tx: &Tx<'_>, kind: &str, connect: bool) -> Vec<Arc<str>> {
    let endpoints = tx.list::<Endpoint>().rev();
    let wanting = endpoints.filter(|endpoint| endpoint.connect == connect && endpoint.wants(kind));
    wanting.map(|endpoint| Arc::clone(&endpoint.id)).collect()
}

/// Does something in the platform's own account, and comes back.
fn in_platform<R>(tx: &mut Tx<'_>, work: impl FnOnce(&mut Tx<'_>) -> R) -> R {
    let account = Arc::clone(tx.partition());
    tx.enter(&"".into());
    let result = work(tx);
    tx.enter(&account);
    result
}

impl Delivery {
    /// Finds its endpoint, if it is there and wants to be told.
    pub(crate) fn endpoint(&self, tx: &mut Tx<'_>) -> Option<Arc<Endpoint>> {
        let find = |tx: &mut Tx<'_>| tx.get::<Endpoint>(&self.endpoint).filter(|endpoint| !endpoint.disabled);
        if self.connect { in_platform(tx, find) } else { find(tx) }
    }

    pub(crate) fn is_due(&self, now: OffsetDateTime) -> bool {
        self.due().is_some_and(|at| at <= now)
    }

    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.state, State::Taken(_))
    }

    /// Notes that so many tries of it are on their way.
    pub(crate) fn take(&self, tx: &mut Tx<'_>, tries: u32) {
        let state = State::Taken(tries);
        tx.put(Self { state, ..self.clone() });
    }

    /// Notes that it has been delivered: its event has one less to go.
    pub(crate) fn delivered(&self, tx: &mut Tx<'_>) {
        tx.remove::<Self>(&self.id);
        if let Some(event) = tx.get::<Event>(&self.event) {
            let pending = event.pending.saturating_sub(1);
            tx.put(Event {
                pending,
                ..Event::clone(&event)
            });
        }
        let events = reached(tx, &self.endpoint) + 1;
        let endpoint = Arc::clone(&self.endpoint);
        tx.put(Reached { endpoint, events });
    }

    /// Notes that a try failed: when the last that was on its way has, the next is planned, or it is given up.
    pub(crate) fn failed(&self, tx: &mut Tx<'_>) {
        let left = match self.state {
            State::Taken(tries) => tries.saturating_sub(1),
            State::Due(_) => return,
        };
        let next = match (left, RETRIES.get(self.failed)) {
            (0, Some(wait)) => Self {
                failed: self.failed + 1,
                state: State::Due(tx.now().saturating_add(*wait)),
                ..self.clone()
            },
            (0, None) => return tx.remove::<Self>(&self.id),
            (left, _) => Self {
                state: State::Taken(left),
                ..self.clone()
            },
        };
        tx.put(next);
    }
}

/// Counts what has reached an endpoint, from the account in which the world stands.
pub(crate) fn reached(tx: &Tx<'_>, endpoint: &str) -> u64 {
    tx.get::<Reached>(endpoint).map_or(0, |reached| reached.events)
}
