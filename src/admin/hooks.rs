//! `/_hooks`: the targets of webhooks, what arrived there, and what they are told to answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::ask::Ask;
use super::{Admin, Error};
use crate::ledger::rfc3339;
use crate::mocks::webhook::{Change, Delivery, Invalid, Sent, Target, target};
use crate::store::{Scope, Store, Tx};

const USUAL_LIMIT: usize = 100;
const LARGEST_LIMIT: usize = 1000;
/// How many bytes of bodies one answer shows; the first delivery is shown whatever its size.
const MOST_BYTES: u64 = 32 << 20;
const FILTERS: &str = "webhook-id, header, since, limit, scope";

/// Says why a call was refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// A field or parameter is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No world can be made.
    #[error(transparent)]
    TooManyScopes(#[from] crate::store::TooManyScopes),
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let message = refused.to_string();
        match refused {
            Refused::Invalid(Invalid { field, value, allowed }) => Self {
                problems: Some(json!([{"field": field, "value": value, "allowed": [allowed]}])),
                ..Self::bad(message)
            },
            Refused::TooManyScopes(_) => super::error(StatusCode::SERVICE_UNAVAILABLE, message),
        }
    }
}

/// Shows all targets of a world with their counts.
#[must_use]
fn list(store: &Store, scope: &Scope) -> Value {
    let targets = store.read(scope, target::all);
    json!({"targets": targets.iter().map(|t| show_target(t)).collect::<Vec<_>>()})
}

/// Shows what arrived at a target, the newest last.
///
/// # Errors
///
/// Fails if the name or a parameter of the query is wrong.
fn deliveries(store: &Store, scope: &Scope, name: &str, query: &str) -> Result<Value, Refused> {
    let name = parse_name(name)?;
    let filter = Filter::parse(query)?;
    let (target, found) = store.read(scope, |tx| (target::find(tx, &name), filter.select(tx, &name)));
    let found = found.ok_or_else(|| {
        invalid(
            "since",
            filter.since_text(),
            "the id of a delivery at this target, or a time like 2026-01-01T00:00:00Z",
        )
    })?;
    // Bodies are rendered here, after the world's lock.
    let (shown, more) = filter.show(&found);
    let mut answer = match &target {
        Some(target) => show_target(target),
        None => json!({"target": name, "deliveries": 0, "last": null, "answer": null, "secret": null, "scheme": null}),
    };
    answer["count"] = answer["deliveries"].take();
    answer["deliveries"] = shown.into();
    answer["has_more"] = more.into();
    Ok(answer)
}

/// Tells a target what to answer and with which secret its deliveries are signed; all of it or nothing.
///
/// # Errors
///
/// Fails if the name or a field is wrong.
fn set(store: &Store, scope: &Scope, name: &str, body: &[u8]) -> Result<Value, Refused> {
    let name = parse_name(name)?;
    let change = Change::parse(body)?;
    let target = store.arrange(scope, |tx| target::change(tx, &name, &change))?;
    Ok(show_target(&target))
}

/// Brings a target back to its usual answer and takes its secret away; its deliveries stay.
///
/// # Errors
///
/// Fails if the name is wrong.
fn clear(store: &Store, scope: &Scope, name: &str) -> Result<Value, Refused> {
    let name = parse_name(name)?;
    let target = store.arrange(scope, |tx| target::clear(tx, &name))?;
    Ok(show_target(&target))
}

pub(super) async fn get_list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?.unwrap_or_default();
    Ok(super::answer(StatusCode::OK, &list(&admin.way.store, &scope)))
}

pub(super) async fn get_deliveries(
    State(admin): State<Admin>,
    Path(name): Path<String>,
    ask: Ask,
) -> Result<Response, Error> {
    let scope = ask.scope()?.unwrap_or_default();
    admin.way.store.ledger().settle_answers().await;
    let answer = deliveries(&admin.way.store, &scope, &name, ask.query())?;
    Ok(super::answer(StatusCode::OK, &answer))
}

pub(super) async fn put_target(
    State(admin): State<Admin>,
    Path(name): Path<String>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?.unwrap_or_default();
    Ok(super::answer(
        StatusCode::OK,
        &set(&admin.way.store, &scope, &name, &body)?,
    ))
}

pub(super) async fn delete_target(
    State(admin): State<Admin>,
    Path(name): Path<String>,
    ask: Ask,
) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?.unwrap_or_default();
    Ok(super::answer(StatusCode::OK, &clear(&admin.way.store, &scope, &name)?))
}

#[derive(Debug, PartialEq)]
enum Since {
    Id(String),
    Time(OffsetDateTime, String),
}

/// Says which deliveries are wanted.
#[derive(Debug)]
struct Filter {
    headers: Vec<(String, String)>,
    since: Option<Since>,
    limit: usize,
}

