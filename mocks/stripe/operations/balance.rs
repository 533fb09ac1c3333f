//! The balance.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::Outcome;
use crate::mocks::stripe::objects::{Balance, Holdings, Kind, Thing};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/balance", "balance.retrieve", Kind::Balance, &[], &[], retrieve),
];

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let mut sums: Vec<Balance> = scene.tx.list::<Balance>().map(|b| Balance::clone(&b)).collect();
    sums.sort_by_key(|b| b.currency);
    if sums.is_empty() {
        sums.push(Balance {
            currency: Currency::parse("usd", "currency")?,
            available: 0,
            pending: 0,
        });
    }
    Ok(Answer::One(Thing::Balance(Arc::new(Holdings(sums)))))
}
