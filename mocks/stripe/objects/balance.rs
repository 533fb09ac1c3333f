//! The balance: one small object a currency, and one for each second in which some of it becomes available.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::mocks::stripe::currency::Currency;
use crate::store::{Object, Tx};

/// Holds the sum of all balance transactions of one currency.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    pub(crate) currency: Currency,
    pub(crate) amount: i64,
}

/// Holds how much of it becomes available at one time.
#[derive(Clone, Debug)]
pub(crate) struct Settling {
    pub(crate) currency: Currency,
    pub(crate) at: i64,
    pub(crate) amount: i64,
}

/// Holds what there is of each currency, and how much of it is pending.
#[derive(Clone, Debug)]
pub(crate) struct Holdings(pub(crate) Vec<(Arc<Balance>, i64)>);

impl Object for Balance {
    const TABLE: &'static str = "stripe.balances";

    fn id(&self) -> Arc<str> {
        self.currency.code().into()
    }
}

impl Object for Settling {
    const TABLE: &'static str = "stripe.settling";

    fn id(&self) -> Arc<str> {
        format!("{}:{}", self.currency.code(), self.at).into()
    }
}

impl Resource for Holdings {
    const WORD: &'static str = "balance";
    const OBJECT: &'static str = "balance";

    fn find(_: &Tx<'_>, _: &str) -> Option<Arc<Self>> {
        None
    }

    fn id(&self) -> &str {
        ""
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        let sums = |of: fn(i64, i64) -> i64| {
            let sums = self.0.iter();
            sums.map(|(balance, pending)| Sum::new(of(balance.amount, *pending), balance.currency))
                .collect()
        };
        Json {
            object: "balance",
            available: sums(|sum, pending| sum - pending),
            livemode: false,
            pending: sums(|_, pending| pending),
        }
    }
}

#[derive(Serialize)]
struct Json {
    object: &'static str,
    available: Vec<Sum>,
    livemode: bool,
    pending: Vec<Sum>,
}

#[derive(Serialize)]
struct Sum {
    amount: i64,
    currency: Currency,
    source_types: SourceTypes,
}

#[derive(Serialize)]
struct SourceTypes {
    card: i64,
}

impl Sum {
    fn new(amount: i64, currency: Currency) -> Self {
        Self {
            amount,
            currency,
            source_types: SourceTypes { card: amount },
        }
    }
}
