//! Subscriptions, in their own time and on test clocks.

use time::Duration;

use super::{Said, Shop};

pub(super) fn customer(shop: &Shop, card: &str, form: &str) -> String {
    let customer = shop.made("/v1/customers", form);
    let method = shop.made(
        &format!("/v1/payment_methods/{card}/attach"),
        &format!("customer={customer}"),
    );
    let form = format!("invoice_settings[default_payment_method]={method}");
    assert_eq!(shop.post(&format!("/v1/customers/{customer}"), &form).status, 200);
    customer
}

pub(super) fn price(shop: &Shop, amount: i64, interval: &str) -> String {
    let form = format!("currency=usd&unit_amount={amount}&recurring[interval]={interval}&product_data[name]=Plan");
    shop.made("/v1/prices", &form)
}

fn subscribe(shop: &Shop, customer: &str, price: &str, form: &str) -> Said {
    shop.post(
        "/v1/subscriptions",
        &format!("customer={customer}&items[0][price]={price}&{form}"),
    )
}

fn charged(shop: &Shop) -> Vec<i64> {
    let said = shop.get("/v1/charges?limit=100");
    let charges = said.at("/data").as_array().cloned().unwrap_or_default();
    let paid = charges.iter().rev().filter(|charge| charge["paid"] == true);
    paid.map(|charge| charge["amount"].as_i64().unwrap_or_default())
        .collect()
}

fn now(shop: &Shop, said: &Said) -> Said {
    shop.get(&format!(
        "/v1/subscriptions/{}?expand[]=latest_invoice",
        said.text("/id")
    ))
}

#[test]
fn a_subscription_charges_at_once_and_every_month() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let said = subscribe(
        &shop,
        &customer,
        &price,
        "items[0][quantity]=2&metadata[a]=1&expand[]=latest_invoice.payments",
    );
    assert_eq!(said.kinds(), ["charge", "subscription"], "{}", said.body);
    assert_eq!(
        (said.text("/status"), said.text("/latest_invoice/status")),
        ("active".into(), "paid".into())
    );
    assert_eq!(said.text("/latest_invoice/billing_reason"), "subscription_create");
    assert_eq!(
        said.text("/latest_invoice/parent/subscription_details/subscription"),
        said.text("/id")
    );
    assert_eq!(
        (
            said.text("/items/data/0/price/id"),
            said.number("/items/data/0/plan/amount")
        ),
        (price, 1000)
    );
    let (start, end) = (
        said.number("/items/data/0/current_period_start"),
        said.number("/items/data/0/current_period_end"),
    );
    assert!((28..=31).contains(&((end - start) / 86_400)) && said.number("/billing_cycle_anchor") == start);
    assert_eq!(shop.pass(Duration::seconds(end - start - 60)), [""; 0]);
    assert_eq!(shop.pass(Duration::minutes(2)), ["subscription_cycle"]);
    let renewed = now(&shop, &said);
    assert_eq!(
        (
            renewed.text("/latest_invoice/status"),
            renewed.number("/items/data/0/current_period_start")
        ),
        ("draft".into(), end)
    );
    assert_eq!(charged(&shop), [2000]);
    assert_eq!(
        shop.pass(Duration::hours(1)),
        ["charge", "invoice_finalize", "invoice_pay"]
    );
    assert_eq!(
        (now(&shop, &said).text("/latest_invoice/billing_reason"), charged(&shop)),
        ("subscription_cycle".into(), vec![2000, 2000])
    );
    shop.pass(Duration::days(93));
    assert_eq!(charged(&shop), [2000; 5]);
    let events = shop.events();
    assert_eq!(events.iter().filter(|kind| *kind == "invoice.paid").count(), 5);
    assert!(events.iter().any(|kind| kind == "customer.subscription.created"));
}

#[test]
fn one_key_makes_one_subscription_and_one_charge() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let form = format!("customer={customer}&items[0][price]={price}");
    let first = shop.keyed("k", "/v1/subscriptions", &form);
    let again = shop.keyed("k", "/v1/subscriptions", &form);
    assert_eq!((again.replayed, again.body), (true, first.body));
    assert_eq!(
        (
            charged(&shop),
            shop.get("/v1/subscriptions").at("/data").as_array().map(Vec::len)
        ),
        (vec![1000], Some(1))
    );
}

