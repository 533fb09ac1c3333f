//! What the relay says itself, where the upstream says nothing: always that it is the relay, and why.

use http::StatusCode;
use serde_json::json;

use super::super::Relay;
use crate::ledger::Reply;

/// Makes the answer of an attempt that came to nothing.
pub(super) fn reply(relay: &Relay, status: u16, why: &str) -> Reply {
    Reply::new(status, text(relay, why)).header("content-type", "application/json")
}

/// Makes the answer to what is no attempt.
pub(super) fn no(relay: &Relay, status: StatusCode, why: &str) -> impl axum::response::IntoResponse + use<> {
    (status, [("content-type", "application/json")], text(relay, why))
}

fn text(relay: &Relay, why: &str) -> String {
    let name = &relay.spec.name;
    let message = format!("relay `{name}` to {}: {why}", relay.spec.upstream);
    format!(
        "{}\n",
        json!({"error": {"type": "relay", "relay": name, "message": message}})
    )
}
