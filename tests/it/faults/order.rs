//! Which of several rules wins, and what the others count.

use ackdrop::faults::Source;
use serde_json::json;

use crate::support::{App, Call, letter, with};

#[tokio::test(flavor = "multi_thread")]
async fn sources_are_asked_in_their_order_whenever_they_were_armed() {
    let refuse = |status: u16| format!("refuse; provider=orders; status={status}");
    with(
        |b| {
            b.fault(Source::Env, "ACKDROP_FAULT", refuse(404))
                .fault(Source::Flag, "--fault", refuse(403))
                .fault(Source::File, "ackdrop.toml: fault", refuse(402))
        },
        async |app: &App| {
            let api = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 401}))
                .await;
            let with_header = app.call(Call::order("a").fault("refuse; status=400")).await;
            assert_eq!(with_header.status, 400);
            let list = app.admin(Call::get("/_faults")).await;
            let rules = list["faults"].as_array().unwrap();
            let sources: Vec<_> = rules.iter().map(|rule| rule["source"].as_str().unwrap()).collect();
            assert_eq!(sources, ["api", "file", "flag", "env"]);
            for (status, rule) in [401, 402, 403, 404].into_iter().zip(rules) {
                let id = rule["id"].as_str().unwrap();
                assert_eq!(app.order("b").await, status);
                assert_eq!(app.tally(id).await[1], 1, "it alone fired");
                app.admin(Call::new("DELETE", &format!("/_faults/{id}"))).await;
            }
            assert_eq!(app.rule(&api).await, json!(null));
            assert_eq!(app.order("b").await, 201);
            assert_eq!(app.effects("order"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_that_matches_counts_it_and_only_the_first_that_may_fire_wins() {
    with(
        |b| b,
        async |app: &App| {
            let first = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 401, "on": [1, 3]}))
                .await;
            let second = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 402, "on": "1..2"}))
                .await;
            let third = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 403, "on": 4}))
                .await;
            let mut statuses = Vec::new();
            for n in 1..=5 {
                statuses.push(app.order(&format!("o{n}")).await);
            }
            assert_eq!(statuses, [401, 402, 401, 403, 201]);
            assert_eq!(app.tally(&first).await, [5, 2, 3]);
            assert_eq!(app.tally(&second).await, [5, 1, 4]);
            assert_eq!(app.tally(&third).await, [5, 1, 4]);
            let totals = &app.admin(Call::get("/_stats")).await["faults"];
            assert_eq!(*totals, json!({"armed": 0, "fired": 4}));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_before_and_a_rule_after_the_commit_do_not_stand_in_each_others_way() {
    with(
        |b| b,
        async |app: &App| {
            let before = app
                .fault(json!({"mode": "delay", "at": "before", "delay": "1ms", "provider": "orders"}))
                .await;
            let after = app
                .fault(json!({"mode": "error-after-commit", "provider": "orders"}))
                .await;
            assert_eq!(app.order("a").await, 502);
            assert_eq!(
                (app.tally(&before).await, app.tally(&after).await),
                ([1, 1, 0], [1, 1, 0])
            );
            let entry = app.entries().pop().unwrap();
            let fired: Vec<_> = entry.fired.iter().map(|fired| &*fired.rule).collect();
            assert_eq!(fired, [&*before, &*after]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_before_the_commit_spares_the_attempt_everything() {
    with(
        |b| b,
        async |app: &App| {
            let pass = app.fault(json!({"mode": "pass", "key": "free-*"})).await;
            let refuse = app
                .fault(json!({"mode": "refuse", "provider": "orders", "on": "2..9"}))
                .await;
            let drop = app
                .fault(json!({"mode": "error-after-commit", "provider": "orders"}))
                .await;
            assert_eq!(app.order("free-1").await, 201);
            assert_eq!(app.order("paid-1").await, 422, "the second match of the rule that lost");
            assert_eq!(
                (app.tally(&pass).await, app.tally(&refuse).await),
                ([1, 1, 0], [2, 1, 1])
            );
            assert_eq!(app.tally(&drop).await, [0, 0, 0], "it was not asked");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_after_the_commit_wins_there() {
    with(
        |b| b,
        async |app: &App| {
            let pass = app
                .fault(json!({"mode": "pass", "outcome": "accepted", "key": "free-*"}))
                .await;
            let drop = app
                .fault(json!({"mode": "error-after-commit", "provider": "orders"}))
                .await;
            assert_eq!(app.order("free-1").await, 201);
            assert_eq!(app.order("paid-1").await, 502);
            assert_eq!((app.tally(&pass).await, app.tally(&drop).await), ([1, 1, 0], [2, 1, 1]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_mail_its_header_comes_before_its_recipient_and_that_before_installed_rules() {
    with(
        |b| b.fault(Source::Flag, "--fault", "refuse; provider=smtp; status=554"),
        async |app: &App| {
            let api = app
                .fault(json!({"mode": "refuse", "provider": "smtp", "status": 552}))
                .await;
            let with_header = format!("X-Ackdrop-Fault: refuse; status=450\r\n{}", letter("a", "x"));
            let magic = "refuse+status451@fault.test";
            assert!(app.post(magic, &with_header).await.starts_with("450"));
            assert!(app.post(magic, &letter("b", "x")).await.starts_with("451"));
            assert!(app.post("a@b.test", &letter("c", "x")).await.starts_with("552"));
            assert_eq!(app.tally(&api).await, [3, 1, 2]);
            app.admin(Call::new("DELETE", "/_faults")).await;
            assert!(app.post("a@b.test", &letter("d", "x")).await.starts_with("554"));
            assert_eq!(app.effects("message"), 0);
        },
    )
    .await;
}
