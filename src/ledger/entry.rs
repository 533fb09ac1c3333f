//! One attempt as the journal keeps it.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::{Body, Content, Correlation, Effect, Fate, Outcome};

/// Tells where an attempt came from.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The connection's number, counted from 1 over all listeners.
    pub connection: u64,
}

impl Peer {
    /// Stands where there is no client: the suite itself does what was due.
    pub const NOBODY: Self = Self {
        address: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0),
        connection: 0,
    };

    /// Returns the address and the connection's number; none where there is no client.
    fn shown(self) -> (Option<String>, Option<u64>) {
        let real = self.connection != 0;
        (real.then(|| self.address.to_string()), real.then_some(self.connection))
    }
}

/// Tells what is known of an attempt when it arrives.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The provider's class.
    pub class: super::Class,
    /// The operation's name.
    pub operation: Arc<str>,
    /// Method and path as rules see them, cleaned of secrets; on SMTP the MAIL line.
    pub line: String,
    /// Where it came from.
    pub peer: Peer,
}

/// Names the rule that fired, and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct Fired {
    /// The rule's id, or `header`, `mail-header`, `recipient` for one that came in the request.
    pub rule: Arc<str>,
    /// The mode.
    pub mode: &'static str,
    /// What the client got: `reset`, `truncate`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<&'static str>,
}

/// Holds the answer as recorded.
#[derive(Clone, Debug)]
pub struct Answered {
    /// HTTP status or SMTP code.
    pub status: u16,
    /// The headers, one a line, cleaned of secrets.
    pub headers: String,
    /// The content.
    pub content: Recorded,
}

/// Holds a recorded content.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// Bytes within the budget.
    Body(Body),
    /// A version of an object, rendered when asked.
    Content(Content),
}

/// Holds what is known of an attempt that went through a relay.
#[derive(Clone, Debug, Default)]
pub struct Relayed {
    /// How many bytes of bodies, or of a connection, went to the upstream.
    pub up: u64,
    /// How many came from it.
    pub down: u64,
    /// When the last byte of the request had come.
    pub request_end: Option<OffsetDateTime>,
    /// When the first of the upstream's answer came.
    pub first_byte: Option<OffsetDateTime>,
    /// When the last of it came.
    pub last_byte: Option<OffsetDateTime>,
    /// When the last fault fired.
    pub fault: Option<OffsetDateTime>,
    /// When the client left before it was answered.
    pub client_left: Option<OffsetDateTime>,
}

/// Holds all that is known of one attempt.
#[derive(Clone, Debug)]
#[expect(
    missing_docs,
    reason = "the fields are those of GET /_events, described in the README"
)]
pub struct Entry {
    pub id: u64,
    pub revision: u64,
    pub generation: u64,
    pub scope: Arc<str>,
    pub arrival: Arrival,
    pub key: Option<Arc<str>>,
    pub correlations: Vec<Correlation>,
    pub duplicate: Option<&'static str>,
    pub outcome: Option<Outcome>,
    pub fate: Option<Fate>,
    pub effects: Vec<Effect>,
    pub fired: Vec<Fired>,
    pub notes: Vec<String>,
    pub arrived: OffsetDateTime,
    pub committed: Option<OffsetDateTime>,
    pub answering: Option<OffsetDateTime>,
    pub ended: Option<OffsetDateTime>,
    pub sent: u64,
    pub request: Option<Body>,
    pub answer: Option<Answered>,
    pub relayed: Option<Box<Relayed>>,
}