#[test]
fn a_trial_costs_nothing_until_it_ends() {
    let shop = Shop::open();
    let (paying, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let said = subscribe(&shop, &paying, &price, "trial_period_days=7&expand[]=latest_invoice");
    assert_eq!(
        (said.kinds(), said.text("/status")),
        (vec!["subscription"], "trialing".into())
    );
    assert_eq!(
        (
            said.number("/latest_invoice/total"),
            said.text("/latest_invoice/status")
        ),
        (0, "paid".into())
    );
    assert_eq!(said.number("/trial_end") - said.number("/trial_start"), 7 * 86_400);
    shop.pass(Duration::days(5));
    assert!(
        shop.events()
            .iter()
            .any(|kind| kind == "customer.subscription.trial_will_end")
    );
    assert_eq!(
        shop.pass(Duration::days(2) + Duration::hours(2)),
        ["charge", "invoice_finalize", "invoice_pay", "subscription_cycle"]
    );
    let active = now(&shop, &said);
    assert_eq!((active.text("/status"), charged(&shop)), ("active".into(), vec![1000]));
    assert_eq!(active.number("/billing_cycle_anchor"), said.number("/trial_end"));
    let nobody = shop.made("/v1/customers", "");
    for (behavior, status) in [
        ("cancel", "canceled"),
        ("pause", "paused"),
        ("create_invoice", "past_due"),
    ] {
        let form = format!("trial_period_days=1&trial_settings[end_behavior][missing_payment_method]={behavior}");
        let said = subscribe(&shop, &nobody, &price, &form);
        shop.pass(Duration::days(1) + Duration::hours(2));
        assert_eq!(now(&shop, &said).text("/status"), status);
        if behavior == "pause" {
            let method = shop.made("/v1/payment_methods/pm_card_visa/attach", &format!("customer={nobody}"));
            let path = format!("/v1/subscriptions/{}", said.text("/id"));
            shop.post(&path, &format!("default_payment_method={method}"));
            let resumed = shop.post(&format!("{path}/resume"), "");
            assert_eq!(
                (resumed.kinds(), resumed.text("/status")),
                (vec!["charge", "subscription_resume"], "active".into())
            );
        }
    }
    let said = subscribe(&shop, &paying, &price, "trial_period_days=7");
    let ended = shop.post(&format!("/v1/subscriptions/{}", said.text("/id")), "trial_end=now");
    assert_eq!(
        (ended.kinds(), ended.text("/status")),
        (vec!["charge", "subscription_update"], "active".into())
    );
}

#[test]
fn what_is_not_paid_at_first_is_incomplete() {
    let shop = Shop::open();
    let price = price(&shop, 1000, "month");
    let nobody = shop.made("/v1/customers", "");
    assert_eq!(subscribe(&shop, &nobody, &price, "").refusal().2, "resource_missing");
    let form = "payment_behavior=default_incomplete&payment_settings[save_default_payment_method]=on_subscription\
                &expand[]=latest_invoice.confirmation_secret&expand[]=latest_invoice.payments";
    let said = subscribe(&shop, &nobody, &price, form);
    assert_eq!(
        (said.kinds(), said.text("/status")),
        (vec!["subscription"], "incomplete".into())
    );
    let intent = said.text("/latest_invoice/payments/data/0/payment/payment_intent");
    assert!(
        said.text("/latest_invoice/confirmation_secret/client_secret")
            .starts_with(&intent)
    );
    let confirmed = shop.post(
        &format!("/v1/payment_intents/{intent}/confirm"),
        "payment_method=pm_card_visa",
    );
    assert_eq!(confirmed.kinds(), ["charge", "payment_intent_confirm"]);
    let active = now(&shop, &said);
    assert_eq!(
        (active.text("/status"), active.text("/latest_invoice/status")),
        ("active".into(), "paid".into())
    );
    assert_eq!(
        active.text("/default_payment_method"),
        confirmed.text("/payment_method")
    );
    let poor = customer(&shop, "pm_card_chargeCustomerFail", "");
    let said = subscribe(&shop, &poor, &price, "");
    assert_eq!(
        (said.status, said.kinds(), said.text("/status")),
        (200, vec!["subscription"], "incomplete".into())
    );
    let before = shop
        .get("/v1/subscriptions?status=all")
        .at("/data")
        .as_array()
        .map(Vec::len);
    let refused = subscribe(&shop, &poor, &price, "payment_behavior=error_if_incomplete");
    assert_eq!((refused.status, refused.refusal().2), (402, "card_declined"));
    assert_eq!(
        shop.get("/v1/subscriptions?status=all")
            .at("/data")
            .as_array()
            .map(Vec::len),
        before
    );
    assert_eq!(shop.pass(Duration::hours(24)), ["subscription_expire"]);
    let expired = now(&shop, &said);
    assert_eq!(
        (expired.text("/status"), expired.text("/latest_invoice/status")),
        ("incomplete_expired".into(), "void".into())
    );
    assert_eq!(charged(&shop), [1000]);
}

#[test]
fn a_renewal_that_fails_is_tried_again_and_then_given_up() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let said = subscribe(&shop, &customer, &price, "");
    let other = subscribe(&shop, &customer, &price, "");
    let bad = shop.made(
        "/v1/payment_methods/pm_card_chargeCustomerFail/attach",
        &format!("customer={customer}"),
    );
    for said in [&said, &other] {
        shop.post(
            &format!("/v1/subscriptions/{}", said.text("/id")),
            &format!("default_payment_method={bad}"),
        );
    }
    shop.pass(Duration::days(31) + Duration::hours(2));
    let failed = now(&shop, &said);
    assert_eq!(
        (failed.text("/status"), failed.number("/latest_invoice/attempt_count")),
        ("past_due".into(), 1)
    );
    shop.post(
        &format!("/v1/subscriptions/{}", said.text("/id")),
        "default_payment_method=",
    );
    shop.pass(Duration::days(4));
    let paid = now(&shop, &said);
    assert_eq!(
        (paid.text("/status"), paid.text("/latest_invoice/status")),
        ("active".into(), "paid".into())
    );
    shop.pass(Duration::days(13));
    let ended = now(&shop, &other);
    assert_eq!(
        (ended.text("/status"), ended.text("/cancellation_details/reason")),
        ("canceled".into(), "payment_failed".into())
    );
    assert_eq!(charged(&shop), [1000, 1000, 1000]);
}

