//! `POST /_reset`: begins anew, one scope or all.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use super::ask::Ask;
use super::{Admin, Error};
use crate::store::Scope;

/// Resets one scope, or all: worlds and rules in one moment, so that no rule is used up by what began before, nor twice by what begins after.
pub fn begin_anew(admin: &Admin, scope: Option<&Scope>) {
    let name = scope.map(Scope::as_str);
    admin.way.store.reset(scope, || admin.way.rules.reset(name));
    admin.strays.reset(name);
}

pub(super) async fn reset(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    begin_anew(&admin, scope.as_ref());
    let snapshot = match &scope {
        Some(scope) => admin.way.store.snapshot(scope),
        None => admin.way.store.total(),
    };
    Ok(super::answer(
        StatusCode::OK,
        &json!({"generation": snapshot.generation, "scope": scope}),
    ))
}
