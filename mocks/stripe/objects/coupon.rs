//! Coupons: how much less there is to pay, and for how long.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::{Decimal, Number};
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a coupon.
#[derive(Clone, Debug)]
pub(crate) struct Coupon {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) off: Off,
    pub(crate) lasts: Lasts,
    pub(crate) name: Option<Box<str>>,
    pub(crate) max_redemptions: Option<i64>,
    pub(crate) redeem_by: Option<i64>,
    pub(crate) redeemed: i64,
    /// Whether the time in which it can be redeemed is over.
    pub(crate) expired: bool,
    pub(crate) metadata: Metadata,
}

/// Says how much less there is to pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Off {
    Amount(i64, Currency),
    Percent(Decimal),
}

/// Says how long it counts from its redemption on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    Once,
    Months(u16),
    Forever,
}

impl Object for Coupon {
    const TABLE: &'static str = "stripe.coupons";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Coupon {
    /// Says whether it can still be redeemed.
    pub(crate) fn valid(&self) -> bool {
        !self.expired && self.max_redemptions.is_none_or(|most| self.redeemed < most)
    }

    /// Takes note of the time.
    pub(crate) fn at(&self, now: i64) -> Self {
        Self {
            expired: self.redeem_by.is_some_and(|until| until <= now),
            ..self.clone()
        }
    }

    /// Says how much it takes off an amount.
    pub(crate) fn takes_off(&self, amount: i64) -> i64 {
        let off = match self.off {
            Off::Amount(off, _) => off,
            Off::Percent(percent) => percent.percent_of(amount),
        };
        off.clamp(0, amount.max(0))
    }
}

impl Resource for Coupon {
    const WORD: &'static str = "coupon";
    const OBJECT: &'static str = "coupon";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        let (amount_off, currency, percent_off) = match self.off {
            Off::Amount(amount, currency) => (Some(amount), Some(currency), None),
            Off::Percent(percent) => (None, None, Some(Number(percent))),
        };
        let (duration, duration_in_months) = match self.lasts {
            Lasts::Once => ("once", None),
            Lasts::Months(months) => ("repeating", Some(months)),
            Lasts::Forever => ("forever", None),
        };
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount_off,
            created: self.created,
            currency,
            duration,
            duration_in_months,
            livemode: false,
            max_redemptions: self.max_redemptions,
            metadata: &self.metadata,
            name: self.name.as_deref(),
            percent_off,
            redeem_by: self.redeem_by,
            times_redeemed: self.redeemed,
            valid: self.valid(),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount_off: Option<i64>,
    created: i64,
    currency: Option<Currency>,
    duration: &'static str,
    duration_in_months: Option<u16>,
    livemode: bool,
    max_redemptions: Option<i64>,
    metadata: &'s Metadata,
    name: Option<&'s str>,
    percent_off: Option<Number>,
    redeem_by: Option<i64>,
    times_redeemed: i64,
    valid: bool,
}
