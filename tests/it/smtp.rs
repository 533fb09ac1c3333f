//! Mail over real sockets: what the client reads, what the connection does, and what the ledger says.

mod faults;

use std::time::Duration;

use ackdrop::suite::{Limits, Offer};
use serde_json::json;

use crate::support::{App, Call, Conn, End, with};

const ENVELOPE: &str = "MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\n";
const MAIL: &str = "Message-ID: <1@x>\r\nSubject: Receipt\r\n\r\nhello\r\n.\r\n";

/// Reads one reply and returns its last line.
async fn reply(conn: &mut Conn) -> String {
    loop {
        let line = conn.line().await;
        if line.as_bytes().get(3) != Some(&b'-') {
            return line;
        }
    }
}

/// Sends commands at once, and returns the codes of as many replies as told.
async fn codes(conn: &mut Conn, commands: &str, replies: usize) -> Vec<String> {
    conn.send(commands.as_bytes()).await;
    let mut codes = Vec::new();
    for _ in 0..replies {
        codes.push(reply(conn).await[..3].to_owned());
    }
    codes
}

/// Opens a session up to its EHLO.
async fn session(app: &App) -> Conn {
    let mut conn = Conn::plain(app.suite.addresses().smtp().unwrap()).await;
    assert_eq!(codes(&mut conn, "EHLO c.test\r\n", 2).await, ["220", "250"]);
    conn
}

/// Sends one mail up to its dot, and reads no reply to that.
async fn sent(app: &App) -> Conn {
    let mut conn = session(app).await;
    assert_eq!(
        codes(&mut conn, &format!("{ENVELOPE}DATA\r\n"), 3).await,
        ["250", "250", "354"]
    );
    conn.send(MAIL.as_bytes()).await;
    conn
}

