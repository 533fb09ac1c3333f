//! Faults of what is sent: each mode does what it says, and each try is counted.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{Receiver, advance, customer, endpoint, event, made, said, tries};
use crate::support::{App, Call, with};

/// Arms a rule for deliveries.
async fn arm(app: &App, mode: &str, more: Value) {
    let mut rule = json!({"provider": "stripe-webhooks", "mode": mode, "on": 1});
    for (name, value) in more.as_object().unwrap() {
        rule[name] = value.clone();
    }
    app.fault(rule).await;
}

/// Opens a receiver for the events of the default world, and arms a rule.
async fn armed(app: &App, mode: &str, more: Value) -> (Receiver, String) {
    let receiver = Receiver::open().await;
    let (_, secret) = endpoint(app, "", &receiver.url()).await;
    arm(app, mode, more).await;
    (receiver, secret)
}

#[tokio::test]
async fn a_failure_before_reaches_nobody_and_is_tried_again() {
    with(
        |b| b,
        async |app| {
            let (receiver, _) = armed(app, "fail-before-commit", json!({})).await;
            made(app, customer("Ada")).await;
            app.until("the failure", |app| tries(app) == [said("failed", "withheld")])
                .await;
            advance(app, "1h").await;
            receiver.next_of(app, 200).await;
            assert_eq!(tries(app), [said("failed", "withheld"), said("accepted", "answered")]);
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 0);
        },
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_is_dropped_makes_it_arrive_twice() {
    with(
        |b| b,
        async |app| {
            let (receiver, _) = armed(app, "drop-after-commit", json!({"json": {"/type": "customer.created"}})).await;
            made(app, customer("Ada")).await;
            let first = receiver.next_of(app, 200).await;
            assert_eq!(tries(app), [said("accepted", "withheld")]);
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 1);
            advance(app, "1h").await;
            assert_eq!(receiver.next_of(app, 200).await, first);
            let sums = &app.suite.stats().providers["stripe-webhooks"];
            assert_eq!(
                (sums.counts.accepted, sums.counts.duplicates, app.effects("delivery")),
                (2, 1, 2)
            );
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 0);
        },
    )
    .await;
}

#[tokio::test]
async fn a_drop_is_never_sent_nor_again() {
    with(
        |b| b,
        async |app| {
            let (_receiver, _) = armed(app, "drop", json!({})).await;
            made(app, customer("Ada")).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app), [said("failed", "withheld")]);
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 1);
        },
    )
    .await;
}

#[tokio::test]
async fn copies_have_all_their_connections_before_the_first_is_sent() {
    with(
        |b| b,
        async |app| {
            let (receiver, secret) = armed(app, "duplicate", json!({"copies": 3})).await;
            made(app, customer("Ada")).await;
            let mut streams = Vec::new();
            for _ in 0..3 {
                streams.push(receiver.accept().await);
            }
            let mut ids = Vec::new();
            for stream in streams {
                let got = super::receiver::read(stream).await;
                assert!(got.signed(&secret).is_some());
                ids.push(got.json()["id"].clone());
                got.answer(200).await;
            }
            ids.dedup();
            app.settled().await;
            assert_eq!((ids.len(), tries(app)), (1, vec![said("accepted", "answered"); 3]));
            let sums = &app.suite.stats().providers["stripe-webhooks"];
            assert_eq!((sums.counts.duplicates, app.effects("delivery")), (2, 3));
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app).len(), 3);
        },
    )
    .await;
}

