//! Answers: the headers that stand on each, and those that tell a first answer from a replay.

use super::failure::Failure;
use super::{Call, v2};
use crate::attempt::HttpRequest;
use crate::idempotency::Record;
use crate::ledger::{Content, Reply};

/// The version that is spoken where a request names none.
pub(crate) const VERSION: &str = "2026-10-28.endive";

/// Renders a refusal.
pub(crate) fn failure(failure: &Failure, call: &Call) -> Reply {
    let body = match call.v2 {
        true => v2::render(failure),
        false => failure.render(&call.request_id),
    };
    Reply::new(failure.status, body)
}

/// Says what stays under a key: what came of executing. A failed validation, a conflict, a wrong key and the limiter do not; and since a
/// status is all there is to go by, no 400 does. API v2 keeps what succeeded, and tries again what failed.
pub(crate) fn is_kept(call: &Call, status: u16) -> bool {
    match status {
        _ if call.v2 => status < 300,
        200..=299 | 402 | 404 | 424 => true,
        _ => status >= 500,
    }
}

/// Dresses an answer that comes of executing; under a key it names itself as the original, if it is kept.
pub(crate) fn executed(reply: Reply, request: &HttpRequest, call: &Call) -> Reply {
    let keyed = call.key.is_some() && !call.v2 && request.method == http::Method::POST;
    let (kept, succeeded) = (is_kept(call, reply.status), reply.status < 300);
    let mut reply = dress(reply, request, call);
    if keyed && kept {
        reply = reply.header("original-request", &*call.request_id);
    }
    if keyed && succeeded {
        reply = reply.header("stripe-should-retry", "false");
    }
    reply
}

/// Dresses an answer that never stands under a key.
pub(crate) fn unsaved(reply: Reply, request: &HttpRequest, call: &Call) -> Reply {
    dress(reply, request, call)
}

/// Answers from a record: the first body, under a request id of its own. API v2 does not replay: it shows the object as it is now, and
/// what it makes here never changes, so the body is the same and only says nothing of a replay.
pub(crate) fn replayed(record: &Record, request: &HttpRequest, call: &Call) -> Reply {
    let mut reply = match &record.content {
        Content::Bytes(bytes) => Reply::new(record.status, bytes.clone()),
        Content::View(view) => Reply::view(record.status, std::sync::Arc::clone(view)),
    };
    reply.extra.clone_from(&record.extra);
    let reply = dress(reply, request, call);
    if call.v2 {
        return reply;
    }
    reply
        .header("original-request", &*record.reference)
        .header("idempotent-replayed", "true")
}

fn dress(reply: Reply, request: &HttpRequest, call: &Call) -> Reply {
    let version = request.header_str("stripe-version").unwrap_or(VERSION);
    let reply = match reply.headers.iter().any(|(name, _)| *name == "content-type") {
        true => reply,
        false => reply.header("content-type", "application/json"),
    };
    let mut reply = reply
        .header("cache-control", "no-cache, no-store")
        .header("access-control-allow-origin", "*")
        .header("access-control-expose-headers", EXPOSED)
        .header("request-id", &*call.request_id)
        .header("stripe-version", version)
        .header(
            "strict-transport-security",
            "max-age=63072000; includeSubDomains; preload",
        )
        .header("vary", "Origin")
        .header("x-stripe-routing-context-priority-tier", "api-testmode");
    if let Some(key) = &call.key {
        reply = reply.header("idempotency-key", &**key);
    }
    if !call.account.is_empty() {
        reply = reply.header("stripe-account", &*call.account);
    }
    reply
}

const EXPOSED: &str =
    "Request-Id, Stripe-Manage-Version, X-Stripe-External-Auth-Required, X-Stripe-Privileged-Session-Required";
