//! The errand of a mail: content and dot to the upstream, then count what it replied.

use std::sync::Arc;

use mail_parser::MessageParser;
use tokio::sync::oneshot;

use super::super::Relay;
use super::link::{Link, Silent};
use crate::attempt::{Asked, Describe as _, Errand, Mail, Refusal, Settled, Whole, hash, mail_header};
use crate::faults::{Rules, Verdict};
use crate::ledger::{Correlation, Outcome, Reply};
use crate::store::{Decision, Stale, Ticket};

/// Begins the names of fields that are meant for the suite.
const OURS: &[u8] = b"x-ackdrop-";

/// Is one whole mail on its way to the upstream, which has said that it waits for it.
pub(super) struct Transmit {
    relay: Arc<Relay>,
    asked: Asked<Mail>,
    correlations: Vec<Correlation>,
    /// The session with the upstream, and where it goes back to; none once it has gone.
    link: Option<(Link, oneshot::Sender<Link>)>,
}

/// Makes a whole mail.
pub(super) fn mail(helo: &str, sender: String, recipients: Vec<String>, lines: Vec<String>, content: Vec<u8>) -> Mail {
    let header_length = mail_header::length(&content);
    let parsed = MessageParser::new().parse_headers(&content[..header_length]);
    Mail {
        helo: helo.to_owned(),
        user: None,
        sender,
        recipients,
        lines,
        subject: parsed.and_then(|parsed| parsed.subject().map(ToOwned::to_owned)),
        header_length,
        content: content.into(),
    }
}

impl Transmit {
    pub(super) fn new(
        relay: Arc<Relay>,
        whole: Whole<Mail>,
        ticket: &Ticket,
        link: Link,
        back: oneshot::Sender<Link>,
    ) -> Self {
        let mail = &whole.request;
        let name: Option<Arc<str>> = mail.header("message-id").first().map(|id| id.as_str().into());
        let (head, body) = mail.recordable();
        let recorded = ticket.ledger().keep(head, body, false);
        ticket.note(|entry| {
            entry.key.clone_from(&name);
            entry.request = Some(recorded);
            entry.note_relayed(|relayed, now| relayed.request_end = Some(now));
        });
        let correlations = correlations(&relay, mail, name.as_deref());
        let content = correlations.last().map(|correlation| correlation.hash);
        let asked = Asked {
            about: relay.about,
            name,
            content: content.unwrap_or_default(),
            scope: ticket.scope().name(),
            whole,
        };
        Self {
            relay,
            asked,
            correlations,
            link: Some((link, back)),
        }
    }

    /// Sends content and dot, and hears what the upstream says to it. Nobody's leaving ends it.
    async fn transmit(&mut self, ticket: &Ticket) -> Result<Reply, Silent> {
        let (mut link, back) = self.link.take().ok_or(Silent::Foreign)?;
        let (up, down) = link.bytes;
        let heard = link.ask(&stuffed(&self.asked.whole.request)).await;
        let (up, down) = (link.bytes.0 - up, link.bytes.1 - down);
        ticket.note(|entry| {
            entry.note_relayed(|relayed, now| {
                (relayed.up, relayed.down) = (up, down);
                let heard = (down > 0).then_some(now);
                (relayed.first_byte, relayed.last_byte) = (heard, heard);
            });
        });
        let heard = heard?;
        drop(back.send(link));
        Ok(Reply::new(heard.code, heard.text()))
    }

    fn speak(&self, refusal: &Refusal) -> Reply {
        let code = refusal.status.unwrap_or(451);
        let why = refusal.code.as_deref().unwrap_or("a fault rule said so");
        self.own(code, why)
    }

    fn own(&self, code: u16, why: &str) -> Reply {
        let class = code / 100;
        Reply::new(code, format!("{class}.3.0 relay `{}`: {why}", self.relay.spec.name))
    }
}

/// Returns by what a duplicate is known: the Message-ID, and recipients, subject and body.
fn correlations(relay: &Relay, mail: &Mail, message_id: Option<&str>) -> Vec<Correlation> {
    let name = relay.about.name.as_bytes();
    let mut recipients: Vec<&[u8]> = mail.recipients.iter().map(String::as_bytes).collect();
    recipients.sort_unstable();
    let subject = mail.subject.as_deref().unwrap_or_default().as_bytes();
    let body = &mail.content[mail.header_length..];
    let parts = [name, b"content"].into_iter().chain(recipients).chain([subject, body]);
    let content = Correlation {
        by: "content",
        hash: hash(parts),
    };
    let by_id = message_id.map(|id| Correlation {
        by: "message-id",
        hash: hash([name, b"message-id", id.as_bytes()]),
    });
    by_id.into_iter().chain([content]).collect()
}