impl Entry {
    /// Says whether the attempt has both its outcome and its fate.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.outcome.is_some() && self.fate.is_some()
    }

    /// Notes evidence, if the attempt goes through a relay.
    pub fn note_relayed(&mut self, note: impl FnOnce(&mut Relayed, OffsetDateTime)) {
        if let Some(relayed) = &mut self.relayed {
            note(relayed, OffsetDateTime::now_utc());
        }
    }

    /// Renders the one line that `--log text` prints:
    /// `stripe charges.create key=order-17 accepted withheld(reset) fault=f1`.
    #[must_use]
    pub fn log_line(&self) -> String {
        let mut line = format!("{} {}", self.arrival.provider, self.arrival.operation);
        if &*self.scope != "default" {
            line = format!("~{} {line}", self.scope);
        }
        if let Some(key) = &self.key {
            line.push_str(&format!(" key={}", one_word(&super::secrets::clean(key))));
        }
        line.push_str(&format!(" {}", self.outcome.map_or("in_flight", Outcome::as_str)));
        line.push_str(&format!(" {}", self.fate.map_or("open", Fate::as_str)));
        let how = self.fired.iter().rev().find_map(|f| f.how);
        if let (Some(Fate::Withheld), Some(how)) = (self.fate, how) {
            line.push_str(&format!("({how})"));
        }
        for fired in &self.fired {
            line.push_str(&format!(" fault={}", fired.rule));
        }
        if let Some(by) = self.duplicate {
            line.push_str(&format!(" duplicate={by}"));
        }
        line
    }

    /// Renders the entry as `GET /_events` shows it.
    #[must_use]
    pub fn render(&self) -> serde_json::Value {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let correlations: serde_json::Map<_, _> = self
            .correlations
            .iter()
            .map(|c| (c.by.to_owned(), hex(&c.hash).into()))
            .collect();
        let (client, connection) = self.arrival.peer.shown();
        let mut rendered = serde_json::json!({
            "id": self.id,
            "revision": self.revision,
            "generation": self.generation,
            "scope": self.scope,
            "provider": self.arrival.provider,
            "operation": self.arrival.operation,
            "line": self.arrival.line,
            "key": self.key.as_deref().map(super::secrets::clean),
            "correlation": correlations,
            "duplicate": self.duplicate,
            "outcome": self.outcome,
            "fate": self.fate,
            "effects": self.effects,
            "fault": self.fired.last(),
            "faults": self.fired,
            "notes": self.notes,
            "arrived": rfc3339(Some(self.arrived)),
            "committed": rfc3339(self.committed),
            "answering": rfc3339(self.answering),
            "ended": rfc3339(self.ended),
            "bytes": {"received": self.request.as_ref().map_or(0, Body::size), "sent": self.sent},
            "client": client,
            "connection": connection,
            "request": self.request.as_ref().map(|body| serde_json::json!({
                "headers": super::secrets::clean(&String::from_utf8_lossy(&body.head())),
                "size": body.size(),
                "sha256": hex(&body.hash()),
                "body": body.content().map(|c| shown(&c)),
                "body_cut": body.size() > SHOWN as u64,
            })),
            "answer": self.answer.as_ref().map(|answer| serde_json::json!({
                "status": answer.status,
                "headers": answer.headers,
                "body": answer.content.bytes().map(|c| shown(&c)),
            })),
        });
        if let Some(relayed) = &self.relayed {
            rendered["relay"] = relayed.render();
        }
        rendered
    }
}

impl Relayed {
    fn render(&self) -> serde_json::Value {
        serde_json::json!({
            "bytes": {"up": self.up, "down": self.down},
            "request_end": rfc3339(self.request_end),
            "first_byte": rfc3339(self.first_byte),
            "last_byte": rfc3339(self.last_byte),
            "fault": rfc3339(self.fault),
            "client_left": rfc3339(self.client_left),
        })
    }
}

/// Quotes what would not stand as one word of a line: a client's text must never look like a line of its own.
fn one_word(text: &str) -> std::borrow::Cow<'_, str> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"') {
        format!("{text:?}").into()
    } else {
        text.into()
    }
}

/// How many bytes of a body an entry shows; the whole of it is with the mail or the delivery.
const SHOWN: usize = 64 << 10;

fn shown(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(&content[..content.len().min(SHOWN)]);
    super::secrets::clean(&text).into_owned()
}

impl Recorded {
    /// Returns the bytes, unless they were let go.
    #[must_use]
    pub fn bytes(&self) -> Option<bytes::Bytes> {
        match self {
            Self::Body(body) => body.content(),
            Self::Content(content) => Some(content.bytes()),
        }
    }
}

/// Renders a time as RFC 3339 in UTC, always to the microsecond, so that texts sort as times do.
#[must_use]
pub fn rfc3339(time: Option<OffsetDateTime>) -> Option<String> {
    const FORMAT: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    time?.to_offset(time::UtcOffset::UTC).format(FORMAT).ok()
}
