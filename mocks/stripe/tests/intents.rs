//! The way of a payment intent.

use super::{Said, Shop};

const CARD: &str = "amount=2000&currency=usd&payment_method=pm_card_visa";

fn create(shop: &Shop, form: &str) -> (String, Said) {
    let said = shop.post("/v1/payment_intents", form);
    assert_eq!(said.status, 200, "{}", said.body);
    (format!("/v1/payment_intents/{}", said.text("/id")), said)
}

fn unexpected(said: &Said, part: &str) {
    assert_eq!(
        (said.status, said.refusal().2),
        (400, "payment_intent_unexpected_state"),
        "{}",
        said.body
    );
    assert!(said.refusal().3.contains(part), "{}", said.body);
    assert_eq!(said.text("/error/payment_intent/object"), "payment_intent");
}

#[test]
fn it_goes_from_method_to_success() {
    let shop = Shop::open();
    let (path, said) = create(&shop, "amount=2000&currency=usd&metadata[a]=1&description=D");
    assert_eq!(said.text("/status"), "requires_payment_method");
    unexpected(&shop.post(&format!("{path}/confirm"), ""), "missing a payment method");
    assert_eq!(
        shop.post(&path, "payment_method=pm_card_visa").text("/status"),
        "requires_confirmation"
    );
    let done = shop.post(
        &format!("{path}/confirm"),
        "expand[]=latest_charge&expand[]=payment_method",
    );
    assert_eq!(
        (done.text("/status"), done.number("/amount_received")),
        ("succeeded".into(), 2000)
    );
    assert_eq!(done.text("/latest_charge/metadata/a"), "1");
    assert_eq!(done.text("/latest_charge/description"), "D");
    assert_eq!(
        done.text("/latest_charge/payment_method"),
        done.text("/payment_method/id")
    );
    assert!(done.at("/latest_charge/source").is_null());
    let again = shop.post(&format!("{path}/confirm"), "");
    unexpected(&again, "already succeeded after being previously confirmed");
    unexpected(&shop.post(&format!("{path}/cancel"), ""), "has a status of succeeded");
    unexpected(&shop.post(&format!("{path}/capture"), ""), "has a status of succeeded");
    unexpected(&shop.post(&path, "amount=3000"), "amount could not be updated");
    assert_eq!(shop.post(&path, "metadata[a]=2").text("/metadata/a"), "2");
}

#[test]
fn it_is_captured_once_and_the_rest_is_released() {
    let shop = Shop::open();
    let (path, said) = create(&shop, &format!("{CARD}&confirm=true&capture_method=manual"));
    assert_eq!(
        (said.text("/status"), said.number("/amount_capturable")),
        ("requires_capture".into(), 2000)
    );
    let charge = format!("/v1/charges/{}", said.text("/latest_charge"));
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 0);
    assert_eq!(shop.post(&format!("{charge}/capture"), "").status, 400);
    let refund = shop.post("/v1/refunds", &format!("payment_intent={}", said.text("/id")));
    assert!(
        refund
            .refusal()
            .3
            .ends_with("does not have a successful charge to refund.")
    );
    let capture = |amount: u32| shop.post(&format!("{path}/capture"), &format!("amount_to_capture={amount}"));
    assert_eq!(capture(2001).refusal().2, "amount_too_large");
    let done = capture(1500);
    assert_eq!(
        (done.number("/amount_received"), done.number("/amount_capturable")),
        (1500, 0)
    );
    let taken = shop.get(&charge);
    assert_eq!(
        (taken.number("/amount_captured"), taken.number("/amount_refunded")),
        (1500, 500)
    );
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 1500);
    unexpected(&capture(1), "could not be captured");
}

#[test]
fn it_can_be_canceled_until_it_succeeds() {
    let shop = Shop::open();
    let (path, said) = create(&shop, &format!("{CARD}&confirm=true&capture_method=manual"));
    let done = shop.post(&format!("{path}/cancel"), "cancellation_reason=abandoned");
    assert_eq!(done.kinds(), ["payment_intent_cancel"]);
    assert_eq!(
        (done.text("/status"), done.text("/cancellation_reason")),
        ("canceled".into(), "abandoned".into())
    );
    let charge = shop.get(&format!("/v1/charges/{}", said.text("/latest_charge")));
    assert_eq!(
        (charge.at("/refunded").as_bool(), charge.at("/captured").as_bool()),
        (Some(true), Some(false))
    );
    unexpected(&shop.post(&format!("{path}/cancel"), ""), "has a status of canceled");
    unexpected(&shop.post(&format!("{path}/confirm"), ""), "canceled");
    assert_eq!(
        shop.post(&format!("{path}/cancel"), "cancellation_reason=x").status,
        400
    );
}