/// Writes a mail as it goes over the wire, dots stuffed and the final one behind it, without the fields that are meant for us.
fn stuffed(mail: &Mail) -> Vec<u8> {
    let (header, body) = mail.content.split_at(mail.header_length);
    let mut wire = Vec::with_capacity(mail.content.len() + 64);
    let mut ours = false;
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        let folded = line.starts_with(b" ") || line.starts_with(b"\t");
        ours = if folded { ours } else { is_ours(line) };
        if !ours {
            stuff(&mut wire, line);
        }
    }
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        stuff(&mut wire, line);
    }
    if !wire.is_empty() && !wire.ends_with(b"\r\n") {
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b".\r\n");
    wire
}

fn is_ours(line: &[u8]) -> bool {
    line.get(..OURS.len())
        .is_some_and(|name| name.eq_ignore_ascii_case(OURS))
}

/// Only behind CRLF does a line begin for SMTP; a dot behind a lone LF is none to be stuffed.
fn stuff(wire: &mut Vec<u8>, line: &[u8]) {
    if line.starts_with(b".") && (wire.is_empty() || wire.ends_with(b"\r\n")) {
        wire.push(b'.');
    }
    wire.extend_from_slice(line);
}

impl Errand for Transmit {
    type Request = Mail;

    fn asked(&self) -> &Asked<Mail> {
        &self.asked
    }

    fn asked_mut(&mut self) -> &mut Asked<Mail> {
        &mut self.asked
    }

    fn refuse(&self, refusal: &Refusal) -> Reply {
        self.speak(refusal)
    }

    fn gateway(&self, asked: &Refusal) -> Reply {
        self.speak(asked)
    }

    async fn commit(&mut self, ticket: &mut Ticket, rules: &Rules) -> Result<(Settled, Option<Verdict>), Stale> {
        ticket.set_fallback(Outcome::Unknown);
        let (reply, outcome) = match self.transmit(ticket).await {
            Ok(reply) if (200..300).contains(&reply.status) => (reply, Outcome::Accepted),
            Ok(reply) => (reply, Outcome::Refused),
            Err(silent) => {
                let why = silent.to_string();
                ticket.note(|entry| entry.notes.push(why.clone()));
                (self.own(451, &why), Outcome::Unknown)
            }
        };
        let recipients = self.asked.whole.request.recipients.len() as u64;
        let (asked, correlations) = (&self.asked, self.correlations.clone());
        let ((), verdict) = ticket
            .transact(
                |tx| {
                    if outcome == Outcome::Accepted {
                        let id = tx.new_id("msg_");
                        tx.effect("message", &id);
                        tx.effects("recipient", &id, recipients);
                    }
                },
                |(), _| {
                    let verdict = asked.ask_after(rules, outcome, false);
                    (Some(Decision { outcome, correlations }), verdict)
                },
            )
            .await?;
        let settled = Settled {
            reply,
            passing: None,
            outcome,
            from_accepted: false,
        };
        Ok((settled, verdict))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::net::smtp::content::Receiver;

    fn wire(content: &[u8]) -> Vec<u8> {
        stuffed(&mail("x", String::new(), Vec::new(), Vec::new(), content.to_vec()))
    }

    #[test]
    fn what_is_ours_is_not_sent_on_nor_what_is_folded_behind_it() {
        let content = b"Subject: a\r\nX-Ackdrop-Fault: pass;\r\n on=1\r\nTo: b\r\n\r\n.x\r\nx-ackdrop-fault: no\r\n";
        assert_eq!(
            wire(content),
            b"Subject: a\r\nTo: b\r\n\r\n..x\r\nx-ackdrop-fault: no\r\n.\r\n"
        );
        assert_eq!(wire(b""), b".\r\n");
        assert_eq!(wire(b"no end"), b"no end\r\n.\r\n");
    }

    proptest! {
        #[test]
        fn a_server_gets_the_mail_that_was_sent(content in "[a.\r\n]{0,60}") {
            let sent = wire(content.as_bytes());
            let (mut receiver, mut got, mut input) = (Receiver::data(), Vec::new(), &sent[..]);
            prop_assert!(receiver.ingest(&mut input, &mut got));
            prop_assert!(input.is_empty());
            let mut wanted = content.into_bytes();
            if !wanted.is_empty() && !wanted.ends_with(b"\r\n") {
                wanted.extend_from_slice(b"\r\n");
            }
            prop_assert_eq!(got, wanted);
        }
    }
}
