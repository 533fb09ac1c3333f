//! Discounts: a coupon that was redeemed.

use std::sync::Arc;

use serde::Serialize;

use super::{Coupon, Kind, Lasts, Link, Resource, Shown, Target};
use crate::store::{Object, Tx};

/// Is a discount: the coupon as it was redeemed, and on what.
#[derive(Clone, Debug)]
pub(crate) struct Discount {
    pub(crate) id: Arc<str>,
    pub(crate) coupon: Arc<Coupon>,
    pub(crate) promotion: Option<Arc<str>>,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) on: On,
    pub(crate) start: i64,
    pub(crate) end: Option<i64>,
}

/// Says on what a discount is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Invoice(Arc<str>),
    Session(Arc<str>),
    InvoiceItem(Arc<str>),
    Subscription(Arc<str>),
    /// A subscription, by one of its items.
    SubscriptionItem(Arc<str>, Arc<str>),
}

impl Object for Discount {
    const TABLE: &'static str = "stripe.discounts";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Discount {
    /// Says whether it counts at a time. One that counts once is taken away by what used it.
    pub(crate) fn counts(&self, now: i64) -> bool {
        self.end.is_none_or(|end| now < end)
    }

    pub(crate) fn once(&self) -> bool {
        self.coupon.lasts == Lasts::Once
    }
}

impl Resource for Discount {
    const WORD: &'static str = "discount";
    const OBJECT: &'static str = "discount";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("promotion_code", Target::One(Kind::Promotion)),
        ("source.coupon", Target::One(Kind::Coupon)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "customer" => self.customer.clone(),
            "promotion_code" => self.promotion.clone(),
            _ => Some(Arc::clone(&self.coupon.id)),
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let (mut invoice, mut invoice_item, mut session, mut subscription, mut subscription_item) =
            (None, None, None, None, None);
        match &self.on {
            On::Invoice(id) => invoice = Some(&**id),
            On::Session(id) => session = Some(&**id),
            On::InvoiceItem(id) => invoice_item = Some(&**id),
            On::Subscription(id) => subscription = Some(&**id),
            On::SubscriptionItem(id, item) => {
                subscription = Some(&**id);
                subscription_item = Some(&**item);
            }
        }
        Json {
            id: &self.id,
            object: Self::OBJECT,
            checkout_session: session,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            end: self.end,
            invoice,
            invoice_item,
            promotion_code: shown.link("promotion_code", &self.promotion),
            source: Source {
                coupon: shown.link_to("source.coupon", &self.coupon.id),
                kind: "coupon",
            },
            start: self.start,
            subscription,
            subscription_item,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    checkout_session: Option<&'s str>,
    customer: Link<'s>,
    customer_account: (),
    end: Option<i64>,
    invoice: Option<&'s str>,
    invoice_item: Option<&'s str>,
    promotion_code: Link<'s>,
    source: Source<'s>,
    start: i64,
    subscription: Option<&'s str>,
    subscription_item: Option<&'s str>,
}

#[derive(Serialize)]
struct Source<'s> {
    coupon: Link<'s>,
    #[serde(rename = "type")]
    kind: &'static str,
}
