//! The parsed view of a mail, made when it is asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mail_parser::{MessageParser, MessagePart, MimeHeaders, PartType};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::attempt::mail_header;

/// How many attachments are listed.
const MOST_ATTACHMENTS: usize = 1_000;

/// Is what a mail says.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parsed {
    /// The authors.
    pub from: Vec<Address>,
    /// The addressees as the header names them.
    pub to: Vec<Address>,
    /// The copies.
    pub cc: Vec<Address>,
    /// Where answers go.
    pub reply_to: Vec<Address>,
    /// The subject, decoded.
    pub subject: Option<String>,
    /// The date as sent.
    pub date: Option<String>,
    /// The text; made from the HTML where there is no other.
    pub text: Option<String>,
    /// The HTML, if there is one.
    pub html: Option<String>,
    /// The attachments, at most 1,000.
    pub attachments: Vec<Attachment>,
}

/// Is one address of a header.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Address {
    /// The name.
    pub name: String,
    /// The address.
    pub address: String,
}

/// Describes an attachment.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The file's name.
    pub name: Option<String>,
    /// The media type.
    #[serde(rename = "type")]
    pub media_type: String,
    /// How many bytes it has, decoded.
    pub size: u64,
    /// The SHA-256 of its bytes, decoded.
    pub sha256: String,
}

impl Parsed {
    /// Reads a mail. What cannot be read is shown as text, as it came.
    #[must_use]
    pub fn read(raw: &[u8]) -> Self {
        let parsed = catch_unwind(AssertUnwindSafe(|| Self::parse(raw)));
        parsed.ok().flatten().unwrap_or_else(|| Self {
            text: (!raw.is_empty()).then(|| String::from_utf8_lossy(raw).into_owned()),
            ..Self::default()
        })
    }

    fn parse(raw: &[u8]) -> Option<Self> {
        let message = MessageParser::default().parse(raw)?;
        let html = message.html_bodies().find_map(|part| match &part.body {
            PartType::Html(html) => Some(html.clone().into_owned()),
            _ => None,
        });
        Some(Self {
            from: addresses(message.from()),
            to: addresses(message.to()),
            cc: addresses(message.cc()),
            reply_to: addresses(message.reply_to()),
            subject: message.subject().map(Into::into),
            date: mail_header::values(&raw[..mail_header::length(raw)], "date")
                .into_iter()
                .next(),
            text: message.body_text(0).map(std::borrow::Cow::into_owned),
            html,
            attachments: message.attachments().take(MOST_ATTACHMENTS).map(attachment).collect(),
        })
    }
}

/// Returns the subject of a header, decoded.
#[must_use]
pub fn subject(header: &[u8]) -> Option<String> {
    let values = mail_header::values(header, "subject");
    values.first().map(|value| decoded(value))
}

/// Decodes the encoded words in a header's value (RFC 2047).
#[must_use]
pub fn decoded(value: &str) -> String {
    if !value.contains("=?") {
        return value.to_owned();
    }
    let header = format!("Subject: {value}\r\n\r\n");
    let parse = || {
        let message = MessageParser::default().parse_headers(header.as_bytes())?;
        message.subject().map(ToOwned::to_owned)
    };
    let decoded = catch_unwind(AssertUnwindSafe(parse));
    decoded.ok().flatten().unwrap_or_else(|| value.to_owned())
}

fn addresses(header: Option<&mail_parser::Address<'_>>) -> Vec<Address> {
    let all = header.into_iter().flat_map(|a| a.iter());
    let address = |a: &mail_parser::Addr<'_>| Address {
        name: a.name().unwrap_or_default().to_owned(),
        address: a.address().unwrap_or_default().to_owned(),
    };
    all.map(address).collect()
}

fn attachment(part: &MessagePart<'_>) -> Attachment {
    let media_type = part.content_type().map_or_else(
        || "application/octet-stream".to_owned(),
        |t| format!("{}/{}", t.ctype(), t.subtype().unwrap_or("*")).to_ascii_lowercase(),
    );
    let bytes = part.contents();
    Attachment {
        name: part.attachment_name().map(ToOwned::to_owned),
        media_type,
        size: bytes.len() as u64,
        sha256: Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect(),
    }
}
