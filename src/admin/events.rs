//! `GET /_events` and `GET /_events/stream`: whole entries, in the order of their last change; the stream tells of holds too.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::ask::Ask;
use super::{Admin, Error};
use crate::attempt::{Held, Notice};
use crate::ledger::{Entry, Fate, Ledger, Outcome};

const FILTERS: [&str; 8] = [
    "scope",
    "provider",
    "operation",
    "outcome",
    "fate",
    "key",
    "since",
    "limit",
];

/// Says which entries are wanted.
struct Wanted {
    scope: Option<String>,
    provider: Option<String>,
    operation: Option<String>,
    outcome: Option<String>,
    fate: Option<String>,
    key: Option<String>,
}

impl Wanted {
    fn read(ask: &Ask) -> Result<Self, Error> {
        ask.only(&FILTERS)?;
        let text = |name| ask.get(name).map(str::to_owned);
        let wanted = Self {
            scope: ask.scope()?.map(|scope| scope.to_string()),
            provider: text("provider"),
            operation: text("operation"),
            outcome: text("outcome"),
            fate: text("fate"),
            key: text("key"),
        };
        one_of("outcome", wanted.outcome.as_deref(), &Outcome::ALL.map(Outcome::as_str))?;
        one_of("fate", wanted.fate.as_deref(), &Fate::ALL.map(Fate::as_str))?;
        Ok(wanted)
    }

    fn accepts(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, got: Option<&str>| wanted.is_none() || wanted.as_deref() == got;
        is(&self.scope, Some(&entry.scope))
            && is(&self.provider, Some(&entry.arrival.provider))
            && is(&self.operation, Some(&entry.arrival.operation))
            && is(&self.outcome, entry.outcome.map(Outcome::as_str))
            && is(&self.fate, entry.fate.map(Fate::as_str))
            && is(&self.key, entry.key.as_deref())
    }

    /// A hold has neither outcome nor fate: who asks for those asks for no hold.
    fn accepts_hold(&self, held: &Held) -> bool {
        let is = |wanted: &Option<String>, got: Option<&str>| wanted.is_none() || wanted.as_deref() == got;
        is(&self.scope, held.scope.as_deref())
            && is(&self.provider, Some(&held.provider))
            && is(&self.operation, held.operation.as_deref())
            && is(&self.key, held.key.as_deref())
            && self.outcome.is_none()
            && self.fate.is_none()
    }
}

fn one_of(name: &str, got: Option<&str>, allowed: &[&str]) -> Result<(), Error> {
    match got {
        Some(got) if !allowed.contains(&got) => {
            let text = format!("`{name}` is `{got}`; allowed are: {}", allowed.join(", "));
            Err(Error::bad(text))
        }
        _ => Ok(()),
    }
}

pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    let wanted = Wanted::read(&ask)?;
    let since = ask.number("since", 0, u64::MAX)?;
    let limit = ask.number("limit", 100, 1000)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let ledger = admin.way.store.ledger();
    ledger.settle_answers().await;
    let (entries, next) = ledger.changed_since(since, limit, |entry| wanted.accepts(entry));
    let more = entries.len() == limit;
    let (trimmed, _) = ledger.trimmed();
    let events: Vec<Value> = entries.iter().map(Entry::render).collect();
    let value = json!({"events": events, "next": next, "has_more": more, "journal_trimmed": trimmed});
    Ok(super::answer(StatusCode::OK, &value))
}

/// Streams each entry anew whenever it changes, from `since` (or `Last-Event-ID`) on; without either, from now on. What is held as
/// the stream begins, and each hold that begins or ends from then on, is an event `hold` or `release`; it has no id, for it is told once.
pub(super) async fn stream(State(admin): State<Admin>, ask: Ask, headers: HeaderMap) -> Result<Response, Error> {
    let wanted = Wanted::read(&ask)?;
    let ledger = admin.way.store.ledger().clone();
    let changed = ledger.subscribe();
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let since = ask.number("since", last.unwrap_or(*changed.borrow()), u64::MAX)?;
    let stop = admin.way.stop.clone();
    let (held, notices) = admin.way.holds.notices();
    let held = held.into_iter().map(|held| Notice { held, ended: None });
    let ready: Vec<Event> = held
        .filter(|n| wanted.accepts_hold(&n.held))
        .map(|n| told(&n))
        .collect();
    let tail = Tail {
        ledger,
        changed,
        since,
        wanted,
        notices,
        ready: ready.into_iter(),
    };
    let events = stream::unfold(tail, move |mut tail| {
        let stop = stop.clone();
        async move {
            tokio::select! {
                () = stop.cancelled() => None,
                event = tail.next() => Some((Ok::<_, Infallible>(event?), tail)),
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// Is one reader's place in the stream.
struct Tail {
    ledger: Ledger,
    changed: watch::Receiver<u64>,
    since: u64,
    wanted: Wanted,
    notices: broadcast::Receiver<Notice>,
    ready: std::vec::IntoIter<Event>,
}

impl Tail {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(event);
            }
            self.changed.borrow_and_update();
            let (entries, since) = self
                .ledger
                .changed_since(self.since, 100, |entry| self.wanted.accepts(entry));
            self.since = since;
            if !entries.is_empty() {
                let events: Vec<Event> = entries.iter().map(render).collect();
                self.ready = events.into_iter();
                continue;
            }
            tokio::select! {
                more = self.changed.changed() => more.ok()?,
                notice = self.notices.recv() => match notice {
                    Ok(notice) if self.wanted.accepts_hold(&notice.held) => return Some(told(&notice)),
                    // A reader that is too slow misses some; what is held now, GET /_holds says.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}

fn told(notice: &Notice) -> Event {
    Event::default().event(notice.name()).data(notice.render().to_string())
}

fn render(entry: &Entry) -> Event {
    Event::default()
        .event("attempt")
        .id(entry.revision.to_string())
        .data(entry.render().to_string())
}
