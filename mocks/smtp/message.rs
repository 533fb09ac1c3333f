//! A mail as it is kept, and the way to it by its Message-ID.

use std::sync::Arc;

use time::OffsetDateTime;

use super::Call;
use crate::attempt::Mail;
use crate::ledger::Body;
use crate::store::{Object, Tx};

/// Is a mail that was accepted.
#[derive(Debug)]
pub struct Message {
    /// The id, `msg_…`.
    pub id: Arc<str>,
    /// When it was stored, on the world's clock.
    pub accepted: OffsetDateTime,
    /// What the client called itself.
    pub helo: String,
    /// The user it authenticated as.
    pub user: Option<String>,
    /// The reverse-path; empty for the null sender.
    pub sender: String,
    /// The recipients.
    pub recipients: Vec<String>,
    /// The MAIL and RCPT lines as sent.
    pub lines: Vec<String>,
    /// The Message-ID without its angle brackets.
    pub message_id: Option<Arc<str>>,
    /// The subject, decoded.
    pub subject: Option<Arc<str>>,
    /// The header block, and the whole mail byte for byte unless it was let go.
    pub body: Body,
    /// The mail before this one with the same Message-ID.
    previous: Option<Arc<str>>,
}

impl Object for Message {
    const TABLE: &'static str = "mails";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

/// Names the newest mail with a Message-ID; from there each mail names the one before. So a copy costs the same whether it is the
/// second or the millionth.
struct Newest {
    message_id: Arc<str>,
    mail: Arc<str>,
}

impl Object for Newest {
    const TABLE: &'static str = "mails_by_message_id";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.message_id)
    }
}

/// Keeps a mail.
pub(super) fn put(tx: &mut Tx<'_>, id: Arc<str>, mail: &Mail, call: &Call) {
    let previous = call.message_id.as_ref().and_then(|message_id| {
        let newest = tx.get::<Newest>(message_id).map(|n| Arc::clone(&n.mail));
        tx.put(Newest {
            message_id: Arc::clone(message_id),
            mail: Arc::clone(&id),
        });
        newest
    });
    tx.put(Message {
        id,
        accepted: tx.now(),
        helo: mail.helo.clone(),
        user: mail.user.clone(),
        sender: mail.sender.clone(),
        recipients: mail.recipients.clone(),
        lines: mail.lines.clone(),
        message_id: call.message_id.clone(),
        subject: call.subject.clone(),
        body: call.body.clone(),
        previous,
    });
}

/// Iterates over the mails with a Message-ID (without angle brackets), newest first, without a scan.
pub fn with_message_id<'t>(tx: &'t Tx<'_>, message_id: &str) -> impl Iterator<Item = Arc<Message>> + 't {
    let newest = tx.get::<Newest>(message_id);
    let newest = newest.and_then(|n| tx.get::<Message>(&n.mail));
    std::iter::successors(newest, |mail| {
        mail.previous.as_ref().and_then(|id| tx.get::<Message>(id))
    })
}
