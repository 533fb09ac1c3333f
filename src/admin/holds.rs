//! `/_holds`: what is held now, and its release.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::ask::Ask;
use super::{Admin, Error};
use crate::attempt::Release;
use crate::faults::{How, Point};

/// Says how a hold is to end.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    then: Then,
    how: Option<HowName>,
    bytes: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Then {
    #[default]
    Answer,
    Drop,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HowName {
    Close,
    Reset,
    Hang,
    Truncate,
}

pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let held = admin.way.holds.list(scope.as_ref().map(|s| s.as_str()));
    Ok(super::answer(StatusCode::OK, &json!({"holds": held})))
}

pub(super) async fn release(
    State(admin): State<Admin>,
    Path(id): Path<String>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let release = Asked::read(&body)?;
    let held = admin.way.holds.list(scope.as_ref().map(|s| s.as_str()));
    let Some(held) = held.into_iter().find(|held| held.id == id) else {
        return Err(not_held(&id));
    };
    if held.point == Point::Before && matches!(release, Release::Drop(How::Truncate { .. })) {
        return Err(Error::bad(format!(
            "`{id}` is held before its commit: there is no answer to truncate"
        )));
    }
    match admin.way.holds.release(&id, release) {
        Some(held) => Ok(super::answer(StatusCode::OK, &json!(held))),
        None => Err(not_held(&id)),
    }
}

/// Lets all go in one instant, of one scope or all; none is no error.
pub(super) async fn release_all(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?;
    let scope = scope.as_ref().map(|s| s.as_str());
    let release = Asked::read(&body)?;
    if matches!(release, Release::Drop(How::Truncate { .. })) {
        return Err(Error::bad(
            "truncate is for one answer: name its hold, as in POST /_holds/h1/release",
        ));
    }
    let released = admin.way.holds.release_all(scope, release);
    Ok(super::answer(StatusCode::OK, &json!({"released": released})))
}

fn not_held(id: &str) -> Error {
    let text = format!("nothing is held as `{id}`; GET /_holds lists what is");
    super::error(StatusCode::NOT_FOUND, text)
}

impl Asked {
    fn read(body: &[u8]) -> Result<Release, Error> {
        let asked = if body.iter().all(u8::is_ascii_whitespace) {
            Self::default()
        } else {
            serde_json::from_slice(body).map_err(|e| {
                Error::bad(format!("the body cannot be read: {e}; it looks like {{\"then\": \"answer\"}} or {{\"then\": \"drop\", \"how\": \"close\"}}"))
            })?
        };
        asked.release().map_err(Error::bad)
    }

    fn release(&self) -> Result<Release, String> {
        let how = match (&self.then, self.how, self.bytes) {
            (Then::Answer, None, None) => return Ok(Release::Answer),
            (Then::Answer, _, _) => return Err("`how` and `bytes` go with `\"then\": \"drop\"`".into()),
            (Then::Drop, Some(HowName::Truncate), Some(bytes)) => How::Truncate { bytes },
            (Then::Drop, Some(HowName::Truncate), None) => return Err("truncate needs `bytes`: how much leaves".into()),
            (Then::Drop, _, Some(_)) => return Err("`bytes` goes with `\"how\": \"truncate\"`".into()),
            (Then::Drop, None | Some(HowName::Close), None) => How::Close,
            (Then::Drop, Some(HowName::Reset), None) => How::Reset,
            (Then::Drop, Some(HowName::Hang), None) => How::Hang,
        };
        Ok(Release::Drop(how))
    }
}
