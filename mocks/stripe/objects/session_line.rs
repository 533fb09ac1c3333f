//! What is bought in a checkout session.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Price, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a line of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionLine {
    pub(crate) id: Arc<str>,
    pub(crate) price: Arc<Price>,
    pub(crate) quantity: i64,
    pub(crate) subtotal: i64,
    pub(crate) off: i64,
    pub(crate) description: Box<str>,
    pub(crate) metadata: Metadata,
}

impl Object for SessionLine {
    const TABLE: &'static str = "stripe.checkout_lines";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for SessionLine {
    const WORD: &'static str = "line item";
    const OBJECT: &'static str = "item";
    const LINKS: &'static [(&'static str, Target)] = &[("price", Target::One(Kind::Price))];
    const INSIDE: &'static [&'static str] = &["price"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        Some(Arc::clone(&self.price.id))
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        LineJson {
            id: &self.id,
            object: Self::OBJECT,
            adjustable_quantity: (),
            amount_discount: self.off,
            amount_subtotal: self.subtotal,
            amount_tax: 0,
            amount_total: self.subtotal - self.off,
            currency: self.price.currency,
            description: &self.description,
            metadata: &self.metadata,
            price: shown.link_to("price", &self.price.id),
            quantity: self.quantity,
        }
    }
}

#[derive(Serialize)]
struct LineJson<'s> {
    id: &'s str,
    object: &'static str,
    adjustable_quantity: (),
    amount_discount: i64,
    amount_subtotal: i64,
    amount_tax: i64,
    amount_total: i64,
    currency: Currency,
    description: &'s str,
    metadata: &'s Metadata,
    price: Link<'s>,
    quantity: i64,
}
