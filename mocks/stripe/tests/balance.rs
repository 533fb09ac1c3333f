//! Balance transactions: each movement is one, found by its id, and they add up.

use time::Duration;

use super::{CHARGE, Shop};
use crate::attempt::Seed as _;
use crate::mocks::stripe::Stripe;
use crate::store::Scope;

/// Lists all balance transactions, newest first, a few at a time.
fn all(shop: &Shop, filter: &str) -> Vec<serde_json::Value> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let said = shop.get(&format!("/v1/balance_transactions?limit=3{filter}{cursor}"));
        assert_eq!(said.status, 200, "{}", said.body);
        all.extend(said.at("/data").as_array().cloned().unwrap_or_default());
        if said.at("/has_more") != true {
            return all;
        }
        let last = all.last().expect("a page with more behind it is not empty");
        cursor = format!("&starting_after={}", last["id"].as_str().expect("an id"));
    }
}

#[test]
fn each_movement_is_found_from_what_caused_it() {
    let shop = Shop::open();
    let charge = shop.post(
        "/v1/charges",
        &format!("{CHARGE}&description=A+hat&expand[]=balance_transaction"),
    );
    assert_eq!(charge.number("/balance_transaction/amount"), 2000);
    assert_eq!(charge.text("/balance_transaction/description"), "A hat");
    assert_eq!(
        charge.number("/balance_transaction/available_on"),
        charge.number("/created") + 2 * 24 * 3600
    );
    let refund = shop.post("/v1/refunds", &format!("charge={}&amount=300", charge.text("/id")));
    let moved = shop.get(&format!(
        "/v1/balance_transactions/{}?expand[]=source.charge",
        refund.text("/balance_transaction")
    ));
    assert_eq!((moved.number("/net"), moved.text("/type")), (-300, "refund".into()));
    assert_eq!(moved.text("/source/object"), "refund");
    assert_eq!(moved.text("/source/charge/id"), charge.text("/id"));
    let authorised = shop.post("/v1/charges", &format!("{CHARGE}&capture=false"));
    assert!(authorised.at("/balance_transaction").is_null());
    let captured = shop.post(
        &format!(
            "/v1/charges/{}/capture?expand[]=balance_transaction",
            authorised.text("/id")
        ),
        "amount=1200",
    );
    assert_eq!(captured.number("/balance_transaction/amount"), 1200);
    let sums: i64 = all(&shop, "").iter().filter_map(|m| m["net"].as_i64()).sum();
    assert_eq!(
        (sums, shop.get("/v1/balance").number("/pending/0/amount")),
        (2900, 2900)
    );
    assert_eq!(
        shop.get("/v1/balance/history")
            .body
            .replace("/history", "_transactions"),
        shop.get("/v1/balance_transactions").body
    );
    assert_eq!(
        shop.get("/v1/balance_transactions/txn_ch_x").refusal().3,
        "No such balance transaction: 'txn_ch_x'"
    );
    assert_eq!(shop.get("/v1/balance_transactions?starting_after=txn_1").status, 400);
}

#[test]
fn lists_are_filtered() {
    let shop = Shop::open();
    let charge = shop.made("/v1/charges", CHARGE);
    shop.made("/v1/charges", "amount=700&currency=eur&source=tok_visa");
    for amount in [100, 200, 300, 400] {
        shop.made("/v1/refunds", &format!("charge={charge}&amount={amount}"));
    }
    let amounts =
        |filter: &str| -> Vec<i64> { all(&shop, filter).iter().filter_map(|m| m["amount"].as_i64()).collect() };
    assert_eq!(amounts(""), [-400, -300, -200, -100, 700, 2000]);
    assert_eq!(amounts("&type=refund"), [-400, -300, -200, -100]);
    assert_eq!(amounts("&type=charge&currency=usd"), [2000]);
    assert_eq!(amounts(&format!("&source={charge}")), [2000]);
    assert!(amounts("&payout=po_1").is_empty() && amounts("&created[gt]=99999999999").is_empty());
    let ends = shop.get(&format!(
        "/v1/balance_transactions?ending_before={}",
        all(&shop, "").last().expect("six")["id"].as_str().expect("an id")
    ));
    assert_eq!(ends.at("/data").as_array().map(Vec::len), Some(5));
}

