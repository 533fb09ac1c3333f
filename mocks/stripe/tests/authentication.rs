//! 3-D Secure, as a customer goes through it, for payments and for cards that are kept.

use super::{Said, Shop};

/// Confirms a payment with a test card; returns its path and the answer.
fn confirmed(shop: &Shop, card: &str, more: &str) -> (String, Said) {
    let form = format!("amount=2000&currency=usd&payment_method=pm_card_{card}&confirm=true{more}");
    let said = shop.post("/v1/payment_intents", &form);
    assert_eq!(said.status, 200, "{}", said.body);
    (said.text("/id"), said)
}

fn authenticate(shop: &Shop, intent: &str, result: &str) -> Said {
    let what = if intent.starts_with("seti_") {
        "setup_intents"
    } else {
        "payment_intents"
    };
    shop.post(
        &format!("/v1/test_helpers/{what}/{intent}/authenticate"),
        &format!("result={result}"),
    )
}

#[test]
fn success_takes_the_money_at_once() {
    let shop = Shop::open();
    for (card, capture, status) in [
        ("threeDSecure2Required", "automatic", "succeeded"),
        ("authenticationRequired", "manual", "requires_capture"),
        ("authenticationRequiredOnSetup", "automatic_async", "succeeded"),
    ] {
        let (intent, asked) = confirmed(&shop, card, &format!("&capture_method={capture}"));
        assert_eq!(asked.text("/status"), "requires_action");
        assert!(asked.at("/latest_charge").is_null());
        let done = authenticate(&shop, &intent, "succeed");
        assert_eq!(done.kinds(), ["charge", "payment_intent_authenticate"]);
        assert_eq!(done.text("/status"), status);
        assert!(done.at("/next_action").is_null());
        let charge = shop.get(&format!("/v1/charges/{}", done.text("/latest_charge")));
        let secure = "/payment_method_details/card/three_d_secure";
        assert_eq!(charge.text(&format!("{secure}/result")), "authenticated");
        assert_eq!(charge.text(&format!("{secure}/authentication_flow")), "challenge");
        let again = authenticate(&shop, &intent, "succeed");
        assert_eq!(
            (again.status, again.refusal().2),
            (400, "payment_intent_unexpected_state")
        );
    }
    let plain = shop.post("/v1/charges", super::CHARGE);
    assert!(plain.at("/payment_method_details/card/three_d_secure").is_null());
}

#[test]
fn failure_takes_nothing_and_asks_for_another_method() {
    let shop = Shop::open();
    for manual in ["", "&confirmation_method=manual"] {
        let (intent, _) = confirmed(&shop, "threeDSecure2Required", manual);
        let failed = authenticate(&shop, &intent, "fail");
        assert_eq!(failed.kinds(), ["payment_intent_authenticate"]);
        assert_eq!(failed.text("/status"), "requires_payment_method");
        assert_eq!(
            failed.text("/last_payment_error/code"),
            "payment_intent_authentication_failure"
        );
        assert_eq!(failed.text("/last_payment_error/type"), "invalid_request_error");
        assert_eq!(
            failed.text("/last_payment_error/payment_method/object"),
            "payment_method"
        );
        assert!(failed.at("/payment_method").is_null() && failed.at("/latest_charge").is_null());
        let paid = shop.post(
            &format!("/v1/payment_intents/{intent}/confirm"),
            "payment_method=pm_card_visa",
        );
        assert_eq!(paid.text("/status"), "succeeded");
        assert!(paid.at("/last_payment_error").is_null());
    }
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 4000);
}

#[test]
fn with_manual_confirmation_the_server_confirms_after() {
    let shop = Shop::open();
    let (intent, _) = confirmed(&shop, "authenticationRequired", "&confirmation_method=manual");
    let path = format!("/v1/payment_intents/{intent}");
    let back = authenticate(&shop, &intent, "succeed");
    assert_eq!(back.kinds(), ["payment_intent_authenticate"]);
    assert_eq!(back.text("/status"), "requires_confirmation");
    let done = shop.post(&format!("{path}/confirm"), "");
    assert_eq!(done.kinds(), ["charge", "payment_intent_confirm"]);
    assert_eq!(done.text("/status"), "succeeded");
    // What was authenticated for one card does not count for another.
    let (intent, _) = confirmed(&shop, "authenticationRequired", "&confirmation_method=manual");
    authenticate(&shop, &intent, "succeed");
    let other = shop.post(
        &format!("/v1/payment_intents/{intent}/confirm"),
        "payment_method=pm_card_threeDSecure2Required",
    );
    assert_eq!(other.text("/status"), "requires_action");
    // Nor does it for another amount.
    let (intent, _) = confirmed(&shop, "authenticationRequired", "&confirmation_method=manual");
    authenticate(&shop, &intent, "succeed");
    shop.post(&format!("/v1/payment_intents/{intent}"), "amount=3000");
    let more = shop.post(&format!("/v1/payment_intents/{intent}/confirm"), "");
    assert_eq!(more.text("/status"), "requires_action");
}

