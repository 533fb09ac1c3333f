//! Rules that come in a request, a mail, or a recipient's name.

use serde_json::json;

use crate::support::{App, Call, End, letter, with};

#[tokio::test(flavor = "multi_thread")]
async fn on_counts_by_key_because_clients_repeat_the_header() {
    with(
        |b| b,
        async |app: &App| {
            let call = |reference: &str, key: &str| Call::order(reference).key(key).fault("error-after-commit; on=1");
            assert_eq!(app.call(call("a", "ka")).await.status, 502);
            let retry = app.call(call("a", "ka")).await;
            assert_eq!((retry.status, retry.header("idempotent-replayed")), (201, Some("true")));
            assert_eq!(
                app.call(call("b", "kb")).await.status,
                502,
                "another key counts from one"
            );
            let elsewhere = call("a", "ka").header("x-ackdrop-scope", "alice");
            assert_eq!(app.call(elsewhere).await.status, 502, "another scope too");
            let hook = || Call::post("/hooks/t").key("ka").fault("error-after-commit; on=1");
            assert_eq!(app.call(hook()).await.status, 502, "another provider too");
            assert_eq!(app.call(hook()).await.status, 200);
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.replayed), (3, 1));
            app.admin(Call::post("/_reset?scope=alice")).await;
            let again = call("a", "ka").header("x-ackdrop-scope", "alice");
            assert_eq!(app.call(again).await.status, 502, "a reset forgets what was counted");
            assert_eq!(app.call(call("a", "ka")).await.status, 201, "in its scope alone");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_on_counts_by_content() {
    with(
        |b| b,
        async |app: &App| {
            let call = |body: &str| Call::post("/hooks/t").body(body).fault("refuse; status=503; on=1");
            assert_eq!(app.call(call("a")).await.status, 503);
            assert_eq!(app.call(call("a")).await.status, 200);
            assert_eq!(app.call(call("b")).await.status, 503);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_on_fits_in_a_header() {
    with(
        |b| b,
        async |app: &App| {
            for (on, expected) in [("1,3", [1, 3]), ("2..3", [2, 3]), ("every 2", [2, 4])] {
                let mut hit = Vec::new();
                for n in 1..=4 {
                    let call = Call::post("/hooks/t")
                        .body(on)
                        .fault(&format!("error-after-commit; on={on}"));
                    if app.call(call).await.status == 502 {
                        hit.push(n);
                    }
                }
                assert_eq!(hit, expected, "{on}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_mail_on_counts_by_content_because_engines_make_new_message_ids() {
    with(
        |b| b,
        async |app: &App| {
            let to = "error-after-commit+on1@fault.test";
            assert!(app.post(to, &letter("first", "hello")).await.starts_with("451"));
            assert!(app.post(to, &letter("second", "hello")).await.starts_with("250"));
            assert!(app.post(to, &letter("third", "other")).await.starts_with("451"));
            let counts = app.counts("smtp").await;
            assert_eq!((counts.accepted, counts.withheld, counts.duplicates), (3, 2, 1));
            let by_header = |id: &str| {
                format!(
                    "X-Ackdrop-Fault: drop-after-commit; how=reset; on=1\r\n{}",
                    letter(id, "hi")
                )
            };
            let mut mailer = app.mailer().await;
            mailer.open("a@b.test").await;
            mailer.dot(&by_header("one")).await;
            assert_eq!(mailer.rest().await, (String::new(), End::Reset));
            assert!(app.post("a@b.test", &by_header("two")).await.starts_with("250"));
            assert_eq!(app.effects("message"), 5);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_header_is_400_and_no_attempt() {
    with(
        |b| b,
        async |app: &App| {
            for (header, words) in [
                ("drop-after-comit", ["mode", "drop-after-comit", "drop-after-commit"]),
                ("drop-after-commit; how=expode", ["how", "expode", "reset"]),
                ("drop-after-commit; colour=red", ["colour", "red", "how"]),
                ("drop-after-commit; on=0", ["on", "0", "every 3"]),
                ("delay", ["delay", "missing", "250ms"]),
                ("refuse; provider=orders", ["provider", "orders", "how"]),
                ("drop-after-commit; how", ["how", "field=value", "on"]),
                ("", ["mode", "", "drop-after-commit"]),
            ] {
                let answer = app.call(Call::order("a").fault(header)).await;
                assert_eq!(answer.status, 400, "{header}");
                let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(said.starts_with("X-Ackdrop-Fault: "), "{said}");
                assert!(words.iter().all(|word| said.contains(word)), "{header}: {said}");
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, app.effects("order")), (0, 0));
            assert_eq!(app.order("a").await, 201);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_recipient_is_550_and_a_wrong_mail_header_554() {
    with(
        |b| b,
        async |app: &App| {
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@b.test>", "250").await;
            let said = mailer.expect("RCPT TO:<drop-after-comit@fault.test>", "550").await;
            assert!(said.contains("drop-after-commit"), "{said}");
            mailer.expect("RCPT TO:<b@b.test>", "250").await;
            mailer.expect("DATA", "354").await;
            mailer
                .dot(&format!("X-Ackdrop-Fault: explode\r\n{}", letter("a", "x")))
                .await;
            let said = mailer.reply().await;
            assert!(said.starts_with("554") && said.contains("explode"), "{said}");
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fired_in_a_request_is_named_and_counted() {
    with(
        |b| b,
        async |app: &App| {
            app.call(Call::order("a").fault("error-after-commit")).await;
            let events = app.admin(Call::get("/_events")).await;
            assert_eq!(
                events["events"][0]["fault"],
                json!({"rule": "header", "mode": "error-after-commit", "how": "status"})
            );
            assert_eq!(
                app.admin(Call::get("/_stats")).await["faults"],
                json!({"armed": 0, "fired": 1})
            );
        },
    )
    .await;
}
