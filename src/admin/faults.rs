//! `/_faults`: rules that the API owns can be added and cleared; all can be looked at.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::ask::Ask;
use super::{Admin, Error};
use crate::faults::{Problem, Source, bind_scope, parse_value};

pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let name = scope.as_ref().map(|s| s.as_str());
    let rules = admin.way.rules.list(name);
    // Why a rule did not fire: what came near, and what came where no provider is.
    let (unmatched, last) = (admin.strays.count(name), admin.strays.last(name));
    let answer = json!({"faults": rules, "unmatched": unmatched, "unmatched_last": last});
    Ok(super::answer(StatusCode::OK, &answer))
}

/// Adds one rule, or a list of them: all or none.
pub(super) async fn add(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let mut given: Value = serde_json::from_slice(&body).map_err(|e| {
        super::error(
            StatusCode::BAD_REQUEST,
            format!("the body is no JSON: {e}; a rule looks like {{\"mode\": \"drop-after-commit\"}}"),
        )
    })?;
    let is_list = given.is_array();
    if let Some(scope) = ask.scope()? {
        bind_scope(&mut given, scope.as_str()).map_err(|problems| refuse(&problems))?;
    }
    let specs = parse_value(&given, &admin.catalog()).map_err(|problems| refuse(&problems))?;
    let views = admin
        .way
        .rules
        .install(specs, Source::Api)
        .map_err(|problems| refuse(&problems))?;
    let value = match views.as_slice() {
        [one] if !is_list => json!(one),
        all => json!({"faults": all}),
    };
    Ok(super::answer(StatusCode::CREATED, &value))
}

pub(super) async fn clear(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    admin.way.rules.clear(scope.as_ref().map(|s| s.as_str()));
    list(State(admin), ask).await
}

pub(super) async fn remove(State(admin): State<Admin>, Path(id): Path<String>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let rules = &admin.way.rules;
    let is_of_scope = rules
        .list(scope.as_ref().map(|s| s.as_str()))
        .iter()
        .any(|rule| rule.id == id);
    if is_of_scope && rules.remove(&id) {
        return Ok(super::answer(StatusCode::OK, &json!({"id": id, "removed": true})));
    }
    let place = scope.map_or_else(String::new, |scope| format!(" bound to scope `{scope}`"));
    let text = format!("there is no rule `{id}`{place}; GET /_faults lists them");
    Err(super::error(StatusCode::NOT_FOUND, text))
}

fn refuse(problems: &[Problem]) -> Error {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let message = format!("no rule was added: {}", lines.join("; "));
    Error {
        problems: Some(json!(problems)),
        ..Error::bad(message)
    }
}
