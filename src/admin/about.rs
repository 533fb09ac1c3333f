//! What the suite says of itself: providers, scopes, addresses, health, its CA.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode, Uri};
use serde_json::json;

use super::ask::Ask;
use super::{Admin, Error};

pub(super) async fn providers(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&[])?;
    Ok(super::answer(StatusCode::OK, &json!({"providers": admin.providers()})))
}

pub(super) async fn scopes(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&[])?;
    let store = &admin.way.store;
    let scopes = store.scopes().into_iter().map(|scope| {
        let snapshot = store.snapshot(&scope);
        let received: u64 = snapshot.providers.values().map(|p| p.counts.received).sum();
        json!({"scope": scope, "generation": snapshot.generation, "received": received})
    });
    Ok(super::answer(
        StatusCode::OK,
        &json!({"scopes": scopes.collect::<Vec<_>>()}),
    ))
}

pub(super) async fn addresses(State(admin): State<Admin>) -> Response {
    let mut addresses = admin.addresses.get().cloned().unwrap_or(json!({}));
    let relays = admin.relays.list();
    if !relays.is_empty() {
        addresses["relays"] = relays
            .iter()
            .map(|relay| (relay.spec.name.to_string(), json!(relay.addr)))
            .collect();
    }
    super::answer(StatusCode::OK, &addresses)
}

pub(super) async fn health() -> Response {
    super::answer(
        StatusCode::OK,
        &json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}),
    )
}

/// Answers 200 once every listener is bound and until the suite stops.
pub(super) async fn ready(State(admin): State<Admin>) -> Response {
    if admin.addresses.get().is_some() && !admin.way.stop.is_cancelled() {
        return super::answer(StatusCode::OK, &json!({"ready": true}));
    }
    super::answer(StatusCode::SERVICE_UNAVAILABLE, &json!({"ready": false}))
}

pub(super) async fn ca(State(admin): State<Admin>) -> Response {
    ([("content-type", "application/x-pem-file")], admin.ca.to_string()).into_response()
}

pub(super) async fn index() -> Response {
    let text = concat!(
        "ackdrop ",
        env!("CARGO_PKG_VERSION"),
        "\n\nGET  /_stats       what really happened\nGET  /_events      every attempt\nPOST /_faults      lose an answer: {\"mode\": \"drop-after-commit\"}\n",
        "POST /_expect      wait until counts are as expected: {\"expect\": \"stripe.charge == 1\"}\nPOST /_deliver     send an event in copies of one moment: {\"url\": \"http://127.0.0.1:3000/hook\", \"copies\": 2}\nGET  /_providers   operations and effects\nGET  /_mail        mails\nGET  /_hooks       deliveries\nPUT  /_objects/stripe/customers/cus_123   an object under an id of your choice\nPOST /_reset       begin anew\n"
    );
    ([("content-type", "text/plain; charset=utf-8")], text).into_response()
}

pub(super) async fn unknown(uri: Uri) -> Error {
    let text = format!(
        "`{}` is nothing of the suite's; there are /_stats, /_events, /_events/stream, /_expect, /_deliver, /_faults, /_holds, /_reset, /_scopes, /_clock, /_providers, /_mail, /_hooks, /_objects, /_relays, /_health, /_ready, /_ca.pem, /_addresses",
        uri.path()
    );
    super::error(StatusCode::NOT_FOUND, text)
}

pub(super) async fn wrong_method(method: Method, uri: Uri) -> Error {
    super::error(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{method} is nothing that `{}` takes", uri.path()),
    )
}