#[test]
fn a_decline_leaves_an_intent_that_can_be_paid_otherwise() {
    let shop = Shop::open();
    let said = shop.post(
        "/v1/payment_intents",
        "amount=2000&currency=usd&confirm=true&payment_method=pm_card_visa_chargeDeclinedInsufficientFunds",
    );
    assert_eq!(
        (said.status, said.refusal().2, said.effects.len()),
        (402, "card_declined", 0)
    );
    assert_eq!(said.text("/error/payment_method/object"), "payment_method");
    let path = format!("/v1/payment_intents/{}", said.text("/error/payment_intent/id"));
    let left = shop.get(&path);
    assert_eq!(left.text("/status"), "requires_payment_method");
    assert_eq!(left.text("/last_payment_error/decline_code"), "insufficient_funds");
    assert_eq!(left.text("/latest_charge"), said.text("/error/charge"));
    assert!(left.at("/payment_method").is_null());
    let refund = shop.post("/v1/refunds", &format!("payment_intent={}", left.text("/id")));
    assert!(refund.refusal().3.contains("does not have a successful charge"));
    let paid = shop.post(&format!("{path}/confirm"), "payment_method=pm_card_visa");
    assert_eq!(paid.kinds(), ["charge", "payment_intent_confirm"]);
    assert!(paid.at("/last_payment_error").is_null());
}

#[test]
fn authentication_is_asked_for_and_takes_no_money() {
    let shop = Shop::open();
    for (card, extra, kind) in [
        ("threeDSecure2Required", "", "use_stripe_sdk"),
        (
            "authenticationRequired",
            "&return_url=https://shop.test/back",
            "redirect_to_url",
        ),
    ] {
        let form = format!("amount=2000&currency=usd&payment_method=pm_card_{card}{extra}&confirm=true");
        let (path, said) = create(&shop, &form);
        assert_eq!(
            (said.text("/status"), said.text("/next_action/type")),
            ("requires_action".into(), kind.into())
        );
        assert_eq!(said.kinds(), ["payment_intent"]);
        let again = shop.post(&format!("{path}/confirm"), "");
        assert_eq!(
            (again.text("/status"), again.kinds()),
            ("requires_action".into(), vec!["payment_intent_confirm"])
        );
        let canceled = shop.post(&format!("{path}/cancel"), "");
        assert!(canceled.at("/next_action").is_null());
    }
    for (extra, code, decline) in [
        ("off_session=true", "authentication_required", "authentication_required"),
        (
            "error_on_requires_action=true",
            "card_declined",
            "authentication_not_handled",
        ),
    ] {
        let form =
            format!("amount=2000&currency=usd&payment_method=pm_card_threeDSecure2Required&confirm=true&{extra}");
        let said = shop.post("/v1/payment_intents", &form);
        assert_eq!((said.status, said.refusal().2), (402, code));
        assert_eq!(said.text("/error/decline_code"), decline);
    }
    assert_eq!(
        shop.get("/v1/charges?limit=100").at("/data").as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn a_method_without_a_customer_is_used_once() {
    let shop = Shop::open();
    let card = "type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040";
    let method = shop.made("/v1/payment_methods", card);
    let form = format!("amount=2000&currency=usd&payment_method={method}&confirm=true");
    assert_eq!(shop.post("/v1/payment_intents", &form).status, 200);
    let again = shop.post("/v1/payment_intents", &form);
    assert!(again.status == 400 && again.refusal().3.contains("may not be used again"));
    let customer = shop.made("/v1/customers", "");
    let method = shop.made("/v1/payment_methods", card);
    let form = format!(
        "amount=2000&currency=usd&payment_method={method}&confirm=true&customer={customer}&setup_future_usage=off_session"
    );
    assert_eq!(
        shop.post("/v1/payment_intents", &form).kinds(),
        ["charge", "payment_intent"]
    );
    assert_eq!(
        shop.get(&format!("/v1/payment_methods/{method}")).text("/customer"),
        customer
    );
    assert_eq!(shop.post("/v1/payment_intents", &form).status, 200);
    let strange = format!("amount=2000&currency=usd&payment_method={method}&confirm=true");
    assert!(
        shop.post("/v1/payment_intents", &strange)
            .refusal()
            .3
            .contains("attached to a customer")
    );
    assert_eq!(
        shop.post(&format!("/v1/payment_methods/{method}/detach"), "").status,
        200
    );
    assert!(
        shop.post("/v1/payment_intents", &form)
            .refusal()
            .3
            .contains("may not be used again")
    );
}
