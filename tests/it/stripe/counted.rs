//! What is counted as an effect, as a duplicate, and by a rule.

use serde_json::json;

use super::{charge, get, id};
use crate::support::{App, Call, End, with};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_or_under_another_a_retry_charges_again() {
    for second in [None, Some("other")] {
        for first in [None, Some("one")] {
            with(
                |b| b,
                async |app: &App| {
                    let form = "amount=1099&currency=usd&source=tok_visa&metadata[order]=17";
                    let call = |key: Option<&str>| {
                        let call = Call::stripe("/v1/charges", form);
                        match key {
                            Some(key) => call.key(key),
                            None => call,
                        }
                    };
                    app.fault(json!({"mode": "drop-after-commit", "on": 1})).await;
                    let mut conn = app.connect().await;
                    conn.send(&call(first).bytes()).await;
                    assert_eq!(conn.rest().await, (vec![], End::Orderly));
                    let again = app.call(call(second)).await;
                    assert_eq!((again.status, again.header("idempotent-replayed")), (200, None));
                    let counts = app.counts("stripe").await;
                    assert_eq!((counts.accepted, counts.replayed, counts.duplicates), (2, 0, 1));
                    assert_eq!(app.effects("charge"), 2, "{first:?} then {second:?}");
                },
            )
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_is_no_duplicate_and_order_is_no_difference() {
    with(
        |b| b,
        async |app: &App| {
            let one = "amount=1099&currency=usd&source=tok_visa&metadata[order]=17";
            let same = "metadata%5Border%5D=17&source=tok%5Fvisa&currency=usd&amount=1099";
            let other = "amount=1099&currency=usd&source=tok_visa&metadata[order]=18";
            for (form, duplicates) in [(one, 0), (other, 0), (same, 1), (one, 2)] {
                id(app, Call::stripe("/v1/charges", form)).await;
                assert_eq!(app.counts("stripe").await.duplicates, duplicates, "{form}");
            }
            let account = Call::stripe("/v1/charges", one).header("stripe-account", "acct_1");
            id(app, account).await;
            assert_eq!(
                app.counts("stripe").await.duplicates,
                2,
                "another account is another charge"
            );
            id(app, Call::stripe("/v1/charges", one).header("x-ackdrop-scope", "alice")).await;
            assert_eq!(
                app.counts("stripe").await.duplicates,
                2,
                "another scope is another world"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_commit_and_its_retry_are_one_charge() {
    for fault in [
        json!({"mode": "fail-before-commit", "how": "close", "on": 1}),
        json!({"mode": "fail-before-commit", "how": "reset", "on": 1}),
        json!({"mode": "fail-before-commit", "how": "hang", "on": 1}),
        json!({"mode": "fail-before-commit", "status": 503, "on": 1}),
    ] {
        for key in [None, Some("k")] {
            with(
                |b| b,
                async |app: &App| {
                    let call = || match key {
                        Some(key) => charge(1099).key(key),
                        None => charge(1099),
                    };
                    app.fault(fault.clone()).await;
                    let mut conn = app.connect().await;
                    conn.send(&call().bytes()).await;
                    app.until("the failure", |app| app.now("stripe").failed == 1).await;
                    let again = app.call(call()).await;
                    assert_eq!((again.status, again.header("idempotent-replayed")), (200, None));
                    let counts = app.counts("stripe").await;
                    assert_eq!(
                        (
                            counts.failed,
                            counts.accepted,
                            counts.replayed,
                            counts.duplicates,
                            app.effects("charge")
                        ),
                        (1, 1, 0, 0, 1),
                        "{fault}"
                    );
                },
            )
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_a_refusal_and_a_conflict_do_not_use_a_rule_up() {
    with(
        |b| b,
        async |app: &App| {
            let rule = app
                .fault(json!({"mode": "drop-after-commit", "provider": "stripe", "on": 1}))
                .await;
            let declined = "amount=1099&currency=usd&source=tok_visa_chargeDeclined";
            let calls = [
                (get("/v1/charges"), 200),
                (get("/v1/charges/ch_none"), 404),
                (get("/v1/balance").key("k"), 200),
                (Call::get("/v1/charges"), 401),
                (Call::charge().header("stripe-account", "nobody"), 403),
                (Call::stripe("/v1/charges", "amount=1099"), 400),
                (Call::stripe("/v1/charges", "amount[=1"), 400),
                (Call::stripe("/v1/nothing", ""), 404),
                (Call::charge().key(&"k".repeat(256)), 400),
                (Call::stripe("/v1/charges", declined), 402),
                (Call::stripe("/v1/charges", declined).key("declined"), 402),
                (Call::stripe("/v1/charges", declined).key("declined"), 402),
                (Call::charge().key("declined"), 400),
                (Call::stripe("/v1/refunds", "charge=ch_none"), 400),
            ];
            for (call, status) in calls {
                let answer = app.call(call.clone()).await;
                assert_eq!(answer.status, status, "{call:?}: {}", answer.text());
            }
            let shown = app.admin(Call::get("/_faults")).await;
            let shown = shown["faults"].as_array().or(shown.as_array()).unwrap();
            let rule = shown.iter().find(|r| r["id"] == *rule).unwrap();
            assert_eq!((&rule["matched"], &rule["fired"]), (&json!(0), &json!(0)), "{rule}");
            let mut conn = app.connect().await;
            conn.send(&charge(1099).key("k").bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Orderly), "the charge meets it");
            assert_eq!(app.counts("stripe").await.withheld, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_and_its_replay_meet_only_rules_that_ask_for_them() {
    with(
        |b| b,
        async |app: &App| {
            let declined = || {
                let form = "amount=1099&currency=usd&source=tok_visa_chargeDeclined";
                Call::stripe("/v1/charges", form).key("k")
            };
            app.fault(json!({"mode": "drop-after-commit", "outcome": "refused", "on": 1}))
                .await;
            app.fault(json!({"mode": "drop-after-commit", "outcome": "replayed", "on": 2}))
                .await;
            app.fault(json!({"mode": "drop-after-commit"})).await;
            let mut conn = app.connect().await;
            conn.send(&declined().bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Orderly), "the decline is lost");
            let again = app.call(declined()).await;
            assert_eq!((again.status, again.header("idempotent-replayed")), (402, Some("true")));
            let mut conn = app.connect().await;
            conn.send(&declined().bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Orderly), "its second replay is lost");
            assert_eq!(app.call(declined()).await.body, again.body);
            let counts = app.counts("stripe").await;
            assert_eq!(
                (counts.refused, counts.replayed, counts.accepted, counts.withheld),
                (1, 3, 0, 2)
            );
            assert_eq!(app.effects("charge"), 0);
        },
    )
    .await;
}
