//! Refunds.

use std::sync::Arc;

use serde::Serialize;

use super::{Cause, Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
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
    pub(crate) status: RefundStatus,
    /// Whether it moved the balance: what was not captured did not.
    pub(crate) moved: bool,
    pub(crate) metadata: Metadata,
}

/// Says what has become of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefundStatus {
    Pending,
    Succeeded,
    Failed,
    Canceled,
}

impl RefundStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Says whether the money stayed where it was in the end.
    pub(crate) fn is_undone(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled)
    }
}

impl Refund {
    fn movement(&self) -> Option<String> {
        self.moved.then(|| Cause::Refund.id(&self.id))
    }

    fn reversal(&self) -> Option<String> {
        let reversed = self.moved && self.status.is_undone();
        reversed.then(|| Cause::RefundFailure.id(&self.id))
    }
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
        ("balance_transaction", Target::One(Kind::Movement)),
        ("charge", Target::One(Kind::Charge)),
        ("customer", Target::One(Kind::Customer)),
        ("failure_balance_transaction", Target::One(Kind::Movement)),
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
            "balance_transaction" => self.movement().map(Arc::from),
            "failure_balance_transaction" => self.reversal().map(Arc::from),
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
            balance_transaction: shown.link_made("balance_transaction", self.movement()),
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
            failure_balance_transaction: self
                .reversal()
                .map(|id| shown.link_made("failure_balance_transaction", Some(id))),
            failure_reason: (self.status == RefundStatus::Failed).then_some("unknown"),
            metadata: &self.metadata,
            payment_intent: shown.link("payment_intent", &self.intent),
            payment_method: self.method.as_deref(),
            pending_reason: (self.status == RefundStatus::Pending).then_some("processing"),
            reason: self.reason,
            receipt_number: (),
            source_transfer_reversal: (),
            status: self.status.as_str(),
            transfer_reversal: (),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    balance_transaction: Link<'s>,
    charge: Link<'s>,
    created: i64,
    currency: Currency,
    customer: Link<'s>,
    customer_account: (),
    destination_details: Destination,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_balance_transaction: Option<Link<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    metadata: &'s Metadata,
    payment_intent: Link<'s>,
    payment_method: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_reason: Option<&'static str>,
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
