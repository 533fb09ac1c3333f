//! A strict client's decoder, which fails whole objects over one missing field, takes every object.

use miniserde::Deserialize;

use super::{CHARGE, Shop};

fn takes<T: Deserialize>(body: &str) {
    assert!(miniserde::json::from_str::<T>(body).is_ok(), "{body}");
}

#[test]
fn every_object_is_taken() {
    let shop = Shop::open();
    let address = "address[line1]=A&address[city]=C&address[country]=DE&address[postal_code]=1";
    let customer = shop.post(
        "/v1/customers",
        &format!("source=tok_visa&name=N&{address}&metadata[a]=1"),
    );
    takes::<stripe_core::Customer>(&customer.body);
    let customer = customer.text("/id");
    takes::<stripe_core::Customer>(
        &shop
            .get(&format!("/v1/customers/{customer}?expand[]=default_source"))
            .body,
    );
    let charge = shop.post(
        "/v1/charges",
        &format!("{CHARGE}&shipping[name]=N&shipping[address][line1]=A&description=D"),
    );
    takes::<stripe_core::Charge>(&charge.body);
    let form = format!("amount=500&currency=eur&customer={customer}&expand[]=customer&expand[]=refunds");
    takes::<stripe_core::Charge>(&shop.post("/v1/charges", &form).body);
    let failed = shop.post("/v1/charges", "amount=500&currency=eur&source=tok_radarBlock");
    takes::<stripe_core::Charge>(&shop.get(&format!("/v1/charges/{}", failed.text("/error/charge"))).body);
    takes::<stripe_core::Refund>(
        &shop
            .post("/v1/refunds", &format!("charge={}&expand[]=charge", charge.text("/id")))
            .body,
    );
    for form in [
        "",
        "&payment_method=pm_card_visa&confirm=true&expand[]=latest_charge&expand[]=payment_method",
        "&payment_method=pm_card_visa&confirm=true&capture_method=manual",
        "&payment_method=pm_card_threeDSecure2Required&confirm=true",
        "&payment_method=pm_card_authenticationRequired&confirm=true&return_url=https://a.test/",
        "&automatic_payment_methods[enabled]=true&setup_future_usage=off_session",
    ] {
        let said = shop.post("/v1/payment_intents", &format!("amount=900&currency=usd{form}"));
        assert_eq!(said.status, 200, "{}", said.body);
        takes::<stripe_core::PaymentIntent>(&said.body);
    }
    let failed = shop.post(
        "/v1/payment_intents",
        "amount=900&currency=usd&payment_method=pm_card_chargeDeclinedExpiredCard&confirm=true",
    );
    let failed = shop.get(&format!(
        "/v1/payment_intents/{}",
        failed.text("/error/payment_intent/id")
    ));
    takes::<stripe_core::PaymentIntent>(&failed.body);
    let canceled = shop.made("/v1/payment_intents", "amount=900&currency=usd");
    takes::<stripe_core::PaymentIntent>(&shop.post(&format!("/v1/payment_intents/{canceled}/cancel"), "").body);
    takes::<stripe_payment::PaymentMethod>(&shop.get("/v1/payment_methods/pm_card_amex").body);
    takes::<stripe_core::Token>(&shop.get("/v1/tokens/tok_mastercard").body);
    takes::<stripe_core::Balance>(&shop.get("/v1/balance").body);
    catalog(&shop);
    billing(&shop);
    takes::<stripe_core::DeletedCustomer>(&shop.delete(&format!("/v1/customers/{customer}")).body);
}

/// Takes what is billed.
fn billing(shop: &Shop) {
    let clock = shop.post("/v1/test_helpers/test_clocks", "frozen_time=1900000000");
    takes::<stripe_shared::TestHelpersTestClock>(&clock.body);
    let customer = super::subscriptions::customer(
        shop,
        "pm_card_visa",
        &format!("name=N&test_clock={}", clock.text("/id")),
    );
    takes::<stripe_core::Customer>(&shop.get(&format!("/v1/customers/{customer}?expand[]=test_clock")).body);
    let coupon = shop.made("/v1/coupons", "percent_off=10&duration=forever");
    let item = format!("customer={customer}&amount=900&currency=usd&discounts[0][coupon]={coupon}&expand[]=discounts");
    assert_eq!(shop.post("/v1/invoiceitems", &item).status, 200);
    let form = format!(
        "customer={customer}&pending_invoice_items_behavior=include&discounts[0][coupon]={coupon}&expand[]=discounts"
    );
    let draft = shop.post("/v1/invoices", &form);
    takes::<stripe_shared::Invoice>(&draft.body);
    let expand = "expand[]=payments&expand[]=confirmation_secret&expand[]=customer&expand[]=lines.data.discounts";
    takes::<stripe_shared::Invoice>(
        &shop
            .post(&format!("/v1/invoices/{}/finalize", draft.text("/id")), expand)
            .body,
    );
    takes::<stripe_shared::Invoice>(
        &shop
            .post(&format!("/v1/invoices/{}/pay", draft.text("/id")), expand)
            .body,
    );
    let payments = shop.get("/v1/invoice_payments").text("/data/0/id");
    takes::<stripe_shared::InvoicePayment>(&shop.get(&format!("/v1/invoice_payments/{payments}")).body);
    let price = super::subscriptions::price(shop, 1000, "month");
    let form = format!("customer={customer}&items[0][price]={price}&discounts[0][coupon]={coupon}&trial_period_days=3");
    let said = shop.post(
        "/v1/subscriptions",
        &format!("{form}&expand[]=latest_invoice&expand[]=discounts&expand[]=customer"),
    );
    takes::<stripe_shared::Subscription>(&said.body);
    takes::<stripe_shared::SubscriptionItem>(
        &shop
            .get(&format!("/v1/subscription_items/{}", said.text("/items/data/0/id")))
            .body,
    );
    takes::<stripe_shared::Subscription>(&shop.delete(&format!("/v1/subscriptions/{}", said.text("/id"))).body);
    for mode in ["payment", "subscription"] {
        let price = match mode {
            "payment" => shop.made("/v1/prices", "currency=usd&unit_amount=900&product_data[name]=A"),
            _ => price.clone(),
        };
        let form =
            format!("mode={mode}&success_url=https://a.test/&line_items[0][price]={price}&line_items[0][quantity]=1");
        let said = shop.post(
            "/v1/checkout/sessions",
            &format!("{form}&discounts[0][coupon]={coupon}&expand[]=line_items"),
        );
        takes::<stripe_shared::CheckoutSession>(&said.body);
        let path = format!("/v1/test_helpers/checkout/sessions/{}/complete", said.text("/id"));
        takes::<stripe_shared::CheckoutSession>(&shop.post(&path, "").body);
    }
}