#[test]
fn subscriptions_end_when_asked() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let said = subscribe(&shop, &customer, &price, "");
    let path = format!("/v1/subscriptions/{}", said.text("/id"));
    let updated = shop.post(&path, "cancel_at_period_end=true&cancellation_details[feedback]=unused");
    assert_eq!(
        (updated.kinds(), updated.at("/cancel_at_period_end").as_bool()),
        (vec!["subscription_update"], Some(true))
    );
    assert_eq!(updated.at("/cancel_at"), updated.at("/items/data/0/current_period_end"));
    assert_eq!(shop.pass(Duration::days(32)), ["subscription_cancel"]);
    assert_eq!(shop.get(&path).text("/status"), "canceled");
    let said = subscribe(&shop, &customer, &price, "");
    let path = format!("/v1/subscriptions/{}", said.text("/id"));
    let gone = shop.delete(&format!("{path}?prorate=true&invoice_now=true"));
    assert_eq!(
        (gone.kinds(), gone.text("/status")),
        (vec!["subscription_cancel"], "canceled".into())
    );
    assert_eq!(shop.get(&format!("/v1/customers/{customer}")).number("/balance"), -1000);
    assert_eq!(shop.delete(&path).status, 404);
    assert_eq!(shop.post(&path, "quantity=1").refusal().2, "parameter_unknown");
    let said = subscribe(&shop, &customer, &price, "");
    assert_eq!(shop.delete(&format!("/v1/customers/{customer}")).status, 200);
    assert_eq!(now(&shop, &said).text("/status"), "canceled");
    assert!(shop.pass(Duration::days(70)).is_empty());
    assert_eq!(charged(&shop), [1000, 1000]);
}

