//! `on` in all its forms.

use serde_json::{Value, json};

use crate::support::{App, Call, with};

/// Makes so many orders, and says which of them the rule hit.
async fn hits(app: &App, on: &Value, orders: usize) -> Vec<usize> {
    app.admin(Call::post("/_reset")).await;
    let mut rule = json!({"mode": "error-after-commit", "provider": "orders"});
    if !on.is_null() {
        rule["on"] = on.clone();
    }
    app.fault(rule).await;
    let mut hit = Vec::new();
    for n in 1..=orders {
        if app.order(&format!("o{n}")).await == 502 {
            hit.push(n);
        }
    }
    assert_eq!(app.effects("order"), orders as u64, "hit or not, they exist");
    hit
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_hits_what_it_says() {
    with(
        |b| b,
        async |app: &App| {
            for (on, expected) in [
                (json!(2), vec![2]),
                (json!([3, 1]), vec![1, 3]),
                (json!("2..4"), vec![2, 3, 4]),
                (json!("every 2"), vec![2, 4, 6]),
                (json!({"probability": 1.0}), vec![1, 2, 3, 4, 5, 6]),
                (json!({"probability": 0.0}), vec![]),
                (json!(null), vec![1, 2, 3, 4, 5, 6]),
            ] {
                assert_eq!(hits(app, &on, 6).await, expected, "{on}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_hits_the_same_every_time_and_another_seed_others() {
    with(
        |b| b,
        async |app: &App| {
            let chance = |seed: u64| json!({"probability": 0.5, "seed": seed});
            let seven = hits(app, &chance(7), 20).await;
            assert!((1..20).contains(&seven.len()), "{seven:?}");
            assert_eq!(hits(app, &chance(7), 20).await, seven);
            assert_ne!(hits(app, &chance(8), 20).await, seven);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_rule_is_no_longer_armed() {
    with(
        |b| b,
        async |app: &App| {
            let once = app.fault(json!({"mode": "error-after-commit", "on": 1})).await;
            let always = app.fault(json!({"mode": "error-after-commit", "on": "every 2"})).await;
            assert_eq!(app.rule(&once).await["armed"], true);
            assert_eq!(app.order("a").await, 502);
            assert_eq!(app.rule(&once).await["armed"], false);
            assert_eq!(app.rule(&always).await["armed"], true);
            let totals = app.admin(Call::get("/_stats")).await["faults"].clone();
            assert_eq!(totals, json!({"armed": 1, "fired": 1}));
        },
    )
    .await;
}
