//! A mail whose answer is lost after its commit: the provider counts it, and the retry is a second mail.

use std::time::Duration;

use serde_json::json;

use crate::support::{App, Call, End, Mailer, Over, codes, letter, starttls, with};

/// Writes a whole mail and more behind it; with `unread`, more than the server ever reads.
fn with_more(content: &str, unread: bool) -> String {
    let mut wire = format!(
        "MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n{content}.\r\nMAIL FROM:<second@b.test>\r\nQUIT\r\n"
    );
    if unread {
        wire += &"NOOP\r\n".repeat(30_000);
    }
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_loses_the_answer_exactly_and_nothing_before_it() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let mut n = 0;
            for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                for over in Over::ALL {
                    for unread in [false, true] {
                        n += 1;
                        app.fault(json!({"mode": "drop-after-commit", "how": how, "on": 1}))
                            .await;
                        let mut mailer = app.mailer_over(over).await;
                        let (replies, ended) = mailer
                            .send_to_the_end(&with_more(&letter(&format!("m{n}"), "x"), unread))
                            .await;
                        assert_eq!(
                            (codes(&replies), ended),
                            (vec!["250", "250", "354"], end),
                            "{how} {over:?} unread={unread}"
                        );
                        let counts = app.counts("smtp").await;
                        assert_eq!(
                            (counts.received, counts.accepted, counts.withheld),
                            (n, n, n),
                            "{how} {over:?}"
                        );
                        assert_eq!(app.effects("message"), n);
                    }
                }
            }
            assert!(
                app.entries()[0]
                    .log_line()
                    .contains(" key=m1 accepted withheld(close) fault=f1")
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_lets_exactly_so_many_bytes_of_the_reply_through() {
    with(
        |b| b.smtp(starttls()),
        async |app: &App| {
            let whole = app.post("ann@example.com", &letter("whole", "x")).await.len() + 2;
            let (mut n, mut answered) = (1, 1);
            for cut in [0, 1, 3, 4, whole - 2, whole - 1, whole, whole + 1, whole + 5000] {
                for over in Over::ALL {
                    let rule = json!({"mode": "drop-after-commit", "how": "truncate", "bytes": cut, "on": 1});
                    app.fault(rule).await;
                    let mut mailer = app.mailer_over(over).await;
                    mailer.open("ann@example.com").await;
                    mailer.dot(&letter(&format!("{cut}{over:?}"), &format!("{n}"))).await;
                    let (reply, end) = mailer.rest().await;
                    assert_eq!(
                        (reply.len(), end),
                        (cut.min(whole), over.cut()),
                        "{cut} of {whole}, {over:?}"
                    );
                    assert!(
                        "250 2.0.0 Ok: queued as ".starts_with(&reply[..reply.len().min(24)]),
                        "{reply}"
                    );
                    n += 1;
                    answered += u64::from(cut >= whole);
                    let counts = app.counts("smtp").await;
                    assert_eq!(
                        (counts.accepted, counts.answered, counts.withheld),
                        (n, answered, n - answered)
                    );
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_a_lost_answer_is_a_second_mail_and_a_duplicate() {
    with(
        |b| b,
        async |app: &App| {
            let lost = [
                json!({"mode": "drop-after-commit", "on": 1}),
                json!({"mode": "drop-after-commit", "how": "reset", "on": 1}),
                json!({"mode": "drop-after-commit", "how": "hang", "on": 1}),
                json!({"mode": "drop-after-commit", "how": "truncate", "bytes": 9, "on": 1}),
                json!({"mode": "error-after-commit", "on": 1}),
                json!({"mode": "hold-after-commit", "on": 1}),
            ];
            for (i, rule) in (0u64..).zip(lost) {
                app.fault(rule.clone()).await;
                let content = letter(&format!("mail-{i}"), "Thank you.");
                let mut first = app.mailer().await;
                first.open(&format!("{i}@example.com")).await;
                first.dot(&content).await;
                app.until("the commit", |app| app.now("smtp").accepted == 2 * i + 1)
                    .await;
                let reply = app.post(&format!("{i}@example.com"), &content).await;
                assert!(reply.starts_with("250"), "{rule}: {reply}");
                let counts = app.counts("smtp").await;
                assert_eq!((counts.accepted, counts.duplicates), (2 * i + 2, i + 1), "{rule}");
                assert_eq!(app.mails(&format!("?message-id=mail-{i}")).await.len(), 2);
                drop(first);
            }
            app.settled().await;
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.answered, counts.withheld, counts.lost),
                (6, 5, 1),
                "the held one's client left"
            );
            assert_eq!(app.suite.stats().providers["smtp"].duplicates_by["message-id"], 6);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_a_failure_before_the_commit_is_the_only_mail() {
    with(
        |b| b,
        async |app: &App| {
            for (i, how) in (1u64..).zip(["close", "reset", "hang"]) {
                app.fault(json!({"mode": "fail-before-commit", "how": how, "step": "dot", "on": 1}))
                    .await;
                let content = letter(&format!("mail-{i}"), "Thank you.");
                let mut first = app.mailer().await;
                first.open("ann@example.com").await;
                first.dot(&content).await;
                app.until("the failure", |app| app.now("smtp").failed == i).await;
                assert!(app.post("ann@example.com", &content).await.starts_with("250"));
                assert_eq!(app.mails(&format!("?message-id=mail-{i}")).await.len(), 1, "{how}");
                let counts = app.counts("smtp").await;
                assert_eq!((counts.accepted, counts.failed, counts.withheld), (i, i, i), "{how}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_commit_is_a_451_and_the_session_goes_on() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"provider": "smtp", "mode": "error-after-commit", "on": 1})).await;
            app.fault(json!({"provider": "smtp", "mode": "error-after-commit", "status": 554, "code": "5.3.0", "on": 2})).await;
            app.fault(json!({"provider": "smtp", "mode": "error-after-commit", "status": 421, "body": "Over\nand out", "on": 3})).await;
            let mut mailer = app.mailer().await;
            let content = letter("same@shop.test", "x");
            assert!(mailer.post("a@b.test", &content).await.starts_with("451 4."));
            let second = mailer.post("a@b.test", &content).await;
            assert!(second.starts_with("554 "), "{second}");
            let third = mailer.post("a@b.test", &content).await;
            assert_eq!(third, "421-Over\n421 and out");
            assert_eq!(mailer.rest().await, (String::new(), End::Orderly), "a 421 ends the session");
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.withheld, counts.answered, counts.duplicates), (3, 3, 0, 2));
            assert_eq!(app.effects("message"), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_under_a_new_message_id_is_a_duplicate_too() {
    with(
        |b| b,
        async |app: &App| {
            let by = |app: &App| app.suite.stats().providers["smtp"].duplicates_by.clone();
            app.post("a@b.test", &letter("1@shop.test", "x")).await;
            assert_eq!((by(app)["message-id"], by(app)["content"]), (0, 0));
            app.post("a@b.test", &letter("2@shop.test", "x")).await;
            assert_eq!(
                (by(app)["message-id"], by(app)["content"]),
                (0, 1),
                "a workflow's retry"
            );
            app.post("a@b.test", &letter("2@shop.test", "x")).await;
            assert_eq!(
                (by(app)["message-id"], by(app)["content"]),
                (1, 1),
                "a transport's retry"
            );
            app.post("other@b.test", &letter("3@shop.test", "x")).await;
            app.post("a@b.test", &letter("4@shop.test", "y")).await;
            assert_eq!(
                app.counts("smtp").await.duplicates,
                2,
                "other recipients and other words are no duplicate"
            );
            for _ in 0..2 {
                app.post("a@b.test", "Subject: none\r\n\r\nno Message-ID\r\n").await;
            }
            assert_eq!(app.counts("smtp").await.duplicates, 3);
            assert_eq!(
                (by(app)["message-id"], by(app)["content"]),
                (1, 2),
                "the two ways add up to the duplicates"
            );
        },
    )
    .await;
}

/// Loses one answer by a hang, and returns the session that hangs.
async fn hung(app: &App) -> Mailer {
    app.fault(json!({"mode": "drop-after-commit", "how": "hang", "on": 1}))
        .await;
    let mut mailer = app.mailer().await;
    mailer.open("ann@example.com").await;
    mailer.dot(&letter("hung@shop.test", "x")).await;
    app.until("the hang", |app| app.now("smtp").withheld == 1).await;
    assert!(mailer.conn.is_silent(Duration::from_millis(50)).await);
    mailer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_silent_until_the_cap() {
    with(
        |b| {
            // A client on a busy machine has to be quicker from command to command than the idle time.
            b.hang_cap(Duration::from_secs(2)).limits(ackdrop::suite::Limits {
                idle: Duration::from_millis(500),
                ..Default::default()
            })
        },
        async |app: &App| {
            let begin = std::time::Instant::now();
            let mut mailer = hung(app).await;
            assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
            assert!(
                begin.elapsed() >= Duration::from_secs(2),
                "an idle timeout never ends a hang"
            );
            assert_eq!(app.counts("smtp").await.withheld, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_let_go_by_a_reset_and_by_a_stop() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = hung(app).await;
            app.admin(Call::post("/_reset")).await;
            assert_eq!(mailer.rest().await, (String::new(), End::Orderly));
            assert_eq!((app.counts("smtp").await.received, app.mails("").await.len()), (0, 0));
            // The harness stops the suite with this one still hanging, and it must end in time.
            std::mem::forget(hung(app).await);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_hits_one_of_two_mails_on_a_connection() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "error-after-commit", "recipient": "*@two.test"}))
                .await;
            app.fault(json!({"mode": "drop-after-commit", "subject": "Rec*", "key": "four", "how": "reset"}))
                .await;
            let mut mailer = app.mailer().await;
            assert!(mailer.post("x@one.test", &letter("one", "1")).await.starts_with("250"));
            assert!(mailer.post("x@two.test", &letter("two", "2")).await.starts_with("451"));
            assert!(
                mailer
                    .post("x@one.test", &letter("three", "3"))
                    .await
                    .starts_with("250")
            );
            mailer.open("x@one.test").await;
            mailer.dot(&letter("four", "4")).await;
            assert_eq!(mailer.rest().await, (String::new(), End::Reset));
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.answered, counts.withheld), (4, 2, 2));
        },
    )
    .await;
}
