//! What is told of payments, and in which order.

use time::Duration;

use super::Shop;

/// Returns what is told of one call, which may be refused.
fn told(shop: &Shop, path: &str, form: &str) -> Vec<&'static str> {
    let before = shop.told().len();
    let said = shop.post(path, form);
    assert!(said.status == 200 || said.status == 402, "{}", said.body);
    shop.told().split_off(before)
}

#[test]
fn charges_tell_of_themselves() {
    let shop = Shop::open();
    let form = "amount=2000&currency=usd&source=tok_visa";
    assert_eq!(told(&shop, "/v1/charges", form), ["charge.succeeded"]);
    assert_eq!(
        told(
            &shop,
            "/v1/charges",
            "amount=2000&currency=usd&source=tok_chargeDeclined"
        ),
        ["charge.failed"]
    );
    let charge = shop.made("/v1/charges", &format!("{form}&capture=false"));
    let path = format!("/v1/charges/{charge}");
    assert_eq!(told(&shop, &path, "metadata[a]=1"), ["charge.updated"]);
    assert_eq!(told(&shop, &format!("{path}/capture"), ""), ["charge.captured"]);
    let refund = format!("charge={charge}&amount=1");
    assert_eq!(
        told(&shop, "/v1/refunds", &refund),
        ["refund.created", "charge.refunded"]
    );
    let before = shop.told().len();
    shop.made("/v1/charges", &format!("{form}&capture=false"));
    shop.advance(Duration::days(8));
    assert_eq!(shop.told().split_off(before), ["charge.succeeded", "charge.expired"]);
}

#[test]
fn intents_tell_of_each_step() {
    let shop = Shop::open();
    let confirm = |card: &str, more: &str| {
        let form = format!("amount=2000&currency=usd&confirm=true&payment_method=pm_card_{card}{more}");
        told(&shop, "/v1/payment_intents", &form)
    };
    let made = "payment_intent.created";
    assert_eq!(
        confirm("visa", ""),
        [made, "charge.succeeded", "payment_intent.succeeded"]
    );
    assert_eq!(
        confirm("visa", "&capture_method=manual"),
        [made, "charge.succeeded", "payment_intent.amount_capturable_updated"]
    );
    assert_eq!(
        confirm("visa_chargeDeclined", ""),
        [made, "charge.failed", "payment_intent.payment_failed"]
    );
    assert_eq!(
        confirm("authenticationRequired", ""),
        [made, "payment_intent.requires_action"]
    );
    let intents = shop.get("/v1/payment_intents");
    let (asks, held) = (intents.text("/data/0/id"), intents.text("/data/2/id"));
    let helper = format!("/v1/test_helpers/payment_intents/{asks}/authenticate");
    assert_eq!(told(&shop, &helper, "result=fail"), ["payment_intent.payment_failed"]);
    assert_eq!(
        told(&shop, &format!("/v1/payment_intents/{held}/capture"), ""),
        ["charge.captured", "payment_intent.succeeded"]
    );
    assert_eq!(
        told(&shop, &format!("/v1/payment_intents/{asks}/cancel"), ""),
        ["payment_intent.canceled"]
    );
    let customer = shop.made("/v1/customers", "");
    assert_eq!(
        confirm("visa", &format!("&customer={customer}&setup_future_usage=on_session")),
        [
            made,
            "charge.succeeded",
            "payment_method.attached",
            "payment_intent.succeeded"
        ]
    );
}

#[test]
fn methods_and_setups_tell_too() {
    let shop = Shop::open();
    let customer = format!("customer={}", shop.made("/v1/customers", ""));
    assert_eq!(
        told(&shop, "/v1/payment_methods/pm_card_visa/attach", &customer),
        ["payment_method.attached"]
    );
    let method = format!(
        "/v1/payment_methods/{}",
        shop.get(&format!("/v1/payment_methods?{customer}")).text("/data/0/id")
    );
    assert_eq!(told(&shop, &method, "metadata[a]=1"), ["payment_method.updated"]);
    assert_eq!(
        told(&shop, &format!("{method}/detach"), ""),
        ["payment_method.detached"]
    );
    let start = format!("{customer}&confirm=true&payment_method=pm_card_");
    assert_eq!(
        told(&shop, "/v1/setup_intents", &format!("{start}visa")),
        [
            "setup_intent.created",
            "payment_method.attached",
            "setup_intent.succeeded"
        ]
    );
    assert_eq!(
        told(&shop, "/v1/setup_intents", &format!("{start}threeDSecureRequired")),
        ["setup_intent.created", "setup_intent.requires_action"]
    );
    let asks = shop.get("/v1/setup_intents").text("/data/0/id");
    let helper = format!("/v1/test_helpers/setup_intents/{asks}/authenticate");
    assert_eq!(told(&shop, &helper, "result=fail"), ["setup_intent.setup_failed"]);
    assert_eq!(
        told(&shop, &format!("/v1/setup_intents/{asks}/cancel"), ""),
        ["setup_intent.canceled"]
    );
}

#[test]
fn refunds_and_disputes_tell_of_their_way() {
    let shop = Shop::open();
    let charge = shop.made("/v1/charges", "amount=2000&currency=usd&source=tok_refundFail");
    let before = shop.told().len();
    shop.made("/v1/refunds", &format!("charge={charge}"));
    shop.advance(Duration::seconds(2));
    assert_eq!(
        shop.told().split_off(before),
        [
            "refund.created",
            "charge.refunded",
            "refund.failed",
            "refund.updated",
            "charge.refund.updated"
        ]
    );
    assert_eq!(
        told(
            &shop,
            "/v1/charges",
            "amount=2000&currency=usd&source=tok_createDispute"
        ),
        [
            "charge.succeeded",
            "charge.dispute.created",
            "charge.dispute.funds_withdrawn"
        ]
    );
    let dispute = format!("/v1/disputes/{}", shop.get("/v1/disputes").text("/data/0/id"));
    assert_eq!(
        told(&shop, &dispute, "evidence[uncategorized_text]=winning_evidence"),
        [
            "charge.dispute.updated",
            "charge.dispute.closed",
            "charge.dispute.funds_reinstated"
        ]
    );
}
