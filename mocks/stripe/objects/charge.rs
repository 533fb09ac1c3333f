//! Charges.

use std::sync::Arc;

use serde::Serialize;

use super::charge_card::CardDetails;
use super::{Billing, Cause, Kind, Link, Resource, Shipping, Shown, Source, Target};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::declines::Decline;
use crate::mocks::stripe::ids::sibling;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a charge: of a card token, of a customer's card, or of an intent.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) amount: i64,
    pub(crate) amount_captured: i64,
    pub(crate) amount_refunded: i64,
    pub(crate) currency: Currency,
    pub(crate) captured: bool,
    /// Whether it was made without an intent, and so shows its source.
    pub(crate) direct: bool,
    pub(crate) card: Card,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) intent: Option<Arc<str>>,
    /// The payment method; none is a card of its own, whose id is made from the charge's.
    pub(crate) method: Option<Arc<str>>,
    pub(crate) decline: Option<&'static Decline>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) billing: Option<Arc<Billing>>,
    pub(crate) terms: Option<Arc<Terms>>,
    /// Whether its holder authenticated.
    pub(crate) secured: bool,
    pub(crate) history: Option<Box<History>>,
}

/// Holds what happened to few charges after they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The refunds, oldest first.
    pub(crate) refunds: Vec<Arc<str>>,
    pub(crate) dispute: Option<Arc<str>>,
}

/// Holds what few charges have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) receipt_email: Option<Box<str>>,
    pub(crate) shipping: Option<Box<Shipping>>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) statement_descriptor_suffix: Option<Box<str>>,
    pub(crate) transfer_group: Option<Box<str>>,
    pub(crate) fraud_report: Option<&'static str>,
}

impl Object for Charge {
    const TABLE: &'static str = "stripe.charges";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Charge {
    const WORD: &'static str = "charge";
    const OBJECT: &'static str = "charge";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("balance_transaction", Target::One(Kind::Movement)),
        ("customer", Target::One(Kind::Customer)),
        ("payment_intent", Target::One(Kind::Intent)),
        ("refunds", Target::Many(Kind::Refund)),
        ("source", Target::One(Kind::Source)),
    ];
    const INSIDE: &'static [&'static str] = &["source"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "balance_transaction" => self.movement().map(Arc::from),
            "customer" => self.customer.clone(),
            "payment_intent" => self.intent.clone(),
            "source" => self.method.clone().filter(|_| self.direct),
            _ => None,
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.refunds().iter().rev().cloned().collect()
    }

    fn members_url(&self, _: &str) -> String {
        format!("/v1/charges/{}/refunds", self.id)
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let id: &str = &self.id;
        let terms = self.terms.as_deref();
        let text = |get: fn(&Terms) -> &Option<Box<str>>| terms.and_then(|t| get(t).as_deref());
        let own_card = || sibling("card_", id);
        let method = self.method.as_deref().map_or_else(own_card, str::to_owned);
        let card = &self.card;
        let (risk_level, risk_score) = card.risk();
        let blocked = self.decline.filter(|d| d.outcome == "blocked");
        Json {
            id,
            object: "charge",
            amount: self.amount,
            amount_captured: self.amount_captured,
            amount_refunded: self.amount_refunded,
            application: (),
            application_fee: (),
            application_fee_amount: (),
            balance_transaction: shown.link_made("balance_transaction", self.movement()),
            billing_details: self.billing.as_deref().unwrap_or(&NOBODY),
            calculated_statement_descriptor: self.paid().then_some("ACKDROP"),
            captured: self.captured,
            created: self.created,
            currency: self.currency,
            customer: shown.link("customer", &self.customer),
            description: self.description.as_deref(),
            disputed: self.dispute().is_some(),
            failure_balance_transaction: (),
            failure_code: self.decline.map(|d| d.code),
            failure_message: self.decline.map(|d| d.message),
            fraud_details: Fraud {
                user_report: terms.and_then(|t| t.fraud_report),
            },
            livemode: false,
            metadata: &self.metadata,
            on_behalf_of: (),
            outcome: Verdict {
                advice_code: self.decline.and_then(|d| d.advice_code),
                network_advice_code: (),
                network_decline_code: self.decline.and_then(|d| d.network_decline_code),
                network_status: match (self.decline, blocked) {
                    (_, Some(_)) => "not_sent_to_network",
                    (Some(_), None) => "declined_by_network",
                    (None, None) => "approved_by_network",
                },
                reason: self.decline.map(|d| match blocked {
                    Some(_) => "highest_risk_level",
                    None => d.decline_code.unwrap_or(d.code),
                }),
                risk_level: blocked.map_or(risk_level, |_| "highest"),
                risk_score,
                seller_message: match (self.decline, blocked) {
                    (_, Some(_)) => "Stripe blocked this payment as too risky.",
                    (Some(_), None) => "The bank did not return any further details with this decline.",
                    (None, None) => "Payment complete.",
                },
                kind: self.decline.map_or("authorized", |d| d.outcome),
            },
            paid: self.paid(),
            payment_intent: shown.link("payment_intent", &self.intent),
            payment_method_details: Details {
                card: CardDetails::of(self),
                kind: "card",
            },
            receipt_email: text(|t| &t.receipt_email),
            receipt_number: (),
            receipt_url: self
                .paid()
                .then(|| format!("https://pay.stripe.com/receipts/{}", sibling("", id))),
            refunded: self.refunded(),
            refunds: shown.expansion("refunds"),
            review: (),
            shipping: terms.and_then(|t| t.shipping.as_deref()),
            source: match shown.expansion("source") {
                Some(source) => Some(Payer::Source(source)),
                None => self.direct.then(|| {
                    let customer = self.customer.as_deref();
                    Payer::Card(Box::new(Source::new(
                        method.clone(),
                        card,
                        self.billing.as_deref(),
                        customer,
                    )))
                }),
            },
            payment_method: method,
            source_transfer: (),
            statement_descriptor: text(|t| &t.statement_descriptor),
            statement_descriptor_suffix: text(|t| &t.statement_descriptor_suffix),
            status: if self.paid() { "succeeded" } else { "failed" },
            transfer_data: (),
            transfer_group: text(|t| &t.transfer_group),
        }
    }
}

