//! Promotion codes: the words by which customers redeem a coupon.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a promotion code.
#[derive(Clone, Debug)]
pub(crate) struct Promotion {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    /// Whether it was not switched off.
    pub(crate) active: bool,
    pub(crate) code: Box<str>,
    pub(crate) coupon: Arc<str>,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) expires_at: Option<i64>,
    pub(crate) max_redemptions: Option<i64>,
    pub(crate) redeemed: i64,
    pub(crate) first_time: bool,
    pub(crate) minimum: Option<(i64, Currency)>,
    pub(crate) metadata: Metadata,
}

impl Object for Promotion {
    const TABLE: &'static str = "stripe.promotion_codes";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Promotion {
    /// Takes note of the time: one that has expired is no longer active.
    pub(crate) fn at(&self, now: i64) -> Self {
        let over = self.expires_at.is_some_and(|until| until <= now);
        let spent = self.max_redemptions.is_some_and(|most| self.redeemed >= most);
        Self {
            active: self.active && !over && !spent,
            ..self.clone()
        }
    }
}

impl Resource for Promotion {
    const WORD: &'static str = "promotion code";
    const OBJECT: &'static str = "promotion_code";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("promotion.coupon", Target::One(Kind::Coupon)),
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
            _ => Some(Arc::clone(&self.coupon)),
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            active: self.active,
            code: &self.code,
            created: self.created,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            expires_at: self.expires_at,
            livemode: false,
            max_redemptions: self.max_redemptions,
            metadata: &self.metadata,
            promotion: Of {
                coupon: shown.link_to("promotion.coupon", &self.coupon),
                kind: "coupon",
            },
            restrictions: Restrictions {
                first_time_transaction: self.first_time,
                minimum_amount: self.minimum.map(|(amount, _)| amount),
                minimum_amount_currency: self.minimum.map(|(_, currency)| currency),
            },
            times_redeemed: self.redeemed,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    active: bool,
    code: &'s str,
    created: i64,
    customer: Link<'s>,
    customer_account: (),
    expires_at: Option<i64>,
    livemode: bool,
    max_redemptions: Option<i64>,
    metadata: &'s Metadata,
    promotion: Of<'s>,
    restrictions: Restrictions,
    times_redeemed: i64,
}

#[derive(Serialize)]
struct Of<'s> {
    coupon: Link<'s>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Restrictions {
    first_time_transaction: bool,
    minimum_amount: Option<i64>,
    minimum_amount_currency: Option<Currency>,
}
