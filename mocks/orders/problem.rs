//! Errors as `application/problem+json` (RFC 9457).

use serde::Serialize;

use crate::ledger::Reply;

pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// Is one problem in words.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

impl Problem {
    pub(super) fn new(status: u16, kind: &str, title: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:ackdrop:orders:{kind}"),
            title: title.into(),
            status,
            detail: detail.into(),
            code: None,
        }
    }

    /// Makes a problem that says no more than its status does.
    pub(super) fn of_status(status: u16, detail: impl Into<String>, code: Option<String>) -> Self {
        let known = http::StatusCode::from_u16(status).ok();
        let title = known.and_then(|s| s.canonical_reason()).unwrap_or("Error");
        Self {
            kind: "about:blank".to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code,
        }
    }

    pub(super) fn render(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a problem is strings and a number")
    }

    pub(super) fn reply(&self) -> Reply {
        Reply::new(self.status, self.render()).header("content-type", MEDIA_TYPE)
    }
}
