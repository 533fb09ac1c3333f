//! Rules that travel in a mail: a magic recipient, and the header `X-Ackdrop-Fault`.

use serde_json::json;

use crate::support::{App, Call, End, letter, with};

fn with_header(fault: &str, body: &str) -> String {
    format!("X-Ackdrop-Fault: {fault}\r\n{}", letter("id@shop.test", body))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_magic_recipient_loses_the_first_answer_and_not_the_retrys() {
    with(
        |b| b,
        async |app: &App| {
            for (i, how, end) in [(0u64, "close", End::Orderly), (1, "reset", End::Reset)] {
                let to = format!("Drop-After-Commit+{how}+on1@Fault.Test");
                let mut mailer = app.mailer().await;
                mailer.open(&to).await;
                mailer.dot(&letter(&format!("first-{how}"), "x")).await;
                assert_eq!(mailer.rest().await, (String::new(), end));
                // The engine's retry says the same under a new Message-ID.
                let reply = app.post(&to, &letter(&format!("second-{how}"), "x")).await;
                assert!(reply.starts_with("250"), "{reply}");
                let counts = app.counts("smtp").await;
                assert_eq!(
                    (counts.accepted, counts.duplicates, counts.withheld),
                    (2 * i + 2, i + 1, i + 1)
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_counts_by_content_and_scope() {
    with(
        |b| b,
        async |app: &App| {
            let mail = |body: &str| with_header("error-after-commit; on=1", body);
            let mut mailer = app.mailer().await;
            for (body, code) in [("a", "451"), ("a", "250"), ("b", "451"), ("a", "250"), ("b", "250")] {
                let reply = mailer.post("a@b.test", &mail(body)).await;
                assert_eq!(&reply[..3], code, "{body}");
            }
            let mut alice = app.mailer().await;
            alice.log_in("~alice", "x").await;
            assert!(
                alice.post("a@b.test", &mail("a")).await.starts_with("451"),
                "alice's world is another"
            );
            app.admin(Call::post("/_reset?scope=alice")).await;
            assert!(
                alice.post("a@b.test", &mail("a")).await.starts_with("451"),
                "a reset forgets"
            );
            assert!(
                mailer.post("a@b.test", &mail("a")).await.starts_with("250"),
                "and only its own scope's"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mode_can_be_asked_for_in_a_mail() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            for (fault, code) in [
                ("pass", "250"),
                ("refuse", "451"),
                ("refuse; status=550; code=5.7.1", "550"),
                ("fail-before-commit; status=452", "452"),
                ("error-after-commit; status=554", "554"),
                ("delay; delay=10ms", "250"),
                ("delay; delay=10ms; at=before", "250"),
                ("fail-before-forward; status=451", "451"),
                ("forward-and-respond", "250"),
            ] {
                let reply = mailer.post("a@b.test", &with_header(fault, fault)).await;
                assert_eq!(&reply[..3], code, "{fault}: {reply}");
            }
            for (to, code) in [
                ("refuse+status552@fault.test", "552"),
                ("delay+delay10ms+before@fault.test", "250"),
                ("pass@fault.test", "250"),
            ] {
                let reply = mailer.post(to, &letter(to, "x")).await;
                assert_eq!(&reply[..3], code, "{to}: {reply}");
            }
            let mut cut = app.mailer().await;
            cut.open("drop-after-commit+truncate+bytes3@fault.test").await;
            cut.dot("x\r\n").await;
            assert_eq!(cut.rest().await, ("250".to_owned(), End::Orderly));
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.received, counts.accepted, counts.refused, counts.failed),
                (13, 8, 3, 2)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_comes_before_a_recipient_and_both_before_other_rules() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "refuse", "provider": "smtp", "status": 553}))
                .await;
            let mut mailer = app.mailer().await;
            for (to, content, code) in [
                (
                    "refuse+status552@fault.test",
                    with_header("refuse; status=550", "1"),
                    "550",
                ),
                ("refuse+status552@fault.test", letter("2", "2"), "552"),
                ("ann@example.com", letter("3", "3"), "553"),
                ("pass@fault.test", letter("4", "4"), "250"),
            ] {
                let reply = mailer.post(to, &content).await;
                assert_eq!(&reply[..3], code, "{to}: {reply}");
            }
            let fired: Vec<String> = app.entries().iter().map(|e| e.fired[0].rule.to_string()).collect();
            assert_eq!(fired, ["mail-header", "recipient", "f1", "recipient"]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_recipient_is_550_and_the_mail_goes_on_without_it() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            for wrong in [
                "drop-after-comit@fault.test",
                "drop-after-commit+later@fault.test",
                "drop-after-commit+on0@fault.test",
                "drop-after-commit+truncate@fault.test",
                "fail-before-commit+truncate+bytes3@fault.test",
                "refuse+status250@fault.test",
                "delay@fault.test",
                "ann@fault.test",
            ] {
                let reply = mailer.say(&format!("RCPT TO:<{wrong}>")).await;
                assert!(reply.starts_with("550 5.1.1 "), "{wrong}: {reply}");
                assert!(reply.len() > 20, "{wrong}: it says what is wrong: {reply}");
            }
            mailer.expect("RCPT TO:<ann@fault.test.example>", "250").await;
            mailer.expect("DATA", "354").await;
            mailer.dot("x\r\n").await;
            mailer.expect("", "250").await;
            assert_eq!((app.effects("message"), app.effects("recipient")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_header_is_554_at_the_dot_and_no_effect() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            for wrong in [
                "",
                "explode",
                "drop-after-commit; how=softly",
                "refuse; status=250",
                "pass; step=dot",
                "pass; on",
            ] {
                let reply = mailer.post("a@b.test", &with_header(wrong, "x")).await;
                assert!(reply.starts_with("554 5.6.0 X-Ackdrop-Fault: "), "{wrong}: {reply}");
            }
            // One right and one wrong is wrong; and what stands in the body is no header.
            let two = format!("X-Ackdrop-Fault: pass\r\n{}", with_header("explode", "x"));
            assert!(mailer.post("a@b.test", &two).await.starts_with("554"));
            let body = letter("body", "\r\nX-Ackdrop-Fault: explode");
            assert!(mailer.post("a@b.test", &body).await.starts_with("250"));
            let counts = app.counts("smtp").await;
            assert_eq!(
                (counts.received, counts.refused, counts.accepted, counts.answered),
                (8, 7, 1, 8)
            );
            assert_eq!(app.effects("message"), 1);
        },
    )
    .await;
}