#[test]
fn changes_are_prorated_by_the_second() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 3000, "day"));
    let dear = self::price(&shop, 6000, "day");
    let said = subscribe(&shop, &customer, &price, "");
    let (path, item) = (
        format!("/v1/subscriptions/{}", said.text("/id")),
        said.text("/items/data/0/id"),
    );
    shop.pass(Duration::hours(12));
    let changed = shop.post(&path, &format!("items[0][id]={item}&items[0][price]={dear}"));
    assert_eq!(
        (changed.kinds(), changed.text("/items/data/0/price/id")),
        (vec!["subscription_update"], dear.clone())
    );
    let waiting = shop.get(&format!("/v1/invoiceitems?customer={customer}&pending=true"));
    let amounts: Vec<_> = waiting
        .at("/data")
        .as_array()
        .into_iter()
        .flatten()
        .map(|i| i["amount"].as_i64())
        .collect();
    assert_eq!(amounts, [Some(3000), Some(-1500)]);
    shop.pass(Duration::hours(14));
    assert_eq!(charged(&shop), [3000, 7500]);
    let more = shop.post(
        &format!("/v1/subscription_items/{item}"),
        "quantity=2&proration_behavior=none",
    );
    assert_eq!(
        (more.kinds(), more.number("/quantity")),
        (vec!["subscription_item_update"], 2)
    );
    shop.pass(Duration::hours(24));
    assert_eq!(charged(&shop), [3000, 7500, 12000]);
    let extra = self::price(&shop, 100, "day");
    let form = format!(
        "subscription={}&price={extra}&proration_behavior=always_invoice",
        said.text("/id")
    );
    let added = shop.post("/v1/subscription_items", &form);
    assert_eq!(
        (added.status, added.kinds().last().copied()),
        (200, Some("subscription_item")),
        "{}",
        added.body
    );
    let items = shop.get(&format!("/v1/subscription_items?subscription={}", said.text("/id")));
    assert_eq!(items.at("/data").as_array().map(Vec::len), Some(2));
    assert_eq!(
        shop.delete(&format!("/v1/subscription_items/{}", added.text("/id")))
            .kinds(),
        ["subscription_item_delete"]
    );
    assert!(
        shop.delete(&format!("/v1/subscription_items/{item}"))
            .refusal()
            .3
            .contains("at least one")
    );
    let yearly = self::price(&shop, 90_000, "year");
    let moved = shop.post(
        &path,
        &format!("items[0][id]={item}&items[0][price]={yearly}&items[0][quantity]=1&proration_behavior=none"),
    );
    assert_eq!(moved.kinds(), ["charge", "subscription_update"], "{}", moved.body);
    assert!(
        moved.number("/items/data/0/current_period_end") - moved.number("/items/data/0/current_period_start")
            >= 365 * 86_400
    );
}

#[test]
fn coupons_count_as_long_as_they_last() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let once = shop.made("/v1/coupons", "percent_off=50&duration=once");
    let twice = shop.made(
        "/v1/coupons",
        "amount_off=100&currency=usd&duration=repeating&duration_in_months=2",
    );
    let setup = shop.made("/v1/prices", "currency=usd&unit_amount=300&product_data[name]=Setup");
    let form = format!(
        "discounts[0][coupon]={once}&discounts[1][coupon]={twice}&add_invoice_items[0][price]={setup}&expand[]=discounts"
    );
    let said = subscribe(&shop, &customer, &price, &form);
    assert_eq!(said.at("/discounts").as_array().map(Vec::len), Some(1));
    shop.pass(Duration::days(93));
    assert_eq!(charged(&shop), [550, 900, 1000, 1000]);
}

