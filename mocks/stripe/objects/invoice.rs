//! Invoices.

use std::sync::Arc;

use serde::Serialize;

use super::{Address, Customer, Kind, Period, Reduction, Resource, Shipping, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is an invoice.
#[derive(Clone, Debug)]
pub(crate) struct Invoice {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) status: InvoiceStatus,
    pub(crate) number: Option<Box<str>>,
    pub(crate) customer: Arc<str>,
    pub(crate) payer: Arc<Payer>,
    pub(crate) currency: Currency,
    pub(crate) reason: &'static str,
    pub(crate) sent: bool,
    /// Whether it goes its way without being asked.
    pub(crate) auto_advance: bool,
    pub(crate) finalizes_at: Option<i64>,
    pub(crate) subscription: Option<Arc<str>>,
    pub(crate) subscription_metadata: Metadata,
    pub(crate) description: Option<Box<str>>,
    pub(crate) footer: Option<Box<str>>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) discounts: Vec<Arc<str>>,
    pub(crate) lines: Vec<Arc<str>>,
    pub(crate) period: Period,
    pub(crate) due_date: Option<i64>,
    pub(crate) days_until_due: Option<i64>,
    pub(crate) effective_at: Option<i64>,
    pub(crate) default_method: Option<Arc<str>>,
    pub(crate) sums: Sums,
    pub(crate) attempt_count: u32,
    pub(crate) attempted: bool,
    pub(crate) next_attempt: Option<i64>,
    /// The payments, the latest last.
    pub(crate) payments: Vec<Arc<str>>,
    /// The intent of the latest.
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) times: Times,
    pub(crate) clock: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
}

/// Is the customer as the invoice names it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payer {
    pub(crate) address: Option<Box<Address>>,
    pub(crate) email: Option<Box<str>>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) phone: Option<Box<str>>,
    pub(crate) shipping: Option<Box<Shipping>>,
}

/// Holds what an invoice adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) subtotal: i64,
    pub(crate) reductions: Vec<Reduction>,
    pub(crate) total: i64,
    pub(crate) due: i64,
    pub(crate) paid: i64,
    pub(crate) off_stripe: i64,
    pub(crate) starting_balance: i64,
    pub(crate) ending_balance: Option<i64>,
}

/// Says how far an invoice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Uncollectible,
    Void,
}

/// Says when it became what it is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Times {
    pub(crate) finalized_at: Option<i64>,
    pub(crate) marked_uncollectible_at: Option<i64>,
    pub(crate) paid_at: Option<i64>,
    pub(crate) voided_at: Option<i64>,
}

impl Object for Invoice {
    const TABLE: &'static str = "stripe.invoices";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl InvoiceStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Uncollectible => "uncollectible",
            Self::Void => "void",
        }
    }
}

impl Payer {
    pub(crate) fn of(customer: &Customer) -> Arc<Self> {
        Arc::new(Self {
            address: customer.address.clone(),
            email: customer.email.clone(),
            name: customer.name.clone(),
            phone: customer.phone.clone(),
            shipping: customer.shipping.clone(),
        })
    }
}

impl Resource for Invoice {
    const WORD: &'static str = "invoice";
    const OBJECT: &'static str = "invoice";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("confirmation_secret", Target::One(Kind::Secret)),
        ("customer", Target::One(Kind::Customer)),
        ("default_payment_method", Target::One(Kind::Method)),
        ("discounts", Target::Each(Kind::Discount)),
        ("lines", Target::Many(Kind::Line)),
        (
            "parent.subscription_details.subscription",
            Target::One(Kind::Subscription),
        ),
        ("payments", Target::Many(Kind::InvoicePayment)),
        ("test_clock", Target::One(Kind::TestClock)),
    ];
    const INSIDE: &'static [&'static str] = &["lines"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "confirmation_secret" => self.intent.clone(),
            "customer" => Some(Arc::clone(&self.customer)),
            "default_payment_method" => self.default_method.clone(),
            "test_clock" => self.clock.clone(),
            _ => self.subscription.clone(),
        }
    }

    fn members(&self, field: &str) -> Vec<Arc<str>> {
        match field {
            "discounts" => self.discounts.clone(),
            "lines" => self.lines.clone(),
            _ => self.payments.clone(),
        }
    }

    fn members_url(&self, field: &str) -> String {
        match field {
            "lines" => format!("/v1/invoices/{}/lines", self.id),
            _ => format!("/v1/invoice_payments?invoice={}", self.id),
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        super::invoice_json::show(self, shown)
    }
}
