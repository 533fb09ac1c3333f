//! What is kept under a key, and what is not.

use serde_json::json;

use super::{charge, get, id, made, refusal};
use crate::support::{Answer, App, Call, with};

const DECLINED: &str = "amount=1099&currency=usd&source=tok_visa_chargeDeclined";

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Checks the headers of an answer that is kept and of its replay.
fn assert_kept(first: &Answer, again: &Answer) {
    assert_eq!((again.status, again.text()), (first.status, first.text()));
    let (original, own) = (first.header("request-id"), again.header("request-id"));
    assert!(original.is_some() && own.is_some() && original != own);
    assert_eq!(first.header("original-request"), original);
    assert_eq!(again.header("original-request"), original);
    assert_eq!((is_replay(first), is_replay(again)), (false, true));
    assert_eq!(first.header("idempotency-key"), again.header("idempotency-key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_is_kept_and_replayed() {
    with(
        |b| b,
        async |app: &App| {
            let call = || Call::stripe("/v1/charges", DECLINED).key("k");
            let (first, again) = (app.call(call()).await, app.call(call()).await);
            let (status, kind, code, _) = refusal(&first);
            assert_eq!(
                (status, &*kind, code.as_deref()),
                (402, "card_error", Some("card_declined"))
            );
            assert_kept(&first, &again);
            let counts = app.counts("stripe").await;
            assert_eq!((counts.refused, counts.replayed, counts.accepted), (1, 1, 0));
            let listed = made(app, get("/v1/charges")).await;
            assert_eq!(
                listed["data"].as_array().unwrap().len(),
                1,
                "one failed charge: {listed}"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_execution_did_not_find_is_kept() {
    with(
        |b| b,
        async |app: &App| {
            let call = || Call::stripe("/v1/customers/cus_none", "name=N").key("k");
            let (first, again) = (app.call(call()).await, app.call(call()).await);
            assert_eq!(refusal(&first).2.as_deref(), Some("resource_missing"));
            assert_eq!(first.status, 404);
            assert_kept(&first, &again);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_injected_decline_or_server_error_is_kept_and_replayed() {
    for status in [402, 424, 500, 502, 503, 504] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "refuse", "status": status, "on": 1, "headers": {"x-cause": "test"}}))
                    .await;
                let (first, again) = (
                    app.call(charge(1099).key("k")).await,
                    app.call(charge(1099).key("k")).await,
                );
                assert_eq!(first.status, status, "{}", first.text());
                assert_kept(&first, &again);
                assert_eq!(first.header("stripe-should-retry"), None);
                assert_eq!(
                    (first.header("x-cause"), again.header("x-cause")),
                    (Some("test"), Some("test"))
                );
                let counts = app.counts("stripe").await;
                assert_eq!((counts.refused, counts.replayed, counts.accepted), (1, 1, 0));
                assert_eq!((app.effects("charge"), counts.answered), (0, 2));
                let other = app.call(charge(1).key("k")).await;
                assert_eq!(refusal(&other).1, "idempotency_error", "the key is taken");
                assert_eq!(app.call(charge(1099).key("l")).await.status, 200);
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_injected_refusal_before_execution_is_not_kept() {
    for status in [400, 401, 409, 429] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "refuse", "status": status, "on": 1})).await;
                let first = app.call(charge(1099).key("k")).await;
                assert_eq!(first.status, status, "{}", first.text());
                assert_eq!((first.header("original-request"), is_replay(&first)), (None, false));
                assert_eq!(first.header("idempotency-key"), Some("k"));
                let again = app.call(charge(2000).key("k")).await;
                assert_eq!((again.status, is_replay(&again)), (200, false), "the key is free");
                let counts = app.counts("stripe").await;
                assert_eq!((counts.refused, counts.replayed, counts.accepted), (1, 0, 1));
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateways_failure_is_never_kept() {
    with(
        |b| b,
        async |app: &App| {
            for (n, status) in [402, 500, 503].into_iter().enumerate() {
                let key = format!("k{n}");
                let fault = json!({"mode": "fail-before-commit", "status": status, "key": &key, "on": 1});
                app.fault(fault).await;
                let first = app.call(charge(1099).key(&key)).await;
                assert_eq!(
                    (first.status, first.header("content-type")),
                    (status, Some("text/html"))
                );
                assert_eq!(
                    (first.header("request-id"), first.header("original-request")),
                    (None, None)
                );
                let again = app.call(charge(2000 + u64::from(status)).key(&key)).await;
                assert_eq!((again.status, is_replay(&again)), (200, false));
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.failed, counts.accepted, counts.replayed), (3, 3, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_validation_and_a_wrong_key_keep_nothing() {
    with(
        |b| b,
        async |app: &App| {
            let wrong = [
                (Call::stripe("/v1/charges", "amount=0&currency=usd"), 400),
                (
                    Call::stripe("/v1/charges", "amount=1099&currency=usd&source=tok_visa&x=1"),
                    400,
                ),
                (Call::stripe("/v1/charges", "amount=%zz"), 400),
                (
                    Call::post("/v1/charges").form("amount=1099&currency=usd&source=tok_visa"),
                    401,
                ),
                (Call::stripe("/v1/nothing", ""), 404),
            ];
            for (call, status) in wrong {
                let first = app.call(call.clone().key("k")).await;
                assert_eq!(first.status, status, "{}", first.text());
                assert_eq!(first.header("original-request"), None, "{call:?}");
                assert!(!is_replay(&app.call(call.key("k")).await));
            }
            let made = app.call(charge(1099).key("k")).await;
            assert_eq!((made.status, is_replay(&made)), (200, false), "the key was free");
            assert_eq!(app.effects("charge"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_refusal_takes_nothing_of_the_world_with_it() {
    with(
        |b| b,
        async |app: &App| {
            let charge = id(app, charge(1000)).await;
            app.fault(json!({"mode": "refuse", "status": 500, "operation": "refunds.create", "on": 1}))
                .await;
            let refund = || Call::stripe("/v1/refunds", &format!("charge={charge}&amount=400")).key("k");
            assert_eq!(app.call(refund()).await.status, 500);
            assert_eq!(app.call(refund()).await.status, 500, "replayed");
            let now = made(app, get(&format!("/v1/charges/{charge}"))).await;
            assert_eq!(now["amount_refunded"], 0);
            assert_eq!(
                app.call(refund().key("ignored")).await.status,
                500,
                "the first header counts"
            );
            let other = Call::stripe("/v1/refunds", &format!("charge={charge}&amount=400")).key("l");
            assert_eq!(app.call(other).await.status, 200);
            assert_eq!(app.effects("refund"), 1);
        },
    )
    .await;
}
