use bytes::Bytes;

use super::*;
use crate::attempt::{Mail, Provider as _};
use crate::ledger::{Ledger, Limits};
use crate::mocks::smtp::Smtp;

/// Puts a mail into a world, as its provider does.
fn keep(store: &Store, scope: &str, recipient: &str, content: &str) {
    let mail = Mail {
        helo: "c.test".into(),
        sender: "shop@example.com".into(),
        recipients: vec![recipient.into(), "copy@example.com".into()],
        lines: vec!["MAIL FROM:<shop@example.com>".into(), format!("RCPT TO:<{recipient}>")],
        header_length: mail_header::length(content.as_bytes()),
        content: Bytes::copy_from_slice(content.as_bytes()),
        ..Mail::default()
    };
    let smtp = Smtp::new(store.ledger().clone());
    let identified = smtp.identify(&mail);
    let scope = Scope::parse(scope).unwrap();
    store
        .arrange(&scope, |tx| smtp.handle(tx, &mail, &identified.call))
        .unwrap();
}

fn store(bodies: u64) -> Store {
    let store = Store::new(Ledger::new(Limits { entries: 10, bodies }));
    keep(
        &store,
        "default",
        "ann@example.com",
        "Message-ID: <1@x>\r\nSubject: Receipt 17\r\nX-Order: 17\r\n\r\nhello",
    );
    keep(
        &store,
        "default",
        "bob@example.com",
        "Message-ID: <2@x>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nsk_test_51abcdef",
    );
    keep(
        &store,
        "alice",
        "ann@example.com",
        "Message-ID: <1@x>\r\nSubject: other\r\n\r\nhello",
    );
    store
}

fn wanted(query: &str) -> Result<Wanted, Error> {
    Wanted::read(&Ask::of(query))
}

fn ids(store: &Store, scope: Option<&str>, query: &str) -> Vec<String> {
    let scope = scope.map(|s| Scope::parse(s).unwrap());
    let found = find(store, scope.as_ref(), &wanted(query).unwrap());
    let name = |(scope, mail): &Found| format!("{scope}/{}", mail.message_id.as_deref().unwrap_or_default());
    found.iter().map(name).collect()
}

#[test]
fn mails_are_found_newest_first_by_all_that_is_asked_for() {
    let store = store(1 << 20);
    let default = Some("default");
    assert_eq!(ids(&store, default, ""), ["default/2@x", "default/1@x"]);
    assert_eq!(ids(&store, None, ""), ["alice/1@x", "default/2@x", "default/1@x"]);
    for query in [
        "to=ANN",
        "recipient=ann@*",
        "subject=receipt",
        "subject=Receipt*",
        "message-id=%3C1@x%3E",
        "message-id=1@x",
        "message-id=1*",
        "header=X-Order:17",
        "header=x-order:1*&to=copy",
    ] {
        assert_eq!(ids(&store, default, query), ["default/1@x"], "{query}");
    }
    assert_eq!(ids(&store, default, "subject=gr%C3%BC%C3%9Fe"), ["default/2@x"]);
    assert_eq!(ids(&store, default, "from=shop@example.com").len(), 2);
    assert_eq!(ids(&store, None, "message-id=1@x").len(), 2);
    for query in ["to=nobody", "message-id=3@x", "header=X-Order:18", "to=ann&to=bob"] {
        assert!(ids(&store, default, query).is_empty(), "{query}");
    }
    assert!(ids(&store, Some("nobody"), "").is_empty());
    assert!(wanted("too=ann").is_err() && wanted("header=x").is_err());
}

#[test]
fn a_mail_is_shown_without_secrets_and_its_raw_bytes_as_they_came() {
    let store = store(1 << 20);
    let (scope, mail) = find(&store, None, &wanted("subject=gr").unwrap()).remove(0);
    let shown = detail(&scope, &mail);
    assert_eq!(shown["subject"], "Grüße");
    assert_eq!(shown["envelope"]["recipients"][0], "bob@example.com");
    assert_eq!(shown["headers"][1]["value"], "Grüße");
    assert!(shown["text"].as_str().unwrap().starts_with("[secret:"), "{shown}");
    assert_eq!(
        (&shown["body_let_go"], &shown["attachments"]),
        (&json!(false), &json!([]))
    );
    assert!(mail.body.content().unwrap().ends_with(b"sk_test_51abcdef"));
    let found = one(&store, None, &mail.id).unwrap();
    assert_eq!(found.1.id, mail.id);
    assert!(one(&store, Some(&Scope::parse("alice").unwrap()), &mail.id).is_err());
    assert!(one(&store, None, "msg_no").is_err());
}

#[test]
fn a_mail_let_go_stays_listed() {
    let store = store(100);
    let found = find(&store, Some(&Scope::default()), &wanted("message-id=1@x").unwrap());
    let shown = detail(&found[0].0, &found[0].1);
    assert_eq!(shown["body_let_go"], true);
    assert_eq!(shown["headers"][2]["name"], "X-Order");
    assert_eq!(shown["envelope"]["sender"], "shop@example.com");
    assert!(shown["size"].as_u64().unwrap() > 50 && shown["sha256"].as_str().unwrap().len() == 64);
    assert!(shown.get("text").is_none());
}
