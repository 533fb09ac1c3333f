//! What an after-mode counts: accepted attempts and their replays, unless `outcome` says otherwise.

use serde_json::json;

use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_accepted_does_not_eat_the_first_match() {
    with(
        |b| b,
        async |app: &App| {
            assert_eq!(app.order("taken").await, 201);
            assert_eq!(app.call(Call::order("keyed").key("k")).await.status, 201);
            let drop = app
                .fault(json!({"mode": "error-after-commit", "provider": "orders", "on": 1}))
                .await;
            assert_eq!(app.call(Call::get("/orders/taken")).await.status, 200);
            assert_eq!(app.call(Call::get("/orders/none")).await.status, 404);
            assert_eq!(app.call(Call::get("/orders")).await.status, 200);
            assert_eq!(app.call(Call::post("/orders").body("{")).await.status, 400);
            assert_eq!(app.order("taken").await, 409);
            assert_eq!(app.call(Call::order("other").key("k")).await.status, 422);
            assert_eq!(app.call(Call::new("PATCH", "/orders/taken")).await.status, 405);
            assert_eq!(app.tally(&drop).await, [0, 0, 0]);
            assert_eq!(app.order("new").await, 502);
            assert_eq!(app.tally(&drop).await, [1, 1, 0]);
            assert_eq!(app.effects("order"), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_of_an_accepted_record_counts_and_that_of_a_refusal_does_not() {
    with(
        |b| b,
        async |app: &App| {
            let second = app.fault(json!({"mode": "error-after-commit", "on": 2})).await;
            assert_eq!(app.order("taken").await, 201);
            for _ in 0..2 {
                let refused = app.call(Call::order("taken").key("refused")).await;
                assert_eq!(refused.status, 409);
            }
            assert_eq!(
                app.tally(&second).await,
                [1, 0, 1],
                "the kept refusal and its replay do not count"
            );
            app.admin(Call::new("DELETE", "/_faults")).await;
            app.fault(json!({"mode": "error-after-commit", "on": 2})).await;
            let first = app.call(Call::order("kept").key("k")).await;
            let second = app.call(Call::order("kept").key("k")).await;
            let third = app.call(Call::order("kept").key("k")).await;
            assert_eq!((first.status, second.status, third.status), (201, 502, 201));
            assert_eq!(third.body, first.body);
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.replayed, counts.withheld), (2, 3, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_is_asked_for_is_the_one_that_counts() {
    with(
        |b| b,
        async |app: &App| {
            assert_eq!(app.call(Call::order("a").key("k")).await.status, 201);
            for (outcome, call) in [
                ("read", Call::get("/orders/a")),
                ("read", Call::get("/orders/none")),
                ("refused", Call::order("a")),
                ("refused", Call::post("/orders").body("{")),
                ("replayed", Call::order("a").key("k")),
                ("accepted", Call::post("/hooks/t")),
            ] {
                app.admin(Call::new("DELETE", "/_faults")).await;
                let rule = json!({"mode": "error-after-commit", "outcome": outcome, "status": 504, "on": 1});
                let id = app.fault(rule).await;
                for other in ["read", "refused", "replayed", "accepted"]
                    .iter()
                    .filter(|other| **other != outcome)
                {
                    app.fault(json!({"mode": "error-after-commit", "outcome": other, "status": 599}))
                        .await;
                }
                assert_eq!(app.call(call.clone()).await.status, 504, "{outcome} {call:?}");
                assert_eq!(app.tally(&id).await, [1, 1, 0]);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_before_mode_meets_what_arrives_whatever_comes_of_it() {
    with(
        |b| b,
        async |app: &App| {
            let rule = json!({"mode": "fail-before-commit", "status": 503, "provider": "orders", "on": 2});
            let id = app.fault(rule).await;
            assert_eq!(app.call(Call::post("/orders").body("{")).await.status, 400);
            assert_eq!(app.call(Call::get("/orders")).await.status, 503);
            assert_eq!(app.tally(&id).await, [2, 1, 1]);
            let counts = app.counts("orders").await;
            assert_eq!((counts.refused, counts.failed, counts.read), (1, 1, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_and_its_replay_do_not_eat_the_first_match_of_a_charge() {
    with(
        |b| b,
        async |app: &App| {
            let drop = app
                .fault(json!({"mode": "error-after-commit", "operation": "charges.create", "on": 1}))
                .await;
            let declined = "amount=1099&currency=usd&source=tok_chargeDeclined";
            for _ in 0..2 {
                let answer = app.call(Call::stripe("/v1/charges", declined).key("declined")).await;
                assert_eq!(answer.status, 402);
            }
            assert_eq!(app.call(Call::stripe("/v1/charges", "amount=x")).await.status, 400);
            let nobody = Call::post("/v1/charges").form("amount=1099&currency=usd&source=tok_visa");
            assert_eq!(app.call(nobody).await.status, 401);
            assert_eq!(app.tally(&drop).await, [0, 0, 0]);
            assert_eq!(app.call(Call::charge()).await.status, 502);
            assert_eq!(app.effects("charge"), 1);
        },
    )
    .await;
}
