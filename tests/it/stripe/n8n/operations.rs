//! Each operation of the node, and what it reads from the answer.

use serde_json::{Value, json};

use super::{Shop, names, replayed};
use crate::support::Call;

const CARD: &str = "card_qEpUFOXJfGf1kQHgIgbWpkiy";

fn metadata() -> Value {
    json!({"order": "17", "note": "a&b=ü"})
}

fn address() -> Value {
    json!({"city": "Berlin", "country": "DE", "line1": "1 Main St", "line2": "Unit 2", "postal_code": "10115", "state": "BE"})
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_and_balance() {
    replayed(async |shop: &Shop<'_>| {
        assert!(shop.read("credential.test").await["data"].is_array());
        let balance = shop.read("balance.get").await;
        assert_eq!(
            (&balance["object"], &balance["pending"][0]["amount"]),
            (&json!("balance"), &json!(13_000))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn charges() {
    replayed(async |shop: &Shop<'_>| {
        let (first, more) = shop.page("charge.getAll").await;
        let (second, last) = shop.page("charge.getAll 2").await;
        assert_eq!(
            (first.last().map(String::as_str), more, last),
            (Some("ch_n8n_04"), true, false)
        );
        assert_eq!([first, second].concat().len(), 13);
        assert_eq!(shop.page("charge.getAll (limit)").await.0[0], "ch_n8n");
        let made = shop.read("charge.create").await;
        assert_eq!(
            (&made["amount"], &made["currency"], &made["status"]),
            (&json!(1099), &json!("eur"), &json!("succeeded"))
        );
        assert_eq!(
            (&made["customer"], &made["source"]["id"]),
            (&json!("cus_n8n"), &json!(CARD))
        );
        assert_eq!(
            (&made["description"], &made["receipt_email"]),
            (&json!("job j1"), &json!("a@example.com"))
        );
        assert_eq!(
            (&made["shipping"]["name"], &made["shipping"]["address"]),
            (&json!("Zoë"), &address())
        );
        assert_eq!(made["metadata"], metadata());
        assert_eq!(shop.read("charge.get").await["id"], "ch_n8n");
        let changed = shop.read("charge.update").await;
        assert_eq!(
            (&changed["description"], &changed["receipt_email"]),
            (&json!("later"), &json!("b@example.com"))
        );
        assert_eq!(
            (&changed["shipping"]["address"], &changed["metadata"]),
            (&address(), &metadata())
        );
        let counts = shop.app.counts("stripe").await;
        assert_eq!((counts.accepted, counts.read, counts.received), (2, 4, 6));
        assert_eq!((shop.app.effects("charge"), shop.app.effects("charge_update")), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_and_their_cards() {
    replayed(async |shop: &Shop<'_>| {
        let (first, more) = shop.page("customer.getAll").await;
        let (second, last) = shop.page("customer.getAll 2").await;
        assert_eq!((first.len(), more, second.len(), last), (10, true, 2, false));
        let made = shop.read("customer.create").await;
        assert!(made["id"].as_str().is_some_and(|id| id.starts_with("cus_")));
        assert_eq!(
            (&made["name"], &made["email"]),
            (&json!("Zoë"), &json!("zoe@example.com"))
        );
        assert_eq!(
            (&made["phone"], &made["shipping"]["phone"]),
            (&json!("+49 30 1"), &json!("+49 30 2"))
        );
        assert_eq!(
            (&made["address"], &made["shipping"]["address"]),
            (&address(), &address())
        );
        assert_eq!(made["metadata"], metadata());
        let changed = shop.read("customer.update").await;
        assert_eq!(
            (&changed["name"], &changed["description"]),
            (&json!("Zoe"), &json!("e"))
        );
        assert_eq!(shop.read("customer.get").await, changed);
        let gone = json!({"id": "cus_leaving", "object": "customer", "deleted": true});
        assert_eq!(shop.read("customer.delete").await, gone);
        let added = shop.read("customerCard.add").await;
        assert_eq!(
            (&added["object"], &added["brand"], &added["last4"]),
            (&json!("card"), &json!("MasterCard"), &json!("4444"))
        );
        assert_eq!(
            (&added["customer"], &shop.read("customerCard.get").await["id"]),
            (&json!("cus_n8n"), &json!(CARD))
        );
        let removed = json!({"id": CARD, "object": "card", "deleted": true});
        assert_eq!(shop.read("customerCard.remove").await, removed);
        assert_eq!(
            shop.read("customer.get").await["default_source"],
            added["id"],
            "the other card is the default now"
        );
        let again = shop.ask("customerCard.remove").await;
        assert_eq!(
            (again.status, &again.json()["error"]["code"]),
            (404, &json!("resource_missing"))
        );
        for kind in ["customer", "customer_update", "customer_delete", "card", "card_delete"] {
            assert_eq!(shop.app.effects(kind), 1, "{kind}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_and_tokens() {
    replayed(async |shop: &Shop<'_>| {
        let made = shop.read("source.create").await;
        assert_eq!(
            (&made["type"], &made["status"], &made["amount"]),
            (&json!("wechat"), &json!("pending"), &json!(1500))
        );
        assert_eq!(
            (&made["statement_descriptor"], &made["metadata"]),
            (&json!("SHOP"), &metadata())
        );
        let id = made["id"].as_str().expect("an id");
        let attached = shop.ask_with("source.create 2", "{source}", id).await;
        assert_eq!(
            (attached.status, &attached.json()["customer"]),
            (200, &json!("cus_n8n")),
            "{}",
            attached.text()
        );
        assert_eq!(shop.read("source.get").await["customer"], "cus_source");
        let gone = shop.read("source.delete").await;
        assert_eq!((&gone["id"], &gone["status"]), (&json!("src_n8n"), &json!("consumed")));
        let token = shop.read("token.create").await;
        assert_eq!(
            (&token["object"], &token["card"]["exp_year"]),
            (&json!("token"), &json!(2040))
        );
        for kind in ["source", "source_attach", "source_detach", "token"] {
            assert_eq!(shop.app.effects(kind), 1, "{kind}");
        }
    })
    .await;
}

/// Advances the clock to a time, by no more than it takes at once: the recorded one is 2030-01-15T12:00:00Z.
async fn reach(shop: &Shop<'_>, time: i64) {
    const MOST: i64 = 360 * 24 * 3600;
    loop {
        let now = shop.app.admin(Call::get("/_clock?scope=default")).await;
        let left = time - now["unix"].as_i64().expect("a time");
        if left <= 0 {
            return;
        }
        let advance = json!({"advance": format!("{}s", left.min(MOST))});
        shop.app.admin(Call::post("/_clock?scope=default").json(&advance)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn meter_events() {
    replayed(async |shop: &Shop<'_>| {
        let made = shop.read("meterEvent.create").await;
        assert_eq!(
            (&made["event_name"], &made["identifier"]),
            (&json!("api"), &json!("job-j1"))
        );
        assert_eq!(
            made["payload"],
            json!({"stripe_customer_id": "cus_n8n", "value": "5", "region": "eu"})
        );
        reach(shop, 1_894_708_800 + 60).await;
        let dated = shop.read("meterEvent.create.dated").await;
        assert_eq!(dated["timestamp"], 1_894_708_800);
        assert_eq!(shop.app.effects("meter_event"), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_node_offers_to_choose_from() {
    replayed(async |shop: &Shop<'_>| {
        let customers = shop.read("loadOptions.getCustomers").await;
        let many = &customers["data"][0];
        assert_eq!((&many["id"], &many["name"]), (&json!("cus_many_12"), &json!("Many")));
        let countries = shop.read("loadOptions.getCurrencies").await;
        let currencies = countries["data"][0]["supported_payment_currencies"].as_array();
        assert!(currencies.is_some_and(|all| all.contains(&json!("usd")) && all.contains(&json!("eur"))));
        assert_eq!(shop.app.counts("stripe").await.accepted, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coupons() {
    replayed(async |shop: &Shop<'_>| {
        if !shop.has("coupons.create").await {
            return;
        }
        let amount = shop.read("coupon.create.amount").await;
        assert_eq!(
            (&amount["amount_off"], &amount["currency"], &amount["duration"]),
            (&json!(500), &json!("usd"), &json!("once"))
        );
        let percent = shop.read("coupon.create.percent").await;
        assert_eq!(
            (&percent["percent_off"], &percent["duration"]),
            (&json!(25.0), &json!("forever"))
        );
        let (all, more) = shop.page("coupon.getAll").await;
        assert_eq!((all.len(), more, shop.app.effects("coupon")), (2, false, 2));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_triggers_endpoint() {
    replayed(async |shop: &Shop<'_>| {
        if !shop.has("webhook_endpoints.create").await {
            return;
        }
        let made = shop.read("trigger.create").await;
        assert_eq!(made["status"], "enabled");
        assert_eq!(made["enabled_events"], json!(["charge.succeeded", "customer.created"]));
        assert!(
            made["secret"]
                .as_str()
                .is_some_and(|secret| secret.starts_with("whsec_"))
        );
        let id = made["id"].as_str().expect("an id");
        let there = shop.ask_with("trigger.checkExists", "{endpoint}", id).await;
        assert_eq!((there.status, &there.json()["secret"]), (200, &Value::Null));
        assert_eq!(shop.ask_with("trigger.delete", "{endpoint}", id).await.status, 200);
        let gone = shop.ask_with("trigger.checkExists", "{endpoint}", id).await;
        assert_eq!(gone.status, 404, "the node makes a new one then");
    })
    .await;
}

#[test]
fn every_recorded_request_is_asked() {
    let tests = [include_str!("operations.rs"), include_str!("counted.rs")].concat();
    for name in names() {
        assert!(tests.contains(&format!("\"{name}\"")), "`{name}` is asked by no test");
    }
}
