use proptest::prelude::*;

use super::*;
use crate::ledger::{Arrival, Limits, Outcome, Peer};
use crate::store::{Decision, Scope, Store};

fn mail(content: &str) -> Mail {
    Mail {
        helo: "client.test".into(),
        sender: "a@example.com".into(),
        recipients: vec!["b@example.com".into(), "c@example.com".into()],
        lines: vec!["MAIL FROM:<a@example.com>".into()],
        header_length: mail_header::length(content.as_bytes()),
        content: Bytes::copy_from_slice(content.as_bytes()),
        ..Mail::default()
    }
}

fn smtp(limits: Limits) -> (Smtp, Store) {
    let store = Store::new(Ledger::new(limits));
    (Smtp::new(store.ledger().clone()), store)
}

async fn send(smtp: &Smtp, store: &Store, mail: &Mail) -> Reply {
    let arrival = Arrival {
        provider: "smtp".into(),
        class: Class::KeyAdvisory,
        operation: "messages.send".into(),
        line: String::new(),
        peer: Peer {
            address: ([127, 0, 0, 1], 1).into(),
            connection: 1,
        },
    };
    let mut ticket = store.begin(&Scope::default(), arrival).unwrap();
    let Identified { call, correlations, .. } = smtp.identify(mail);
    let decision = Decision {
        outcome: Outcome::Accepted,
        correlations,
    };
    let sealed = ticket.transact(|tx| smtp.handle(tx, mail, &call), |_, _| (Some(decision), ()));
    sealed.await.unwrap().0
}

fn content_of(smtp: &Smtp, mail: &Mail) -> [u8; 16] {
    smtp.identify(mail).correlations.last().unwrap().hash
}

#[tokio::test]
async fn every_copy_lands_and_is_counted() {
    let (smtp, store) = smtp(Limits::default());
    let first = mail("Message-ID: <1@x>\r\nSubject: Receipt\r\n\r\nhello\r\n");
    let again = mail("Message-ID: <2@x>\r\nSubject: Receipt\r\nDate: later\r\n\r\nhello\r\n");
    for mail in [&first, &first, &again] {
        let reply = send(&smtp, &store, mail).await;
        let text = String::from_utf8(reply.content.bytes().to_vec()).unwrap();
        assert_eq!(reply.status, 250);
        assert!(text.starts_with("2.0.0 Ok: queued as msg_"), "{text}");
    }
    let total = store.total();
    let summary = &total.providers["smtp"];
    assert_eq!((summary.effects["message"], summary.effects["recipient"]), (3, 6));
    assert_eq!(summary.counts.duplicates, 2);
    assert_eq!(summary.duplicates_by["message-id"], 1);
    assert_eq!(summary.duplicates_by["content"], 1);
    store.read(&Scope::default(), |tx| {
        assert_eq!(with_message_id(tx, "1@x").count(), 2);
        assert_eq!(with_message_id(tx, "2@x").count(), 1);
        assert_eq!(with_message_id(tx, "3@x").count(), 0);
        let newest = tx.list::<Message>().next().unwrap();
        assert_eq!(newest.body.content().unwrap(), again.content);
        assert_eq!(newest.message_id.as_deref(), Some("2@x"));
    });
}

#[test]
fn the_content_is_what_a_mail_says_and_not_how_it_was_packed() {
    let (smtp, _) = smtp(Limits::default());
    let multipart = |boundary: &str, encoding: &str, body: &str| {
        mail(&format!(
            "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMessage-ID: <{boundary}@x>\r\nDate: {boundary}\r\nContent-Type: multipart/mixed; boundary={boundary}\r\n\r\n\
             --{boundary}\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{body}\r\n\
             --{boundary}\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nQUJD\r\n--{boundary}--\r\n"
        ))
    };
    let one = content_of(&smtp, &multipart("b1", "7bit", "hello"));
    assert_eq!(one, content_of(&smtp, &multipart("b2", "quoted-printable", "h=65llo")));
    assert_ne!(one, content_of(&smtp, &multipart("b1", "7bit", "hallo")));
    let mut others = multipart("b1", "7bit", "hello");
    others.recipients.reverse();
    assert_eq!(one, content_of(&smtp, &others));
    others.recipients.pop();
    assert_ne!(one, content_of(&smtp, &others));
    let mut subject = multipart("b1", "7bit", "hello");
    subject.subject = Some("other".into());
    assert_ne!(one, content_of(&smtp, &subject));
    assert_eq!(
        smtp.identify(&multipart("b1", "7bit", "x")).call.subject.as_deref(),
        Some("Grüße")
    );
}

