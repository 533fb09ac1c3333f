//! Money: bounds, sums, and the balance, in whatever order things happen.

use proptest::prelude::*;

use super::{CHARGE, Shop};

#[test]
fn refunds_never_exceed_the_charge() {
    let shop = Shop::open();
    let charge = shop.made("/v1/charges", CHARGE);
    let refund = |amount: u32| shop.post("/v1/refunds", &format!("charge={charge}&amount={amount}"));
    assert_eq!(
        refund(2001).refusal().3,
        "Refund amount ($20.01) is greater than unrefunded amount on charge ($20.00)"
    );
    assert_eq!(refund(1500).status, 200);
    assert_eq!(
        refund(501).refusal().3,
        "Refund amount ($5.01) is greater than unrefunded amount on charge ($5.00)"
    );
    let rest = shop.post(
        "/v1/refunds",
        &format!("charge={charge}&reason=duplicate&metadata[a]=1"),
    );
    assert_eq!(
        (rest.number("/amount"), rest.text("/status")),
        (500, "succeeded".into())
    );
    let again = shop.post("/v1/refunds", &format!("charge={charge}"));
    let message = format!("Charge {charge} has already been refunded.");
    assert_eq!(
        again.refusal(),
        (400, "invalid_request_error", "charge_already_refunded", &*message)
    );
    let charge = shop.get(&format!("/v1/charges/{charge}"));
    assert_eq!(
        (charge.number("/amount_refunded"), charge.at("/refunded").as_bool()),
        (2000, Some(true))
    );
    assert_eq!(shop.post("/v1/refunds", "").refusal().2, "parameter_missing");
    assert_eq!(shop.post("/v1/refunds", "charge=ch_x").refusal().2, "resource_missing");
}

#[test]
fn an_authorised_charge_is_captured_once_or_released() {
    let shop = Shop::open();
    let form = format!("{CHARGE}&capture=false");
    let (charge, other) = (shop.made("/v1/charges", &form), shop.made("/v1/charges", &form));
    let capture = |id: &str, form: &str| shop.post(&format!("/v1/charges/{id}/capture"), form);
    assert_eq!(capture(&charge, "amount=2001").status, 400);
    let partly = shop.post("/v1/refunds", &format!("charge={charge}&amount=5"));
    assert!(
        partly
            .refusal()
            .3
            .starts_with("You cannot partially refund an uncaptured charge.")
    );
    let said = capture(&charge, "amount=1200");
    assert_eq!(
        (said.number("/amount_captured"), said.number("/amount_refunded")),
        (1200, 800)
    );
    assert_eq!(said.at("/refunded").as_bool(), Some(false));
    assert_eq!(capture(&charge, "").refusal().2, "charge_already_captured");
    assert_eq!(
        shop.post("/v1/refunds", &format!("charge={charge}&amount=1201")).status,
        400
    );
    assert_eq!(shop.post("/v1/refunds", &format!("charge={other}")).kinds(), ["refund"]);
    assert_eq!(capture(&other, "").refusal().2, "charge_already_refunded");
    assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), 1200);
}

#[test]
fn the_balance_is_kept_by_currency() {
    let shop = Shop::open();
    shop.made("/v1/charges", CHARGE);
    shop.made("/v1/charges", "amount=700&currency=eur&source=tok_bypassPending");
    shop.made(
        "/v1/payment_intents",
        "amount=300&currency=USD&payment_method=pm_card_visa&confirm=true",
    );
    let said = shop.get("/v1/balance");
    let sums = |side: &str| -> Vec<(String, i64)> {
        let sums = said.at(side).as_array().expect("an array").iter();
        sums.map(|s| {
            (
                s["currency"].as_str().unwrap_or_default().to_owned(),
                s["amount"].as_i64().unwrap_or_default(),
            )
        })
        .collect()
    };
    assert_eq!(sums("/pending"), [("usd".to_owned(), 2300), ("eur".to_owned(), 0)]);
    assert_eq!(sums("/available"), [("usd".to_owned(), 0), ("eur".to_owned(), 700)]);
}

