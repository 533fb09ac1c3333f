//! Invoice items: what a customer owes, before it stands on an invoice and after.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Links, Period, Pricing, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is an invoice item; pending as long as it has no invoice.
#[derive(Clone, Debug)]
pub(crate) struct InvoiceItem {
    pub(crate) id: Arc<str>,
    pub(crate) date: i64,
    pub(crate) customer: Arc<str>,
    pub(crate) invoice: Option<Arc<str>>,
    /// Whether it waits for an invoice again when its draft is deleted.
    pub(crate) was_pending: bool,
    pub(crate) subscription: Option<Arc<str>>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) quantity: i64,
    pub(crate) unit: Decimal,
    /// The price and its product.
    pub(crate) price: Option<(Arc<str>, Arc<str>)>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) discountable: bool,
    pub(crate) discounts: Vec<Arc<str>>,
    pub(crate) period: Period,
    pub(crate) proration: bool,
    pub(crate) clock: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
}

impl Object for InvoiceItem {
    const TABLE: &'static str = "stripe.invoiceitems";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for InvoiceItem {
    const WORD: &'static str = "invoiceitem";
    const OBJECT: &'static str = "invoiceitem";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("discounts", Target::Each(Kind::Discount)),
        ("invoice", Target::One(Kind::Invoice)),
        ("pricing.price_details.price", Target::One(Kind::Price)),
        ("test_clock", Target::One(Kind::TestClock)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "customer" => Some(Arc::clone(&self.customer)),
            "invoice" => self.invoice.clone(),
            "test_clock" => self.clock.clone(),
            _ => self.price.as_ref().map(|(price, _)| Arc::clone(price)),
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.discounts.clone()
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount: self.amount,
            currency: self.currency,
            customer: shown.link_to("customer", &self.customer),
            customer_account: (),
            date: self.date,
            description: self.description.as_deref(),
            discountable: self.discountable,
            discounts: shown.links("discounts", &self.discounts),
            invoice: shown.link("invoice", &self.invoice),
            livemode: false,
            metadata: &self.metadata,
            net_amount: self.amount,
            parent: self.subscription.as_deref().map(|subscription| Parent {
                subscription_details: Of { subscription },
                kind: "subscription_details",
            }),
            period: self.period,
            pricing: Pricing::show(shown, self.price.as_ref(), self.unit),
            proration: self.proration,
            quantity: self.quantity,
            quantity_decimal: self.quantity.to_string(),
            tax_rates: [],
            test_clock: shown.link("test_clock", &self.clock),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    currency: Currency,
    customer: Link<'s>,
    customer_account: (),
    date: i64,
    description: Option<&'s str>,
    discountable: bool,
    discounts: Links<'s>,
    invoice: Link<'s>,
    livemode: bool,
    metadata: &'s Metadata,
    net_amount: i64,
    parent: Option<Parent<'s>>,
    period: Period,
    pricing: Pricing<'s>,
    proration: bool,
    quantity: i64,
    quantity_decimal: String,
    tax_rates: [(); 0],
    test_clock: Link<'s>,
}

#[derive(Serialize)]
struct Parent<'s> {
    subscription_details: Of<'s>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Of<'s> {
    subscription: &'s str,
}