#[test]
fn what_no_parser_reads_is_still_a_mail() {
    let (smtp, _) = smtp(Limits::default());
    for content in ["", "\r\n", "just text", ".", "\0\u{1}\u{2}", "Subject"] {
        let identified = smtp.identify(&mail(content));
        assert!(identified.early.is_none(), "{content:?}");
        assert_eq!(identified.correlations.len(), 1, "{content:?}");
    }
    assert_ne!(
        content_of(&smtp, &mail("just text")),
        content_of(&smtp, &mail("just other text"))
    );
    assert_ne!(content_of(&smtp, &mail("\r\none")), content_of(&smtp, &mail("\r\ntwo")));
}

#[test]
fn the_first_message_id_names_the_mail() {
    for (header, id) in [
        ("Message-ID: <a@b>\r\n", Some("a@b")),
        ("message-id:<a@b>\r\nMessage-Id: <c@d>\r\n", Some("a@b")),
        ("Message-ID:\r\n <a@b>\r\n", Some("a@b")),
        ("Message-ID: <>\r\n", None),
        ("Subject: x\r\n", None),
    ] {
        assert_eq!(message_id(header.as_bytes()).as_deref(), id, "{header}");
    }
    let long = format!("Message-ID: <{}>\r\n", "ü".repeat(4_000));
    assert_eq!(message_id(long.as_bytes()).unwrap().len(), LONGEST_MESSAGE_ID);
}

#[tokio::test]
async fn a_mail_let_go_keeps_its_header_but_no_endless_one() {
    let (smtp, store) = smtp(Limits {
        entries: 10,
        bodies: 1_000,
    });
    let header = "Subject: kept\r\nMessage-ID: <1@x>\r\n\r\n";
    send(&smtp, &store, &mail(&format!("{header}{}", "x".repeat(900)))).await;
    send(&smtp, &store, &mail(&format!("Subject: b\r\n\r\n{}", "y".repeat(900)))).await;
    let old = store.read(&Scope::default(), |tx| with_message_id(tx, "1@x").next().unwrap());
    assert_eq!(old.body.content(), None);
    assert_eq!(old.body.head(), header);
    assert_eq!(old.body.size(), header.len() as u64 + 900);
    let endless = smtp.identify(&mail(&"x: y\r\n".repeat(KEPT_HEADER)));
    assert_eq!(endless.call.body.head().len(), KEPT_HEADER);
}

#[test]
fn a_mail_is_shown_parsed() {
    let parsed = Parsed::read(
        b"From: Ann <ann@example.com>\r\nTo: b@example.com, \"C, D\" <c@example.com>\r\nSubject: =?utf-8?b?w6Q=?=\r\nDate: today\r\n\
          Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n<b>hi</b>\r\n\
          --x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nQUJD\r\n--x--\r\n",
    );
    assert_eq!(parsed.from[0].name, "Ann");
    assert_eq!(parsed.to.len(), 2);
    assert_eq!(parsed.subject.as_deref(), Some("ä"));
    assert_eq!(parsed.html.as_deref(), Some("<b>hi</b>"));
    assert_eq!(parsed.text.as_deref().map(str::trim), Some("hi"));
    let attachment = &parsed.attachments[0];
    assert_eq!(attachment.name.as_deref(), Some("a.pdf"));
    assert_eq!(
        (attachment.media_type.as_str(), attachment.size),
        ("application/pdf", 3)
    );
    assert!(attachment.sha256.starts_with("b5d4045c"));
    assert_eq!(Parsed::read(b""), Parsed::default());
}

proptest! {
    #[test]
    fn no_bytes_are_too_broken(content: Vec<u8>) {
        let (smtp, _) = smtp(Limits::default());
        let header_length = mail_header::length(&content);
        let mail = Mail { content: content.clone().into(), header_length, ..Mail::default() };
        let identified = smtp.identify(&mail);
        prop_assert_eq!(&identified.call.body.content().unwrap()[..], &content[..]);
        let parsed = Parsed::read(&content);
        prop_assert!(parsed.attachments.len() <= content.len());
    }
}
