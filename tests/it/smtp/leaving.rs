//! A client that leaves before its dot, or is kept waiting and leaves: the outcome and the fate, each by name.

use serde_json::json;

use crate::support::{App, Conn, Mailer, Over, letter, starttls, with};

/// Where a client leaves, and what it has sent by then.
const BEFORE_THE_DOT: [(&str, &str); 5] = [
    ("after MAIL", ""),
    ("after RCPT", "RCPT TO:<c@d.test>\r\n"),
    ("after DATA", "RCPT TO:<c@d.test>\r\nDATA\r\n"),
    ("mid-DATA", "RCPT TO:<c@d.test>\r\nDATA\r\nSubject: x\r\n\r\n.\r"),
    ("mid-BDAT", "RCPT TO:<c@d.test>\r\nBDAT 4\r\n1234BDAT 10 LAST\r\n123"),
];

/// Begins a mail, up to its MAIL line's reply.
async fn begin(mailer: &mut Mailer) {
    mailer.expect("MAIL FROM:<a@b.test>", "250").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_dot_is_incomplete_and_lost() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let mut n = 0;
            for (place, sent) in BEFORE_THE_DOT {
                for over in Over::ALL {
                    for half in [false, true] {
                        let mut mailer = app.mailer_over(over).await;
                        begin(&mut mailer).await;
                        mailer.conn.send(sent.as_bytes()).await;
                        if half {
                            mailer.conn.half_close().await;
                            mailer.rest().await;
                        }
                        drop(mailer);
                        n += 1;
                        app.settled().await;
                        let counts = app.counts("smtp").await;
                        assert_eq!(
                            (counts.received, counts.incomplete, counts.lost),
                            (n, n, n),
                            "{place} {over:?} half={half}"
                        );
                    }
                }
                let mut mailer = Mailer {
                    conn: Conn::abrupt(app.smtp()).await,
                };
                mailer.expect("", "220").await;
                mailer.expect("EHLO x", "250").await;
                begin(&mut mailer).await;
                mailer.conn.send(sent.as_bytes()).await;
                drop(mailer);
                n += 1;
                app.settled().await;
                let counts = app.counts("smtp").await;
                assert_eq!(
                    (counts.received, counts.incomplete, counts.lost),
                    (n, n, n),
                    "{place} by RST"
                );
            }
            assert_eq!((app.effects("message"), app.mails("").await.len()), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_a_mail_before_its_dot_makes_it_incomplete_and_answers_it() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let mut n = 0;
            for (command, code) in [
                ("RSET", "250"),
                ("EHLO again.test", "250"),
                ("HELO again.test", "250"),
                ("QUIT", "221"),
                ("STARTTLS", "220"),
            ] {
                for (sent, replies) in [
                    ("", 0),
                    ("RCPT TO:<c@d.test>\r\n", 1),
                    ("RCPT TO:<c@d.test>\r\nBDAT 4\r\nabcd", 2),
                ] {
                    let mut mailer = app.mailer().await;
                    begin(&mut mailer).await;
                    mailer.conn.send(sent.as_bytes()).await;
                    for _ in 0..replies {
                        mailer.expect("", "250").await;
                    }
                    mailer.expect(command, code).await;
                    n += 1;
                    let counts = app.counts("smtp").await;
                    assert_eq!(
                        (counts.received, counts.incomplete, counts.answered),
                        (n, n, n),
                        "{command} behind {sent:?}"
                    );
                    if command == "RSET" {
                        mailer.expect("RCPT TO:<c@d.test>", "503").await;
                    }
                }
            }
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mail_line_begins_an_attempt_and_one_that_cannot_be_read_none() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.knock(Over::Smtp).await;
            mailer.expect("", "220").await;
            mailer.expect("MAIL FROM:<early@b.test>", "503").await;
            mailer.expect("EHLO client.test", "250").await;
            mailer.expect("MAIL FROM:<broken", "501").await;
            assert_eq!(app.now("smtp").received, 0);
            mailer.expect("MAIL FROM:<one@b.test>", "250").await;
            mailer.expect("RCPT TO:<c@d.test>", "250").await;
            mailer.expect("MAIL FROM:<two@b.test>", "250").await;
            mailer.expect("DATA", "554").await;
            mailer.expect("MAIL FROM:<three@b.test>", "250").await;
            mailer
                .expect("MAIL FROM:<huge@b.test> SIZE=99999999999999999999999", "552")
                .await;
            mailer.expect("RCPT TO:<c@d.test>", "503").await;
            assert!(mailer.post("c@d.test", "x\r\n").await.starts_with("250"));
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.received, counts.incomplete, counts.refused, counts.accepted),
                (5, 2, 2, 1)
            );
            assert_eq!((counts.answered, app.effects("recipient")), (5, 1));
        },
    )
    .await;
}

