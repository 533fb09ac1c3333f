//! `POST /_expect`: waits until what is expected holds, and answers with the evidence: 200, or 417 when it does not.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::ask::Ask;
use super::{Admin, Error};
use crate::duration;
use crate::expect::{self, Options, Sources};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    expect: Texts,
    timeout: Option<String>,
    settle: Option<String>,
    watch: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`expect` is a text or a list of texts")]
enum Texts {
    One(String),
    Many(Vec<String>),
}

pub(super) async fn expect(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let asked: Asked = serde_json::from_slice(&body).map_err(|e| {
        Error::bad(format!(
            "the body cannot be read: {e}; it looks like {{\"expect\": [\"stripe.charge == 1\"], \"timeout\": \"10s\"}}"
        ))
    })?;
    let default = Options::default();
    let options = Options {
        scope: ask.scope()?,
        timeout: length("timeout", asked.timeout)?.unwrap_or(default.timeout),
        settle: length("settle", asked.settle)?,
        watch: length("watch", asked.watch)?.unwrap_or(default.watch),
    };
    let texts = match asked.expect {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    };
    let verdict = expect::expect(&sources(&admin), &texts, &options)
        .await
        .map_err(refuse)?;
    let status = if verdict.holds {
        StatusCode::OK
    } else {
        StatusCode::EXPECTATION_FAILED
    };
    Ok(super::answer(status, &verdict))
}

/// Returns where expectations find the counts.
#[must_use]
pub fn sources(admin: &Admin) -> Sources {
    Sources {
        store: admin.way.store.clone(),
        rules: admin.way.rules.clone(),
        strays: admin.strays.clone(),
        providers: admin.providers().into(),
        stop: admin.way.stop.clone(),
    }
}

fn length(name: &str, text: Option<String>) -> Result<Option<std::time::Duration>, Error> {
    let read = |text: String| {
        duration::parse(&text).map_err(|why| {
            let examples = duration::EXAMPLES.join(", ");
            Error::bad(format!("`{name}` is `{text}`, which {why}, as in {examples}"))
        })
    };
    text.map(read).transpose()
}

fn refuse(error: expect::Error) -> Error {
    let message = error.to_string();
    match error {
        expect::Error::Problems(problems) => Error {
            problems: Some(json!(problems)),
            ..Error::bad(message)
        },
        expect::Error::Limits(_) => Error::bad(message),
        expect::Error::Stopping => super::error(StatusCode::SERVICE_UNAVAILABLE, message),
    }
}