#[derive(Clone, Debug)]
enum Step {
    Charge { amount: i64, capture: bool },
    Intent { amount: i64, capture: bool },
    Decline,
    Capture { which: usize, amount: Option<i64> },
    Cancel { which: usize },
    Refund { which: usize, amount: Option<i64> },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let amount = || 1..4000i64;
    let step = prop_oneof![
        (amount(), any::<bool>()).prop_map(|(amount, capture)| Step::Charge { amount, capture }),
        (amount(), any::<bool>()).prop_map(|(amount, capture)| Step::Intent { amount, capture }),
        Just(Step::Decline),
        (0..8usize, proptest::option::of(amount())).prop_map(|(which, amount)| Step::Capture { which, amount }),
        (0..8usize).prop_map(|which| Step::Cancel { which }),
        (0..8usize, proptest::option::of(amount())).prop_map(|(which, amount)| Step::Refund { which, amount }),
    ];
    proptest::collection::vec(step, 1..40)
}

fn with(amount: Option<i64>, name: &str) -> String {
    amount.map_or(String::new(), |a| format!("&{name}={a}"))
}

fn take(shop: &Shop, step: &Step, made: &[(String, Option<String>)]) -> u64 {
    let of = |which: usize| made.get(which % made.len().max(1)).cloned();
    let said = match step {
        Step::Charge { amount, capture } => shop.post(
            "/v1/charges",
            &format!("amount={amount}&currency=usd&source=tok_visa&capture={capture}"),
        ),
        Step::Intent { amount, capture } => {
            let method = if *capture { "automatic" } else { "manual" };
            shop.post(
                "/v1/payment_intents",
                &format!(
                    "amount={amount}&currency=usd&payment_method=pm_card_visa&confirm=true&capture_method={method}"
                ),
            )
        }
        Step::Decline => shop.post("/v1/charges", "amount=500&currency=usd&source=tok_chargeDeclined"),
        Step::Capture { which, amount } => match of(*which) {
            Some((_, Some(intent))) => shop.post(
                &format!("/v1/payment_intents/{intent}/capture"),
                &with(*amount, "amount_to_capture"),
            ),
            Some((charge, None)) => shop.post(&format!("/v1/charges/{charge}/capture"), &with(*amount, "amount")),
            None => return 0,
        },
        Step::Cancel { which } => match of(*which) {
            Some((_, Some(intent))) => shop.post(&format!("/v1/payment_intents/{intent}/cancel"), ""),
            _ => return 0,
        },
        Step::Refund { which, amount } => match of(*which) {
            Some((charge, _)) => shop.post("/v1/refunds", &format!("charge={charge}{}", with(*amount, "amount"))),
            None => return 0,
        },
    };
    said.kinds().into_iter().filter(|k| *k == "charge").count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sums_hold_after_any_sequence(steps in steps()) {
        let shop = Shop::open();
        let mut counted = 0;
        for step in &steps {
            let said = shop.get("/v1/charges?limit=100");
            let charges = said.at("/data").as_array().cloned().unwrap_or_default();
            let made: Vec<_> = charges
                .iter()
                .map(|c| (c["id"].as_str().unwrap_or_default().to_owned(), c["payment_intent"].as_str().map(str::to_owned)))
                .collect();
            counted += take(&shop, step, &made);
        }
        let charges = shop.get("/v1/charges?limit=100");
        let charges = charges.at("/data").as_array().cloned().unwrap_or_default();
        let (mut balance, mut paid) = (0, 0);
        for charge in &charges {
            let number = |name: &str| charge[name].as_i64().unwrap_or_default();
            let (amount, captured, refunded) = (number("amount"), number("amount_captured"), number("amount_refunded"));
            prop_assert!((0..=amount).contains(&captured) && (0..=amount).contains(&refunded));
            prop_assert_eq!(charge["refunded"].as_bool(), Some(charge["paid"] == true && refunded == amount));
            paid += u64::from(charge["paid"] == true);
            if charge["captured"] == true {
                balance += amount - refunded;
            }
        }
        prop_assert_eq!(paid, counted);
        prop_assert_eq!(shop.get("/v1/balance").number("/pending/0/amount"), balance);
        let refunds = shop.get("/v1/refunds?limit=100");
        for charge in &charges {
            let of_it = refunds.at("/data").as_array().into_iter().flatten().filter(|r| r["charge"] == charge["id"]);
            let sum: i64 = of_it.map(|r| r["amount"].as_i64().unwrap_or_default()).sum();
            prop_assert!(sum <= charge["amount"].as_i64().unwrap_or_default());
            if charge["captured"] == true {
                prop_assert!(sum <= charge["amount_captured"].as_i64().unwrap_or_default());
            }
        }
    }
}
