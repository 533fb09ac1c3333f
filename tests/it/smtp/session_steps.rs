//! Rules at the steps of a session: they are no attempts, and `on` counts sessions.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{App, Call, Conn, End, Mailer, Over, codes, letter, with};

/// The steps of a session, and the replies owed before each to a client that sends all in one write.
const STEPS: [(&str, &[&str]); 5] = [
    ("connect", &[]),
    ("greeting", &[]),
    ("ehlo", &["220"]),
    ("auth", &["220", "250"]),
    ("quit", &["220", "250", "235", "250"]),
];

/// Talks a credential test in one write, and returns all that came.
async fn talk(app: &App) -> (String, End) {
    // A listener that resets at once may do so before connect has come back.
    let Ok(conn) = Conn::try_plain(app.smtp()).await else {
        return (String::new(), End::Reset);
    };
    let mut mailer = Mailer { conn };
    let wire = b"EHLO client.test\r\nAUTH PLAIN AGFubgBzZWNyZXQ=\r\nNOOP\r\nQUIT\r\n";
    if mailer.conn.send_lossy(wire).await.is_err() {
        return (String::new(), End::Reset);
    }
    mailer.rest().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_ends_the_session_there_and_is_no_attempt() {
    with(
        |b| b,
        async |app: &App| {
            for (step, owed) in STEPS {
                for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                    app.fault(json!({"mode": "fail-before-commit", "how": how, "step": step, "on": 1}))
                        .await;
                    let (replies, ended) = talk(app).await;
                    assert_eq!((codes(&replies), ended), (owed.to_vec(), end), "{step} {how}");
                    let (replies, _) = talk(app).await;
                    assert_eq!(
                        codes(&replies),
                        ["220", "250", "235", "250", "221"],
                        "{step}: on counts sessions"
                    );
                }
            }
            assert_eq!(app.counts("smtp").await.received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_said_in_place_of_the_usual_reply() {
    with(
        |b| b,
        async |app: &App| {
            for mode in ["refuse", "fail-before-commit"] {
                for (step, owed) in STEPS {
                    app.fault(json!({"mode": mode, "status": 554, "step": step, "on": 1}))
                        .await;
                    let mut mailer = app.knock(Over::Smtp).await;
                    let mut expected = owed.to_vec();
                    expected.push("554");
                    if step == "connect" || step == "greeting" {
                        // After a refusal in place of the greeting there is no session.
                        let (replies, end) = mailer.rest().await;
                        assert_eq!((codes(&replies), end), (expected, End::Orderly), "{step}");
                        continue;
                    }
                    mailer.expect("", "220").await;
                    mailer
                        .expect("EHLO client.test", if step == "ehlo" { "554" } else { "250" })
                        .await;
                    if step == "ehlo" {
                        mailer.expect("MAIL FROM:<a@b.test>", "503").await;
                        mailer.expect("HELO client.test", "250").await;
                    }
                    let login = mailer.log_in("~alice", "secret").await;
                    assert_eq!(&login[..3], if step == "auth" { "554" } else { "235" }, "{login}");
                    let reply = mailer.post("a@b.test", &letter(step, mode)).await;
                    assert!(reply.starts_with("250"));
                    let scope = if step == "auth" { "default" } else { "alice" };
                    assert_eq!(
                        app.mails("?limit=1").await[0]["scope"],
                        scope,
                        "a refused login is none"
                    );
                    mailer.expect("QUIT", if step == "quit" { "554" } else { "221" }).await;
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_refusal_leaves_open_is_what_a_server_says_there() {
    with(
        |b| b,
        async |app: &App| {
            for (step, owed) in STEPS {
                app.fault(json!({"mode": "refuse", "step": step, "on": 1})).await;
                let (replies, end) = talk(app).await;
                let said: &[&str] = if step == "auth" {
                    &["454", "250", "221"]
                } else {
                    &["421"]
                };
                assert_eq!((codes(&replies), end), ([owed, said].concat(), End::Orderly), "{step}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_and_a_hold_make_the_client_wait_there() {
    with(
        |b| b,
        async |app: &App| {
            for (step, _) in STEPS {
                app.fault(json!({"mode": "delay", "at": "before", "delay": "120ms", "step": step, "on": 1}))
                    .await;
                let begin = Instant::now();
                let (replies, _) = talk(app).await;
                assert!(begin.elapsed() >= Duration::from_millis(120), "{step}");
                assert_eq!(codes(&replies), ["220", "250", "235", "250", "221"], "{step}");
            }
            for (step, owed) in STEPS {
                for (how, end) in [("answer", End::Orderly), ("close", End::Orderly), ("reset", End::Reset)] {
                    app.fault(json!({"mode": "hold-before-commit", "step": step, "on": 1}))
                        .await;
                    let release = async {
                        app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                            .await;
                        let id = app.suite.holds().list(None)[0].id.clone();
                        let then = if how == "answer" {
                            json!({})
                        } else {
                            json!({"then": "drop", "how": how})
                        };
                        app.admin(Call::post(&format!("/_holds/{id}/release")).json(&then))
                            .await;
                    };
                    let ((replies, ended), ()) = tokio::join!(talk(app), release);
                    let all = ["220", "250", "235", "250", "221"];
                    let expected = if how == "answer" { &all[..] } else { owed };
                    assert_eq!((codes(&replies), ended), (expected.to_vec(), end), "{step} {how}");
                }
            }
            assert_eq!(app.counts("smtp").await.received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_or_held_session_is_let_go_by_a_reset() {
    with(
        |b| b,
        async |app: &App| {
            for (step, owed) in STEPS {
                for rule in [
                    json!({"mode": "fail-before-commit", "how": "hang"}),
                    json!({"mode": "hold-before-commit"}),
                ] {
                    let mut rule = rule.clone();
                    rule["step"] = step.into();
                    app.fault(rule.clone()).await;
                    let mut mailer = app.knock(Over::Smtp).await;
                    mailer
                        .conn
                        .send(b"EHLO x\r\nAUTH PLAIN AGFubgBzZWNyZXQ=\r\nNOOP\r\nQUIT\r\n")
                        .await;
                    for code in owed {
                        mailer.expect("", code).await;
                    }
                    assert!(mailer.conn.is_silent(Duration::from_millis(30)).await, "{rule}");
                    app.admin(Call::post("/_reset")).await;
                    assert_eq!(mailer.rest().await, (String::new(), End::Orderly), "{rule}");
                    assert!(app.suite.holds().list(None).is_empty());
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_tls_connect_comes_before_the_handshake_and_the_greeting_behind_it() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "fail-before-commit", "how": "close", "step": "connect", "on": 1}))
                .await;
            assert_eq!(
                Conn::plain(app.smtps()).await.rest().await,
                (vec![], End::Orderly),
                "before any byte of TLS"
            );
            for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                app.fault(json!({"mode": "fail-before-commit", "how": how, "step": "greeting", "on": 1}))
                    .await;
                assert_eq!(app.knock(Over::Smtps).await.rest().await, (String::new(), end), "{how}");
            }
            app.fault(json!({"mode": "refuse", "step": "connect", "on": 1})).await;
            let (replies, end) = app.knock(Over::Smtps).await.rest().await;
            assert_eq!(
                (codes(&replies), end),
                (vec!["421"], End::Orderly),
                "a refusal can be read inside TLS alone"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_test_eats_no_rule_of_a_mail() {
    with(
        |b| b,
        async |app: &App| {
            for mode in ["drop-after-commit", "refuse"] {
                app.fault(json!({"provider": "smtp", "mode": mode, "on": 1})).await;
                for _ in 0..2 {
                    assert_eq!(codes(&talk(app).await.0), ["220", "250", "235", "250", "221"]);
                }
                assert_eq!(app.now("smtp").received, u64::from(mode == "refuse"));
                let mut mailer = app.mailer().await;
                mailer.open("ann@example.com").await;
                mailer.dot("x\r\n").await;
                match mode {
                    "refuse" => _ = mailer.expect("", "451").await,
                    _ => assert_eq!(mailer.rest().await, (String::new(), End::Orderly)),
                }
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.withheld, counts.refused), (1, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_meets_its_rule_once_a_session_and_auth_and_quit_know_the_scope() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "refuse", "status": 550, "step": "ehlo", "on": 2}))
                .await;
            app.fault(json!({"mode": "refuse", "status": 550, "step": "auth", "scope": "alice"}))
                .await;
            app.fault(json!({"mode": "refuse", "status": 550, "step": "quit", "scope": "bob"}))
                .await;
            let mut first = app.mailer().await;
            first.expect("EHLO again.test", "250").await;
            first.expect("HELO again.test", "250").await;
            let mut second = app.knock(Over::Smtp).await;
            second.expect("", "220").await;
            second.expect("EHLO client.test", "550").await;
            second.expect("EHLO client.test", "250").await;
            assert!(second.log_in("~alice", "x").await.starts_with("550"));
            assert!(second.log_in("~alice", "x").await.starts_with("235"), "once a session");
            second.expect("QUIT", "221").await;
            assert!(first.log_in("~bob", "x").await.starts_with("235"));
            first.expect("QUIT", "550").await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_at_a_step_is_refused_when_the_rule_is_made() {
    with(
        |b| b,
        async |app: &App| {
            for (rule, field) in [
                (json!({"mode": "refuse", "step": "connect", "scope": "alice"}), "scope"),
                (json!({"mode": "refuse", "step": "ehlo", "sender": "*"}), "sender"),
                (json!({"mode": "refuse", "step": "auth", "recipient": "*"}), "recipient"),
                (json!({"mode": "refuse", "step": "mail", "recipient": "*"}), "recipient"),
                (json!({"mode": "refuse", "step": "rcpt", "subject": "*"}), "subject"),
                (json!({"mode": "refuse", "step": "data", "key": "*"}), "key"),
                (json!({"mode": "refuse", "step": "commit"}), "step"),
                (json!({"mode": "drop-after-commit", "step": "dot"}), "step"),
                (json!({"mode": "drop-after-commit", "step": "quit"}), "step"),
                (json!({"mode": "refuse", "step": "helo"}), "step"),
                (json!({"mode": "refuse", "step": "mid-data", "bytes": 0}), "bytes"),
                (json!({"mode": "refuse", "step": "mail", "status": 250}), "status"),
                (json!({"mode": "refuse", "step": "mail", "provider": "orders"}), "step"),
            ] {
                let answer = app.call(Call::post("/_faults").json(&rule)).await;
                assert_eq!(answer.status, 400, "{rule}");
                assert!(answer.text().contains(field), "{rule}: {}", answer.text());
            }
            assert_eq!(app.suite.stats().faults.armed, 0);
        },
    )
    .await;
}
