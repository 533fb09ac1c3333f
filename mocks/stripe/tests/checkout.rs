//! Checkout sessions, completed as a customer does.

use time::Duration;

use super::subscriptions::price;
use super::{Said, Shop};

fn once(shop: &Shop, amount: i64) -> String {
    shop.made(
        "/v1/prices",
        &format!("currency=usd&unit_amount={amount}&product_data[name]=Shirt"),
    )
}

fn open(shop: &Shop, form: &str) -> Said {
    let said = shop.post(
        "/v1/checkout/sessions",
        &format!("success_url=https://a.test/done?s={{CHECKOUT_SESSION_ID}}&{form}"),
    );
    assert_eq!(said.status, 200, "{form}: {}", said.body);
    said
}

fn complete(shop: &Shop, session: &Said, form: &str) -> Said {
    shop.post(
        &format!("/v1/test_helpers/checkout/sessions/{}/complete", session.text("/id")),
        form,
    )
}

fn charged(shop: &Shop) -> i64 {
    let said = shop.get("/v1/charges?limit=100");
    let charges = said.at("/data").as_array().cloned().unwrap_or_default();
    charges
        .iter()
        .filter(|c| c["paid"] == true)
        .map(|c| c["amount"].as_i64().unwrap_or_default())
        .sum()
}

#[test]
fn a_session_is_paid_once() {
    let shop = Shop::open();
    let price = once(&shop, 1500);
    let form = format!(
        "mode=payment&line_items[0][price]={price}&line_items[0][quantity]=2&client_reference_id=o-1&metadata[a]=1\
         &customer_creation=always&payment_intent_data[metadata][order]=7&payment_intent_data[description]=D&expand[]=line_items"
    );
    let said = open(&shop, &form);
    assert_eq!(
        (said.kinds(), said.text("/status"), said.text("/payment_status")),
        (vec!["checkout_session"], "open".into(), "unpaid".into())
    );
    assert_eq!(
        (said.number("/amount_total"), said.text("/client_reference_id")),
        (3000, "o-1".into())
    );
    assert_eq!(
        (
            said.text("/line_items/data/0/price/id"),
            said.number("/line_items/data/0/quantity")
        ),
        (price, 2)
    );
    assert!(said.text("/url").ends_with(&format!(
        "/v1/test_helpers/checkout/sessions/{}/complete",
        said.text("/id")
    )));
    let done = shop.keyed(
        "k",
        &format!("/v1/test_helpers/checkout/sessions/{}/complete", said.text("/id")),
        "email=a@b.test",
    );
    assert_eq!(done.kinds(), ["charge", "checkout_session_complete"], "{}", done.body);
    assert_eq!(
        (
            done.text("/status"),
            done.text("/payment_status"),
            done.at("/url").is_null()
        ),
        ("complete".into(), "paid".into(), true)
    );
    assert_eq!(done.text("/customer_details/email"), "a@b.test");
    let intent = shop.get(&format!(
        "/v1/payment_intents/{}?expand[]=customer",
        done.text("/payment_intent")
    ));
    assert_eq!(
        (intent.text("/metadata/order"), intent.text("/description")),
        ("7".into(), "D".into())
    );
    assert_eq!(intent.text("/customer/email"), "a@b.test");
    assert!(complete(&shop, &said, "").refusal().3.contains("status of complete"));
    assert_eq!(charged(&shop), 3000);
    let found = shop.get(&format!(
        "/v1/checkout/sessions?payment_intent={}",
        done.text("/payment_intent")
    ));
    assert_eq!(found.text("/data/0/id"), said.text("/id"));
    assert_eq!(
        shop.events()
            .iter()
            .filter(|kind| *kind == "checkout.session.completed")
            .count(),
        1
    );
    assert!(shop.pass(Duration::days(2)).is_empty());
}

#[test]
fn a_declined_card_leaves_it_open_and_another_pays() {
    let shop = Shop::open();
    let form = format!(
        "mode=payment&line_items[0][price]={}&line_items[0][quantity]=1",
        once(&shop, 900)
    );
    let said = open(&shop, &form);
    let declined = complete(&shop, &said, "payment_method=pm_card_visa_chargeDeclined");
    assert_eq!((declined.status, declined.refusal().2), (402, "card_declined"));
    let path = format!("/v1/checkout/sessions/{}", said.text("/id"));
    let still = shop.get(&path);
    assert_eq!(
        (still.text("/status"), still.text("/payment_status")),
        ("open".into(), "unpaid".into())
    );
    let done = complete(&shop, &said, "payment_method=pm_card_threeDSecure2Required");
    assert_eq!(
        (done.text("/payment_status"), done.at("/payment_intent")),
        ("paid".into(), still.at("/payment_intent"))
    );
    assert_eq!(
        (charged(&shop), done.kinds()),
        (900, vec!["charge", "checkout_session_complete"])
    );
    let late = open(&shop, &form);
    assert_eq!(shop.pass(Duration::hours(25)), ["checkout_session_expire"]);
    assert!(complete(&shop, &late, "").refusal().3.contains("status of expired"));
    let gone = open(&shop, &form);
    let path = format!("/v1/checkout/sessions/{}", gone.text("/id"));
    assert_eq!(shop.post(&format!("{path}/expire"), "").text("/status"), "expired");
    assert_eq!(shop.post(&format!("{path}/expire"), "").status, 400);
    assert_eq!(
        shop.events()
            .iter()
            .filter(|kind| *kind == "checkout.session.expired")
            .count(),
        2
    );
}