#[tokio::test]
async fn copies_that_all_fail_are_tried_again_once() {
    with(
        |b| b,
        async |app| {
            let (receiver, _) = armed(app, "duplicate", json!({})).await;
            made(app, customer("Ada")).await;
            for _ in 0..2 {
                receiver.next().await.answer(500).await;
            }
            app.settled().await;
            advance(app, "1h").await;
            receiver.next_of(app, 200).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app).len(), 3);
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_reordered_comes_behind_those_that_were_later() {
    with(
        |b| b,
        async |app| {
            let (receiver, _) = armed(app, "reorder", json!({"behind": 2, "delay": "1m"})).await;
            for (begun, name) in ["a", "b", "c"].into_iter().enumerate() {
                made(app, customer(name)).await;
                app.until("the begin", |app| tries(app).len() == begun + 1).await;
            }
            let mut names = Vec::new();
            for _ in 0..3 {
                let got = receiver.next().await;
                names.push(got.json()["data"]["object"]["name"].as_str().unwrap().to_owned());
                got.answer(200).await;
            }
            names[..2].sort();
            assert_eq!(names, ["b", "c", "a"]);
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_reordered_waits_no_longer_than_it_is_told() {
    with(
        |b| b,
        async |app| {
            let (receiver, _) = armed(app, "reorder", json!({"delay": "50ms"})).await;
            made(app, customer("alone")).await;
            receiver.take().await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_wrong_signature_and_a_stale_one_are_what_they_say() {
    with(
        |b| b,
        async |app| {
            let (receiver, secret) = armed(app, "bad-signature", json!({})).await;
            made(app, customer("Ada")).await;
            let got = receiver.next().await;
            assert!(got.header("stripe-signature").is_some_and(|s| s.starts_with("t=")));
            assert_eq!(got.signed(&secret), None);
            got.answer(400).await;
            app.settled().await;
            arm(app, "stale-timestamp", json!({})).await;
            advance(app, "1h").await;
            let old = |time: Option<i64>| OffsetDateTime::now_utc().unix_timestamp() - time.expect("a right signature");
            let got = receiver.next().await;
            assert!((600..660).contains(&old(got.signed(&secret))));
            got.answer(400).await;
            app.settled().await;
            arm(app, "stale-timestamp", json!({"delay": "2h"})).await;
            advance(app, "2h").await;
            let got = receiver.next().await;
            assert!((7200..7260).contains(&old(got.signed(&secret))));
            got.answer(200).await;
            app.settled().await;
            let fired: Vec<_> = app
                .entries()
                .iter()
                .flat_map(|e| e.fired.clone())
                .map(|f| f.mode)
                .collect();
            assert_eq!(fired, ["bad-signature", "stale-timestamp", "stale-timestamp"]);
        },
    )
    .await;
}

#[tokio::test]
async fn a_hold_and_a_delay_send_it_later_and_sign_it_then() {
    with(
        |b| b,
        async |app| {
            let (receiver, secret) = armed(app, "hold-before-commit", json!({})).await;
            made(app, customer("Ada")).await;
            let [id] = &app.until_held(1).await[..] else {
                panic!("one hold")
            };
            assert_eq!(app.now("stripe-webhooks").in_flight, 1);
            app.release(id, json!({"then": "answer"})).await;
            let got = receiver.next().await;
            assert!(got.signed(&secret).is_some());
            got.answer(200).await;
            app.settled().await;
            arm(app, "delay", json!({"delay": "100ms"})).await;
            let began = std::time::Instant::now();
            made(app, customer("Eve")).await;
            receiver.next_of(app, 200).await;
            assert!(began.elapsed().as_millis() >= 100);
            arm(app, "hold-before-commit", json!({})).await;
            made(app, customer("Bob")).await;
            let [id] = &app.until_held(1).await[..] else {
                panic!("one hold")
            };
            app.release(id, json!({"then": "drop"})).await;
            app.settled().await;
            assert_eq!(tries(app)[2], said("failed", "withheld"));
        },
    )
    .await;
}

#[tokio::test]
async fn a_rule_that_names_no_provider_meets_what_comes_in_and_a_pass_spares_what_is_sent() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            app.fault(json!({"mode": "drop-after-commit", "on": 2})).await;
            made(app, customer("Ada")).await;
            receiver.next_of(app, 200).await;
            assert_eq!(tries(app), [said("accepted", "answered")]);
            assert_eq!(app.admin(Call::get("/_faults")).await["faults"][0]["matched"], 1);
            app.admin(Call::new("DELETE", "/_faults")).await;
            arm(app, "pass", json!({"key": "evt_*"})).await;
            arm(app, "drop", json!({})).await;
            made(app, customer("Eve")).await;
            receiver.next_of(app, 200).await;
            let entries = app.entries();
            let fired: Vec<_> = entries.iter().flat_map(|e| &e.fired).map(|f| f.mode).collect();
            assert_eq!(fired, ["pass"]);
        },
    )
    .await;
}

#[tokio::test]
async fn a_reset_ends_what_waits() {
    with(
        |b| b,
        async |app| {
            let (_receiver, _) = armed(app, "hold-before-commit", json!({})).await;
            made(app, customer("Ada")).await;
            app.until_held(1).await;
            app.admin(Call::post("/_reset")).await;
            app.until("the end of the hold", |app| app.held(None).is_empty()).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(app.suite.stats().total.received, 0);
        },
    )
    .await;
}

#[tokio::test]
async fn a_mode_or_field_that_does_not_belong_is_refused_when_it_is_given() {
    with(
        |b| b,
        async |app| {
            let hooks = "stripe-webhooks";
            for (rule, field) in [
                (json!({"mode": "duplicate", "provider": "stripe"}), "mode"),
                (json!({"mode": "bad-signature", "operation": "charges.create"}), "mode"),
                (json!({"mode": "duplicate", "provider": hooks, "copies": 1}), "copies"),
                (json!({"mode": "duplicate", "provider": hooks, "copies": 101}), "copies"),
                (json!({"mode": "drop", "provider": hooks, "copies": 2}), "copies"),
                (json!({"mode": "reorder", "behind": 0}), "behind"),
                (json!({"mode": "refuse", "provider": hooks}), "mode"),
                (json!({"mode": "error-after-commit", "provider": hooks}), "mode"),
                (
                    json!({"mode": "drop-after-commit", "provider": hooks, "how": "reset"}),
                    "how",
                ),
                (
                    json!({"mode": "fail-before-commit", "provider": hooks, "status": 503}),
                    "status",
                ),
                (
                    json!({"mode": "delay", "provider": hooks, "delay": "1s", "at": "after"}),
                    "at",
                ),
                (json!({"mode": "drop", "sender": "a@b.test"}), "sender"),
                (json!({"mode": "drop-after-commit", "copies": 2}), "copies"),
            ] {
                let answer = app.call(Call::post("/_faults").json(&rule)).await;
                let problems = answer.json()["error"]["problems"].clone();
                let fields: Vec<_> = problems
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|p| p["field"].clone())
                    .collect();
                assert!(
                    answer.status == 400 && fields.contains(&json!(field)),
                    "{rule}: {}",
                    answer.text()
                );
            }
            app.fault(json!({"mode": "duplicate"})).await;
            let header = app.call(Call::charge().fault("duplicate")).await;
            assert_eq!(header.status, 400, "no request of a client is sent by us");
        },
    )
    .await;
}
