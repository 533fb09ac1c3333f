//! Rules at the steps of a mail before its dot, and at the dot.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{App, Call, End, Mailer, Over, codes, letter, starttls, with};

/// The steps of a mail at which before-modes meet it, and the replies owed before each.
const STEPS: [(&str, &[&str]); 5] = [
    ("mail", &[]),
    ("rcpt", &["250"]),
    ("data", &["250", "250"]),
    ("mid-data", &["250", "250", "354"]),
    ("dot", &["250", "250", "354"]),
];

/// Writes a whole mail, with commands behind it that a fault must keep from being obeyed.
fn all(unread: bool) -> String {
    let content = letter("one@shop.test", "0123456789");
    let mut wire = format!(
        "MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n{content}.\r\nMAIL FROM:<second@b.test>\r\nQUIT\r\n"
    );
    if unread {
        wire += &"NOOP\r\n".repeat(30_000);
    }
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_at_each_step_ends_as_it_says_behind_the_replies_owed() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let mut n = 0;
            for (step, owed) in STEPS {
                for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                    for over in Over::ALL {
                        n += 1;
                        let unread = n % 2 == 0;
                        app.fault(json!({"mode": "fail-before-commit", "how": how, "step": step, "on": 1}))
                            .await;
                        let mut mailer = app.mailer_over(over).await;
                        let (replies, ended) = mailer.send_to_the_end(&all(unread)).await;
                        assert_eq!(
                            (codes(&replies), ended),
                            (owed.to_vec(), end),
                            "{step} {how} {over:?} unread={unread}"
                        );
                        let counts = app.counts("smtp").await;
                        assert_eq!(
                            (counts.received, counts.failed, counts.withheld),
                            (n, n, n),
                            "{step} {how} {over:?}"
                        );
                    }
                }
            }
            assert_eq!(app.effects("message"), 0);
            assert!(app.post("a@b.test", "x\r\n").await.starts_with("250"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_at_each_step_is_withheld_at_once_and_ends_with_its_client() {
    with(
        |b| b,
        async |app: &App| {
            for (n, (step, owed)) in (1u64..).zip(STEPS) {
                app.fault(json!({"mode": "fail-before-commit", "how": "hang", "step": step, "on": 1}))
                    .await;
                let mut mailer = app.mailer().await;
                mailer.conn.send(all(false).as_bytes()).await;
                app.until("the hang", |app| app.now("smtp").withheld == n).await;
                for code in owed {
                    mailer.expect("", code).await;
                }
                assert!(mailer.conn.is_silent(Duration::from_millis(30)).await, "{step}");
                let counts = app.counts("smtp").await;
                assert_eq!((counts.received, counts.failed), (n, n), "{step}");
            }
        },
    )
    .await;
}

/// Talks a whole mail through, one command after another, until one is refused; returns the refusal and where it came.
async fn talk(mailer: &mut Mailer) -> (&'static str, String) {
    let commands = [
        ("mail", "MAIL FROM:<a@b.test>", "250"),
        ("rcpt", "RCPT TO:<c@d.test>", "250"),
        ("data", "DATA", "354"),
    ];
    for (step, command, expected) in commands {
        let reply = mailer.say(command).await;
        if !reply.starts_with(expected) {
            return (step, reply);
        }
    }
    mailer.dot(&letter("one@shop.test", "0123456789")).await;
    ("dot", mailer.reply().await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateways_status_and_a_refusal_at_each_step_are_said_there() {
    with(
        |b| b,
        async |app: &App| {
            // The mode, its outcome, and what it says unless told otherwise.
            for (mode, extra, begin) in [
                ("fail-before-commit", json!({"status": 450}), "450 4.2.1 "),
                ("refuse", json!({}), "451 4.3.0 "),
                (
                    "refuse",
                    json!({"status": 550, "code": "5.7.1", "body": "No\nway"}),
                    "550-No\n550 way",
                ),
                ("refuse", json!({"status": 550, "code": "5.7.1"}), "550 5.7.1 "),
            ] {
                for (step, _) in STEPS {
                    app.admin(Call::post("/_reset")).await;
                    let mut rule = json!({"mode": mode, "step": step, "on": 1});
                    rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
                    app.fault(rule.clone()).await;
                    let mut mailer = app.mailer().await;
                    let (at, reply) = talk(&mut mailer).await;
                    let said_at = if step == "mid-data" { "dot" } else { step };
                    assert_eq!((at, reply.starts_with(begin)), (said_at, true), "{rule}: {reply}");
                    if step == "rcpt" && mode == "refuse" {
                        assert_eq!(
                            app.now("smtp").in_flight,
                            1,
                            "a refused recipient leaves the attempt alive"
                        );
                        mailer.expect("DATA", "554").await;
                    }
                    let counts = app.counts("smtp").await;
                    let outcomes = if mode == "refuse" { (1, 0) } else { (0, 1) };
                    assert_eq!((counts.refused, counts.failed), outcomes, "{rule}");
                    assert_eq!(
                        (counts.received, counts.answered, app.effects("message")),
                        (1, 1, 0),
                        "{rule}"
                    );
                    assert_eq!(talk(&mut mailer).await.1[..3], *"250", "the session goes on: {rule}");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_recipient_is_no_recipient_and_the_mail_goes_to_the_others() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "refuse", "step": "rcpt", "recipient": "*@no.test", "status": 550})).await;
            let mut mailer = app.mailer().await;
            mailer.send("MAIL FROM:<a@b.test>\r\nRCPT TO:<x@no.test>\r\nRCPT TO:<y@yes.test>\r\nRCPT TO:<z@no.test>\r\nDATA").await;
            for code in ["250", "550", "250", "550", "354"] {
                mailer.expect("", code).await;
            }
            mailer.dot("x\r\n").await;
            mailer.expect("", "250").await;
            assert_eq!(app.mails("").await[0]["envelope"]["recipients"], json!(["y@yes.test"]));
            assert_eq!((app.effects("message"), app.effects("recipient")), (1, 1));
            let counts = app.counts("smtp").await;
            assert_eq!((counts.received, counts.accepted), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_421_at_any_step_of_a_mail_ends_its_connection() {
    with(
        |b| b,
        async |app: &App| {
            for (n, (step, owed)) in (1u64..).zip(STEPS) {
                app.fault(json!({"mode": "refuse", "step": step, "status": 421, "on": 1}))
                    .await;
                let mut mailer = app.mailer().await;
                let (replies, end) = mailer.send_to_the_end(&all(false)).await;
                assert_eq!(
                    (codes(&replies), end),
                    ([owed, &["421"]].concat(), End::Orderly),
                    "{step}"
                );
                let counts = app.counts("smtp").await;
                assert_eq!((counts.received, counts.refused, counts.answered), (n, n, n), "{step}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_at_each_step_is_a_late_reply_to_a_mail_that_is_accepted() {
    with(
        |b| b,
        async |app: &App| {
            for step in ["mail", "rcpt", "data", "mid-data", "dot", "commit"] {
                let id = app
                    .fault(json!({"mode": "delay", "delay": "120ms", "step": step, "on": 1}))
                    .await;
                let mut mailer = app.mailer().await;
                let begin = Instant::now();
                let (at, reply) = talk(&mut mailer).await;
                assert_eq!((at, &reply[..3]), ("dot", "250"), "{step}");
                assert!(begin.elapsed() >= Duration::from_millis(120), "{step}");
                assert_eq!(*app.entries().last().unwrap().fired[0].rule, *id);
            }
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.answered), (6, 6));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_at_each_step_goes_on_or_ends_as_it_is_released() {
    with(
        |b| b,
        async |app: &App| {
            for (step, owed) in STEPS.into_iter().chain([("commit", STEPS[4].1)]) {
                let mode = if step == "commit" {
                    "hold-after-commit"
                } else {
                    "hold-before-commit"
                };
                for (how, end) in [("answer", End::Orderly), ("close", End::Orderly), ("reset", End::Reset)] {
                    app.admin(Call::post("/_reset")).await;
                    app.fault(json!({"mode": mode, "step": step, "on": 1})).await;
                    let mut mailer = app.mailer().await;
                    mailer.conn.send(all(false).as_bytes()).await;
                    app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                        .await;
                    let accepted = u64::from(step == "commit");
                    let counts = app.now("smtp");
                    assert_eq!(
                        (counts.received, counts.accepted, counts.open),
                        (1, accepted, 1),
                        "{step}"
                    );
                    for code in owed {
                        mailer.expect("", code).await;
                    }
                    let held = app.admin(Call::get("/_holds")).await;
                    assert_eq!(held["holds"][0]["operation"], "messages.send");
                    let then = if how == "answer" {
                        json!({})
                    } else {
                        json!({"then": "drop", "how": how})
                    };
                    let id = held["holds"][0]["id"].as_str().unwrap();
                    app.admin(Call::post(&format!("/_holds/{id}/release")).json(&then))
                        .await;
                    let (replies, ended) = mailer.rest().await;
                    let counts = app.counts("smtp").await;
                    if how == "answer" {
                        // The mail, and the one that was begun behind it and ended by QUIT.
                        assert!(
                            replies.ends_with("221 2.0.0 Bye\r\n") && codes(&replies).contains(&"250"),
                            "{replies}"
                        );
                        assert_eq!(
                            (counts.received, counts.accepted, counts.incomplete),
                            (2, 1, 1),
                            "{step}"
                        );
                    } else {
                        assert_eq!((replies.as_str(), ended), ("", end), "{step} {how}");
                        assert_eq!(
                            (counts.accepted, counts.failed, counts.withheld),
                            (accepted, 1 - accepted, 1),
                            "{step} {how}"
                        );
                        assert_eq!(counts.received, 1, "{step} {how}: nothing behind is obeyed");
                    }
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mid_data_fires_when_so_many_bytes_have_come_and_not_before() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "fail-before-commit", "step": "mid-data", "bytes": 10}))
                .await;
            let mut mailer = app.mailer().await;
            mailer.open("ann@example.com").await;
            mailer.conn.send(b"..34567\r\n").await;
            assert!(
                mailer.conn.is_silent(Duration::from_millis(50)).await,
                "eight bytes of content are not ten"
            );
            assert_eq!(app.now("smtp").in_flight, 1);
            mailer.conn.send(b"90").await;
            assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
            assert_eq!(app.counts("smtp").await.failed, 1);
            // A mail of fewer bytes never comes so far, by chunks neither.
            assert!(app.post("ann@example.com", "1234567\r\n").await.starts_with("250"));
            let mut mailer = app.mailer().await;
            mailer
                .send("MAIL FROM:<>\r\nRCPT TO:<a@b.test>\r\nBDAT 5\r\n12345BDAT 4\r\n6789BDAT 1")
                .await;
            for _ in 0..4 {
                mailer.expect("", "250").await;
            }
            mailer.conn.send(b"0").await;
            assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
            assert_eq!((app.counts("smtp").await.failed, app.effects("message")), (2, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_spares_its_mail_every_later_step() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "pass", "step": "mail", "sender": "vip@b.test"}))
                .await;
            app.fault(json!({"provider": "smtp", "mode": "drop-after-commit"}))
                .await;
            app.fault(json!({"mode": "refuse", "step": "rcpt"})).await;
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            mailer.expect("RCPT TO:<x@y.test>", "451").await;
            mailer.expect("MAIL FROM:<vip@b.test>", "250").await;
            mailer.expect("RCPT TO:<x@y.test>", "250").await;
            mailer.expect("DATA", "354").await;
            mailer.dot("x\r\n").await;
            mailer.expect("", "250").await;
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.received, counts.incomplete, counts.accepted, counts.answered),
                (2, 1, 1, 2)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_from_before_a_reset_uses_up_no_rule_of_after() {
    with(
        |b| {
            b.fault(
                ackdrop::faults::Source::Flag,
                "--fault",
                r#"{"mode": "refuse", "step": "rcpt", "on": 1}"#,
            )
        },
        async |app: &App| {
            let mut old = app.mailer().await;
            old.expect("MAIL FROM:<a@b.test>", "250").await;
            app.admin(Call::post("/_reset")).await;
            old.send("RCPT TO:<c@d.test>").await;
            assert_eq!(old.rest().await, (String::new(), End::Orderly), "its world is over");
            assert_eq!(app.counts("smtp").await.received, 0);
            let mut new = app.mailer().await;
            new.expect("MAIL FROM:<a@b.test>", "250").await;
            new.expect("RCPT TO:<c@d.test>", "451").await;
        },
    )
    .await;
}
