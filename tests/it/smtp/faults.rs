//! Rules that meet a session or a mail, at every step.

use std::io::ErrorKind;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::{ENVELOPE, MAIL, codes, counts, reply, sent, session};
use crate::support::{App, Call, Conn, End, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_lost_after_the_commit_makes_a_duplicate_of_the_retry() {
    for (how, said, end) in [
        ("close", "", End::Orderly),
        ("reset", "", End::Reset),
        ("truncate", "250", End::Orderly),
    ] {
        with(
            |b| b,
            async |app: &App| {
                let mut rule = json!({"mode": "drop-after-commit", "how": how, "on": 1, "provider": "smtp"});
                if how == "truncate" {
                    rule["bytes"] = json!(said.len());
                }
                app.fault(rule).await;
                let mut conn = sent(app).await;
                let (rest, ended) = conn.rest().await;
                assert_eq!((String::from_utf8(rest).unwrap().as_str(), ended), (said, end), "{how}");
                assert_eq!(counts(app).await, ([1, 1, 0, 0, 0], [0, 1, 0]), "{how}");
                let mut conn = sent(app).await;
                assert!(reply(&mut conn).await.starts_with("250 2.0.0 Ok: queued"));
                assert_eq!(counts(app).await, ([2, 2, 0, 0, 0], [1, 1, 0]), "{how}");
                let stats = app.suite.stats();
                assert_eq!(stats.providers["smtp"].counts.duplicates, 1);
                assert_eq!(stats.providers["smtp"].duplicates_by["message-id"], 1);
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_withheld_at_once_and_an_error_after_the_commit_too() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "how": "hang", "on": 1, "provider": "smtp"}))
                .await;
            // Both rules match the first mail; the second mail is this one's second match.
            app.fault(json!({"mode": "error-after-commit", "on": 2, "provider": "smtp"}))
                .await;
            let mut hung = sent(app).await;
            app.until("the hang", |app| app.now("smtp").withheld == 1).await;
            assert!(hung.is_silent(Duration::from_millis(50)).await);
            let mut conn = sent(app).await;
            assert!(reply(&mut conn).await.starts_with("451 4.3.0 "));
            assert_eq!(codes(&mut conn, "NOOP\r\n", 1).await, ["250"]);
            assert_eq!(counts(app).await, ([2, 2, 0, 0, 0], [0, 2, 0]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_before_the_commit_lets_earlier_replies_out_and_obeys_nothing_behind() {
    for (step, replies) in [("mail", 0), ("rcpt", 1), ("data", 2), ("mid-data", 3), ("dot", 3)] {
        for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
            with(
                |b| b,
                async |app: &App| {
                    app.fault(
                        json!({"mode": "fail-before-commit", "step": step, "how": how, "on": 1, "provider": "smtp"}),
                    )
                    .await;
                    let mut conn = session(app).await;
                    let wire = format!("{ENVELOPE}DATA\r\n{MAIL}{ENVELOPE}DATA\r\n{MAIL}");
                    conn.send(wire.as_bytes()).await;
                    if how == "close" {
                        let (said, ended) = conn.rest().await;
                        let said = String::from_utf8(said).unwrap();
                        assert_eq!((said.lines().count(), ended), (replies, end), "{step} {said}");
                    } else {
                        for _ in 0..replies {
                            reply(&mut conn).await;
                        }
                        assert_eq!(conn.rest().await, (vec![], end), "{step}");
                    }
                    assert_eq!(counts(app).await, ([1, 0, 0, 1, 0], [0, 1, 0]), "{step} {how}");
                    assert_eq!(app.effects("message"), 0);
                },
            )
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_said_where_its_step_is() {
    for (step, said) in [
        ("mail", ["451", "503", "503"].as_slice()),
        ("rcpt", &["250", "451", "554"]),
        ("data", &["250", "250", "451"]),
    ] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "refuse", "step": step, "on": 1, "provider": "smtp"}))
                    .await;
                let mut conn = session(app).await;
                assert_eq!(
                    codes(&mut conn, &format!("{ENVELOPE}DATA\r\n"), 3).await,
                    said,
                    "{step}"
                );
                assert_eq!(counts(app).await, ([1, 0, 1, 0, 0], [1, 0, 0]), "{step}");
            },
        )
        .await;
    }
    for step in ["mid-data", "dot"] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "refuse", "step": step, "status": 554, "code": "5.7.1", "on": 1, "provider": "smtp"})).await;
                let mut conn = sent(app).await;
                assert!(reply(&mut conn).await.starts_with("554 5.7.1 "), "{step}");
                assert_eq!(counts(app).await, ([1, 0, 1, 0, 0], [1, 0, 0]), "{step}");
                assert_eq!(codes(&mut conn, "NOOP\r\n", 1).await, ["250"]);
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_a_mail_counts_nothing_whatever_meets_it() {
    with(
        |b| b,
        async |app: &App| {
            let smtp = app.suite.addresses().smtp().unwrap();
            app.fault(json!({"mode": "fail-before-commit", "step": "connect", "how": "reset", "on": 1}))
                .await;
            // The RST may be there before the client has seen that it is connected.
            let met = match tokio::net::TcpStream::connect(smtp).await {
                Ok(mut conn) => conn.read(&mut [0]).await.map(drop),
                Err(error) => Err(error),
            };
            assert_eq!(met.unwrap_err().kind(), ErrorKind::ConnectionReset);
            app.fault(json!({"mode": "refuse", "step": "greeting", "status": 554, "on": 1}))
                .await;
            let (said, end) = Conn::plain(smtp).await.rest().await;
            assert!(said.starts_with(b"554 5.6.0 ") && end == End::Orderly);
            app.fault(json!({"mode": "refuse", "step": "ehlo", "on": 1})).await;
            let (said, _) = {
                let mut conn = Conn::plain(smtp).await;
                conn.send(b"EHLO c.test\r\n").await;
                conn.rest().await
            };
            assert!(String::from_utf8(said).unwrap().contains("\r\n421 4.3.2 "));
            app.fault(json!({"mode": "refuse", "step": "auth", "status": 535, "scope": "alice", "on": 1}))
                .await;
            app.fault(json!({"mode": "fail-before-commit", "step": "quit", "on": 1}))
                .await;
            let mut conn = session(app).await;
            // "\0~alice\0x" in base64, twice: `on` counts sessions, and this one was met already.
            let login = "AUTH PLAIN AH5hbGljZQB4\r\n";
            assert_eq!(codes(&mut conn, &login.repeat(2), 2).await, ["535", "235"]);
            conn.send(b"QUIT\r\n").await;
            assert_eq!(conn.rest().await, (vec![], End::Orderly));
            assert_eq!(app.now("smtp").received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_travels_in_a_recipient_or_a_header() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = session(app).await;
            let magic = "MAIL FROM:<>\r\nRCPT TO:<drop-after-commit+reset+on1@fault.test>\r\nDATA\r\n";
            assert_eq!(codes(&mut conn, magic, 3).await, ["250", "250", "354"]);
            conn.send(MAIL.as_bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
            let mut conn = session(app).await;
            assert_eq!(
                codes(&mut conn, &format!("{magic}{MAIL}"), 4).await[3],
                "250",
                "the retry is answered"
            );
            let header = format!("{ENVELOPE}DATA\r\nX-Ackdrop-Fault: error-after-commit; status=452\r\n{MAIL}");
            assert_eq!(codes(&mut conn, &header, 4).await[3], "452");
            assert_eq!(counts(app).await, ([3, 3, 0, 0, 0], [1, 2, 0]));
            let wrong = format!("{ENVELOPE}RCPT TO:<explode@fault.test>\r\nDATA\r\nX-Ackdrop-Fault: explode\r\n{MAIL}");
            assert_eq!(codes(&mut conn, &wrong, 5).await, ["250", "250", "550", "354", "554"]);
            assert_eq!(counts(app).await, ([4, 3, 1, 0, 0], [2, 2, 0]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_tls_an_answer_is_lost_as_exactly() {
    for (how, said, end) in [
        ("close", "", End::Orderly),
        ("reset", "", End::Reset),
        ("truncate", "250 2.", End::Truncated),
    ] {
        with(
            |b| b,
            async |app: &App| {
                let mut rule = json!({"mode": "drop-after-commit", "how": how, "provider": "smtp"});
                if how == "truncate" {
                    rule["bytes"] = json!(said.len());
                }
                app.fault(rule).await;
                let mut conn = app.connect_tls(app.suite.addresses().smtps().unwrap()).await;
                let wire = format!("EHLO c.test\r\n{ENVELOPE}DATA\r\n");
                assert_eq!(codes(&mut conn, &wire, 5).await[4], "354");
                // Unread bytes wait behind the dot: a FIN must stay one all the same.
                conn.send(format!("{MAIL}{ENVELOPE}QUIT\r\n").as_bytes()).await;
                let (rest, ended) = conn.rest().await;
                assert_eq!((String::from_utf8(rest).unwrap().as_str(), ended), (said, end), "{how}");
                assert_eq!(counts(app).await, ([1, 1, 0, 0, 0], [0, 1, 0]), "{how}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cut_at_or_past_its_length_is_answered_and_ends() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "how": "truncate", "bytes": 1000, "provider": "smtp"}))
                .await;
            let mut conn = sent(app).await;
            let (said, end) = conn.rest().await;
            assert!(said.starts_with(b"250 2.0.0 Ok") && said.ends_with(b"\r\n"));
            assert_eq!(end, End::Orderly);
            assert_eq!(counts(app).await, ([1, 1, 0, 0, 0], [1, 0, 0]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_at_any_step_is_let_go_as_told() {
    for step in ["greeting", "ehlo", "mail", "rcpt", "data", "mid-data", "dot"] {
        with(
            |b| b,
            async |app: &App| {
                let smtp = app.suite.addresses().smtp().unwrap();
                let wire = format!("EHLO c.test\r\n{ENVELOPE}DATA\r\n{MAIL}");
                for then in [json!({"then": "answer"}), json!({"then": "drop", "how": "reset"})] {
                    app.fault(json!({"mode": "hold-before-commit", "step": step, "provider": "smtp", "on": 1}))
                        .await;
                    let mut conn = Conn::plain(smtp).await;
                    conn.send(wire.as_bytes()).await;
                    app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                        .await;
                    let id = app.suite.holds().list(None)[0].id.clone();
                    let release = Call::post(&format!("/_holds/{id}/release")).json(&then);
                    assert!(app.call(release).await.status < 300, "{step}");
                    if then["then"] == "answer" {
                        let mut said = Vec::new();
                        for _ in 0..6 {
                            said.push(reply(&mut conn).await[..3].to_owned());
                        }
                        assert_eq!(said, ["220", "250", "250", "250", "354", "250"], "{step}");
                    } else {
                        // Replies to what came before the step may be read first.
                        assert_eq!(conn.rest().await.1, End::Reset, "{step}");
                    }
                }
                let begun = u64::from(!["greeting", "ehlo"].contains(&step));
                let expected = ([1 + begun, 1, 0, begun, 0], [1, begun, 0]);
                assert_eq!(counts(app).await, expected, "{step}");
            },
        )
        .await;
    }
}
