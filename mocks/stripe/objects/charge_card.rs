//! The card as a charge shows it: as it was when it was charged, and what its network allowed.

use serde::Serialize;

use super::{Billing, Charge};
use crate::mocks::stripe::ids::letters;

#[derive(Serialize)]
pub(super) struct CardDetails {
    amount_authorized: Option<i64>,
    authorization_code: (),
    brand: &'static str,
    checks: Checks,
    country: &'static str,
    electronic_commerce_indicator: (),
    exp_month: u8,
    exp_year: u16,
    extended_authorization: Feature,
    fingerprint: String,
    funding: &'static str,
    incremental_authorization: Feature,
    installments: (),
    last4: &'static str,
    mandate: (),
    multicapture: Feature,
    network: &'static str,
    network_token: NetworkToken,
    network_transaction_id: (),
    overcapture: Overcapture,
    regulated_status: &'static str,
    three_d_secure: Option<ThreeDSecure>,
    transaction_link_id: (),
    wallet: (),
}

impl CardDetails {
    pub(super) fn of(charge: &Charge) -> Self {
        let card = &charge.card;
        let lines = charge.billing.as_deref().map_or([None; 6], Billing::lines);
        Self {
            amount_authorized: charge.paid().then_some(charge.amount),
            authorization_code: (),
            brand: card.test.brand,
            checks: Checks {
                address_line1_check: lines[2].map(|_| "pass"),
                address_postal_code_check: card.zip_check(lines[5].is_some()),
                cvc_check: card.cvc_check(),
            },
            country: "US",
            electronic_commerce_indicator: (),
            exp_month: card.exp_month,
            exp_year: card.exp_year,
            extended_authorization: Feature { status: "disabled" },
            fingerprint: card.fingerprint(),
            funding: card.test.funding,
            incremental_authorization: UNAVAILABLE,
            installments: (),
            last4: card.last4(),
            mandate: (),
            multicapture: UNAVAILABLE,
            network: card.test.brand,
            network_token: NetworkToken { used: false },
            network_transaction_id: (),
            overcapture: Overcapture {
                maximum_amount_capturable: charge.amount,
                status: UNAVAILABLE.status,
            },
            regulated_status: "unregulated",
            three_d_secure: charge.secured.then(|| ThreeDSecure {
                authentication_flow: "challenge",
                electronic_commerce_indicator: "05",
                exemption_indicator: (),
                result: "authenticated",
                result_reason: (),
                transaction_id: letters(&[b"3d secure", charge.id.as_bytes()], 20),
                version: "2.2.0",
            }),
            transaction_link_id: (),
            wallet: (),
        }
    }
}

/// Says whether the card's network lets an authorization be changed in one way.
#[derive(Serialize)]
struct Feature {
    status: &'static str,
}

/// None of them can be asked for here.
const UNAVAILABLE: Feature = Feature { status: "unavailable" };

#[derive(Serialize)]
struct NetworkToken {
    used: bool,
}

#[derive(Serialize)]
struct Overcapture {
    maximum_amount_capturable: i64,
    status: &'static str,
}

#[derive(Serialize)]
struct ThreeDSecure {
    authentication_flow: &'static str,
    electronic_commerce_indicator: &'static str,
    exemption_indicator: (),
    result: &'static str,
    result_reason: (),
    transaction_id: String,
    version: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Checks {
    pub(crate) address_line1_check: Option<&'static str>,
    pub(crate) address_postal_code_check: Option<&'static str>,
    pub(crate) cvc_check: Option<&'static str>,
}
