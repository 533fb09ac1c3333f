//! The webhook provider: a target that takes everything, as an append API does. The key is a hint, and duplicates land.

mod settings;
pub mod target;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::attempt::{
    About, Conflict, HttpProvider, HttpRequest, Identified, Kind, Operation, Provider, Refusal, hash,
};
pub use crate::deliver::{Scheme, Secret};
use crate::idempotency::Record;
use crate::ledger::{Class, Correlation, Ledger, Reply};
use crate::store::Tx;
pub use settings::{Answer, Change, Invalid, Settings};
pub use target::{Delivery, Sent, Target};

static ABOUT: About = About {
    name: "webhook",
    class: Class::KeyAdvisory,
    operations: &[
        Operation {
            name: "deliveries.append",
            kind: Kind::Write,
            effects: &["delivery"],
        },
        Operation {
            name: "deliveries.probe",
            kind: Kind::Read,
            effects: &[],
        },
        Operation {
            name: "unrecognized",
            kind: Kind::Write,
            effects: &[],
        },
    ],
};

const ALLOW: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// Is the webhook provider.
#[derive(Clone, Debug)]
pub struct Webhook {
    ledger: Ledger,
}

/// Is what one request asks for.
#[derive(Debug)]
pub enum Call {
    /// A delivery to be appended.
    Append(Arc<Sent>),
    /// What may be done here.
    Probe,
    /// Nothing: it was refused early.
    Nothing,
}

impl Webhook {
    /// Makes the provider; the bodies of deliveries share the ledger's budget.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

impl Provider for Webhook {
    type Request = HttpRequest;
    type Call = Call;

    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn identify(&self, request: &HttpRequest) -> Identified<Call> {
        let Some(rest) = rest(&request.path) else {
            let words = format!(
                "There is nothing at {}: a delivery goes to /hooks/ and a target, like /hooks/orders.",
                request.path
            );
            return refused(404, &words);
        };
        let decoded = percent_decode_str(rest).decode_utf8_lossy();
        let name = match target::name(&decoded) {
            Ok(name) => name,
            Err(invalid) => return refused(400, &format!("The target in the path is too long: {invalid}.")),
        };
        if request.operation.name == "deliveries.probe" {
            return Identified::plain(Call::Probe);
        }
        let (name_given, correlation) = correlate(request, &decoded);
        let sent = Sent::new(name, request, &self.ledger);
        Identified {
            name: name_given,
            correlations: vec![correlation],
            recorded: Some(sent.body.clone()),
            ..Identified::plain(Call::Append(Arc::new(sent)))
        }
    }

    fn handle(&self, tx: &mut Tx<'_>, request: &HttpRequest, call: &Call) -> Reply {
        match call {
            Call::Append(sent) => {
                let (delivery, settings) = target::append(tx, sent, request);
                settings.reply(&delivery.id)
            }
            Call::Probe => {
                let status = if request.method == Method::OPTIONS { 204 } else { 200 };
                Reply::new(status, "").header("allow", ALLOW)
            }
            Call::Nothing => error(400, "The request was refused.", None),
        }
    }

    fn conflict(&self, _request: &HttpRequest, _call: &Call, _conflict: &Conflict<'_>) -> Reply {
        error(409, "Keys are not enforced here.", None)
    }

    fn replay(&self, _request: &HttpRequest, _call: &Call, record: &Record) -> Reply {
        Reply::new(record.status, record.content.bytes())
    }

    fn refuse(&self, _request: &HttpRequest, _call: &Call, refusal: &Refusal) -> Reply {
        let status = refusal.status.unwrap_or(503);
        let words = "The webhook target refused this delivery.";
        let reply = error(status, words, refusal.code.as_deref());
        match status {
            429 => reply.header("retry-after", "1"),
            _ => reply,
        }
    }

    /// Keeps nothing: there are no keys.
    fn keeps(&self, _: &Self::Call, _status: u16) -> bool {
        false
    }
}

impl HttpProvider for Webhook {
    fn route(&self, method: &Method, path: &str) -> &'static Operation {
        ABOUT.operation(match (rest(path), method) {
            (None, _) => "unrecognized",
            (Some(_), &Method::HEAD | &Method::OPTIONS) => "deliveries.probe",
            (Some(_), _) => "deliveries.append",
        })
    }
}

/// Returns what stands behind `/hooks/`, as sent, unless that is nothing.
fn rest(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/hooks/")?;
    (!rest.trim_end_matches('/').is_empty()).then_some(rest)
}

/// Returns the name that the caller gave, and the value by which a second delivery of the same is known.
///
/// An id counts at its target alone: senders give one message to several targets under one id, and that is no duplicate.
fn correlate(request: &HttpRequest, target: &str) -> (Option<Arc<str>>, Correlation) {
    let target = target.trim_end_matches('/').as_bytes();
    for by in ["webhook-id", "idempotency-key"] {
        let value = request.header_str(by).map(str::trim).filter(|v| !v.is_empty());
        if let Some(value) = value {
            let hash = hash([b"webhook", by.as_bytes(), target, value.as_bytes()]);
            return (Some(value.into()), Correlation { by, hash });
        }
    }
    let by = "content";
    let method = request.method.as_str().as_bytes();
    // A hook that is called by GET says all it has to say in its query.
    let parts = [
        b"webhook",
        by.as_bytes(),
        target,
        method,
        request.query.as_bytes(),
        &request.body,
    ];
    let hash = hash(parts);
    (None, Correlation { by, hash })
}

fn error(status: u16, words: &str, code: Option<&str>) -> Reply {
    let body = match code {
        Some(code) => json!({"error": words, "code": code}),
        None => json!({"error": words}),
    };
    Reply::new(status, body.to_string()).header("content-type", "application/json")
}

fn refused(status: u16, words: &str) -> Identified<Call> {
    Identified::refused(Call::Nothing, error(status, words, None))
}