#[test]
fn the_issuer_may_decline_after_authentication() {
    let shop = Shop::open();
    for (number, card, decline) in [
        (
            "4000008260003178",
            "authenticationRequiredChargeDeclinedInsufficientFunds",
            "insufficient_funds",
        ),
        (
            "4000008400001629",
            "threeDSecureRequiredChargeDeclined",
            "generic_decline",
        ),
    ] {
        let (intent, _) = confirmed(&shop, card, "");
        let said = authenticate(&shop, &intent, "succeed");
        assert_eq!(said.kinds(), ["payment_intent_authenticate"], "{number}");
        assert_eq!(said.text("/status"), "requires_payment_method");
        assert_eq!(said.text("/last_payment_error/decline_code"), decline);
        let charge = shop.get(&format!("/v1/charges/{}", said.text("/latest_charge")));
        assert_eq!(
            (charge.text("/status"), charge.text("/failure_code")),
            ("failed".into(), "card_declined".into())
        );
        assert_eq!(charge.text("/payment_method_details/card/last4"), number[12..]);
    }
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 0);
}

#[test]
fn a_card_that_was_set_up_is_spared_while_its_holder_is_away_if_it_is_one_of_those() {
    let shop = Shop::open();
    for (card, spared) in [
        ("authenticationRequiredOnSetup", true),
        ("authenticationRequired", false),
    ] {
        let customer = shop.made("/v1/customers", "");
        let form = format!("customer={customer}&payment_method=pm_card_{card}&confirm=true");
        let setup = shop.post("/v1/setup_intents", &form);
        assert_eq!(setup.text("/status"), "requires_action");
        let method = setup.text("/payment_method");
        let pay = |more: &str| {
            let form =
                format!("amount=2000&currency=usd&customer={customer}&payment_method={method}&confirm=true&{more}");
            shop.post("/v1/payment_intents", &form)
        };
        assert_eq!(pay("off_session=true").refusal().2, "authentication_required");
        let done = authenticate(&shop, &setup.text("/id"), "succeed");
        assert_eq!(
            (done.text("/status"), done.kinds()),
            ("succeeded".into(), vec!["setup_intent_authenticate"])
        );
        assert_eq!(
            shop.get(&format!("/v1/payment_methods/{method}")).text("/customer"),
            customer
        );
        let away = pay("off_session=true");
        assert_eq!(away.status, if spared { 200 } else { 402 }, "{}", away.body);
        assert_eq!(
            pay("").text("/status"),
            "requires_action",
            "a holder who is there is always asked"
        );
    }
}

#[test]
fn a_payment_sets_a_card_up_too() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let more = format!("&customer={customer}&setup_future_usage=off_session");
    let (intent, _) = confirmed(&shop, "authenticationRequiredOnSetup", &more);
    let paid = authenticate(&shop, &intent, "succeed");
    let form = format!(
        "amount=900&currency=usd&customer={customer}&payment_method={}&confirm=true&off_session=true",
        paid.text("/payment_method")
    );
    assert_eq!(shop.post("/v1/payment_intents", &form).text("/status"), "succeeded");
}

#[test]
fn the_way_to_the_page_is_told_and_the_customer_needs_no_key() {
    let shop = Shop::open();
    let (intent, said) = confirmed(
        &shop,
        "authenticationRequired",
        "&return_url=https://shop.test/back?order=1",
    );
    let page = format!("http://localhost/v1/test_helpers/payment_intents/{intent}/authenticate");
    assert_eq!(said.text("/next_action/redirect_to_url/url"), page);
    assert_eq!(
        said.text("/next_action/redirect_to_url/return_url"),
        "https://shop.test/back?order=1"
    );
    let (_, sdk) = confirmed(&shop, "authenticationRequired", "");
    assert_eq!(sdk.text("/next_action/type"), "use_stripe_sdk");
    let helper = page.strip_prefix("http://localhost").unwrap();
    for (form, code) in [
        ("", "parameter_missing"),
        ("result=maybe", ""),
        ("result=fail&a=1", "parameter_unknown"),
    ] {
        assert_eq!(
            (shop.post(helper, form).status, shop.post(helper, form).refusal().2),
            (400, code)
        );
    }
    let mut request = super::request(http::Method::POST, helper, "result=succeed", &[]);
    request.headers.remove("authorization");
    assert_eq!(shop.send(&request).text("/status"), "succeeded");
    let mut other = super::request(http::Method::POST, "/v1/charges", super::CHARGE, &[]);
    other.headers.remove("authorization");
    assert_eq!(shop.send(&other).status, 401);
}

