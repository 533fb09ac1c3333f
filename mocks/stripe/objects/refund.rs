//! Refunds.

use std::sync::Arc;

use serde::Serialize;

use super::{Link, Shown};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::sibling;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::Object;

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

impl Refund {
    pub(crate) fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let charge = match shown.expansion("charge") {
            Some(expanded) => Link::Expanded(expanded),
            None => Link::Id(&self.charge),
        };
        Json {
            id: &self.id,
            object: "refund",
            amount: self.amount,
            balance_transaction: sibling("txn_", &self.id),
            charge,
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
