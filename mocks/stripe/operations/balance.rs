//! The balance, and the balance transactions that add up to it.

use std::sync::Arc;

use crate::mocks::stripe::books;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::Outcome;
use crate::mocks::stripe::list::{Created, page_by};
use crate::mocks::stripe::objects::{Balance, BalanceTransaction, Kind, Movement, Thing, key_of};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/balance", "balance.retrieve", Kind::Balance, &[], &[], retrieve),
    row(Get, "/v1/balance_transactions", "balance_transactions.list", Kind::Movement, &[], LIST, list).listing(),
    row(Get, "/v1/balance_transactions/{id}", "balance_transactions.retrieve", Kind::Movement, &[], &[], transaction),
    row(Get, "/v1/balance/history", "balance.history", Kind::Movement, &[], LIST, list).listing(),
    row(Get, "/v1/balance/history/{id}", "balance.history_entry", Kind::Movement, &[], &[], transaction),
];

#[rustfmt::skip]
const LIST: &[&str] = &[
    "created{}#", "currency$", "ending_before$", "limit#", "payout$", "source$", "starting_after$", "type$",
];

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let mut holdings = books::holdings(scene.tx);
    if holdings.0.is_empty() {
        let currency = Currency::parse("usd", "currency")?;
        holdings.0.push((Balance { currency, amount: 0 }.into(), 0));
    }
    Ok(Answer::One(Thing::Balance(Arc::new(holdings))))
}

fn transaction(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let found = Kind::Movement.find(scene.tx, scene.id);
    let missing = || crate::mocks::stripe::failure::Failure::no_such(Kind::Movement.word(), scene.id, "id");
    Ok(Answer::One(found.ok_or_else(missing)?))
}

fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let currency = scene.params.text("currency")?;
    let currency = currency.map(|code| Currency::parse(code, "currency")).transpose()?;
    let source = scene.params.text("source")?;
    let kind = scene.params.text("type")?;
    // Payouts are not modelled, so none has any.
    let payout = scene.params.text("payout")?;
    let keep = |m: &Movement| {
        payout.is_none()
            && created.holds(m.created)
            && currency.is_none_or(|currency| m.currency == currency)
            && source.is_none_or(|id| *m.source == *id)
            && kind.is_none_or(|kind| m.kind() == kind)
    };
    let now = scene.now();
    let show = |m| Thing::Movement(BalanceTransaction::at(m, now).into());
    page_by(scene, Kind::Movement, key_of, keep, show)
}
