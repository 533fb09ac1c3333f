//! What has come of a mail so far.

use crate::attempt::{Mail, mail_header};
use crate::mocks::smtp;
use crate::net::smtp::command;
use crate::net::smtp::speech::Speech;

/// Is a transaction before its end.
#[derive(Debug)]
pub(super) struct Envelope {
    sender: String,
    recipients: Vec<String>,
    lines: Vec<String>,
    content: Vec<u8>,
    /// Content comes by BDAT, and some has.
    pub(super) chunked: bool,
    /// How the mail is answered whatever comes; from here on its content is read and dropped.
    refusal: Option<Speech>,
}

impl Envelope {
    pub(super) fn new(mail: command::Mail) -> Self {
        Self {
            sender: mail.sender,
            recipients: Vec::new(),
            lines: vec![mail.line],
            content: Vec::new(),
            chunked: false,
            refusal: None,
        }
    }

    pub(super) fn add(&mut self, rcpt: command::Rcpt) {
        self.recipients.push(rcpt.recipient);
        self.lines.push(rcpt.line);
    }

    pub(super) fn sender(&self) -> &str {
        &self.sender
    }

    pub(super) fn recipients(&self) -> &[String] {
        &self.recipients
    }

    /// Returns how many bytes of content are held.
    pub(super) fn size(&self) -> u64 {
        self.content.len() as u64
    }

    /// Takes content in by a closure; lets it go as soon as it is more than a mail may have, or refused already.
    pub(super) fn receive<R>(&mut self, limit: u64, take: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = take(&mut self.content);
        if self.refusal.is_none() && self.size() > limit {
            self.refuse(Speech::new(
                552,
                format!("5.3.4 A mail may have {limit} bytes and no more"),
            ));
        }
        if self.refusal.is_some() {
            self.content.clear();
        }
        result
    }

    /// Decides that the mail is refused when it has all come. The first such word counts.
    pub(super) fn refuse(&mut self, speech: Speech) {
        self.refusal.get_or_insert(speech);
        self.content = Vec::new();
    }

    pub(super) fn refusal(&self) -> Option<&Speech> {
        self.refusal.as_ref()
    }

    /// Makes the whole mail.
    pub(super) fn into_mail(mut self, helo: String, user: Option<String>) -> Mail {
        // It is kept for long, and counted by its length: room to grow would be memory that nobody sees.
        self.content.shrink_to_fit();
        let header_length = mail_header::length(&self.content);
        Mail {
            helo,
            user,
            sender: self.sender,
            recipients: self.recipients,
            lines: self.lines,
            subject: smtp::subject(&self.content[..header_length]),
            header_length,
            content: self.content.into(),
        }
    }
}