/// Sends a whole mail, waits until a rule keeps its client waiting, and leaves.
async fn leave_waiting(app: &App, mut mailer: Mailer, half: bool) {
    mailer
        .conn
        .send(b"MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nx\r\n.\r\nNOOP\r\nQUIT\r\nNO")
        .await;
    app.until("the wait", |app| {
        app.entries().last().is_some_and(|e| !e.fired.is_empty())
    })
    .await;
    if half {
        mailer.conn.half_close().await;
        app.settled().await;
        let (replies, _) = mailer.rest().await;
        assert!(
            !replies.contains("queued") && !replies.contains("221"),
            "it gets no byte more: {replies}"
        );
    }
    drop(mailer);
    app.settled().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_delay_or_a_hold_it_is_lost_and_the_provider_did_what_it_did() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            for (rule, accepted) in [
                // Long enough for the client to leave in it, on a busy machine too.
                (json!({"mode": "delay", "at": "before", "delay": "500ms"}), true),
                (json!({"mode": "delay", "at": "after", "delay": "500ms"}), true),
                (json!({"mode": "hold-before-commit"}), false),
                (json!({"mode": "hold-after-commit"}), true),
                (json!({"mode": "hold-before-commit", "step": "mail"}), false),
                (json!({"mode": "hold-before-commit", "step": "rcpt"}), false),
                (json!({"mode": "hold-before-commit", "step": "data"}), false),
                (json!({"mode": "hold-before-commit", "step": "mid-data"}), false),
            ] {
                for over in Over::ALL {
                    for half in [false, true] {
                        app.suite.reset(None);
                        let mut rule = rule.clone();
                        rule["provider"] = "smtp".into();
                        app.fault(rule.clone()).await;
                        let mailer = app.mailer_over(over).await;
                        leave_waiting(app, mailer, half).await;
                        let counts = app.counts("smtp").await;
                        let expected = if accepted { (1, 1, 0, 1) } else { (1, 0, 1, 1) };
                        let got = (counts.received, counts.accepted, counts.incomplete, counts.lost);
                        assert_eq!(got, expected, "{rule} {over:?} half={half}");
                        assert_eq!(app.effects("message"), u64::from(accepted));
                        assert!(app.suite.holds().list(None).is_empty());
                    }
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_is_said_to_a_client_that_has_left_is_lost() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "delay", "delay": "150ms", "step": "mail"}))
                .await;
            for (n, end) in (1u64..).zip(["RSET", "QUIT", "EHLO x", "DATA"]) {
                let mut mailer = app.mailer().await;
                mailer.send(&format!("MAIL FROM:<a@b.test>\r\n{end}")).await;
                app.until("the delay", |app| {
                    app.entries().iter().filter(|e| !e.fired.is_empty()).count() as u64 == n
                })
                .await;
                mailer.conn.half_close().await;
                app.settled().await;
                let counts = app.counts("smtp").await;
                assert_eq!((counts.received, counts.lost, counts.answered), (n, n, 0), "{end}");
                assert_eq!(mailer.rest().await.0, "", "it gets no byte more");
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.incomplete, counts.refused), (3, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_reply_nobody_reads_the_whole_mail_is_carried_out() {
    with(
        |b| b,
        async |app: &App| {
            for abrupt in [false, true] {
                app.suite.reset(None);
                let conn = if abrupt {
                    Conn::abrupt(app.smtp()).await
                } else {
                    Conn::plain(app.smtp()).await
                };
                let mut mailer = Mailer { conn };
                mailer.expect("", "220").await;
                mailer.expect("EHLO x", "250").await;
                mailer.open("ann@example.com").await;
                app.fault(json!({"provider": "smtp", "mode": "delay", "at": "after", "delay": "50ms"}))
                    .await;
                mailer.dot(&letter("last@shop.test", "x")).await;
                app.until("the commit", |app| app.now("smtp").accepted == 1).await;
                drop(mailer);
                app.settled().await;
                let counts = app.counts("smtp").await;
                assert_eq!(
                    (counts.accepted, counts.lost, app.mails("").await.len()),
                    (1, 1, 1),
                    "abrupt={abrupt}"
                );
            }
        },
    )
    .await;
}