impl Filter {
    fn parse(query: &str) -> Result<Self, Refused> {
        let mut filter = Self {
            headers: Vec::new(),
            since: None,
            limit: USUAL_LIMIT,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "webhook-id" => filter.headers.push(("webhook-id".to_owned(), value.into_owned())),
                "header" => match value.split_once(':') {
                    Some((name, value)) => filter.headers.push((name.trim().to_owned(), value.trim().to_owned())),
                    None => return Err(invalid("header", &value, "name:value")),
                },
                "since" => filter.since = Some(parse_since(&value)),
                "limit" => match value.parse() {
                    Ok(limit @ 1..=LARGEST_LIMIT) => filter.limit = limit,
                    _ => return Err(invalid("limit", &value, "a number from 1 to 1000")),
                },
                "scope" => {}
                _ => return Err(invalid(&name, &value, FILTERS)),
            }
        }
        Ok(filter)
    }

    /// Finds what is wanted and one more, the most wanted first: the oldest after `since`, else the newest. None if `since` names nothing.
    fn select(&self, tx: &mut Tx<'_>, name: &str) -> Option<Vec<Arc<Delivery>>> {
        target::enter(tx, name);
        let matches = |delivery: &Arc<Delivery>| self.headers.iter().all(|(n, v)| delivery.sent.has_header(n, v));
        let take = self.limit + 1;
        Some(match &self.since {
            None => tx.list::<Delivery>().filter(matches).take(take).collect(),
            Some(Since::Id(id)) => tx.newer::<Delivery>(id)?.filter(matches).take(take).collect(),
            Some(Since::Time(time, _)) => {
                let newer = tx.list::<Delivery>().take_while(|d| d.arrived >= *time);
                let mut newer: Vec<_> = newer.filter(matches).collect();
                newer.reverse();
                newer.truncate(take);
                newer
            }
        })
    }

    /// Shows what was found, the newest last, and says whether something was left out.
    fn show(&self, found: &[Arc<Delivery>]) -> (Vec<Value>, bool) {
        let mut bytes = 0;
        let fits = |delivery: &&Arc<Delivery>| {
            let first = bytes == 0;
            bytes += delivery.sent.body.size().max(1);
            first || bytes <= MOST_BYTES
        };
        let shown = found.iter().take(self.limit).take_while(fits);
        let mut shown: Vec<Value> = shown.map(|d| show_delivery(d)).collect();
        let more = shown.len() < found.len();
        if self.since.is_none() {
            shown.reverse();
        }
        (shown, more)
    }

    fn since_text(&self) -> &str {
        match &self.since {
            Some(Since::Id(text) | Since::Time(_, text)) => text,
            None => "",
        }
    }
}

fn parse_since(text: &str) -> Since {
    match OffsetDateTime::parse(text, &Rfc3339) {
        Ok(time) => Since::Time(time, text.to_owned()),
        Err(_) => Since::Id(text.to_owned()),
    }
}

fn parse_name(text: &str) -> Result<Arc<str>, Refused> {
    target::name(text).map_err(|e| invalid("target", text, &e.to_string()))
}

fn invalid(field: &str, value: &str, allowed: &str) -> Refused {
    let clean = crate::ledger::secrets::clean(value);
    Refused::Invalid(Invalid {
        field: field.to_owned(),
        value: clean.chars().take(80).collect(),
        allowed: allowed.to_owned(),
    })
}

fn show_target(target: &Target) -> Value {
    let mut shown = target.settings.show();
    shown["target"] = (*target.name).into();
    shown["deliveries"] = target.deliveries.into();
    shown["last"] = rfc3339(target.last).into();
    shown
}

fn show_delivery(delivery: &Delivery) -> Value {
    let sent: &Sent = &delivery.sent;
    let mut headers: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in sent.headers() {
        let values = headers.entry(name).or_default();
        if !values.is_empty() {
            values.push_str(", ");
        }
        values.push_str(value);
    }
    let sha256: String = sent.body.hash().iter().map(|b| format!("{b:02x}")).collect();
    let content = sent.body.content();
    let mut shown = json!({
        "id": delivery.id,
        "target": sent.target,
        "method": sent.method.as_str(),
        "path": sent.path,
        "query": sent.query,
        "headers": headers,
        "arrived": rfc3339(Some(delivery.arrived)),
        "signature": delivery.signature,
        "size": sent.body.size(),
        "sha256": sha256,
        "body": null,
        "body_let_go": content.is_none(),
    });
    if let Some(content) = content {
        match std::str::from_utf8(&content) {
            Ok(text) => shown["body"] = text.into(),
            Err(_) => {
                shown["body"] = STANDARD.encode(&content).into();
                shown["encoding"] = "base64".into();
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests;
