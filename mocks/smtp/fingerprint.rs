//! By what a mail is known again when its Message-ID is new: what it says, not how it was packed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mail_parser::{MessageParser, MessagePart, MimeHeaders, PartType};

use crate::attempt::{Mail, hash, mail_header};
use crate::ledger::Hash;

/// Hashes the recipients, the subject and the decoded body.
///
/// Boundaries, transfer encodings, Date, Message-ID, Received and all other headers are no part of it.
/// A mail without a header is known by all its bytes, one that cannot be parsed by those behind the header.
pub(super) fn of(mail: &Mail, subject: &str) -> Hash {
    let mut recipients: Vec<&[u8]> = mail.recipients.iter().map(String::as_bytes).collect();
    recipients.sort_unstable();
    let envelope = hash(recipients);
    let (header, behind) = mail.content.split_at(mail.header_length.min(mail.content.len()));
    let body = if mail_header::fields(header).next().is_none() {
        hash([&mail.content[..]])
    } else {
        // The parser is not ours: if it should ever panic, the mail is accepted all the same.
        let decoded = catch_unwind(AssertUnwindSafe(|| decoded_body(&mail.content)));
        decoded.ok().flatten().unwrap_or_else(|| hash([behind]))
    };
    hash([b"smtp".as_slice(), b"content", &envelope, subject.as_bytes(), &body])
}

fn decoded_body(raw: &[u8]) -> Option<Hash> {
    let message = MessageParser::default().parse(raw)?;
    let leaves = message
        .parts
        .iter()
        .filter(|p| !matches!(p.body, PartType::Multipart(_)));
    let hashes: Vec<Hash> = leaves.map(leaf).collect();
    Some(hash(hashes.iter().map(Hash::as_slice)))
}

fn leaf(part: &MessagePart<'_>) -> Hash {
    let (main, sub) = part
        .content_type()
        .map_or(("text", "plain"), |t| (t.ctype(), t.subtype().unwrap_or_default()));
    let (main, sub) = (main.to_ascii_lowercase(), sub.to_ascii_lowercase());
    let name = part.attachment_name().unwrap_or_default();
    hash([main.as_bytes(), sub.as_bytes(), name.as_bytes(), part.contents()])
}
