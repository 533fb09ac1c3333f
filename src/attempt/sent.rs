//! What the suite sends, as rules can match it and as holds show it.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value;
use time::OffsetDateTime;

use super::asked::text;
use super::holds::Held;
use crate::deliver::Letter;
use crate::faults::{Facts, Point, Rules, Verdict};
use crate::ledger::{Outcome, rfc3339};
use crate::store::{Scope, Ticket};

/// Asks the rules about a try: before anything is sent, or with an outcome about the receiver's answer. None after a reset.
pub(super) fn ask(
    rules: &Rules,
    ticket: &Ticket,
    letter: &Letter,
    outcome: Option<Outcome>,
    ordered: bool,
) -> Option<Option<Verdict>> {
    let point = if outcome.is_some() { Point::After } else { Point::Before };
    let scope = ticket.scope();
    let asked = ticket.while_current(|_| facts(scope, letter, outcome, ordered, |facts| rules.ask(point, facts, &[])));
    asked.ok()
}

/// Describes a try that a rule makes wait.
pub(super) fn held(ticket: &Ticket, letter: &Letter, verdict: &Verdict) -> Held {
    Held {
        id: String::new(),
        scope: Some(ticket.scope().name()),
        provider: letter.sender().provider.into(),
        operation: Some(letter.sender().operation.into()),
        attempt: Some(ticket.id()),
        key: letter.key().map(Arc::from),
        point: Point::Before,
        rule: Arc::clone(&verdict.rule),
        barrier: None,
        since: rfc3339(Some(OffsetDateTime::now_utc())),
    }
}

/// Lays the facts out for the rules.
fn facts<R>(
    scope: &Scope,
    letter: &Letter,
    outcome: Option<Outcome>,
    ordered: bool,
    ask: impl FnOnce(&Facts<'_>) -> R,
) -> R {
    let parcel = letter.parcel();
    let body: OnceCell<Option<Value>> = OnceCell::new();
    let json = |pointer: &str| {
        let body = body
            .get_or_init(|| serde_json::from_slice(&parcel.body).ok())
            .as_ref()?;
        body.pointer(pointer).map(text)
    };
    let headers = |name: &str| {
        let values = parcel.headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let path = letter.target().path();
    ask(&Facts {
        operation: Some(letter.sender().operation),
        scope: Some(scope.as_str()),
        method: Some(parcel.method.as_str()),
        path: Some(path.split_once('?').map_or(path, |(path, _)| path)),
        key: letter.key(),
        headers: &headers,
        json: &json,
        outcome,
        sent: true,
        ordered,
        ..Facts::new(letter.sender().provider)
    })
}