#[test]
fn what_is_wrong_with_a_subscription_is_said_and_nothing_stays_of_it() {
    let shop = Shop::open();
    let (customer, price) = (customer(&shop, "pm_card_visa", ""), price(&shop, 1000, "month"));
    let once = shop.made("/v1/prices", "currency=usd&unit_amount=300&product_data[name]=Setup");
    let yearly = self::price(&shop, 1000, "year");
    let data =
        "items[0][price_data][currency]=usd&items[0][price_data][product]=prod_x&items[0][price_data][unit_amount]=1";
    for (form, text) in [
        (String::new(), "Missing required param: items."),
        (
            format!("items[0][price]={once}"),
            "only accepts prices with `type=recurring`",
        ),
        (
            format!("items[0][price]={price}&items[1][price]={yearly}"),
            "the same `recurring.interval`",
        ),
        (
            format!("items[0][price]={price}&items[1][price]={price}"),
            "multiple subscription items with the same price",
        ),
        (format!("items[0][price]={price}&trial_end=5"), "in the future"),
        (format!("items[0][price]={price}&trial_period_days=731"), "730"),
        (
            format!("items[0][price]={price}&collection_method=send_invoice"),
            "Missing required param: days_until_due.",
        ),
        (
            format!("items[0][price]={price}&default_payment_method=pm_card_visa"),
            "must be attached",
        ),
        (
            format!("items[0][price]={price}&billing_cycle_anchor=1999999999"),
            "not modelled",
        ),
        (data.to_owned(), "No such product"),
        (
            format!("items[0][price]={price}&discounts[0][coupon]=x"),
            "No such coupon",
        ),
    ] {
        let said = shop.post("/v1/subscriptions", &format!("customer={customer}&{form}"));
        assert!(
            said.status == 400 && said.refusal().3.contains(text),
            "{form}: {}",
            said.body
        );
    }
    let before = shop.get("/v1/prices?active=false").at("/data").as_array().map(Vec::len);
    let product = shop.made("/v1/products", "name=A");
    let data = format!(
        "items[0][price_data][currency]=usd&items[0][price_data][product]={product}&items[0][price_data][unit_amount]=1&items[0][price_data][recurring][interval]=day"
    );
    assert_eq!(
        shop.post(
            "/v1/subscriptions",
            &format!("customer={customer}&{data}&discounts[0][coupon]=x")
        )
        .status,
        400
    );
    assert_eq!(
        shop.get("/v1/prices?active=false").at("/data").as_array().map(Vec::len),
        before
    );
}

#[test]
fn a_test_clock_runs_through_its_renewals() {
    let shop = Shop::open();
    let start = 1_900_000_000;
    let clock = shop.made("/v1/test_helpers/test_clocks", &format!("frozen_time={start}&name=C"));
    let (customer, price) = (
        customer(&shop, "pm_card_visa", &format!("test_clock={clock}")),
        price(&shop, 1000, "month"),
    );
    let said = subscribe(&shop, &customer, &price, "trial_period_days=7");
    assert_eq!(
        (said.number("/created"), said.text("/test_clock")),
        (start, clock.clone())
    );
    assert!(shop.pass(Duration::days(400)).is_empty());
    let path = format!("/v1/test_helpers/test_clocks/{clock}");
    let advance = |to: i64| {
        shop.keyed(
            &format!("to {to}"),
            &format!("{path}/advance"),
            &format!("frozen_time={to}"),
        )
    };
    let day = 86_400;
    let first = advance(start + 8 * day);
    let kinds = [
        "charge",
        "invoice_finalize",
        "invoice_pay",
        "subscription_cycle",
        "test_clock_advance",
    ];
    let mut seen = first.kinds();
    seen.sort_unstable();
    assert_eq!(
        (seen, first.text("/status"), first.number("/frozen_time")),
        (kinds.to_vec(), "ready".into(), start + 8 * day)
    );
    assert!(advance(start + 8 * day).replayed);
    let second = advance(start + 60 * day);
    assert_eq!(
        second.kinds().iter().filter(|kind| **kind == "charge").count(),
        1,
        "{:?}",
        second.kinds()
    );
    assert_eq!(charged(&shop), [1000, 1000]);
    let invoices = shop.get(&format!("/v1/invoices?customer={customer}"));
    assert_eq!(invoices.number("/data/0/created"), said.number("/trial_end") + 31 * day);
    assert!(advance(start).refusal().3.contains("after the current"));
    assert!(advance(start + 700 * day).refusal().3.contains("two intervals"));
    assert_eq!(shop.get("/v1/customers").at("/data").as_array().map(Vec::len), Some(0));
    assert_eq!(
        shop.get(&format!("/v1/customers?test_clock={clock}"))
            .at("/data")
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(shop.delete(&path).kinds(), ["test_clock_delete"]);
    assert_eq!(
        (shop.get(&path).status, now(&shop, &said).text("/status")),
        (404, "canceled".into())
    );
}
