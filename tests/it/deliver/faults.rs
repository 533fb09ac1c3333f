//! Rules for what is ordered to be sent: they are asked about every copy, and what they cannot do is refused when they are armed.

use serde_json::{Value, json};

use super::{Receiver, deliver, each};
use crate::support::{App, Call, with, within};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn rule(fields: &Value) -> Value {
    let mut rule = json!({"provider": "deliveries"});
    rule.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    rule
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_back_reaches_nobody_and_what_is_lost_was_accepted() {
    with(
        |b| b,
        async |app: &App| {
            for (mode, outcome, heard) in [
                ("fail-before-commit", "failed", 2),
                ("drop", "failed", 2),
                ("drop-after-commit", "accepted", 3),
            ] {
                app.admin(Call::post("/_reset")).await;
                let receiver = Receiver::saying("200 OK").await;
                app.fault(rule(&json!({"mode": mode, "on": 2}))).await;
                let told = deliver(
                    app,
                    json!({"url": receiver.url, "bodies": ["a", "b", "c"], "order": "given"}),
                )
                .await;
                assert_eq!(each(&told, "outcome"), ["accepted", outcome, "accepted"], "{mode}");
                assert_eq!(each(&told, "fate"), ["answered", "withheld", "answered"], "{mode}");
                assert_eq!(each(&told, "status"), [json!(200), Value::Null, json!(200)], "{mode}");
                assert_eq!(told["copies"][1]["error"]["what"], "withheld", "{mode}");
                assert_eq!(told["copies"][1]["body"], Value::Null, "{mode}");
                assert_eq!(receiver.heard().len(), heard, "{mode}");
                let counts = app.counts("deliveries").await;
                assert_eq!((counts.accepted as usize, counts.withheld), (heard, 1), "{mode}");
                let fired = app.entries().into_iter().filter(|entry| !entry.fired.is_empty());
                assert_eq!(fired.count(), 1, "{mode}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_goes_alone_and_the_others_go_at_once() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            app.fault(rule(&json!({"mode": "hold-before-commit", "on": 1}))).await;
            let call = Call::post("/_deliver").json(&json!({"url": receiver.url, "body": "x", "copies": 3}));
            let mut conn = app.connect().await;
            conn.send(&call.bytes()).await;
            let id = app.until_held(1).await.remove(0);
            // The receiver hears a request before its sender has heard the answer: the ledger tells when they are through.
            let others = async {
                while app.now("deliveries").open > 1 {
                    tokio::task::yield_now().await;
                }
            };
            within("the others", others).await;
            assert_eq!(receiver.heard().len(), 2);
            app.release(&id, json!({"then": "drop"})).await;
            let told = conn.answer().await.json();
            assert_eq!(each(&told, "outcome"), ["failed", "accepted", "accepted"]);
            assert_eq!(receiver.heard().len(), 2);
            app.fault(rule(&json!({"mode": "delay", "delay": "300ms", "on": 1})))
                .await;
            let told = deliver(app, json!({"url": receiver.url, "body": "x", "copies": 2})).await;
            let released = |n: usize| told["copies"][n]["times"]["released"].as_f64().unwrap();
            assert!(released(0) >= 300.0 && released(1) < released(0), "{told}");
            assert_eq!(each(&told, "outcome"), ["accepted", "accepted"]);
            app.fault(rule(&json!({"mode": "hold-before-commit", "barrier": 3})))
                .await;
            let told = deliver(app, json!({"url": receiver.url, "body": "x", "copies": 3})).await;
            assert_eq!(each(&told, "outcome"), ["accepted", "accepted", "accepted"]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_names_no_provider_is_not_used_up_by_what_is_sent() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let asked = json!({"url": receiver.url, "body": {"reference": "o"}, "copies": 3, "spacing": "1ms"});
            for (n, (mode, more)) in [
                ("drop-after-commit", json!({})),
                ("fail-before-commit", json!({"method": "POST"})),
                ("delay", json!({"delay": "1ms", "scope": "default"})),
                ("pass", json!({"json": {"/reference": "*"}})),
                ("drop-after-commit", json!({"outcome": "accepted"})),
            ]
            .into_iter()
            .enumerate()
            {
                let mut rule = json!({"mode": mode, "on": 1});
                rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let id = app.fault(rule).await;
                let told = deliver(app, asked.clone()).await;
                assert_eq!(each(&told, "outcome"), ["accepted"; 3], "{mode}");
                assert_eq!(each(&told, "fate"), ["answered"; 3], "{mode}");
                assert_eq!(app.tally(&id).await, [0, 0, 0], "{mode}");
                let mut conn = app.connect().await;
                conn.send(&Call::order(&format!("o{n}")).bytes()).await;
                conn.try_answer().await;
                assert_eq!(app.tally(&id).await, [1, 1, 0], "{mode}: it was kept for what comes in");
                app.admin(Call::new("DELETE", "/_faults")).await;
            }
            assert_eq!(receiver.heard().len(), 15);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_can_be_wrong_or_stale_and_the_id_stays() {
    with(
        |b| b,
        async |app: &App| {
            for scheme in ["standard", "stripe"] {
                let target = format!("/_hooks/{scheme}");
                let settings = json!({"secret": SECRET, "scheme": scheme});
                app.admin(Call::new("PUT", &target).json(&settings)).await;
                let wrong = rule(&json!({"mode": "bad-signature", "on": 1}));
                let stale = rule(&json!({"mode": "stale-timestamp", "on": 2}));
                let (wrong, stale) = (app.fault(wrong).await, app.fault(stale).await);
                let url = format!("http://{}/hooks/{scheme}", app.http());
                let sign = json!({"scheme": scheme, "secret": SECRET});
                deliver(
                    app,
                    json!({"url": url, "body": {"a": 1}, "copies": 3, "spacing": "1ms", "sign": sign}),
                )
                .await;
                let list = app.admin(Call::get(&target)).await["deliveries"].clone();
                let mut verdicts: Vec<&str> = list
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|d| d["signature"].as_str().unwrap())
                    .collect();
                verdicts.sort_unstable();
                assert_eq!(
                    verdicts,
                    ["invalid: no signature matches", "stale", "valid"],
                    "{scheme}"
                );
                for id in [wrong, stale] {
                    app.admin(Call::new("DELETE", &format!("/_faults/{id}"))).await;
                }
                assert_eq!(
                    app.counts("deliveries").await.duplicates,
                    if scheme == "standard" { 2 } else { 4 }
                );
            }
            app.fault(rule(&json!({"mode": "bad-signature", "on": 1}))).await;
            let receiver = Receiver::saying("200 OK").await;
            deliver(app, json!({"url": receiver.url, "body": "x"})).await;
            let entry = app.entries().pop().unwrap();
            assert!(entry.notes[0].contains("not signed"), "{:?}", entry.notes);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_for_an_order_is_refused_and_a_rule_may_look_at_what_is_sent() {
    with(
        |b| b,
        async |app: &App| {
            for (fields, words) in [
                (json!({"mode": "duplicate"}), "`copies` and `order`"),
                (json!({"mode": "reorder"}), "`copies` and `order`"),
                (json!({"mode": "refuse"}), "does not go with what the suite sends"),
                (
                    json!({"mode": "error-after-commit"}),
                    "does not go with what the suite sends",
                ),
                (
                    json!({"mode": "hold-after-commit"}),
                    "does not go with what the suite sends",
                ),
                (
                    json!({"mode": "drop-after-commit", "how": "reset"}),
                    "what the suite sends itself",
                ),
            ] {
                let answer = app.call(Call::post("/_faults").json(&rule(&fields))).await;
                assert!(
                    answer.status == 400 && answer.text().contains(words),
                    "{fields}: {}",
                    answer.text()
                );
            }
            let receiver = Receiver::saying("200 OK").await;
            app.fault(rule(
                &json!({"mode": "drop", "json": {"/order/id": "17"}, "method": "PUT", "path": "/hook"}),
            ))
            .await;
            app.fault(json!({"mode": "duplicate"})).await;
            let bodies = json!([{"order": {"id": 17}}, {"order": {"id": 18}}]);
            for (method, heard) in [("PUT", 1), ("POST", 3)] {
                deliver(app, json!({"url": receiver.url, "bodies": bodies, "method": method})).await;
                assert_eq!(receiver.heard().len(), heard, "{method}");
            }
            let scheduled = json!({"provider": "stripe", "operation": "schedule.run", "mode": "pass"});
            let answer = app.call(Call::post("/_faults").json(&scheduled)).await;
            assert!(
                answer.status == 400 && answer.text().contains("no client asks for it"),
                "{}",
                answer.text()
            );
        },
    )
    .await;
}
