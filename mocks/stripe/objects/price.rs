//! Prices: how much a product costs, once or every so often.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a price, by the unit.
#[derive(Clone, Debug)]
pub(crate) struct Price {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) active: bool,
    pub(crate) currency: Currency,
    pub(crate) product: Arc<str>,
    pub(crate) unit: Decimal,
    pub(crate) recurring: Option<Recurring>,
    pub(crate) lookup_key: Option<Box<str>>,
    pub(crate) nickname: Option<Box<str>>,
    pub(crate) tax_behavior: &'static str,
    pub(crate) transform: Option<Transform>,
    pub(crate) metadata: Metadata,
}

/// Says how often a price falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recurring {
    pub(crate) interval: Interval,
    pub(crate) count: u16,
}

/// Is a unit of time by which is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Interval {
    Day,
    Week,
    Month,
    Year,
}

/// Makes packages of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Transform {
    pub(crate) divide_by: i64,
    pub(crate) round: &'static str,
}

impl Interval {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        match name {
            "day" => Self::Day,
            "week" => Self::Week,
            "year" => Self::Year,
            _ => Self::Month,
        }
    }
}

impl Object for Price {
    const TABLE: &'static str = "stripe.prices";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Price {
    /// Says what a quantity costs.
    pub(crate) fn amount(&self, quantity: i64) -> i64 {
        let units = self.transform.map_or(quantity, |transform| {
            let more = quantity % transform.divide_by != 0 && transform.round == "up";
            quantity / transform.divide_by + i64::from(more)
        });
        self.unit.times(units)
    }

    /// Shows it as the plan that it was in older versions.
    pub(crate) fn plan(&self) -> Plan<'_> {
        let recurring = self.recurring.unwrap_or(Recurring {
            interval: Interval::Month,
            count: 1,
        });
        Plan {
            id: &self.id,
            object: "plan",
            active: self.active,
            amount: self.unit.whole(),
            amount_decimal: self.unit,
            billing_scheme: "per_unit",
            created: self.created,
            currency: self.currency,
            interval: recurring.interval,
            interval_count: recurring.count,
            livemode: false,
            metadata: &self.metadata,
            meter: (),
            nickname: self.nickname.as_deref(),
            product: &self.product,
            tiers_mode: (),
            transform_usage: self.transform,
            trial_period_days: (),
            usage_type: "licensed",
        }
    }
}

impl Resource for Price {
    const WORD: &'static str = "price";
    const OBJECT: &'static str = "price";
    const LINKS: &'static [(&'static str, Target)] = &[("product", Target::One(Kind::Product))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        Some(Arc::clone(&self.product))
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            active: self.active,
            billing_scheme: "per_unit",
            created: self.created,
            currency: self.currency,
            custom_unit_amount: (),
            livemode: false,
            lookup_key: self.lookup_key.as_deref(),
            metadata: &self.metadata,
            nickname: self.nickname.as_deref(),
            product: shown.link_to("product", &self.product),
            recurring: self.recurring.map(|recurring| Repeated {
                interval: recurring.interval,
                interval_count: recurring.count,
                meter: (),
                trial_period_days: (),
                usage_type: "licensed",
            }),
            tax_behavior: self.tax_behavior,
            tiers_mode: (),
            transform_quantity: self.transform,
            kind: if self.recurring.is_some() {
                "recurring"
            } else {
                "one_time"
            },
            unit_amount: self.unit.whole(),
            unit_amount_decimal: self.unit,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    active: bool,
    billing_scheme: &'static str,
    created: i64,
    currency: Currency,
    custom_unit_amount: (),
    livemode: bool,
    lookup_key: Option<&'s str>,
    metadata: &'s Metadata,
    nickname: Option<&'s str>,
    product: Link<'s>,
    recurring: Option<Repeated>,
    tax_behavior: &'static str,
    tiers_mode: (),
    transform_quantity: Option<Transform>,
    #[serde(rename = "type")]
    kind: &'static str,
    unit_amount: Option<i64>,
    unit_amount_decimal: Decimal,
}

#[derive(Serialize)]
struct Repeated {
    interval: Interval,
    interval_count: u16,
    meter: (),
    trial_period_days: (),
    usage_type: &'static str,
}

/// Is a price as a subscription's item shows it beside the price.
#[derive(Debug, Serialize)]
pub(crate) struct Plan<'s> {
    id: &'s str,
    object: &'static str,
    active: bool,
    amount: Option<i64>,
    amount_decimal: Decimal,
    billing_scheme: &'static str,
    created: i64,
    currency: Currency,
    interval: Interval,
    interval_count: u16,
    livemode: bool,
    metadata: &'s Metadata,
    meter: (),
    nickname: Option<&'s str>,
    product: &'s str,
    tiers_mode: (),
    transform_usage: Option<Transform>,
    trial_period_days: (),
    usage_type: &'static str,
}