#[test]
fn a_connected_accounts_page_names_the_account() {
    let shop = Shop::open();
    let account = &[("stripe-account", "acct_1")];
    let form =
        "amount=2000&currency=usd&payment_method=pm_card_authenticationRequired&confirm=true&return_url=https://a.test";
    let said = shop.send(&super::request(
        http::Method::POST,
        "/v1/payment_intents",
        form,
        account,
    ));
    let url = said.text("/next_action/redirect_to_url/url");
    assert!(url.ends_with("/authenticate?account=acct_1"), "{url}");
    let path = url.strip_prefix("http://localhost").unwrap();
    let mut request = super::request(http::Method::POST, path, "result=succeed", &[]);
    request.headers.remove("authorization");
    assert_eq!(shop.send(&request).text("/status"), "succeeded");
    let elsewhere = path.replace("acct_1", "acct_2");
    assert_eq!(shop.post(&elsewhere, "result=succeed").status, 404);
    assert_eq!(
        shop.post(&elsewhere.replace("acct_2", "x"), "result=succeed").status,
        403
    );
}

#[test]
fn a_setup_goes_from_method_to_success() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let made = shop.post(
        "/v1/setup_intents",
        &format!(
            "customer={customer}&usage=on_session&metadata[a]=1&description=D&automatic_payment_methods[enabled]=true"
        ),
    );
    assert_eq!(
        (made.text("/status"), made.text("/usage"), made.text("/description")),
        ("requires_payment_method".into(), "on_session".into(), "D".into())
    );
    let path = format!("/v1/setup_intents/{}", made.text("/id"));
    let missing = shop.post(&format!("{path}/confirm"), "");
    assert_eq!(missing.refusal().2, "setup_intent_unexpected_state");
    assert_eq!(missing.text("/error/setup_intent/object"), "setup_intent");
    assert_eq!(
        shop.post(&path, "payment_method=pm_card_visa&metadata[b]=2")
            .text("/status"),
        "requires_confirmation"
    );
    let done = shop.post(&format!("{path}/confirm"), "expand[]=payment_method&expand[]=customer");
    assert_eq!(
        (done.text("/status"), done.kinds()),
        ("succeeded".into(), vec!["setup_intent_confirm"])
    );
    assert_eq!(done.text("/payment_method/customer"), customer);
    assert_eq!(
        (done.text("/customer/id"), done.text("/metadata/b")),
        (customer.clone(), "2".into())
    );
    for rest in ["/confirm", "/cancel"] {
        assert_eq!(
            shop.post(&format!("{path}{rest}"), "").refusal().2,
            "setup_intent_unexpected_state"
        );
    }
    let secret = shop.get(&format!("{path}?client_secret={}", made.text("/client_secret")));
    assert_eq!(secret.status, 200);
    assert_eq!(shop.get(&format!("{path}?client_secret=x")).status, 400);
    let other = shop.made("/v1/setup_intents", "");
    let canceled = shop.post(
        &format!("/v1/setup_intents/{other}/cancel"),
        "cancellation_reason=duplicate",
    );
    assert_eq!(
        (canceled.text("/status"), canceled.text("/cancellation_reason")),
        ("canceled".into(), "duplicate".into())
    );
    let listed = shop.get(&format!("/v1/setup_intents?customer={customer}"));
    assert_eq!(listed.at("/data").as_array().map(Vec::len), Some(1));
    assert_eq!(listed.text("/data/0/id"), made.text("/id"));
}

#[test]
fn a_setup_that_fails_needs_another_method() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let start = format!("customer={customer}&confirm=true&payment_method=pm_card_");
    let asked = shop.post(
        "/v1/setup_intents",
        &format!("{start}threeDSecure2Required&return_url=https://a.test"),
    );
    assert_eq!(asked.text("/next_action/type"), "redirect_to_url");
    let failed = authenticate(&shop, &asked.text("/id"), "fail");
    assert_eq!(failed.text("/status"), "requires_payment_method");
    assert_eq!(
        failed.text("/last_setup_error/code"),
        "setup_intent_authentication_failure"
    );
    let declined = shop.post("/v1/setup_intents", &format!("{start}visa_chargeDeclined"));
    assert_eq!(
        (declined.status, declined.refusal().2, declined.effects.len()),
        (402, "card_declined", 0)
    );
    let left = shop.get(&format!(
        "/v1/setup_intents/{}",
        declined.text("/error/setup_intent/id")
    ));
    assert_eq!(left.text("/last_setup_error/decline_code"), "generic_decline");
    let kept = shop.post("/v1/setup_intents", &format!("{start}chargeCustomerFail"));
    assert_eq!(
        kept.text("/status"),
        "succeeded",
        "it is refused only when it is charged"
    );
}