/// Takes what is sold.
fn catalog(shop: &Shop) {
    let product = shop.post(
        "/v1/products",
        "name=A&default_price_data[currency]=usd&default_price_data[unit_amount]=500&marketing_features[0][name]=F",
    );
    takes::<stripe_shared::Product>(&product.body);
    let recurring =
        "currency=usd&unit_amount_decimal=1.5&recurring[interval]=week&product_data[name]=A&expand[]=product";
    takes::<stripe_shared::Price>(&shop.post("/v1/prices", recurring).body);
    let coupon = shop.post("/v1/coupons", "percent_off=10&duration=repeating&duration_in_months=3");
    takes::<stripe_shared::Coupon>(&coupon.body);
    takes::<stripe_shared::Coupon>(&shop.post("/v1/coupons", "amount_off=10&currency=eur").body);
    let form = format!("promotion[type]=coupon&promotion[coupon]={}", coupon.text("/id"));
    takes::<stripe_shared::PromotionCode>(&shop.post("/v1/promotion_codes", &form).body);
    takes::<stripe_shared::DeletedCoupon>(&shop.delete(&format!("/v1/coupons/{}", coupon.text("/id"))).body);
}

#[test]
fn what_comes_of_a_payment_is_taken_too() {
    let shop = Shop::open();
    let disputed = shop.made("/v1/charges", "amount=2000&currency=usd&source=tok_createDispute");
    let charge = format!("/v1/charges/{disputed}?expand[]=balance_transaction.source");
    takes::<stripe_core::Charge>(&shop.get(&charge).body);
    let dispute = format!("/v1/disputes/{}", shop.get("/v1/disputes").text("/data/0/id"));
    takes::<stripe_core::Dispute>(&shop.get(&format!("{dispute}?expand[]=charge")).body);
    let won = shop.post(&dispute, "evidence[uncategorized_text]=winning_evidence&metadata[a]=1");
    takes::<stripe_core::Dispute>(&won.body);
    let movement = shop.get("/v1/balance_transactions").text("/data/0/id");
    for expand in ["", "?expand[]=source"] {
        let path = format!("/v1/balance_transactions/{movement}{expand}");
        takes::<stripe_core::BalanceTransaction>(&shop.get(&path).body);
    }
    for token in ["pendingRefund", "refundFail"] {
        let charge = shop.made("/v1/charges", &format!("amount=2000&currency=usd&source=tok_{token}"));
        let refund = shop.made("/v1/refunds", &format!("charge={charge}"));
        shop.advance(time::Duration::seconds(2));
        let path = format!("/v1/refunds/{refund}?expand[]=balance_transaction&expand[]=failure_balance_transaction");
        takes::<stripe_core::Refund>(&shop.get(&path).body);
    }
    let customer = shop.made("/v1/customers", "");
    for (form, result) in [
        ("", ""),
        ("&payment_method=pm_card_visa&expand[]=payment_method", ""),
        (
            "&payment_method=pm_card_threeDSecure2Required&automatic_payment_methods[enabled]=true",
            "fail",
        ),
        (
            "&payment_method=pm_card_threeDSecure2Required&return_url=https://a.test",
            "succeed",
        ),
    ] {
        let confirm = form.contains("pm_card");
        let said = shop.post(
            "/v1/setup_intents",
            &format!("customer={customer}&confirm={confirm}{form}"),
        );
        takes::<stripe_core::SetupIntent>(&said.body);
        let path = format!("/v1/test_helpers/setup_intents/{}/authenticate", said.text("/id"));
        if !result.is_empty() {
            takes::<stripe_core::SetupIntent>(&shop.post(&path, &format!("result={result}")).body);
        }
    }
    let form = "amount=900&currency=usd&payment_method=pm_card_threeDSecure2Required&confirm=true";
    for result in ["fail", "succeed"] {
        let intent = shop.made("/v1/payment_intents", form);
        let path = format!("/v1/test_helpers/payment_intents/{intent}/authenticate");
        let said = shop.post(&path, &format!("result={result}&expand[]=latest_charge"));
        takes::<stripe_core::PaymentIntent>(&said.body);
    }
}

#[test]
fn the_decoder_is_strict() {
    assert!(miniserde::json::from_str::<stripe_core::Refund>(r#"{"id": "re_1", "object": "refund"}"#).is_err());
}
