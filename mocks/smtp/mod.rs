//! The smtp provider: a sink that accepts every duplicate. See `README.md` beside this file.

mod fingerprint;
mod message;
mod parsed;
mod reply;

use std::sync::Arc;

use bytes::Bytes;

use crate::attempt::{About, Conflict, Identified, Kind, Mail, Operation, Provider, Refusal, hash, mail_header};
use crate::idempotency::Record;
use crate::ledger::{Body, Class, Correlation, Ledger, Reply};
use crate::store::Tx;

pub use message::{Message, with_message_id};
pub use parsed::{Address, Attachment, Parsed, decoded, subject};
pub use reply::refusal;

/// How many bytes of a header outlive the mail's content: past it, a header is somebody's attack on our memory.
const KEPT_HEADER: usize = 64 << 10;
/// How long a Message-ID may be: one line (RFC 5322, section 2.1.1).
const LONGEST_MESSAGE_ID: usize = 998;

static ABOUT: About = About {
    name: "smtp",
    class: Class::KeyAdvisory,
    operations: &[Operation {
        name: "messages.send",
        kind: Kind::Write,
        effects: &["message", "recipient"],
    }],
};

/// Is the mail sink.
#[derive(Debug)]
pub struct Smtp {
    ledger: Ledger,
}

/// Is a mail as this provider read it.
#[derive(Debug)]
pub struct Call {
    body: Body,
    message_id: Option<Arc<str>>,
    subject: Option<Arc<str>>,
}

impl Smtp {
    /// Makes a sink that keeps the mails within the ledger's budget.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

impl Provider for Smtp {
    type Request = Mail;
    type Call = Call;

    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn identify(&self, mail: &Mail) -> Identified<Call> {
        let header = &mail.content[..mail.header_length.min(mail.content.len())];
        let message_id = message_id(header);
        let subject = mail.subject.clone().or_else(|| subject(header));
        // A copy: a slice would keep the whole mail in memory after its content was let go.
        let head = Bytes::copy_from_slice(&header[..header.len().min(KEPT_HEADER)]);
        let by_id = message_id.as_ref().map(|id| Correlation {
            by: "message-id",
            hash: hash([b"smtp".as_slice(), b"message-id", id.as_bytes()]),
        });
        let by_content = Correlation {
            by: "content",
            hash: fingerprint::of(mail, subject.as_deref().unwrap_or_default()),
        };
        let body = self.ledger.keep(head, mail.content.clone(), true);
        Identified {
            recorded: Some(body.clone()),
            call: Call {
                body,
                message_id: message_id.clone(),
                subject: subject.map(Into::into),
            },
            name: message_id,
            key: None,
            correlations: by_id.into_iter().chain([by_content]).collect(),
            early: None,
        }
    }

    fn handle(&self, tx: &mut Tx<'_>, mail: &Mail, call: &Call) -> Reply {
        let id = tx.new_id("msg_");
        message::put(tx, Arc::clone(&id), mail, call);
        tx.effect("message", &id);
        tx.effects("recipient", &id, mail.recipients.len() as u64);
        Reply::new(250, format!("2.0.0 Ok: queued as {id}"))
    }

    /// Answers as a sink that has no such thing as a key: it is never asked.
    fn conflict(&self, _: &Mail, _: &Call, _: &Conflict<'_>) -> Reply {
        refusal(&Refusal::default())
    }

    /// Repeats the record: it is never asked, for without a key nothing is recorded.
    fn replay(&self, _: &Mail, _: &Call, record: &Record) -> Reply {
        Reply::new(record.status, record.content.bytes())
    }

    fn refuse(&self, _: &Mail, _: &Call, asked: &Refusal) -> Reply {
        refusal(asked)
    }

    fn keeps(&self, _: &Self::Call, _: u16) -> bool {
        false
    }

    fn gateway(&self, asked: &Refusal) -> Reply {
        refusal(asked)
    }
}

/// Reads the first Message-ID of a header, without its angle brackets.
fn message_id(header: &[u8]) -> Option<Arc<str>> {
    let values = mail_header::values(header, "message-id");
    let value = values.first()?.trim().trim_matches(['<', '>']).trim();
    let end = value.floor_char_boundary(LONGEST_MESSAGE_ID);
    (!value.is_empty()).then(|| value[..end].into())
}

#[cfg(test)]
mod tests;
