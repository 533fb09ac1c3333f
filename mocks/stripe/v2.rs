//! API v2: what is asked for otherwise than by v1. Bodies are JSON, a version is demanded, refusals have another shape, and a key
//! stands for what succeeded alone: what failed is tried again.

use serde::Serialize;
use serde_json::Value;
use time::Duration;

use super::failure::{Failure, Outcome, pretty};
use super::form::{self, Fields};
use crate::attempt::HttpRequest;

/// How long a record is kept.
pub(crate) const KEPT: Duration = Duration::days(30);

/// Says whether a path is of API v2.
pub(crate) fn is_v2(path: &str) -> bool {
    path.strip_prefix("/v2")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reads the parameters of a request: a JSON object, in which all that is no list or object is a text.
pub(crate) fn fields(request: &HttpRequest) -> Outcome<Fields> {
    if request.header_str("stripe-version").is_none() {
        let message =
            "API v2 wants a Stripe-Version header with every request, such as `Stripe-Version: 2026-10-28.endive`.";
        return Err(Failure::invalid(message).code("missing_stripe_version"));
    }
    let query = form::decode([request.query.as_bytes()]).map_err(|m| Failure::invalid(m.to_string()))?;
    if let Some((name, _)) = query.iter().next() {
        return Err(unknown(name));
    }
    if request.body.is_empty() {
        return Ok(Fields::default());
    }
    let kind = request.header_str("content-type").unwrap_or(JSON);
    if !kind.trim_start().to_ascii_lowercase().starts_with(JSON) {
        let kind: String = kind.chars().take(100).collect();
        return Err(Failure::invalid(format!("API v2 takes {JSON}, and this is {kind}.")));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| Failure::invalid(format!("The body is not valid JSON: {error}.")))?;
    let Value::Object(members) = &body else {
        return Err(Failure::invalid("The body must be a JSON object."));
    };
    for (name, value) in members {
        check_texts(name, value)?;
    }
    form::of_json(members).map_err(|malformed| Failure::invalid(malformed.to_string()))
}

const JSON: &str = "application/json";

fn unknown(name: &str) -> Box<Failure> {
    let name: String = name.chars().take(200).collect();
    Failure::invalid(format!("Received unknown parameter: {name}"))
        .code("parameter_unknown")
        .param(&name)
}

/// Refuses numbers and booleans: no field that is modelled is one.
fn check_texts(name: &str, value: &Value) -> Outcome<()> {
    match value {
        Value::String(_) | Value::Null => Ok(()),
        Value::Array(items) => items.iter().try_for_each(|item| check_texts(name, item)),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(inner, value)| check_texts(&format!("{name}.{inner}"), value)),
        Value::Bool(_) | Value::Number(_) => {
            let name: String = name.chars().take(200).collect();
            Err(Failure::invalid(format!("`{name}` must be a string, and is {value}.")).param(&name))
        }
    }
}

/// Renders a refusal.
pub(crate) fn render(failure: &Failure) -> Vec<u8> {
    pretty(&Envelope {
        error: Error {
            code: code(failure),
            message: &failure.message,
            kind: failure.kind,
        },
    })
}

/// Names a refusal: every one has a code.
fn code(failure: &Failure) -> &str {
    match (failure.code_in_v2.or(failure.code.as_deref()), failure.status) {
        (Some(code), _) if !code.starts_with("parameter_") => code,
        (_, 400) if failure.kind == "idempotency_error" => failure.kind,
        (_, 400) => "invalid_fields",
        (_, 401) => "unauthenticated",
        (_, 403) => "forbidden",
        (_, 404) => "not_found",
        _ => failure.kind,
    }
}

#[derive(Serialize)]
struct Envelope<'f> {
    error: Error<'f>,
}

#[derive(Serialize)]
struct Error<'f> {
    code: &'f str,
    message: &'f str,
    #[serde(rename = "type")]
    kind: &'static str,
}
