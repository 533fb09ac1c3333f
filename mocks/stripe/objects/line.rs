//! The lines of an invoice.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Links, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a line of an invoice.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) id: Arc<str>,
    pub(crate) invoice: Arc<str>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) quantity: i64,
    pub(crate) unit: Decimal,
    /// The price and its product.
    pub(crate) price: Option<(Arc<str>, Arc<str>)>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) discountable: bool,
    /// The discounts of its own.
    pub(crate) discounts: Vec<Arc<str>>,
    /// What all discounts take off it.
    pub(crate) reductions: Vec<Reduction>,
    pub(crate) period: Period,
    pub(crate) origin: LineOrigin,
    pub(crate) metadata: Metadata,
}

/// Says whence a line comes.
#[derive(Clone, Debug)]
pub(crate) enum LineOrigin {
    Item {
        item: Arc<str>,
        subscription: Option<Arc<str>>,
        proration: bool,
    },
    Subscription {
        subscription: Arc<str>,
        item: Arc<str>,
    },
}

/// Is what a discount takes off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reduction {
    pub(crate) amount: i64,
    pub(crate) discount: Arc<str>,
}

/// Is a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Period {
    pub(crate) end: i64,
    pub(crate) start: i64,
}

impl Object for Line {
    const TABLE: &'static str = "stripe.line_items";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl LineOrigin {
    fn subscription(&self) -> Option<&Arc<str>> {
        match self {
            Self::Item { subscription, .. } => subscription.as_ref(),
            Self::Subscription { subscription, .. } => Some(subscription),
        }
    }
}

impl Resource for Line {
    const WORD: &'static str = "line item";
    const OBJECT: &'static str = "line_item";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("discounts", Target::Each(Kind::Discount)),
        ("pricing.price_details.price", Target::One(Kind::Price)),
        ("subscription", Target::One(Kind::Subscription)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "subscription" => self.origin.subscription().cloned(),
            _ => self.price.as_ref().map(|(price, _)| Arc::clone(price)),
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.discounts.clone()
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let subscription = match self.origin.subscription() {
            Some(id) => shown.link_to("subscription", id),
            None => Link::Null,
        };
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount: self.amount,
            currency: self.currency,
            description: self.description.as_deref(),
            discount_amounts: &self.reductions,
            discountable: self.discountable,
            discounts: shown.links("discounts", &self.discounts),
            invoice: &self.invoice,
            livemode: false,
            metadata: &self.metadata,
            parent: Parent::show(&self.origin),
            period: self.period,
            pretax_credit_amounts: [],
            pricing: Pricing::show(shown, self.price.as_ref(), self.unit),
            quantity: self.quantity,
            quantity_decimal: self.quantity.to_string(),
            subscription,
            subtotal: self.amount,
            taxes: [],
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    currency: Currency,
    description: Option<&'s str>,
    discount_amounts: &'s [Reduction],
    discountable: bool,
    discounts: Links<'s>,
    invoice: &'s str,
    livemode: bool,
    metadata: &'s Metadata,
    parent: Parent<'s>,
    period: Period,
    pretax_credit_amounts: [(); 0],
    pricing: Pricing<'s>,
    quantity: i64,
    quantity_decimal: String,
    subscription: Link<'s>,
    subtotal: i64,
    taxes: [(); 0],
}

/// Shows what a unit costs, and by which price.
#[derive(Debug, Serialize)]
pub(crate) struct Pricing<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    price_details: Option<Details<'s>>,
    #[serde(rename = "type")]
    kind: &'static str,
    unit_amount_decimal: Decimal,
}

#[derive(Debug, Serialize)]
struct Details<'s> {
    price: Link<'s>,
    product: &'s str,
}

impl<'s> Pricing<'s> {
    pub(crate) fn show(shown: &'s Shown, price: Option<&'s (Arc<str>, Arc<str>)>, unit: Decimal) -> Self {
        Self {
            price_details: price.map(|(price, product)| Details {
                price: shown.link_to("pricing.price_details.price", price),
                product,
            }),
            kind: "price_details",
            unit_amount_decimal: unit,
        }
    }
}

#[derive(Serialize)]
struct Parent<'s> {
    invoice_item_details: Option<OfItem<'s>>,
    subscription_item_details: Option<OfSubscription<'s>>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct OfItem<'s> {
    invoice_item: &'s str,
    proration: bool,
    proration_details: Option<Prorated>,
    subscription: Option<&'s str>,
}

#[derive(Serialize)]
struct OfSubscription<'s> {
    invoice_item: (),
    proration: bool,
    proration_details: Prorated,
    subscription: &'s str,
    subscription_item: &'s str,
}

#[derive(Serialize)]
struct Prorated {
    credited_items: (),
}

impl<'s> Parent<'s> {
    fn show(origin: &'s LineOrigin) -> Self {
        match origin {
            LineOrigin::Item {
                item,
                subscription,
                proration,
            } => Self {
                invoice_item_details: Some(OfItem {
                    invoice_item: item,
                    proration: *proration,
                    proration_details: Some(Prorated { credited_items: () }),
                    subscription: subscription.as_deref(),
                }),
                subscription_item_details: None,
                kind: "invoice_item_details",
            },
            LineOrigin::Subscription { subscription, item } => Self {
                invoice_item_details: None,
                subscription_item_details: Some(OfSubscription {
                    invoice_item: (),
                    proration: false,
                    proration_details: Prorated { credited_items: () },
                    subscription,
                    subscription_item: item,
                }),
                kind: "subscription_item_details",
            },
        }
    }
}
