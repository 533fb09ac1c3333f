//! Reads orders' requests: pure, and what is wrong becomes a problem in words.

use std::sync::Arc;

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::canonical::canonical;
use super::order::inside;
use super::problem::Problem;
use crate::attempt::{HttpRequest, hash};
use crate::ledger::Hash;

/// What stands in a URL as it is (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const LONGEST_REFERENCE: usize = 255;
const LARGEST_PAGE: usize = 100;
const USUAL_PAGE: usize = 10;
/// What the provider gives and no client may send.
pub(super) const OWN_MEMBERS: [&str; 2] = ["id", "created"];

/// Is an order that was asked for.
#[derive(Debug)]
pub struct Draft {
    pub(super) reference: Arc<str>,
    pub(super) members: Arc<str>,
    /// Method, path and canonical body, hashed.
    pub(super) fingerprint: Hash,
}

/// Is a page that was asked for.
#[derive(Debug)]
pub struct Wanted {
    pub(super) limit: usize,
    pub(super) starting_after: Option<String>,
}

/// Says what a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    All,
    /// One order, by its reference as sent.
    One(&'p str),
    Nothing,
}

pub(super) fn place(path: &str) -> Place<'_> {
    match path.strip_prefix("/orders") {
        Some("") => Place::All,
        Some(rest) => match rest.strip_prefix('/') {
            Some(reference) if !reference.is_empty() && !reference.contains('/') => Place::One(reference),
            _ => Place::Nothing,
        },
        None => Place::Nothing,
    }
}

/// Returns where an order is looked up.
pub(super) fn location(reference: &str) -> String {
    format!("/orders/{}", utf8_percent_encode(reference, ENCODED))
}

pub(super) fn draft(request: &HttpRequest) -> Result<Draft, Problem> {
    let body: Value = serde_json::from_slice(&request.body).map_err(|e| {
        let kind = request.header_str("content-type").unwrap_or("none");
        let detail = format!(
            "The body is no JSON (content type: {kind}): {e}. Send an object like {{\"reference\": \"order-17\"}}."
        );
        Problem::new(400, "body-malformed", "The body is malformed", detail)
    })?;
    let canonical = canonical(&body);
    let Value::Object(mut members) = body else {
        let detail = "The body is JSON, but no object. Send an object like {\"reference\": \"order-17\"}.";
        return Err(Problem::new(400, "body-malformed", "The body is malformed", detail));
    };
    let reference = reference(&mut members)?;
    if let Some(own) = OWN_MEMBERS.iter().find(|own| members.contains_key(**own)) {
        let detail =
            format!("`{own}` is given by the provider and cannot be sent; every other member is kept as it is.");
        return Err(Problem::new(
            400,
            "member-not-allowed",
            "A member is not allowed",
            detail,
        ));
    }
    let parts = [request.method.as_str().as_bytes(), request.path.as_bytes(), &canonical];
    Ok(Draft {
        reference: reference.into(),
        members: inside(&members),
        fingerprint: hash(std::iter::once(b"orders parameters".as_slice()).chain(parts)),
    })
}

fn reference(members: &mut Map<String, Value>) -> Result<String, Problem> {
    let got = match members.remove("reference") {
        Some(Value::String(text)) => {
            if is_reference(&text) {
                return Ok(text);
            }
            format!("is a text of {} characters", text.chars().count())
        }
        None => "is missing".to_owned(),
        Some(Value::Null) => "is null".to_owned(),
        Some(Value::Bool(_)) => "is a boolean".to_owned(),
        Some(Value::Number(number)) => format!("is the number {number}"),
        Some(Value::Array(_)) => "is an array".to_owned(),
        Some(Value::Object(_)) => "is an object".to_owned(),
    };
    let detail = format!("`reference` {got}. Send a text of 1 to 255 characters, other than `.` and `..`.");
    Err(Problem::new(
        400,
        "reference-invalid",
        "The reference is invalid",
        detail,
    ))
}

/// Says whether a text can be a reference. A client's URL parser takes dot segments out, even encoded ones, so an order under one could
/// never be looked up.
pub(super) fn is_reference(text: &str) -> bool {
    (1..=LONGEST_REFERENCE).contains(&text.chars().count()) && text != "." && text != ".."
}

pub(super) fn decoded(reference: &str) -> Result<Arc<str>, Problem> {
    let text = percent_decode_str(reference).decode_utf8();
    text.map(|t| t.as_ref().into()).map_err(|_| {
        let detail = format!("The reference `{reference}` in the path is no UTF-8 once its percent signs are decoded.");
        Problem::new(400, "reference-invalid", "The reference is invalid", detail)
    })
}

pub(super) fn wanted(request: &HttpRequest) -> Result<Wanted, Problem> {
    let mut wanted = Wanted {
        limit: USUAL_PAGE,
        starting_after: None,
    };
    for (name, value) in form_urlencoded::parse(request.query.as_bytes()) {
        match &*name {
            "limit" => match value.parse() {
                Ok(limit @ 1..=LARGEST_PAGE) => wanted.limit = limit,
                _ => return Err(query("limit", &value, "a number from 1 to 100")),
            },
            "starting_after" => wanted.starting_after = Some(value.into_owned()),
            _ => {}
        }
    }
    Ok(wanted)
}

pub(super) fn query(name: &str, value: &str, allowed: &str) -> Problem {
    let detail = format!("`{name}` is `{value}`. Send {allowed}.");
    Problem::new(400, "query-invalid", "The query is invalid", detail)
}

pub(super) fn unrecognized(request: &HttpRequest) -> (Problem, Option<&'static str>) {
    let allow = match place(&request.path) {
        Place::All => "GET, HEAD, POST",
        Place::One(_) => "GET, HEAD",
        Place::Nothing => {
            let detail = format!(
                "There is nothing at {}. There are POST /orders, GET /orders and GET /orders/{{reference}}, a slash in a reference sent as %2F.",
                request.path
            );
            return (Problem::new(404, "unrecognized", "Not found", detail), None);
        }
    };
    let detail = format!(
        "{} cannot be done at {}; allowed are {allow}.",
        request.method, request.path
    );
    (
        Problem::new(405, "unrecognized", "Method not allowed", detail),
        Some(allow),
    )
}

pub(super) fn looks_up(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
