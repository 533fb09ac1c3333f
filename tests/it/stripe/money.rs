//! Money moves as it does there: authorised, captured, given back, and never more than there is.

use serde_json::{Value, json};

use super::{charge, get, id, made, refusal};
use crate::support::{App, Call, with};

async fn shown(app: &App, path: &str) -> Value {
    made(app, get(path)).await
}

/// Returns the sums of a charge: authorised, captured, refunded.
async fn sums(app: &App, id: &str) -> [i64; 3] {
    let charge = shown(app, &format!("/v1/charges/{id}")).await;
    ["amount", "amount_captured", "amount_refunded"].map(|name| charge[name].as_i64().unwrap())
}

/// Makes a call that must be refused, and returns its error's code, or its message if it has none.
async fn refused(app: &App, call: Call) -> String {
    let answer = app.call(call).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let (_, kind, code, message) = refusal(&answer);
    assert_eq!(kind, "invalid_request_error");
    code.unwrap_or(message)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_from_authorisation_to_refund() {
    with(
        |b| b,
        async |app: &App| {
            let form = "amount=1000&currency=usd&source=tok_visa&capture=false";
            let charge = id(app, Call::stripe("/v1/charges", form)).await;
            let capture =
                |amount: u64| Call::stripe(&format!("/v1/charges/{charge}/capture"), &format!("amount={amount}"));
            let refund = |amount: u64| Call::stripe("/v1/refunds", &format!("charge={charge}&amount={amount}"));
            assert_eq!(sums(app, &charge).await, [1000, 0, 0]);
            assert_eq!(refused(app, capture(1001)).await, "amount_too_large");
            let partly = refused(app, refund(100)).await;
            assert!(partly.contains("partially refund an uncaptured charge"), "{partly}");
            made(app, capture(700)).await;
            assert_eq!(sums(app, &charge).await, [1000, 700, 300]);
            assert_eq!(refused(app, capture(300)).await, "charge_already_captured");
            made(app, refund(200)).await;
            let more = refused(app, refund(501)).await;
            assert_eq!(
                more,
                "Refund amount ($5.01) is greater than unrefunded amount on charge ($5.00)"
            );
            made(app, refund(500)).await;
            assert_eq!(refused(app, refund(1)).await, "charge_already_refunded");
            let now = shown(app, &format!("/v1/charges/{charge}")).await;
            assert_eq!(
                (&now["amount_refunded"], &now["refunded"]),
                (&json!(1000), &json!(true))
            );
            let refunds = shown(app, &format!("/v1/refunds?charge={charge}")).await;
            let given: i64 = refunds["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|r| r["amount"].as_i64().unwrap())
                .sum();
            assert_eq!(given, 700, "what was captured, and no more");
            let effects = ["charge", "charge_capture", "refund"].map(|kind| app.effects(kind));
            assert_eq!(effects, [1, 1, 2]);
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.refused, counts.duplicates), (4, 5, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intent_from_creation_to_refund() {
    with(
        |b| b,
        async |app: &App| {
            let create = Call::stripe(
                "/v1/payment_intents",
                "amount=2000&currency=usd&capture_method=manual&payment_method_types[0]=card&metadata[order]=17",
            );
            let intent = made(app, create).await;
            assert_eq!(intent["status"], "requires_payment_method");
            let path = format!("/v1/payment_intents/{}", intent["id"].as_str().unwrap());
            let step = |verb: &str, form: &str| Call::stripe(&format!("{path}/{verb}"), form);
            assert_eq!(
                refused(app, step("capture", "")).await,
                "payment_intent_unexpected_state"
            );
            let confirmed = made(app, step("confirm", "payment_method=pm_card_visa")).await;
            assert_eq!(
                (
                    &confirmed["status"],
                    &confirmed["amount_capturable"],
                    &confirmed["amount_received"]
                ),
                (&json!("requires_capture"), &json!(2000), &json!(0))
            );
            assert_eq!(app.effects("charge"), 1);
            let charge = confirmed["latest_charge"].as_str().unwrap().to_owned();
            assert_eq!(
                refused(app, step("capture", "amount_to_capture=2001")).await,
                "amount_too_large"
            );
            let captured = made(app, step("capture", "amount_to_capture=1500")).await;
            assert_eq!(
                (&captured["status"], &captured["amount_received"]),
                (&json!("succeeded"), &json!(1500))
            );
            assert_eq!(sums(app, &charge).await, [2000, 1500, 500]);
            assert_eq!(
                refused(app, step("capture", "")).await,
                "payment_intent_unexpected_state"
            );
            assert_eq!(
                refused(app, step("cancel", "")).await,
                "payment_intent_unexpected_state"
            );
            assert_eq!(
                refused(app, step("confirm", "payment_method=pm_card_visa")).await,
                "payment_intent_unexpected_state"
            );
            let refund = |amount: u64| {
                let id = intent["id"].as_str().unwrap();
                Call::stripe("/v1/refunds", &format!("payment_intent={id}&amount={amount}"))
            };
            made(app, refund(1500)).await;
            assert_eq!(refused(app, refund(1)).await, "charge_already_refunded");
            let effects = [
                "payment_intent",
                "payment_intent_confirm",
                "payment_intent_capture",
                "charge",
                "charge_capture",
                "refund",
            ];
            assert_eq!(effects.map(|kind| app.effects(kind)), [1; 6]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_authorisation_takes_nothing() {
    with(
        |b| b,
        async |app: &App| {
            let form = "amount=2000&currency=usd&capture_method=manual&confirm=true&payment_method=pm_card_visa";
            let intent = made(app, Call::stripe("/v1/payment_intents", form)).await;
            let (intent, charge) = (
                intent["id"].as_str().unwrap(),
                intent["latest_charge"].as_str().unwrap(),
            );
            made(app, Call::stripe(&format!("/v1/payment_intents/{intent}/cancel"), "")).await;
            assert_eq!(sums(app, charge).await, [2000, 0, 2000]);
            let capture = Call::stripe(&format!("/v1/payment_intents/{intent}/capture"), "");
            assert_eq!(refused(app, capture).await, "payment_intent_unexpected_state");
            let refund = Call::stripe("/v1/refunds", &format!("payment_intent={intent}"));
            app.call(refund).await;
            assert_eq!(app.effects("refund"), 0);
            let balance = shown(app, "/v1/balance").await;
            assert_eq!(pending(&balance, "usd"), 0);
        },
    )
    .await;
}

/// Returns what is pending in a currency.
fn pending(balance: &Value, currency: &str) -> i64 {
    let sides = balance["pending"].as_array().unwrap().iter();
    sides
        .filter(|side| side["currency"] == currency)
        .map(|side| side["amount"].as_i64().unwrap())
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_balance_is_what_was_captured_less_what_was_given_back() {
    with(
        |b| b,
        async |app: &App| {
            let first = id(app, charge(1000).key("k")).await;
            app.call(charge(1000).key("k")).await;
            let held = "amount=5000&currency=usd&source=tok_visa&capture=false";
            let held = id(app, Call::stripe("/v1/charges", held)).await;
            id(
                app,
                Call::stripe("/v1/charges", "amount=700&currency=eur&source=tok_visa"),
            )
            .await;
            app.call(Call::stripe(
                "/v1/charges",
                "amount=900&currency=usd&source=tok_visa_chargeDeclined",
            ))
            .await;
            let balance = shown(app, "/v1/balance").await;
            assert_eq!((pending(&balance, "usd"), pending(&balance, "eur")), (1000, 700));
            made(app, Call::stripe(&format!("/v1/charges/{held}/capture"), "amount=2000")).await;
            made(app, Call::stripe("/v1/refunds", &format!("charge={first}&amount=400"))).await;
            let balance = shown(app, "/v1/balance").await;
            assert_eq!((pending(&balance, "usd"), pending(&balance, "eur")), (2600, 700));
        },
    )
    .await;
}

/// Number, name behind `tok_` and `pm_card_` (if it has one), code, decline code.
const DECLINES: [(&str, &str, &str, Option<&str>); 9] = [
    (
        "4000000000000002",
        "visa_chargeDeclined",
        "card_declined",
        Some("generic_decline"),
    ),
    (
        "4000000000009995",
        "visa_chargeDeclinedInsufficientFunds",
        "card_declined",
        Some("insufficient_funds"),
    ),
    (
        "4000000000009987",
        "visa_chargeDeclinedLostCard",
        "card_declined",
        Some("lost_card"),
    ),
    (
        "4000000000009979",
        "visa_chargeDeclinedStolenCard",
        "card_declined",
        Some("stolen_card"),
    ),
    (
        "4000000000006975",
        "visa_chargeDeclinedVelocityLimitExceeded",
        "card_declined",
        Some("card_velocity_exceeded"),
    ),
    ("4000000000000069", "chargeDeclinedExpiredCard", "expired_card", None),
    ("4000000000000127", "chargeDeclinedIncorrectCvc", "incorrect_cvc", None),
    (
        "4000000000000119",
        "chargeDeclinedProcessingError",
        "processing_error",
        None,
    ),
    (
        "4000000000000341",
        "chargeCustomerFail",
        "card_declined",
        Some("generic_decline"),
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_test_cards_are_declined_as_they_say_and_charge_nothing() {
    with(
        |b| b,
        async |app: &App| {
            for (number, name, code, decline) in DECLINES {
                let card = format!(
                    "amount=1000&currency=usd&card[number]={number}&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123"
                );
                let token = format!("amount=1000&currency=usd&source=tok_{name}");
                let intent = format!("amount=1000&currency=usd&confirm=true&payment_method=pm_card_{name}");
                for (path, form) in [
                    ("/v1/charges", card),
                    ("/v1/charges", token),
                    ("/v1/payment_intents", intent),
                ] {
                    let answer = app.call(Call::stripe(path, &form)).await;
                    let error = &answer.json()["error"];
                    assert_eq!((answer.status, &error["type"]), (402, &json!("card_error")), "{form}");
                    assert_eq!((error["code"].as_str(), error["decline_code"].as_str()), (Some(code), decline), "{form}");
                    let failed = error["charge"].as_str().expect("the failed charge is named");
                    let failed = shown(app, &format!("/v1/charges/{failed}")).await;
                    assert_eq!(
                        (&failed["status"], &failed["paid"], &failed["failure_code"]),
                        (&json!("failed"), &json!(false), &json!(code))
                    );
                }
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.refused, app.effects("charge")), (0, 27, 0));
            let balance = shown(app, "/v1/balance").await;
            assert_eq!(pending(&balance, "usd"), 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_cards_are_refused_before_they_are_charged() {
    with(
        |b| b,
        async |app: &App| {
            for (card, code) in [
                (("4242424242424241", 12, 2040, "123"), "incorrect_number"),
                (("4242424242424242", 13, 2040, "123"), "invalid_expiry_month"),
                (("4242424242424242", 12, 2001, "123"), "invalid_expiry_year"),
                (("4242424242424242", 12, 2040, "99"), "invalid_cvc"),
            ] {
                let (number, month, year, cvc) = card;
                let card =
                    format!("card[number]={number}&card[exp_month]={month}&card[exp_year]={year}&card[cvc]={cvc}");
                for (path, form) in [
                    ("/v1/tokens", card.clone()),
                    ("/v1/charges", format!("amount=1000&currency=usd&{card}")),
                ] {
                    let answer = app.call(Call::stripe(path, &form)).await;
                    assert_eq!(refusal(&answer).2.as_deref(), Some(code), "{form}");
                    assert_eq!(answer.status, 402);
                }
            }
            assert_eq!(app.counts("stripe").await.accepted, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_asks_its_holder_charges_nothing() {
    with(
        |b| b,
        async |app: &App| {
            let form = "amount=1000&currency=usd&confirm=true&payment_method=pm_card_threeDSecure2Required";
            let asks = made(app, Call::stripe("/v1/payment_intents", form)).await;
            assert_eq!(
                (&asks["status"], &asks["next_action"]["type"]),
                (&json!("requires_action"), &json!("use_stripe_sdk"))
            );
            let form = format!("{form}&return_url=https://example.com");
            let asks = made(app, Call::stripe("/v1/payment_intents", &form)).await;
            assert_eq!(asks["next_action"]["type"], "redirect_to_url");
            assert_eq!((app.effects("payment_intent"), app.effects("charge")), (2, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_spent_once_and_its_replay_spends_nothing() {
    with(
        |b| b,
        async |app: &App| {
            let card = "card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123";
            let token = id(app, Call::stripe("/v1/tokens", card)).await;
            let form = format!("amount=1000&currency=usd&source={token}");
            let first = app.call(Call::stripe("/v1/charges", &form).key("k")).await;
            let again = app.call(Call::stripe("/v1/charges", &form).key("k")).await;
            assert_eq!((first.status, &again.body), (200, &first.body));
            assert_eq!(
                refused(app, Call::stripe("/v1/charges", &form)).await,
                "token_already_used"
            );
            assert_eq!((app.effects("token"), app.effects("charge")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_can_be_looked_up_afterwards() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "on": [1, 2, 3, 4, 5]}))
                .await;
            for n in 0..5 {
                let mut conn = app.connect().await;
                let form = format!("amount={}&currency=usd&source=tok_visa&metadata[order]={n}", 1000 + n);
                conn.send(&Call::stripe("/v1/charges", &form).bytes()).await;
                conn.rest().await;
            }
            let mut found = Vec::new();
            let mut page = shown(app, "/v1/charges?limit=2").await;
            loop {
                let data = page["data"].as_array().unwrap().clone();
                let last = data.last().expect("no page is empty")["id"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                found.extend(data.iter().map(|c| c["metadata"]["order"].as_str().unwrap().to_owned()));
                if page["has_more"] == json!(false) {
                    break;
                }
                page = shown(app, &format!("/v1/charges?limit=2&starting_after={last}")).await;
            }
            assert_eq!(found, ["4", "3", "2", "1", "0"], "newest first");
        },
    )
    .await;
}
