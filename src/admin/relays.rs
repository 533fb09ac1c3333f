//! `/_relays`: what runs, and how to start and stop one at run time.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::ask::Ask;
use super::{Admin, Error};
use crate::relay::{FORM, Spec, StartError};

pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&[])?;
    let relays: Vec<Value> = admin.relays.list().iter().map(|relay| relay.render()).collect();
    Ok(super::answer(StatusCode::OK, &json!({"relays": relays})))
}

pub(super) async fn show(State(admin): State<Admin>, Path(name): Path<String>, ask: Ask) -> Result<Response, Error> {
    ask.only(&[])?;
    let relay = admin.relays.get(&name).ok_or_else(|| unknown(&name))?;
    Ok(super::answer(StatusCode::OK, &relay.render()))
}

/// Starts one: `{"name": …, "listen": …, "upstream": …}`, or a text in the short form.
pub(super) async fn start(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&[])?;
    let given: Value =
        serde_json::from_slice(&body).map_err(|e| Error::bad(format!("the body is no JSON: {e}; a relay is a text, {FORM}, or an object {{\"name\": …, \"listen\": …, \"upstream\": …}}")))?;
    let spec = Spec::from_json(&given).map_err(|wrong| Error {
        problems: Some(json!(wrong.0)),
        ..Error::bad(format!("no relay was started: {wrong}"))
    })?;
    let relay = admin.relays.start(spec).await.map_err(|no| {
        let status = match &no {
            StartError::Wrong(_) => StatusCode::BAD_REQUEST,
            StartError::Refused(_) | StartError::Taken { .. } => StatusCode::CONFLICT,
        };
        super::error(status, format!("no relay was started: {no}"))
    })?;
    Ok(super::answer(StatusCode::CREATED, &relay.render()))
}

pub(super) async fn stop(State(admin): State<Admin>, Path(name): Path<String>, ask: Ask) -> Result<Response, Error> {
    ask.only(&[])?;
    let relay = admin.relays.stop(&name).await.ok_or_else(|| unknown(&name))?;
    Ok(super::answer(
        StatusCode::OK,
        &json!({"name": relay.spec.name, "stopped": true}),
    ))
}

fn unknown(name: &str) -> Error {
    let text = format!("no relay `{name}` runs; GET /_relays lists them");
    super::error(StatusCode::NOT_FOUND, text)
}
