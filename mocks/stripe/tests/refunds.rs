//! Refunds that fail, wait or are cancelled, and the money that comes back with that.

use time::Duration;

use super::{Said, Shop};

fn charged(shop: &Shop, token: &str) -> String {
    shop.made("/v1/charges", &format!("amount=2000&currency=usd&source=tok_{token}"))
}

fn refund(shop: &Shop, charge: &str, more: &str) -> Said {
    let said = shop.post("/v1/refunds", &format!("charge={charge}{more}"));
    assert_eq!(said.status, 200, "{}", said.body);
    said
}

fn refunded(shop: &Shop, charge: &str) -> (i64, Option<bool>) {
    let charge = shop.get(&format!("/v1/charges/{charge}"));
    (charge.number("/amount_refunded"), charge.at("/refunded").as_bool())
}

fn balance(shop: &Shop) -> i64 {
    let said = shop.get("/v1/balance");
    said.number("/pending/0/amount") + said.number("/available/0/amount")
}

#[test]
fn a_refund_may_fail_after_it_succeeded_and_its_money_comes_back() {
    let shop = Shop::open();
    let charge = charged(&shop, "refundFail");
    let made = refund(&shop, &charge, "&amount=1500");
    assert_eq!(made.text("/status"), "succeeded");
    assert_eq!((refunded(&shop, &charge), balance(&shop)), ((1500, Some(false)), 500));
    shop.advance(Duration::seconds(2));
    let failed = shop.get(&format!(
        "/v1/refunds/{}?expand[]=failure_balance_transaction",
        made.text("/id")
    ));
    assert_eq!(
        (failed.text("/status"), failed.text("/failure_reason")),
        ("failed".into(), "unknown".into())
    );
    assert_eq!(failed.number("/failure_balance_transaction/amount"), 1500);
    assert_eq!(failed.text("/failure_balance_transaction/type"), "refund_failure");
    assert_eq!((refunded(&shop, &charge), balance(&shop)), ((0, Some(false)), 2000));
    let again = refund(&shop, &charge, "");
    assert_eq!((again.number("/amount"), balance(&shop)), (2000, 0));
    shop.advance(Duration::hours(1));
    assert_eq!(balance(&shop), 2000, "that one fails as well, and once");
}

#[test]
fn a_refund_may_be_pending_and_is_cancelled_until_it_is_not() {
    let shop = Shop::open();
    let charge = charged(&shop, "pendingRefund");
    let first = refund(&shop, &charge, "&amount=500");
    assert_eq!(
        (first.text("/status"), first.text("/pending_reason")),
        ("pending".into(), "processing".into())
    );
    let path = format!("/v1/refunds/{}", first.text("/id"));
    let canceled = shop.post(&format!("{path}/cancel"), "");
    assert_eq!(
        (canceled.text("/status"), canceled.kinds()),
        ("canceled".into(), vec!["refund_cancel"])
    );
    assert_eq!((refunded(&shop, &charge), balance(&shop)), ((0, Some(false)), 2000));
    assert!(
        shop.post(&format!("{path}/cancel"), "")
            .refusal()
            .3
            .contains("a status of canceled")
    );
    let second = refund(&shop, &charge, "");
    shop.advance(Duration::seconds(11));
    let second = shop.get(&format!("/v1/refunds/{}", second.text("/id")));
    assert_eq!((second.text("/status"), balance(&shop)), ("succeeded".into(), 0));
    assert_eq!(shop.get(&path).text("/status"), "canceled");
    let plain = refund(&shop, &charged(&shop, "visa"), "");
    assert_eq!(
        shop.post(&format!("/v1/refunds/{}/cancel", plain.text("/id")), "")
            .status,
        400
    );
}

#[test]
fn what_was_not_captured_moves_nothing_and_cannot_fail() {
    let shop = Shop::open();
    let form = "amount=2000&currency=usd&source=tok_refundFail&capture=false";
    let charge = shop.made("/v1/charges", form);
    let made = refund(&shop, &charge, "");
    assert!(made.at("/balance_transaction").is_null());
    shop.advance(Duration::days(8));
    assert_eq!(
        shop.get(&format!("/v1/refunds/{}", made.text("/id"))).text("/status"),
        "succeeded"
    );
    assert_eq!(balance(&shop), 0);
    assert!(
        !shop.told().contains(&"charge.expired"),
        "a released authorisation does not expire"
    );
}

#[test]
fn a_charge_lists_its_own_refunds() {
    let shop = Shop::open();
    let (charge, other) = (charged(&shop, "visa"), charged(&shop, "visa"));
    let path = format!("/v1/charges/{charge}/refunds");
    let made = shop.post(&path, "amount=700");
    assert_eq!((made.kinds(), made.text("/charge")), (vec!["refund"], charge.clone()));
    refund(&shop, &charge, "&amount=300");
    refund(&shop, &other, "");
    let listed = shop.get(&path);
    let amounts: Vec<_> = listed
        .at("/data")
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["amount"].as_i64())
        .collect();
    assert_eq!(
        (amounts, listed.text("/url")),
        (vec![Some(300), Some(700)], path.clone())
    );
    let id = made.text("/id");
    assert_eq!(shop.get(&format!("{path}/{id}")).number("/amount"), 700);
    assert_eq!(
        shop.post(&format!("{path}/{id}"), "metadata[a]=1").text("/metadata/a"),
        "1"
    );
    assert_eq!(shop.get(&format!("/v1/charges/{other}/refunds/{id}")).status, 404);
    assert_eq!(
        shop.get(&format!("/v1/charges/ch_x/refunds/{id}")).refusal().3,
        "No such charge: 'ch_x'"
    );
    assert_eq!(shop.get("/v1/charges/ch_x/refunds").status, 404);
    let wrong = shop.post(&path, &format!("charge={other}"));
    assert_eq!(wrong.status, 400);
}

#[test]
fn what_belongs_to_a_cash_balance_is_refused_in_words() {
    let shop = Shop::open();
    let charge = charged(&shop, "visa");
    for (more, param) in [
        ("origin=customer_balance", "origin"),
        ("customer=cus_1", "customer"),
        ("currency=eur", "currency"),
    ] {
        let said = shop.post("/v1/refunds", &format!("charge={charge}&{more}"));
        assert_eq!((said.status, said.text("/error/param")), (400, param.into()));
    }
    refund(&shop, &charge, "&currency=USD");
}
