//! `/_clock`: the clock on which keys expire, and what is due later is done.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::ask::Ask;
use super::{Admin, Error};
use crate::duration;
use crate::ledger::rfc3339;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    advance: String,
}

pub(super) async fn get(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let now = admin.way.store.now(scope.as_ref());
    Ok(super::answer(
        StatusCode::OK,
        &json!({"now": rfc3339(Some(now)), "unix": now.unix_timestamp(), "scope": scope}),
    ))
}

pub(super) async fn advance(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let bad = Error::bad;
    let asked: Asked = serde_json::from_slice(&body).map_err(|e| {
        bad(format!(
            "the body cannot be read: {e}; it looks like {{\"advance\": \"25h\"}}"
        ))
    })?;
    let by = duration::parse(&asked.advance).map_err(|why| bad(format!("`advance` is `{}`: {why}", asked.advance)))?;
    let by = time::Duration::try_from(by).map_err(|_| bad("`advance` is too long".into()))?;
    let scope = ask.scope()?;
    admin
        .way
        .store
        .advance(scope.as_ref(), by)
        .map_err(|full| super::error(StatusCode::SERVICE_UNAVAILABLE, full.to_string()))?;
    // Who advances the clock finds all of it done: a test needs to wait for nothing.
    admin.way.caught_up(scope.as_ref()).await;
    get(State(admin), ask).await
}