/// Returns received, accepted, refused, failed, incomplete; answered, withheld, lost.
async fn counts(app: &App) -> ([u64; 5], [u64; 3]) {
    app.settled().await;
    let c = app.counts("smtp").await;
    (
        [c.received, c.accepted, c.refused, c.failed, c.incomplete],
        [c.answered, c.withheld, c.lost],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_stored_counted_and_found() {
    with(
        |b| b,
        async |app: &App| {
            for smtps in [false, true] {
                let mut conn = if smtps {
                    let mut conn = app.connect_tls(app.suite.addresses().smtps().unwrap()).await;
                    assert_eq!(codes(&mut conn, "EHLO c.test\r\n", 2).await, ["220", "250"]);
                    conn
                } else {
                    session(app).await
                };
                let wire = format!("{ENVELOPE}RCPT TO:<c@example.com>\r\nDATA\r\n{MAIL}QUIT\r\n");
                conn.send(wire.as_bytes()).await;
                let (said, end) = conn.rest().await;
                let said = String::from_utf8(said).unwrap();
                let replies: Vec<&str> = said.lines().map(|l| &l[..3]).collect();
                assert_eq!(replies, ["250", "250", "250", "354", "250", "221"]);
                assert!(said.contains("250 2.0.0 Ok: queued as msg_"), "{said}");
                assert_eq!(end, End::Orderly);
            }
            assert_eq!(counts(app).await, ([2, 2, 0, 0, 0], [2, 0, 0]));
            assert_eq!((app.effects("message"), app.effects("recipient")), (2, 4));
            let list = app.admin(Call::get("/_mail?message-id=1@x&to=b@example.com")).await;
            assert_eq!(
                (&list["total"], &list["mails"][0]["subject"]),
                (&json!(2), &json!("Receipt"))
            );
            let id = list["mails"][0]["id"].as_str().unwrap();
            let raw = app.call(Call::get(&format!("/_mail/{id}/raw"))).await;
            assert_eq!(raw.body, MAIL.strip_suffix(".\r\n").unwrap().as_bytes());
            assert_eq!(app.call(Call::get("/_mail/msg_no")).await.status, 404);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_recipient_leaves_the_attempt_alive() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(
                json!({"mode": "refuse", "step": "rcpt", "recipient": "bad@*", "status": 550, "provider": "smtp"}),
            )
            .await;
            let mut conn = session(app).await;
            let wire = format!("{ENVELOPE}RCPT TO:<bad@example.com>\r\nDATA\r\n{MAIL}");
            assert_eq!(codes(&mut conn, &wire, 5).await, ["250", "250", "550", "354", "250"]);
            assert_eq!(app.effects("recipient"), 1);
            assert_eq!(counts(app).await, ([1, 1, 0, 0, 0], [1, 0, 0]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_a_transaction_before_its_dot_makes_it_incomplete() {
    for (end, code) in [("RSET", "250"), ("EHLO c.test", "250"), ("QUIT", "221")] {
        with(
            |b| b,
            async |app: &App| {
                let mut conn = session(app).await;
                let said = codes(&mut conn, &format!("{ENVELOPE}{end}\r\n"), 3).await;
                assert_eq!(said, ["250", "250", code], "{end}");
                assert_eq!(counts(app).await, ([1, 0, 0, 0, 1], [1, 0, 0]), "{end}");
            },
        )
        .await;
    }
    with(
        |b| b,
        async |app: &App| {
            let mut conn = session(app).await;
            let wire = format!("{ENVELOPE}{ENVELOPE}DATA\r\n{MAIL}");
            assert_eq!(
                codes(&mut conn, &wire, 6).await,
                ["250", "250", "250", "250", "354", "250"]
            );
            assert_eq!(counts(app).await, ([2, 1, 0, 0, 1], [2, 0, 0]), "another MAIL");
            codes(&mut conn, &format!("{ENVELOPE}DATA\r\nSubject: half"), 3).await;
            drop(conn);
            assert_eq!(counts(app).await, ([3, 1, 0, 0, 2], [2, 0, 1]), "the client left");
            assert_eq!(app.effects("message"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_while_it_waits_is_seen() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1, "provider": "smtp"}))
                .await;
            let mut conn = sent(app).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            conn.send(b"NOOP\r\n").await;
            drop(conn);
            assert_eq!(counts(app).await, ([1, 0, 0, 0, 1], [0, 0, 1]));
            app.fault(json!({"mode": "delay", "at": "before", "delay": "200ms", "on": 1, "provider": "smtp"}))
                .await;
            let conn = sent(app).await;
            app.until("the delay", |app| {
                app.entries().iter().filter(|e| !e.fired.is_empty()).count() == 2
            })
            .await;
            drop(conn);
            assert_eq!(counts(app).await, ([2, 1, 0, 0, 1], [0, 0, 2]));
            app.fault(json!({"mode": "hold-before-commit", "step": "rcpt", "on": 1, "provider": "smtp"}))
                .await;
            let mut conn = session(app).await;
            assert_eq!(codes(&mut conn, ENVELOPE, 1).await, ["250"]);
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            drop(conn);
            assert_eq!(counts(app).await, ([3, 1, 0, 0, 2], [0, 0, 3]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_closed_client_is_gone_but_what_it_sent_is_done() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = session(app).await;
            conn.send(format!("{ENVELOPE}DATA\r\n{MAIL}").as_bytes()).await;
            conn.half_close().await;
            app.until("the mail", |app| app.now("smtp").received == 1).await;
            app.settled().await;
            let c = app.counts("smtp").await;
            assert_eq!((c.received, c.accepted, c.answered + c.lost), (1, 1, 1));
            let (said, _) = conn.rest().await;
            let read = String::from_utf8_lossy(&said).contains("queued");
            assert_eq!(read, c.answered == 1, "lost is never an answer that somebody read");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_names_the_scope() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = session(app).await;
            let wire = format!("AUTH PLAIN AH5hbGljZQB4\r\n{ENVELOPE}DATA\r\n{MAIL}");
            assert_eq!(codes(&mut conn, &wire, 5).await[4], "250");
            let alice = app.admin(Call::get("/_mail?scope=alice")).await;
            let default = app.admin(Call::get("/_mail?scope=default")).await;
            assert_eq!((&alice["total"], &default["total"]), (&json!(1), &json!(0)));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_bodies_beyond_the_budget_are_answered() {
    let limits = Limits {
        idle: Duration::from_millis(150),
        ..Limits::default()
    };
    with(
        |b| b.limits(limits).arriving(1_000),
        async |app: &App| {
            let mut conn = session(app).await;
            let wire = format!("{ENVELOPE}DATA\r\n{}\r\n.\r\n", "x".repeat(5_000));
            assert_eq!(codes(&mut conn, &wire, 4).await, ["250", "250", "354", "452"]);
            assert_eq!(
                codes(&mut conn, &format!("{ENVELOPE}DATA\r\n{MAIL}"), 4).await[3],
                "250"
            );
            codes(&mut conn, ENVELOPE, 2).await;
            let (said, end) = conn.rest().await;
            assert!(said.starts_with(b"421 4.4.2 ") && end == End::Orderly);
            assert_eq!(counts(app).await, ([3, 1, 1, 0, 1], [3, 0, 0]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_lets_a_held_mail_go_without_an_effect() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1, "provider": "smtp"}))
                .await;
            let mut conn = sent(app).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            app.admin(Call::post("/_reset")).await;
            assert_eq!(conn.rest().await.0, b"");
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_behind_starttls_is_thrown_away() {
    let offer = Offer {
        starttls: true,
        ..Offer::default()
    };
    with(
        |b| b.smtp(offer),
        async |app: &App| {
            let mut conn = session(app).await;
            let injected = format!("{ENVELOPE}STARTTLS\r\nRSET\r\nEHLO evil\r\nMAIL FROM:<evil@x.test>\r\n");
            assert_eq!(codes(&mut conn, &injected, 3).await, ["250", "250", "220"]);
            let mut conn = conn.upgrade(app.suite.ca_pem(), "mail.example.com").await;
            assert_eq!(codes(&mut conn, "RCPT TO:<b@example.com>\r\n", 1).await, ["503"]);
            assert_eq!(codes(&mut conn, "EHLO c.test\r\n", 1).await, ["250"]);
            let wire = format!("{ENVELOPE}DATA\r\n{MAIL}");
            assert_eq!(codes(&mut conn, &wire, 4).await, ["250", "250", "354", "250"]);
            assert_eq!(counts(app).await, ([2, 1, 0, 0, 1], [2, 0, 0]));
        },
    )
    .await;
}