#[test]
fn a_session_begins_a_subscription() {
    let shop = Shop::open();
    let (monthly, setup) = (price(&shop, 1000, "month"), once(&shop, 300));
    let form = format!(
        "mode=subscription&line_items[0][price]={monthly}&line_items[0][quantity]=2&line_items[1][price]={setup}\
         &line_items[1][quantity]=1&customer_email=a@b.test&subscription_data[metadata][plan]=x"
    );
    let said = open(&shop, &form);
    let declined = complete(&shop, &said, "payment_method=pm_card_chargeCustomerFail");
    assert_eq!(
        (
            declined.status,
            shop.get("/v1/subscriptions?status=all")
                .at("/data")
                .as_array()
                .map(Vec::len)
        ),
        (402, Some(0))
    );
    let done = complete(
        &shop,
        &said,
        "payment_method=pm_card_authenticationRequired&expand[]=subscription&expand[]=invoice",
    );
    assert_eq!(done.kinds(), ["charge", "checkout_session_complete"], "{}", done.body);
    assert_eq!(
        (done.text("/subscription/status"), done.text("/invoice/status")),
        ("active".into(), "paid".into())
    );
    assert_eq!(
        (done.text("/subscription/metadata/plan"), charged(&shop)),
        ("x".into(), 2300)
    );
    let trial = format!(
        "mode=subscription&line_items[0][price]={monthly}&line_items[0][quantity]=1&subscription_data[trial_period_days]=7"
    );
    let done = complete(&shop, &open(&shop, &trial), "expand[]=subscription");
    assert_eq!(
        (done.kinds(), done.text("/subscription/status")),
        (vec!["checkout_session_complete"], "trialing".into())
    );
    shop.pass(Duration::days(8));
    assert_eq!(charged(&shop), 3300);
}

#[test]
fn a_session_sets_a_card_up_or_takes_a_code() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "email=a@b.test");
    let done = complete(
        &shop,
        &open(&shop, &format!("mode=setup&customer={customer}")),
        "expand[]=setup_intent",
    );
    assert_eq!(
        (done.kinds(), done.text("/setup_intent/status")),
        (vec!["checkout_session_complete"], "succeeded".into())
    );
    assert_eq!(done.text("/payment_status"), "no_payment_required");
    let kept = shop.get(&format!("/v1/payment_methods?customer={customer}"));
    assert_eq!(kept.at("/data/0/id"), done.at("/setup_intent/payment_method"));
    let coupon = shop.made("/v1/coupons", "percent_off=25");
    let form = format!(
        "mode=payment&line_items[0][price]={}&line_items[0][quantity]=1&discounts[0][coupon]={coupon}",
        once(&shop, 1000)
    );
    let said = open(&shop, &form);
    assert_eq!(
        (
            said.number("/amount_subtotal"),
            said.number("/amount_total"),
            said.number("/total_details/amount_discount")
        ),
        (1000, 750, 250)
    );
    complete(&shop, &said, "");
    assert_eq!(
        (
            charged(&shop),
            shop.get(&format!("/v1/coupons/{coupon}")).number("/times_redeemed")
        ),
        (750, 1)
    );
    let lines = shop.get(&format!("/v1/checkout/sessions/{}/line_items", said.text("/id")));
    assert_eq!(
        (
            lines.number("/data/0/amount_total"),
            lines.number("/data/0/amount_discount")
        ),
        (750, 250)
    );
}

#[test]
fn what_is_wrong_with_a_session_is_said() {
    let shop = Shop::open();
    let (one, monthly) = (once(&shop, 1000), price(&shop, 1000, "month"));
    let line = |price: &str| format!("line_items[0][price]={price}&line_items[0][quantity]=1");
    let to = "success_url=https://a.test/";
    for (form, text) in [
        (to.to_owned(), "Missing required param: mode."),
        (
            format!("mode=payment&{}", line(&one)),
            "Missing required param: success_url.",
        ),
        (
            format!("mode=payment&success_url=nowhere&{}", line(&one)),
            "Not a valid URL",
        ),
        (format!("mode=payment&{to}"), "Missing required param: line_items."),
        (
            format!("mode=payment&{to}&line_items[0][price]={one}"),
            "Missing required param: line_items[0][quantity].",
        ),
        (
            format!("mode=payment&{to}&{}", line(&monthly)),
            "passed a recurring price",
        ),
        (
            format!("mode=subscription&{to}&{}", line(&one)),
            "at least one recurring price",
        ),
        (format!("mode=setup&{to}&{}", line(&one)), "`setup` mode"),
        (
            format!("mode=payment&{to}&{}&subscription_data[description]=D", line(&one)),
            "`subscription_data`",
        ),
        (
            format!("mode=payment&{to}&{}&automatic_tax[enabled]=true", line(&one)),
            "not modelled",
        ),
        (
            format!("mode=payment&{to}&{}&expires_at=5", line(&one)),
            "between 30 minutes and 24 hours",
        ),
        (
            format!(
                "mode=payment&{to}&{}&customer=cus_x&customer_email=a@b.test",
                line(&one)
            ),
            "only specify one",
        ),
    ] {
        let said = shop.post("/v1/checkout/sessions", &form);
        assert!(
            said.status == 400 && said.refusal().3.contains(text),
            "{form}: {}",
            said.body
        );
    }
    assert_eq!(shop.get("/v1/checkout/sessions/cs_x").status, 404);
}
