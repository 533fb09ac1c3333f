//! Which mails are asked for.
//!
//! A text without `*` is looked for anywhere in the value, one with `*` has to match the whole value; neither minds upper and lower case.

use crate::admin::Error;
use crate::admin::ask::Ask;
use crate::attempt::mail_header;
use crate::mocks::smtp::{Message, decoded};

/// What a query may name.
const ALLOWED: [&str; 10] = [
    "scope",
    "to",
    "recipient",
    "from",
    "sender",
    "subject",
    "message-id",
    "header",
    "limit",
    "before",
];

/// Says which mails are wanted: those that meet all of it.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    recipient: Vec<String>,
    sender: Vec<String>,
    subject: Vec<String>,
    message_id: Option<String>,
    headers: Vec<(String, String)>,
}

impl Wanted {
    /// Reads a query.
    pub(super) fn read(ask: &Ask) -> Result<Self, Error> {
        ask.only(&ALLOWED)?;
        let both = |one, other| ask.all(one).chain(ask.all(other)).map(str::to_lowercase).collect();
        let header = |text: &str| match text.split_once(':') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_lowercase())),
            _ => Err(Error::bad(format!("`header` is `{text}`, and must be `Name:value`"))),
        };
        Ok(Self {
            recipient: both("to", "recipient"),
            sender: both("from", "sender"),
            subject: ask.all("subject").map(str::to_lowercase).collect(),
            message_id: ask
                .get("message-id")
                .map(|id| id.trim().trim_matches(['<', '>']).to_owned()),
            headers: ask.all("header").map(header).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the one Message-ID that is wanted, if it is no pattern: it is found without a scan.
    pub(super) fn exact_message_id(&self) -> Option<&str> {
        self.message_id.as_deref().filter(|id| !id.contains('*'))
    }

    /// Says whether a mail is wanted.
    pub(super) fn accepts(&self, mail: &Message) -> bool {
        let id = mail.message_id.as_deref().unwrap_or_default();
        let subject = mail.subject.as_deref().unwrap_or_default();
        let in_header = |(name, pattern): &(String, String)| {
            let head = mail.body.head();
            let values = mail_header::values(&head, name);
            values.iter().any(|value| matches(pattern, &decoded(value)))
        };
        self.recipient
            .iter()
            .all(|p| mail.recipients.iter().any(|r| matches(p, r)))
            && self.sender.iter().all(|p| matches(p, &mail.sender))
            && self.subject.iter().all(|p| matches(p, subject))
            && self
                .message_id
                .as_ref()
                .is_none_or(|p| !p.contains('*') || matches(&p.to_lowercase(), id))
            && self.headers.iter().all(in_header)
    }
}

/// Matches a value against a pattern in lower case.
fn matches(pattern: &str, value: &str) -> bool {
    let value = value.to_lowercase();
    let Some((first, rest)) = pattern.split_once('*') else {
        return value.contains(pattern);
    };
    let Some(mut value) = value.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match value.find(part) {
            Some(at) => value = &value[at + part.len()..],
            None => return false,
        }
    }
    value.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_a_star_is_for_the_whole_value_and_one_without_for_a_part() {
        for (pattern, value) in [
            ("", "anything"),
            ("example", "A@Example.com"),
            ("*@example.com", "a@EXAMPLE.com"),
            ("a*", "abc"),
            ("a*c", "abc"),
            ("a*b*c", "a-b-b-c"),
            ("*", ""),
            ("a**b", "ab"),
        ] {
            assert!(matches(pattern, value), "{pattern} {value}");
        }
        for (pattern, value) in [
            ("*@example.com", "a@example.com.test"),
            ("b*", "abc"),
            ("ab*ba", "aba"),
            ("a*b*c", "a-c-b"),
            ("x", "abc"),
        ] {
            assert!(!matches(pattern, value), "{pattern} {value}");
        }
    }
}