#[test]
fn money_is_pending_for_two_days() {
    let shop = Shop::open();
    let sums = || {
        let said = shop.get("/v1/balance");
        (said.number("/pending/0/amount"), said.number("/available/0/amount"))
    };
    let first = shop.made("/v1/charges", CHARGE);
    shop.made("/v1/charges", "amount=700&currency=usd&source=tok_bypassPending");
    assert_eq!(sums(), (2000, 700));
    shop.advance(Duration::hours(47));
    assert_eq!(sums(), (2000, 700));
    shop.made("/v1/refunds", &format!("charge={first}&amount=500"));
    assert_eq!(sums(), (1500, 700), "what is pending is refunded from what is pending");
    let second = shop.made("/v1/charges", CHARGE);
    shop.advance(Duration::hours(2));
    assert_eq!(sums(), (2000, 2200));
    shop.made("/v1/refunds", &format!("charge={first}"));
    assert_eq!(sums(), (2000, 700));
    let statuses: Vec<_> = all(&shop, "")
        .iter()
        .map(|m| m["status"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        statuses,
        ["available", "pending", "available", "available", "available"]
    );
    shop.advance(Duration::days(3));
    assert_eq!(sums(), (0, 2700));
    shop.made("/v1/refunds", &format!("charge={second}&amount=1"));
    assert_eq!(sums(), (0, 2699));
}

#[test]
fn a_replayed_answer_shows_what_was_pending_then() {
    let shop = Shop::open();
    let form = format!("{CHARGE}&expand[]=balance_transaction");
    let first = shop.keyed("k", "/v1/charges", &form);
    shop.advance(Duration::hours(1));
    assert_eq!(shop.keyed("k", "/v1/charges", &form).body, first.body);
    assert_eq!(first.text("/balance_transaction/status"), "pending");
}

/// Puts an object under a chosen id.
fn put(shop: &Shop, resource: &str, id: &str, fields: serde_json::Value) {
    let serde_json::Value::Object(fields) = fields else {
        panic!("fields are an object");
    };
    let put = |tx: &mut crate::store::Tx<'_>| Stripe::default().put(tx, resource, id, &fields).map(drop);
    let done = shop.store.arrange(&Scope::default(), put).expect("one scope");
    assert!(done.is_ok(), "{done:?}");
}

#[test]
fn what_is_put_again_leaves_nothing_of_the_old_in_the_books() {
    let shop = Shop::open();
    let holds = |sum: i64, number: usize| {
        let moved = all(&shop, "");
        let net: i64 = moved.iter().filter_map(|m| m["net"].as_i64()).sum();
        assert_eq!((net, moved.len()), (sum, number), "{moved:?}");
        let balance = shop.get("/v1/balance");
        let balance = balance.number("/pending/0/amount") + balance.number("/available/0/amount");
        assert_eq!(balance, sum);
    };
    let charge = |token: &str| serde_json::json!({"amount": 2000, "currency": "usd", "source": token});
    // One name for both: a chosen id needs no prefix, and two balance transactions are told apart all the same.
    put(&shop, "charges", "a", charge("tok_refundFail"));
    put(&shop, "refunds", "a", serde_json::json!({"charge": "a", "amount": 500}));
    holds(1500, 2);
    put(&shop, "refunds", "a", serde_json::json!({"charge": "a", "amount": 700}));
    holds(1300, 2);
    shop.advance(Duration::seconds(2));
    holds(2000, 3);
    put(
        &shop,
        "refunds",
        "a",
        serde_json::json!({"charge": "a", "amount": 2000}),
    );
    holds(0, 2);
    put(&shop, "charges", "a", charge("tok_createDispute"));
    holds(0, 2);
    assert_eq!(shop.get("/v1/disputes").at("/data").as_array().map(Vec::len), Some(1));
    put(&shop, "charges", "a", charge("tok_visa"));
    holds(2000, 1);
    assert_eq!(shop.get("/v1/disputes").at("/data").as_array().map(Vec::len), Some(0));
    shop.advance(Duration::days(8));
    holds(2000, 1);
}
