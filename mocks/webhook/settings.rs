//! What a target is told: its answer, and the secret that its deliveries are signed with.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Scheme, Secret};
use crate::duration;
use crate::ledger::{Reply, secrets};

const FIELDS: &str = "status, headers, body, delay, secret, scheme";
const MOST_HEADERS: usize = 50;
const LONGEST_BODY: usize = 1 << 20;
const LONGEST_DELAY: Duration = Duration::from_secs(30 * 60);
/// Headers that frame the answer: the listener writes them itself.
const FRAMING: [&str; 6] = [
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Is what one target is told.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The answer; none for the usual one.
    pub answer: Option<Arc<Answer>>,
    /// The secret; none if signatures are not looked at.
    pub secret: Option<Secret>,
}

/// Is the answer to every delivery.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    /// The media type and the text; none for the usual body.
    body: Option<(&'static str, Bytes)>,
    delay: Duration,
}

/// Is a change of settings that was found good; what it does not name stays.
#[derive(Debug, Default)]
pub struct Change {
    answer: Option<Arc<Answer>>,
    secret: Option<Option<Secret>>,
}

/// Says which field is wrong, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is `{value}`; allowed: {allowed}")]
pub struct Invalid {
    /// The field.
    pub field: String,
    /// What it was; a secret's mark if it was one.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl Settings {
    /// Makes a change.
    #[must_use]
    pub fn changed(&self, change: &Change) -> Self {
        Self {
            answer: change.answer.clone().or_else(|| self.answer.clone()),
            secret: change.secret.clone().unwrap_or_else(|| self.secret.clone()),
        }
    }

    /// Answers a delivery.
    #[must_use]
    pub fn reply(&self, id: &str) -> Reply {
        match &self.answer {
            Some(answer) => answer.reply(id),
            None => usual(200, id),
        }
    }

    /// Shows the settings, the secret as its mark.
    #[must_use]
    pub fn show(&self) -> Value {
        json!({
            "answer": self.answer.as_ref().map(|a| a.show()),
            "secret": self.secret.as_ref().map(Secret::mark),
            "scheme": self.secret.as_ref().map(Secret::scheme),
        })
    }
}

impl Answer {
    fn reply(&self, id: &str) -> Reply {
        let mut reply = match &self.body {
            Some((kind, body)) => Reply::new(self.status, body.clone()).header("content-type", *kind),
            None if bodiless(self.status) => Reply::new(self.status, Bytes::new()),
            None => usual(self.status, id),
        };
        reply.extra.clone_from(&self.headers);
        reply.delay = self.delay;
        reply
    }

    fn show(&self) -> Value {
        let headers = self.headers.iter();
        let headers: Map<_, _> = headers
            .map(|(name, value)| (name.clone(), secrets::clean_header(name, value).into()))
            .collect();
        json!({
            "status": self.status,
            "headers": headers,
            "body": self.body.as_ref().map(|(_, body)| secrets::clean(&String::from_utf8_lossy(body)).into_owned()),
            "delay": format!("{}ms", self.delay.as_millis()),
        })
    }
}

impl Change {
    /// Reads a change from JSON: `{"status": 503, "headers": {"retry-after": "1"}, "body": …, "delay": "250ms", "secret": "whsec_…",
    /// "scheme": "standard"}`. Any of the first four sets the answer anew, `secret` the secret; `"secret": null` takes it away.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, Invalid> {
        let fields: Map<String, Value> = serde_json::from_slice(text).map_err(|e| Invalid {
            field: "body of the request".to_owned(),
            value: e.to_string(),
            allowed: format!("a JSON object of {FIELDS}"),
        })?;
        if let Some((field, value)) = fields
            .iter()
            .find(|(f, _)| !FIELDS.split(", ").any(|known| known == *f))
        {
            return Err(invalid(field, value, FIELDS));
        }
        let get = |field: &str| fields.get(field).filter(|v| !v.is_null());
        let answers = ["status", "headers", "body", "delay"]
            .iter()
            .any(|f| fields.contains_key(*f));
        if !answers && !fields.contains_key("secret") {
            let value = Value::Object(fields.clone());
            return Err(invalid(
                "fields",
                &value,
                &format!("at least one of {FIELDS}; scheme only with secret"),
            ));
        }
        let answer = if answers {
            let status = get("status").map_or(Ok(200), status)?;
            Some(Arc::new(Answer {
                status,
                headers: get("headers").map_or(Ok(Vec::new()), headers)?,
                body: get("body").map(|v| body(status, v)).transpose()?,
                delay: get("delay").map_or(Ok(Duration::ZERO), delay)?,
            }))
        } else {
            None
        };
        let scheme = get("scheme").map_or(Ok(Scheme::default()), scheme)?;
        let secret = match fields.get("secret") {
            None => None,
            Some(Value::Null) => Some(None),
            Some(value) => Some(Some(secret(scheme, value)?)),
        };
        Ok(Self { answer, secret })
    }
}

fn usual(status: u16, id: &str) -> Reply {
    Reply::new(status, json!({ "id": id }).to_string()).header("content-type", "application/json")
}

