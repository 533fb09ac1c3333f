//! What a provider is: it says who it is, identifies, and handles. It knows nothing about faults, sockets or counts.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::idempotency::{Key, Record};
use crate::ledger::{Body, Class, Correlation, Reply};
use crate::store::Tx;

/// Describes a provider.
#[derive(Debug, Serialize)]
pub struct About {
    /// The name, as rules and counts know it.
    pub name: &'static str,
    /// Whether it enforces its key.
    pub class: Class,
    /// All operations.
    pub operations: &'static [Operation],
}

/// Describes one operation.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// The name, `things.verb`.
    pub name: &'static str,
    /// Whether it is a look-up, whatever it answers.
    pub kind: Kind,
    /// The kinds of effect that an accepted one can have.
    pub effects: &'static [&'static str],
}

/// Says what an operation does to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A look-up.
    Read,
    /// All else: accepted, replayed or refused.
    Write,
}

/// Is what a provider understood of a whole request, without looking at any state.
#[derive(Debug)]
pub struct Identified<C> {
    /// The provider's own reading of the request.
    pub call: C,
    /// The name that the caller gave the operation, as rules and events show it: Idempotency-Key, reference, Message-ID, webhook-id.
    pub name: Option<Arc<str>>,
    /// The key under which the provider keeps its answer; none where it enforces none.
    pub key: Option<Key>,
    /// By what a duplicate of it is known, the strongest first.
    pub correlations: Vec<Correlation>,
    /// The body as the provider has kept it already, so that it is kept once.
    pub recorded: Option<Body>,
    /// A refusal that comes before the key is looked at: credentials, malformed bodies, limits.
    pub early: Option<Reply>,
}

impl<C> Identified<C> {
    /// Makes what a call is that has neither name nor key, and repeats nothing.
    #[must_use]
    pub fn plain(call: C) -> Self {
        Self {
            call,
            name: None,
            key: None,
            correlations: Vec::new(),
            recorded: None,
            early: None,
        }
    }

    /// Makes what a call is that is refused before its key is looked at.
    #[must_use]
    pub fn refused(call: C, reply: Reply) -> Self {
        Self {
            early: Some(reply),
            ..Self::plain(call)
        }
    }
}

/// Says why a key cannot be used now.
#[derive(Debug)]
pub enum Conflict<'a> {
    /// Another attempt with it is in progress.
    InFlight,
    /// It was used for another request, which may still be in progress: at this endpoint.
    Mismatch(&'a str),
}

/// Is a refusal that a fault asks a provider to speak in its own words.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    /// The status or reply code; the provider's usual one if none is given.
    pub status: Option<u16>,
    /// The provider's error code.
    pub code: Option<String>,
}

/// Is a request as rules can match it.
pub trait Describe: Send + Sync + 'static {
    /// Whether it came by SMTP, and so meets rules at the steps of a mail.
    const IS_MAIL: bool = false;

    /// The HTTP method.
    fn method(&self) -> Option<&str> {
        None
    }

    /// The path without the scope's prefix and without the query.
    fn path(&self) -> Option<&str> {
        None
    }

    /// All values of a header.
    fn header(&self, name: &str) -> Vec<String>;

    /// The sender of a mail; empty for the null sender.
    fn sender(&self) -> Option<&str> {
        None
    }

    /// The recipients of a mail.
    fn recipients(&self) -> &[String] {
        &[]
    }

    /// The subject of a mail, decoded.
    fn subject(&self) -> Option<&str> {
        None
    }

    /// The head and the body as they may be recorded, without secrets.
    fn recordable(&self) -> (Bytes, Bytes);

    /// The body as JSON, if it is; forms as objects of strings.
    fn json(&self) -> Option<Value> {
        None
    }
}

/// Is a provider.
pub trait Provider: Send + Sync + 'static {
    /// A whole request.
    type Request: Describe;
    /// The provider's own reading of it.
    type Call: Send + Sync + 'static;

    /// Says who it is.
    fn about(&self) -> &'static About;

    /// Reads a whole request; pure, and never fails: what cannot be read becomes an early refusal.
    fn identify(&self, request: &Self::Request) -> Identified<Self::Call>;

    /// Carries a call out on the world, which stands in its own partition. Accepting is `tx.effect(…)`; it may be run again.
    fn handle(&self, tx: &mut Tx<'_>, request: &Self::Request, call: &Self::Call) -> Reply;

    /// Answers a call whose key cannot be used now.
    fn conflict(&self, request: &Self::Request, call: &Self::Call, conflict: &Conflict<'_>) -> Reply;

    /// Answers a call from the record of its key: the first body, byte for byte.
    fn replay(&self, request: &Self::Request, call: &Self::Call, record: &Record) -> Reply;

    /// Speaks a refusal that a fault asked for.
    fn refuse(&self, request: &Self::Request, call: &Self::Call, refusal: &Refusal) -> Reply;

    /// Says whether an answer with this status to this call is kept under its key.
    fn keeps(&self, call: &Self::Call, status: u16) -> bool;

    /// Names the answer to a call, for the record of its key.
    fn reference(&self, call: &Self::Call) -> Arc<str> {
        let _ = call;
        "".into()
    }

    /// Speaks as the gateway in front of the provider would: the answer of `error-after-commit` and of `fail-before-commit` with a status.
    fn gateway(&self, asked: &Refusal) -> Reply {
        gateway_page(asked.status.unwrap_or(502), asked.code.as_deref())
    }
}

/// Is a provider on the HTTP listener.
pub trait HttpProvider: Provider<Request = super::HttpRequest> {
    /// Names the operation that a head asks for; pure. A head that names none is an operation of its own.
    fn route(&self, method: &http::Method, path: &str) -> &'static Operation;
}

impl About {
    /// Finds an operation by its name.
    ///
    /// # Panics
    ///
    /// Panics if there is none: names stand in the provider's own table.
    #[must_use]
    pub fn operation(&self, name: &str) -> &'static Operation {
        let operations = self.operations;
        operations
            .iter()
            .find(|o| o.name == name)
            .unwrap_or_else(|| panic!("`{name}` stands in the table of {}", self.name))
    }
}

fn gateway_page(status: u16, code: Option<&str>) -> Reply {
    let reason = http::StatusCode::from_u16(status)
        .ok()
        .and_then(|s| s.canonical_reason());
    let title = format!("{status} {}", reason.unwrap_or("Error"));
    let escape = |code: &str| code.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let code = code.map_or(String::new(), |code| format!("<center>{}</center>\r\n", escape(code)));
    let page = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n{code}</body>\r\n</html>\r\n"
    );
    Reply::new(status, page).header("content-type", "text/html")
}
