//! Money never lies: bounds, sums, and the balance, in whatever order things happen.

use proptest::prelude::*;
use serde_json::Value;

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

/// Is one thing that is done, by caller, customer, issuer or time.
#[derive(Clone, Debug)]
enum Step {
    Charge {
        amount: i64,
        capture: bool,
        card: &'static str,
    },
    Intent {
        amount: i64,
        capture: bool,
        card: &'static str,
    },
    Authenticate {
        which: usize,
        succeeds: bool,
    },
    Capture {
        which: usize,
        amount: Option<i64>,
    },
    Cancel {
        which: usize,
    },
    Refund {
        which: usize,
        amount: Option<i64>,
    },
    CancelRefund {
        which: usize,
    },
    Evidence {
        which: usize,
        words: &'static str,
    },
    CloseDispute {
        which: usize,
    },
    Wait {
        seconds: i64,
    },
}

const TAKEN: [&str; 7] = [
    "visa",
    "bypassPending",
    "refundFail",
    "pendingRefund",
    "createDispute",
    "createDisputeInquiry",
    "chargeDeclined",
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let amount = || 50..4000i64;
    let part = || proptest::option::of(1..4000i64);
    let asks = [
        "threeDSecure2Required",
        "authenticationRequiredChargeDeclinedInsufficientFunds",
        "visa",
        "createDispute",
        "refundFail",
    ];
    let taken = || proptest::sample::select(TAKEN.to_vec());
    let asked = proptest::sample::select(asks.to_vec());
    let words = [
        "winning_evidence",
        "losing_evidence",
        "escalate_inquiry_evidence",
        "none",
    ];
    let words = proptest::sample::select(words.to_vec());
    let wait = proptest::sample::select(vec![2, 11, 3600, 2 * 24 * 3600, 8 * 24 * 3600]);
    let step = prop_oneof![
        4 => (amount(), any::<bool>(), taken()).prop_map(|(amount, capture, card)| Step::Charge { amount, capture, card }),
        4 => (amount(), any::<bool>(), asked).prop_map(|(amount, capture, card)| Step::Intent { amount, capture, card }),
        2 => (0..8usize, any::<bool>()).prop_map(|(which, succeeds)| Step::Authenticate { which, succeeds }),
        3 => (0..8usize, part()).prop_map(|(which, amount)| Step::Capture { which, amount }),
        1 => (0..8usize).prop_map(|which| Step::Cancel { which }),
        5 => (0..8usize, part()).prop_map(|(which, amount)| Step::Refund { which, amount }),
        1 => (0..8usize).prop_map(|which| Step::CancelRefund { which }),
        2 => (0..8usize, words).prop_map(|(which, words)| Step::Evidence { which, words }),
        1 => (0..8usize).prop_map(|which| Step::CloseDispute { which }),
        1 => wait.prop_map(|seconds| Step::Wait { seconds }),
    ];
    proptest::collection::vec(step, 1..40)
}

fn list(shop: &Shop, path: &str) -> Vec<Value> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let said = shop.get(&format!("{path}{sign}limit=100"));
    said.at("/data").as_array().cloned().unwrap_or_default()
}

fn pick(shop: &Shop, path: &str, which: usize) -> Option<Value> {
    let all = list(shop, path);
    all.get(which % all.len().max(1)).cloned()
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
}

fn number(object: &Value, name: &str) -> i64 {
    object[name].as_i64().unwrap_or_default()
}

/// Says which call a step is; none where there is nothing to do it with.
fn call(shop: &Shop, step: &Step) -> Option<(String, String)> {
    let with = |amount: &Option<i64>, name: &str| amount.map_or(String::new(), |a| format!("&{name}={a}"));
    let on = |path: &str, which: usize, rest: &str| {
        let id = text(&pick(shop, path, which)?, "id");
        Some(format!("{path}/{id}{rest}"))
    };
    Some(match step {
        Step::Charge { amount, capture, card } => (
            "/v1/charges".into(),
            format!("amount={amount}&currency=usd&source=tok_{card}&capture={capture}"),
        ),
        Step::Intent { amount, capture, card } => {
            let method = if *capture { "automatic" } else { "manual" };
            let form = format!(
                "amount={amount}&currency=usd&payment_method=pm_card_{card}&confirm=true&capture_method={method}"
            );
            ("/v1/payment_intents".into(), form)
        }
        Step::Authenticate { which, succeeds } => {
            let path = on("/v1/payment_intents", *which, "/authenticate")?;
            let result = if *succeeds { "succeed" } else { "fail" };
            (path.replace("/v1/", "/v1/test_helpers/"), format!("result={result}"))
        }
        Step::Capture { which, amount } => {
            let charge = pick(shop, "/v1/charges", *which)?;
            match charge["payment_intent"].as_str() {
                Some(intent) => (
                    format!("/v1/payment_intents/{intent}/capture"),
                    with(amount, "amount_to_capture"),
                ),
                None => (
                    format!("/v1/charges/{}/capture", text(&charge, "id")),
                    with(amount, "amount"),
                ),
            }
        }
        Step::Cancel { which } => (on("/v1/payment_intents", *which, "/cancel")?, String::new()),
        Step::Refund { which, amount } => {
            let charge = text(&pick(shop, "/v1/charges", *which)?, "id");
            (
                "/v1/refunds".into(),
                format!("charge={charge}{}", with(amount, "amount")),
            )
        }
        Step::CancelRefund { which } => (on("/v1/refunds", *which, "/cancel")?, String::new()),
        Step::Evidence { which, words } => (
            on("/v1/disputes", *which, "")?,
            format!("evidence[uncategorized_text]={words}"),
        ),
        Step::CloseDispute { which } => (on("/v1/disputes", *which, "/close")?, String::new()),
        Step::Wait { .. } => return None,
    })
}

