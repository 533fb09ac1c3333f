//! Cards that are refused, and what they leave behind.

use super::Shop;

#[test]
fn each_test_card_declines_in_its_own_words() {
    let shop = Shop::open();
    for (number, token, code, decline_code, message) in [
        (
            "4000000000000002",
            "visa_chargeDeclined",
            "card_declined",
            "generic_decline",
            "Your card was declined.",
        ),
        (
            "4000000000009995",
            "visa_chargeDeclinedInsufficientFunds",
            "card_declined",
            "insufficient_funds",
            "Your card has insufficient funds.",
        ),
        (
            "4000000000009987",
            "visa_chargeDeclinedLostCard",
            "card_declined",
            "lost_card",
            "Your card was declined.",
        ),
        (
            "4000000000009979",
            "visa_chargeDeclinedStolenCard",
            "card_declined",
            "stolen_card",
            "Your card was declined.",
        ),
        (
            "4000000000000069",
            "chargeDeclinedExpiredCard",
            "expired_card",
            "",
            "Your card has expired.",
        ),
        (
            "4000000000000127",
            "chargeDeclinedIncorrectCvc",
            "incorrect_cvc",
            "",
            "Your card's security code is incorrect.",
        ),
        (
            "4000000000000119",
            "chargeDeclinedProcessingError",
            "processing_error",
            "",
            "An error occurred while processing your card. Try again in a little bit.",
        ),
        (
            "4000000000006975",
            "visa_chargeDeclinedVelocityLimitExceeded",
            "card_declined",
            "card_velocity_exceeded",
            "Your card was declined for making repeated attempts too frequently or exceeding its amount limit.",
        ),
        (
            "4000000000000341",
            "chargeCustomerFail",
            "card_declined",
            "generic_decline",
            "Your card was declined.",
        ),
        (
            "4100000000000019",
            "radarBlock",
            "card_declined",
            "fraudulent",
            "Your card was declined.",
        ),
        (
            "4000000000003220",
            "threeDSecure2Required",
            "authentication_required",
            "authentication_required",
            "Your card was declined. This transaction requires authentication.",
        ),
    ] {
        let form = format!("card[number]={number}&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123");
        let made = shop.made("/v1/tokens", &form);
        for source in [made, format!("tok_{token}")] {
            let said = shop.post("/v1/charges", &format!("amount=2000&currency=usd&source={source}"));
            assert_eq!(said.refusal(), (402, "card_error", code, message), "{source}");
            assert_eq!(
                said.json["error"]["decline_code"].as_str().unwrap_or_default(),
                decline_code
            );
            let failed = shop.get(&format!("/v1/charges/{}", said.text("/error/charge")));
            assert_eq!(failed.text("/failure_code"), code);
            assert_eq!(failed.text("/failure_message"), message);
            assert_eq!(
                (failed.text("/status"), failed.at("/paid").as_bool()),
                ("failed".into(), Some(false))
            );
            assert!(failed.at("/balance_transaction").is_null());
        }
    }
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 0);
}

#[test]
fn cards_that_cannot_be_are_no_tokens() {
    let shop = Shop::open();
    for (card, code) in [
        (
            "card[number]=4242424242424241&card[exp_month]=12&card[exp_year]=2040",
            "incorrect_number",
        ),
        (
            "card[number]=4242&card[exp_month]=12&card[exp_year]=2040",
            "incorrect_number",
        ),
        (
            "card[number]=4242424242424242&card[exp_month]=13&card[exp_year]=2040",
            "invalid_expiry_month",
        ),
        (
            "card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2020",
            "invalid_expiry_year",
        ),
        (
            "card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040&card[cvc]=99",
            "invalid_cvc",
        ),
        (
            "card[number]=4111111111111111&card[exp_month]=12&card[exp_year]=2040",
            "card_declined",
        ),
    ] {
        for (path, form) in [
            ("/v1/tokens", card.to_owned()),
            ("/v1/payment_methods", format!("type=card&{card}")),
        ] {
            let said = shop.post(path, &form);
            assert_eq!(
                (said.status, said.refusal().1, said.refusal().2),
                (402, "card_error", code),
                "{form}"
            );
        }
    }
    let said = shop.post(
        "/v1/tokens",
        "card[number]=4242-4242 42424242&card[exp_month]=1&card[exp_year]=40",
    );
    assert_eq!((said.status, said.number("/card/exp_year")), (200, 2040));
}

#[test]
fn cards_that_decline_are_kept_by_no_customer() {
    let shop = Shop::open();
    let customer = shop.made("/v1/customers", "");
    let attach = |method: &str| {
        shop.post(
            &format!("/v1/payment_methods/{method}/attach"),
            &format!("customer={customer}"),
        )
    };
    assert_eq!(attach("pm_card_visa_chargeDeclined").refusal().0, 402);
    assert_eq!(shop.post("/v1/customers", "source=tok_chargeDeclined").status, 402);
    let later = attach("pm_card_chargeCustomerFail");
    assert_eq!(later.status, 200);
    let form = format!(
        "amount=500&currency=usd&customer={customer}&payment_method={}&confirm=true",
        later.text("/id")
    );
    assert_eq!(shop.post("/v1/payment_intents", &form).refusal().2, "card_declined");
    let keeps = shop.made("/v1/customers", "source=tok_chargeCustomerFail");
    let form = format!("amount=500&currency=usd&customer={keeps}");
    assert_eq!(shop.post("/v1/charges", &form).status, 402);
    let form = format!("amount=500&currency=usd&customer={customer}");
    assert_eq!(shop.post("/v1/charges", &form).refusal().2, "missing");
}

#[test]
fn a_token_is_used_once() {
    let shop = Shop::open();
    let token = shop.made(
        "/v1/tokens",
        "card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040",
    );
    let form = format!("amount=2000&currency=usd&source={token}");
    assert_eq!(
        shop.get(&format!("/v1/tokens/{token}")).at("/used").as_bool(),
        Some(false)
    );
    assert_eq!(shop.post("/v1/charges", &form).status, 200);
    let again = shop.post("/v1/charges", &form);
    assert_eq!(
        (again.status, again.refusal().2, again.effects.len()),
        (400, "token_already_used", 0)
    );
    assert_eq!(
        shop.get(&format!("/v1/tokens/{token}")).at("/used").as_bool(),
        Some(true)
    );
}
