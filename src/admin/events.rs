//! `GET /_events` and `GET /_events/stream`: whole entries, in the order of their last change.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::ask::Ask;
use super::{Admin, Error};
use crate::ledger::{Entry, Fate, Outcome};

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

/// Streams each entry anew whenever it changes, from `since` (or `Last-Event-ID`) on; without either, from now on.
pub(super) async fn stream(State(admin): State<Admin>, ask: Ask, headers: HeaderMap) -> Result<Response, Error> {
    let wanted = Wanted::read(&ask)?;
    let ledger = admin.way.store.ledger().clone();
    let changed = ledger.subscribe();
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let since = ask.number("since", last.unwrap_or(*changed.borrow()), u64::MAX)?;
    let stop = admin.way.stop.clone();
    let state = (ledger, changed, since, wanted, Vec::new().into_iter());
    let events = stream::unfold(state, move |(ledger, mut changed, mut since, wanted, mut ready)| {
        let stop = stop.clone();
        async move {
            loop {
                if let Some(entry) = ready.next() {
                    let event = render(&entry);
                    return Some((Ok::<_, Infallible>(event), (ledger, changed, since, wanted, ready)));
                }
                changed.borrow_and_update();
                let entries;
                (entries, since) = ledger.changed_since(since, 100, |entry| wanted.accepts(entry));
                if !entries.is_empty() {
                    ready = entries.into_iter();
                    continue;
                }
                tokio::select! {
                    () = stop.cancelled() => return None,
                    more = changed.changed() => more.ok()?,
                }
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

fn render(entry: &Entry) -> Event {
    Event::default()
        .event("attempt")
        .id(entry.revision.to_string())
        .data(entry.render().to_string())
}
