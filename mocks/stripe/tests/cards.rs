//! The test cards, one by one: what a payment by each comes to, by its number and by its names.

use super::Shop;

/// What a confirmed payment comes to: the status, or the code and the decline code of the refusal, with advice and network code.
type Comes = Result<&'static str, (&'static str, &'static str, &'static str, &'static str)>;

const LATER: &str = "try_again_later";
const NEVER: &str = "do_not_try_again";

#[rustfmt::skip]
const CARDS: &[(&str, &[&str], Comes)] = &[
    ("4242424242424242", &["visa"], Ok("succeeded")),
    ("4000056655665556", &["visa_debit"], Ok("succeeded")),
    ("5555555555554444", &["mastercard"], Ok("succeeded")),
    ("378282246310005", &["amex"], Ok("succeeded")),
    ("6011111111111117", &["discover"], Ok("succeeded")),
    ("4000000000000002", &["visa_chargeDeclined", "chargeDeclined"], Err(("card_declined", "generic_decline", LATER, "01"))),
    ("4000000000009995", &["visa_chargeDeclinedInsufficientFunds"], Err(("card_declined", "insufficient_funds", LATER, "51"))),
    ("4000000000009987", &["visa_chargeDeclinedLostCard"], Err(("card_declined", "lost_card", NEVER, ""))),
    ("4000000000009979", &["visa_chargeDeclinedStolenCard"], Err(("card_declined", "stolen_card", NEVER, ""))),
    ("4000000000000069", &["chargeDeclinedExpiredCard"], Err(("expired_card", "", NEVER, "54"))),
    ("4000000000000127", &["chargeDeclinedIncorrectCvc"], Err(("incorrect_cvc", "", "", ""))),
    ("4000000000000119", &["chargeDeclinedProcessingError"], Err(("processing_error", "", LATER, ""))),
    ("4000000000006975", &["visa_chargeDeclinedVelocityLimitExceeded"], Err(("card_declined", "card_velocity_exceeded", LATER, ""))),
    ("4000000000000341", &["chargeCustomerFail"], Err(("card_declined", "generic_decline", LATER, "01"))),
    ("4100000000000019", &["radarBlock", "visa_chargeDeclinedFraudulent"], Err(("card_declined", "fraudulent", NEVER, ""))),
    ("4000000000004954", &["riskLevelHighest"], Ok("succeeded")),
    ("4000000000009235", &["riskLevelElevated"], Ok("succeeded")),
    ("4000000000000101", &["cvcCheckFail"], Ok("succeeded")),
    ("4000000000000036", &["avsZipFail"], Ok("succeeded")),
    ("4000000000000259", &["createDispute"], Ok("succeeded")),
    ("4000000000002685", &["createDisputeProductNotReceived"], Ok("succeeded")),
    ("4000000000001976", &["createDisputeInquiry"], Ok("succeeded")),
    ("4000002500003155", &["authenticationRequiredOnSetup"], Ok("requires_action")),
    ("4000002760003184", &["authenticationRequired"], Ok("requires_action")),
    ("4000000000003220", &["threeDSecure2Required", "threeDSecureRequired"], Ok("requires_action")),
    ("4000008260003178", &["authenticationRequiredChargeDeclinedInsufficientFunds"], Ok("requires_action")),
    ("4000008400001629", &["threeDSecureRequiredChargeDeclined"], Ok("requires_action")),
    ("4000000000000077", &["bypassPending"], Ok("succeeded")),
    ("4000000000005126", &["refundFail"], Ok("succeeded")),
    ("4000000000007726", &["pendingRefund"], Ok("succeeded")),
];

#[test]
fn each_card_comes_to_what_it_stands_for() {
    for (number, names, comes) in CARDS {
        let shop = Shop::open();
        let card = format!("type=card&card[number]={number}&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123");
        let methods = names.iter().map(|name| format!("pm_card_{name}"));
        for method in methods.chain([shop.made("/v1/payment_methods", &card)]) {
            let form = format!("amount=2000&currency=usd&confirm=true&payment_method={method}");
            let said = shop.post("/v1/payment_intents", &form);
            let error = |name: &str| said.json["error"][name].as_str().unwrap_or_default().to_owned();
            match *comes {
                Ok(status) => assert_eq!((said.status, said.text("/status")), (200, status.into()), "{method}"),
                Err((code, decline, advice, network)) => {
                    assert_eq!(
                        (said.status, error("type"), error("code")),
                        (402, "card_error".into(), code.into())
                    );
                    assert_eq!(
                        (
                            error("decline_code"),
                            error("advice_code"),
                            error("network_decline_code")
                        ),
                        (decline.into(), advice.into(), network.into()),
                        "{method}"
                    );
                    let failed = shop.get(&format!("/v1/charges/{}", error("charge")));
                    assert_eq!(
                        (failed.text("/status"), failed.text("/failure_code")),
                        ("failed".into(), code.into())
                    );
                    assert_eq!(
                        failed.at("/outcome/network_decline_code").as_str().unwrap_or_default(),
                        network
                    );
                    assert_eq!(failed.text("/payment_intent"), said.text("/error/payment_intent/id"));
                }
            }
        }
        assert_eq!(
            shop.get(&format!("/v1/payment_methods/pm_card_{}", names[0]))
                .text("/card/last4"),
            number[number.len() - 4..]
        );
    }
}

#[test]
fn no_card_is_left_out() {
    let known: Vec<_> = CARDS.iter().map(|(number, ..)| *number).collect();
    let table: Vec<_> = crate::mocks::stripe::cards::TEST_CARDS
        .iter()
        .map(|card| card.number)
        .collect();
    assert_eq!(table.len(), known.len());
    assert!(table.iter().all(|number| known.contains(number)));
}
