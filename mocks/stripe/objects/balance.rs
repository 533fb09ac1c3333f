//! The balance: one small object a currency, changed with the charge or refund that moves it.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::mocks::stripe::currency::Currency;
use crate::store::{Object, Tx};

/// Holds what there is of one currency.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    pub(crate) currency: Currency,
    pub(crate) available: i64,
    pub(crate) pending: i64,
}

/// Holds what there is of all.
#[derive(Clone, Debug)]
pub(crate) struct Holdings(pub(crate) Vec<Balance>);

impl Object for Balance {
    const TABLE: &'static str = "stripe.balances";

    fn id(&self) -> Arc<str> {
        self.currency.code().into()
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
        let sums = |of: fn(&Balance) -> i64| self.0.iter().map(|b| Sum::new(of(b), b.currency)).collect();
        Json {
            object: "balance",
            available: sums(|b| b.available),
            livemode: false,
            pending: sums(|b| b.pending),
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
