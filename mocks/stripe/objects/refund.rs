//! Refunds.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::sibling;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a refund of a charge, whole or in part.
#[derive(Clone, Debug)]
pub(crate) struct Refund {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) charge: Arc<str>,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) method: Option<Arc<str>>,
    pub(crate) reason: Option<&'static str>,
    pub(crate) metadata: Metadata,
}

impl Object for Refund {
    const TABLE: &'static str = "stripe.refunds";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Refund {
    const WORD: &'static str = "refund";
    const OBJECT: &'static str = "refund";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("charge", Target::One(Kind::Charge)),
        ("customer", Target::One(Kind::Customer)),
        ("payment_intent", Target::One(Kind::Intent)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "charge" => Some(Arc::clone(&self.charge)),
            "customer" => self.customer.clone(),
            "payment_intent" => self.intent.clone(),
            _ => None,
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: "refund",
            amount: self.amount,
            balance_transaction: sibling("txn_", &self.id),
            charge: shown.link_to("charge", &self.charge),
            created: self.created,
            currency: self.currency,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            destination_details: Destination {
                card: ByCard {
                    reference: "7655200018512345",
                    reference_status: "available",
                    reference_type: "acquirer_reference_number",
                    kind: "refund",
                },
                kind: "card",
            },
            metadata: &self.metadata,
            payment_intent: shown.link("payment_intent", &self.intent),
            payment_method: self.method.as_deref(),
            reason: self.reason,
            receipt_number: (),
            source_transfer_reversal: (),
            status: "succeeded",
            transfer_reversal: (),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    balance_transaction: String,
    charge: Link<'s>,
    created: i64,
    currency: Currency,
    customer: Link<'s>,
    customer_account: (),
    destination_details: Destination,
    metadata: &'s Metadata,
    payment_intent: Link<'s>,
    payment_method: Option<&'s str>,
    reason: Option<&'static str>,
    receipt_number: (),
    source_transfer_reversal: (),
    status: &'static str,
    transfer_reversal: (),
}

#[derive(Serialize)]
struct Destination {
    card: ByCard,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct ByCard {
    reference: &'static str,
    reference_status: &'static str,
    reference_type: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
}
