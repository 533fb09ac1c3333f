//! Balance transactions: what moved the balance, and when its money becomes available.

use std::sync::Arc;

use serde::Serialize;

use super::{Kind, Link, Resource, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::store::{Object, Tx};

/// Is one movement of the balance: as small as can be, for each charge has one. Its id follows from what caused it.
#[derive(Clone, Debug)]
pub(crate) struct Movement {
    pub(crate) cause: Cause,
    /// The charge, refund or dispute.
    pub(crate) source: Arc<str>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) created: i64,
    /// How many seconds later the money is available.
    pub(crate) wait: u32,
}

/// Says why the balance moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Charge,
    Refund,
    RefundFailure,
    Dispute,
    DisputeReversal,
}

/// Is a movement as it is shown at one time.
#[derive(Clone, Debug)]
pub(crate) struct BalanceTransaction {
    movement: Arc<Movement>,
    id: Arc<str>,
    available: bool,
}

impl Cause {
    const ALL: [Self; 5] = [
        Self::Charge,
        Self::Refund,
        Self::RefundFailure,
        Self::Dispute,
        Self::DisputeReversal,
    ];

    /// Returns what its ids begin with, and the usual beginning of its sources' ids.
    fn prefixes(self) -> (&'static str, &'static str) {
        match self {
            Self::Charge => ("txn_ch", "ch_"),
            Self::Refund => ("txn_re", "re_"),
            Self::RefundFailure => ("txn_rf", "re_"),
            Self::Dispute => ("txn_dp", "dp_"),
            Self::DisputeReversal => ("txn_dr", "dp_"),
        }
    }

    /// Returns `type` and `reporting_category`.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Charge => ("charge", "charge"),
            Self::Refund => ("refund", "refund"),
            Self::RefundFailure => ("refund_failure", "refund_failure"),
            Self::Dispute => ("adjustment", "dispute"),
            Self::DisputeReversal => ("adjustment", "dispute_reversal"),
        }
    }

    /// Makes the id of a source's balance transaction; [`key_of`] finds the way back, whatever the source's id looks like.
    pub(crate) fn id(self, source: &str) -> String {
        let (own, usual) = self.prefixes();
        match source.strip_prefix(usual) {
            Some(rest) => format!("{own}_{rest}"),
            None => format!("{own}-{source}"),
        }
    }

    /// Makes the key in the table: a charge's is its id, which both share; no id has a colon.
    pub(crate) fn key(self, source: &Arc<str>) -> Arc<str> {
        match self {
            Self::Charge => Arc::clone(source),
            _ => format!("{}:{source}", self.prefixes().0).into(),
        }
    }
}

/// Returns the key in the table of a balance transaction with this id.
pub(crate) fn key_of(id: &str) -> Option<Arc<str>> {
    Cause::ALL.into_iter().find_map(|cause| {
        let (own, usual) = cause.prefixes();
        let rest = id.strip_prefix(own)?;
        let source = match rest.strip_prefix('_') {
            Some(rest) => format!("{usual}{rest}"),
            None => rest.strip_prefix('-')?.to_owned(),
        };
        Some(cause.key(&source.into()))
    })
}

impl Movement {
    pub(crate) fn available_on(&self) -> i64 {
        self.created + i64::from(self.wait)
    }

    /// Returns `type` as it is shown.
    pub(crate) fn kind(&self) -> &'static str {
        self.cause.names().0
    }
}

impl Object for Movement {
    const TABLE: &'static str = "stripe.balance_transactions";

    fn id(&self) -> Arc<str> {
        self.cause.key(&self.source)
    }
}

impl BalanceTransaction {
    pub(crate) fn at(movement: Arc<Movement>, now: i64) -> Self {
        Self {
            id: movement.cause.id(&movement.source).into(),
            available: movement.available_on() <= now,
            movement,
        }
    }
}

impl Resource for BalanceTransaction {
    const WORD: &'static str = "balance transaction";
    const OBJECT: &'static str = "balance_transaction";
    const LINKS: &'static [(&'static str, Target)] =
        &[("source", Target::OneOf(&[Kind::Charge, Kind::Refund, Kind::Dispute]))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        let movement = tx.get::<Movement>(&key_of(id)?)?;
        Some(Self::at(movement, tx.now().unix_timestamp()).into())
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        Some(Arc::clone(&self.movement.source))
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let movement = &*self.movement;
        let (kind, category) = movement.cause.names();
        Json {
            id: &self.id,
            object: Self::OBJECT,
            amount: movement.amount,
            available_on: movement.available_on(),
            balance_type: "payments",
            created: movement.created,
            currency: movement.currency,
            description: movement.description.as_deref(),
            exchange_rate: (),
            fee: 0,
            fee_details: [],
            net: movement.amount,
            reporting_category: category,
            source: shown.link_to("source", &movement.source),
            status: if self.available { "available" } else { "pending" },
            kind,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    amount: i64,
    available_on: i64,
    balance_type: &'static str,
    created: i64,
    currency: Currency,
    description: Option<&'s str>,
    exchange_rate: (),
    fee: i64,
    fee_details: [(); 0],
    net: i64,
    reporting_category: &'static str,
    source: Link<'s>,
    status: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_back_to_its_own_source_alone() {
        let mut ids = std::collections::BTreeMap::new();
        for source in ["ch_1", "re_1", "dp_1", "1", "-1", "_1", "txn_ch_1", "ch__1", "re"] {
            for cause in Cause::ALL {
                let (id, key) = (cause.id(source), cause.key(&source.into()));
                assert_eq!(key_of(&id), Some(Arc::clone(&key)), "{id}");
                assert_eq!(ids.insert(id.clone(), key), None, "{id}");
            }
        }
        for other in ["txn_1", "ch_1", "", "txn_ch"] {
            assert_eq!(key_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_movement_is_small() {
        assert!(size_of::<Movement>() <= 64, "{}", size_of::<Movement>());
    }
}