fn bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

fn status(value: &Value) -> Result<u16, Invalid> {
    let status = value.as_u64().and_then(|s| u16::try_from(s).ok());
    let status = status.filter(|s| (200..=599).contains(s));
    status.ok_or_else(|| invalid("status", value, "a number from 200 to 599"))
}

fn headers(value: &Value) -> Result<Vec<(String, String)>, Invalid> {
    let allowed = "an object of at most 50 names, each with a text";
    let fields = value.as_object().filter(|f| f.len() <= MOST_HEADERS);
    let fields = fields.ok_or_else(|| invalid("headers", value, allowed))?;
    let mut headers = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let field = format!("headers.{name}");
        let known = http::HeaderName::from_bytes(name.as_bytes());
        let known = known.map_err(|_| invalid(&field, value, "a header's name (RFC 9110, section 5.1)"))?;
        if FRAMING.contains(&known.as_str()) {
            return Err(invalid(&field, value, "any header but those that frame the answer"));
        }
        let text = value.as_str().filter(|t| http::HeaderValue::from_str(t).is_ok());
        let text = text.ok_or_else(|| invalid(&field, value, "a text of visible characters"))?;
        headers.push((known.as_str().to_owned(), text.to_owned()));
    }
    Ok(headers)
}

fn body(status: u16, value: &Value) -> Result<(&'static str, Bytes), Invalid> {
    if bodiless(status) {
        return Err(invalid("body", value, &format!("none with status {status}")));
    }
    let (kind, text) = match value {
        Value::String(text) => ("text/plain; charset=utf-8", text.clone()),
        other => ("application/json", other.to_string()),
    };
    if text.len() > LONGEST_BODY {
        return Err(invalid("body", value, "a text or JSON of at most 1 MiB"));
    }
    Ok((kind, text.into()))
}

fn delay(value: &Value) -> Result<Duration, Invalid> {
    let parsed = value
        .as_str()
        .and_then(|text| duration::parse(text).ok())
        .filter(|d| *d <= LONGEST_DELAY);
    parsed.ok_or_else(|| invalid("delay", value, "a duration like `250ms`, `2s` or `1m`, at most 30m"))
}

fn scheme(value: &Value) -> Result<Scheme, Invalid> {
    match value.as_str() {
        Some("standard") => Ok(Scheme::Standard),
        Some("stripe") => Ok(Scheme::Stripe),
        _ => Err(invalid("scheme", value, "standard, stripe")),
    }
}

fn secret(scheme: Scheme, value: &Value) -> Result<Secret, Invalid> {
    let parsed = match value {
        Value::String(text) => Secret::parse(scheme, text),
        _ => Err("a text"),
    };
    parsed.map_err(|allowed| Invalid {
        field: "secret".to_owned(),
        value: secrets::mark(value.as_str().unwrap_or_default().as_bytes()),
        allowed: format!("{allowed}, or null for none"),
    })
}

fn invalid(field: &str, value: &Value, allowed: &str) -> Invalid {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.contains_key("secret") => "an object with a secret".to_owned(),
        other => other.to_string(),
    };
    Invalid {
        field: secrets::clean(field).chars().take(80).collect(),
        value: secrets::clean(&text).chars().take(80).collect(),
        allowed: allowed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_its_value_and_what_is_allowed() {
        for (text, field, value) in [
            ("{", "body of the request", "EOF"),
            ("[]", "body of the request", "sequence"),
            ("{}", "fields", "{}"),
            (r#"{"scheme": "stripe"}"#, "fields", "stripe"),
            (r#"{"satus": 500}"#, "satus", "500"),
            (r#"{"status": 199}"#, "status", "199"),
            (r#"{"status": 600}"#, "status", "600"),
            (r#"{"status": "500"}"#, "status", "500"),
            (r#"{"headers": {"a b": "x"}}"#, "headers.a b", "x"),
            (r#"{"headers": {"x": "a\nb"}}"#, "headers.x", "a\nb"),
            (r#"{"headers": {"Content-Length": "1"}}"#, "headers.Content-Length", "1"),
            (r#"{"headers": []}"#, "headers", "[]"),
            (r#"{"status": 204, "body": "x"}"#, "body", "x"),
            (r#"{"delay": 2}"#, "delay", "2"),
            (r#"{"delay": "2h"}"#, "delay", "2h"),
            (r#"{"delay": "31m"}"#, "delay", "31m"),
            (r#"{"delay": "99999999999999999999s"}"#, "delay", "99999"),
            (r#"{"secret": "whsec_MfKQ", "scheme": "other"}"#, "scheme", "other"),
            (r#"{"secret": "hunter2"}"#, "secret", "[secret:"),
            (r#"{"secret": 5}"#, "secret", "[secret:"),
        ] {
            let error = Change::parse(text.as_bytes()).expect_err(text);
            assert_eq!(error.field, field, "{text}");
            assert!(error.value.contains(value), "{error}");
            assert!(
                !error.allowed.is_empty() && !error.to_string().contains("hunter2"),
                "{error}"
            );
        }
    }
}