/// Does a step twice under one key, as a client does whose first answer was lost; returns the effects of both.
fn take(shop: &Shop, n: usize, step: &Step) -> Vec<String> {
    if let Step::Wait { seconds } = step {
        shop.advance(time::Duration::seconds(*seconds));
    }
    let Some((path, form)) = call(shop, step) else {
        return Vec::new();
    };
    let said = shop.keyed(&format!("key-{n}"), &path, &form);
    let again = shop.keyed(&format!("key-{n}"), &path, &form);
    assert_eq!(again.status, said.status, "{}", again.body);
    assert!(said.status != 200 || (again.replayed && again.body == said.body));
    let effects = said.kinds().into_iter().chain(again.kinds());
    effects.map(str::to_owned).collect()
}

/// Checks what is there: each charge against its refunds and its dispute, and the balance against its transactions.
fn check(shop: &Shop) -> Result<(), TestCaseError> {
    let (charges, refunds, disputes) = (
        list(shop, "/v1/charges"),
        list(shop, "/v1/refunds"),
        list(shop, "/v1/disputes"),
    );
    let mut net = 0;
    for charge in &charges {
        let (amount, captured) = (number(charge, "amount"), number(charge, "amount_captured"));
        let refunded = number(charge, "amount_refunded");
        prop_assert!((0..=amount).contains(&captured) && (0..=amount).contains(&refunded));
        prop_assert_eq!(&charge["refunded"], charge["paid"] == true && refunded == amount);
        let own = refunds.iter().filter(|r| r["charge"] == charge["id"]);
        let undone = |r: &&Value| ["failed", "canceled"].contains(&&*text(r, "status"));
        let given: i64 = own.filter(|r| !undone(r)).map(|r| number(r, "amount")).sum();
        let taken = if charge["captured"] == true { captured } else { amount };
        prop_assert!(given <= taken, "{} given back of {}", given, taken);
        if charge["captured"] == true {
            prop_assert_eq!(refunded, amount - captured + given);
            net += captured - given;
        }
        for dispute in disputes.iter().filter(|d| d["charge"] == charge["id"]) {
            let open = ["needs_response", "under_review", "lost"].contains(&&*text(dispute, "status"));
            let withdrawn = if open { number(dispute, "amount") } else { 0 };
            prop_assert!(given + withdrawn <= captured, "{}", dispute);
            net -= withdrawn;
        }
    }
    let moved: i64 = list(shop, "/v1/balance_transactions")
        .iter()
        .map(|m| number(m, "net"))
        .sum();
    let pending: i64 = list(shop, "/v1/balance_transactions")
        .iter()
        .filter(|m| m["status"] == "pending")
        .map(|m| number(m, "net"))
        .sum();
    let balance = shop.get("/v1/balance");
    let (is_pending, available) = (
        balance.number("/pending/0/amount"),
        balance.number("/available/0/amount"),
    );
    prop_assert_eq!((moved, pending), (net, is_pending));
    prop_assert_eq!(
        is_pending + available,
        moved,
        "the balance is the sum of its transactions"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn sums_hold_after_any_sequence(steps in steps()) {
        let shop = Shop::open();
        let mut effects = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            effects.extend(take(&shop, n, step));
            check(&shop)?;
        }
        let count = |kind: &str| effects.iter().filter(|effect| *effect == kind).count();
        let charges = list(&shop, "/v1/charges");
        let paid = charges.iter().filter(|c| c["paid"] == true).count();
        prop_assert_eq!(paid, count("charge"));
        prop_assert_eq!(list(&shop, "/v1/refunds").len(), count("refund"));
    }
}
