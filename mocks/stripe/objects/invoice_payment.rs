//! Payments of invoices, and the secret by which a client confirms one.

use std::sync::Arc;

use serde::Serialize;

use super::{Intent, Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::store::{Object, Tx};

/// Ties a payment intent to the invoice that it is to pay.
#[derive(Clone, Debug)]
pub(crate) struct InvoicePayment {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) invoice: Arc<str>,
    pub(crate) intent: Arc<str>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) paid_at: Option<i64>,
}

impl Object for InvoicePayment {
    const TABLE: &'static str = "stripe.invoice_payments";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl InvoicePayment {
    pub(crate) fn status(&self) -> &'static str {
        match (self.paid_at, self.canceled_at) {
            (Some(_), _) => "paid",
            (None, Some(_)) => "canceled",
            (None, None) => "open",
        }
    }
}

impl Resource for InvoicePayment {
    const WORD: &'static str = "invoice_payment";
    const OBJECT: &'static str = "invoice_payment";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("invoice", Target::One(Kind::Invoice)),
        ("payment.payment_intent", Target::One(Kind::Intent)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "invoice" => Some(Arc::clone(&self.invoice)),
            _ => Some(Arc::clone(&self.intent)),
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount_paid: self.paid_at.map(|_| self.amount),
            amount_requested: self.amount,
            created: self.created,
            currency: self.currency,
            invoice: shown.link_to("invoice", &self.invoice),
            is_default: true,
            livemode: false,
            payment: Payment {
                payment_intent: shown.link_to("payment.payment_intent", &self.intent),
                kind: "payment_intent",
            },
            status: self.status(),
            status_transitions: Transitions {
                canceled_at: self.canceled_at,
                paid_at: self.paid_at,
            },
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount_paid: Option<i64>,
    amount_requested: i64,
    created: i64,
    currency: Currency,
    invoice: Link<'s>,
    is_default: bool,
    livemode: bool,
    payment: Payment<'s>,
    status: &'static str,
    status_transitions: Transitions,
}

#[derive(Serialize)]
struct Payment<'s> {
    payment_intent: Link<'s>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Transitions {
    canceled_at: Option<i64>,
    paid_at: Option<i64>,
}

/// Shows the secret of an intent: `confirmation_secret`, which an invoice shows where it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Secret {
    intent: Arc<Intent>,
}

impl Resource for Secret {
    const WORD: &'static str = "confirmation secret";
    const OBJECT: &'static str = "";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        Some(Arc::new(Self { intent: tx.get(id)? }))
    }

    fn id(&self) -> &str {
        &self.intent.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        ShownSecret {
            client_secret: self.intent.client_secret(),
            kind: "payment_intent",
        }
    }
}

#[derive(Serialize)]
struct ShownSecret {
    client_secret: String,
    #[serde(rename = "type")]
    kind: &'static str,
}
