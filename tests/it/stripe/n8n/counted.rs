//! What comes of a lost answer when n8n tries again: the same bytes, without a key.

use serde_json::json;

use super::{Shop, replayed};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_doubles_all_but_what_has_an_identifier() {
    replayed(async |shop: &Shop<'_>| {
        for (name, operation, kind, again, effects) in [
            ("charge.create", "charges.create", "charge", 200, 2),
            ("customer.create", "customers.create", "customer", 200, 2),
            ("customerCard.add", "customers.sources.create", "card", 200, 2),
            ("token.create", "tokens.create", "token", 200, 2),
            (
                "meterEvent.create",
                "billing.meter_events.create",
                "meter_event",
                400,
                1,
            ),
        ] {
            let rule = json!({"mode": "drop-after-commit", "operation": operation, "on": 1});
            shop.app.fault(rule).await;
            assert!(shop.try_with(name, "", "").await.is_none(), "{name}");
            let answer = shop.ask(name).await;
            assert_eq!(answer.status, again, "{name}: {}", answer.text());
            assert_eq!(shop.app.effects(kind), effects, "{name}");
        }
        let counts = shop.app.counts("stripe").await;
        assert_eq!(
            (counts.received, counts.accepted, counts.refused, counts.withheld),
            (10, 9, 1, 5)
        );
        assert_eq!(shop.app.suite.stats().providers["stripe"].counts.duplicates, 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_lost_between_its_two_calls_is_attached_to_nobody() {
    replayed(async |shop: &Shop<'_>| {
        let rule = json!({"mode": "fail-before-commit", "operation": "customers.sources.create", "on": 1});
        shop.app.fault(rule).await;
        for attached in [false, true] {
            let made = shop.read("source.create").await;
            let id = made["id"].as_str().expect("an id");
            let answer = shop.try_with("source.create 2", "{source}", id).await;
            assert_eq!(answer.is_some(), attached);
        }
        assert_eq!((shop.app.effects("source"), shop.app.effects("source_attach")), (2, 1));
    })
    .await;
}