impl Charge {
    pub(crate) fn paid(&self) -> bool {
        self.decline.is_none()
    }

    /// Makes the id of its balance transaction; what is not captured has none.
    fn movement(&self) -> Option<String> {
        self.captured.then(|| Cause::Charge.id(&self.id))
    }

    /// Lists the ids of its refunds, oldest first.
    pub(crate) fn refunds(&self) -> &[Arc<str>] {
        self.history.as_deref().map_or(&[], |history| &history.refunds)
    }

    pub(crate) fn dispute(&self) -> Option<&Arc<str>> {
        self.history.as_deref()?.dispute.as_ref()
    }

    /// Says whether all of it went back: after a partial capture the rest counts as returned.
    pub(crate) fn refunded(&self) -> bool {
        self.paid() && self.amount_refunded == self.amount
    }
}

static NOBODY: std::sync::LazyLock<Billing> = std::sync::LazyLock::new(Billing::default);

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    amount_captured: i64,
    amount_refunded: i64,
    application: (),
    application_fee: (),
    application_fee_amount: (),
    balance_transaction: Link<'s>,
    billing_details: &'s Billing,
    calculated_statement_descriptor: Option<&'static str>,
    captured: bool,
    created: i64,
    currency: Currency,
    customer: Link<'s>,
    description: Option<&'s str>,
    disputed: bool,
    failure_balance_transaction: (),
    failure_code: Option<&'static str>,
    failure_message: Option<&'static str>,
    fraud_details: Fraud,
    livemode: bool,
    metadata: &'s Metadata,
    on_behalf_of: (),
    outcome: Verdict,
    paid: bool,
    payment_intent: Link<'s>,
    payment_method: String,
    payment_method_details: Details,
    receipt_email: Option<&'s str>,
    receipt_number: (),
    receipt_url: Option<String>,
    refunded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refunds: Option<&'s super::Expanded>,
    review: (),
    shipping: Option<&'s Shipping>,
    source: Option<Payer<'s>>,
    source_transfer: (),
    statement_descriptor: Option<&'s str>,
    statement_descriptor_suffix: Option<&'s str>,
    status: &'static str,
    transfer_data: (),
    transfer_group: Option<&'s str>,
}

/// Is what a charge was made of.
#[derive(Serialize)]
#[serde(untagged)]
enum Payer<'s> {
    Card(Box<Source<'s>>),
    Source(&'s super::Expanded),
}

#[derive(Serialize)]
struct Fraud {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_report: Option<&'static str>,
}

#[derive(Serialize)]
struct Verdict {
    advice_code: Option<&'static str>,
    network_advice_code: (),
    network_decline_code: Option<&'static str>,
    network_status: &'static str,
    reason: Option<&'static str>,
    risk_level: &'static str,
    risk_score: u8,
    seller_message: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Details {
    card: CardDetails,
    #[serde(rename = "type")]
    kind: &'static str,
}
