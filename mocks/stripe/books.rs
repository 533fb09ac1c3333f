//! The books: the one place where the balance moves. Each movement is a balance transaction, and the balance is their sum at any time.

use std::sync::Arc;

use super::cards::Quirk;
use super::currency::Currency;
use super::objects::{Balance, Cause, Charge, Holdings, Movement, Settling};
use crate::store::Tx;

/// After how many seconds the money of a charge is available.
const SETTLED: u32 = 2 * 24 * 3600;

/// Enters the money that a charge takes.
pub(crate) fn take(tx: &mut Tx<'_>, charge: &Charge, amount: i64) {
    let wait = match charge.card.test.quirk {
        Quirk::BypassPending => 0,
        _ => SETTLED,
    };
    let description = charge.description.clone();
    enter(
        tx,
        Cause::Charge,
        &charge.id,
        description,
        charge.currency,
        amount,
        wait,
    );
}

/// Enters what comes later of a charge: a refund, a dispute, or one of these undone. While the charge's money is pending, so is this.
pub(crate) fn correct(tx: &mut Tx<'_>, charge: &Charge, cause: Cause, source: &Arc<str>, amount: i64) {
    let taken = tx.get::<Movement>(&Cause::Charge.key(&charge.id));
    let left = taken.map_or(0, |taken| taken.available_on() - tx.now().unix_timestamp());
    let wait = u32::try_from(left).unwrap_or(0);
    enter(tx, cause, source, None, charge.currency, amount, wait);
}

/// Strikes a movement, as if it had never been.
pub(crate) fn strike(tx: &mut Tx<'_>, cause: Cause, source: &Arc<str>) {
    let key = cause.key(source);
    if let Some(movement) = tx.get::<Movement>(&key) {
        tx.remove::<Movement>(&key);
        add(tx, movement.currency, movement.available_on(), -movement.amount);
    }
}

/// Sums up what there is of each currency, and how much of it is still pending.
pub(crate) fn holdings(tx: &Tx<'_>) -> Holdings {
    let now = tx.now().unix_timestamp();
    let mut sums: Vec<_> = tx.list::<Balance>().map(|balance| (balance, 0)).collect();
    for settling in tx.list::<Settling>().filter(|settling| settling.at > now) {
        let sum = sums
            .iter_mut()
            .find(|(balance, _)| balance.currency == settling.currency);
        if let Some((_, pending)) = sum {
            *pending += settling.amount;
        }
    }
    sums.sort_by_key(|(balance, _)| balance.currency);
    Holdings(sums)
}

fn enter(
    tx: &mut Tx<'_>,
    cause: Cause,
    source: &Arc<str>,
    description: Option<Arc<str>>,
    currency: Currency,
    amount: i64,
    wait: u32,
) {
    let movement = tx.put(Movement {
        cause,
        source: Arc::clone(source),
        description,
        amount,
        currency,
        created: tx.now().unix_timestamp(),
        wait,
    });
    add(tx, currency, movement.available_on(), amount);
    forget_settled(tx);
}

/// Adds to the balance money that is available from then on.
fn add(tx: &mut Tx<'_>, currency: Currency, at: i64, amount: i64) {
    let known = tx.get::<Balance>(currency.code()).map_or(0, |balance| balance.amount);
    let sum = known.saturating_add(amount);
    tx.put(Balance { currency, amount: sum });
    if at > tx.now().unix_timestamp() {
        let mut settling = Settling {
            currency,
            at,
            amount: 0,
        };
        let known = tx.get::<Settling>(&crate::store::Object::id(&settling));
        settling.amount = known.map_or(0, |known| known.amount).saturating_add(amount);
        tx.put(settling);
    }
}

/// Forgets what has become available: the sums that are pending are kept by the second.
fn forget_settled(tx: &mut Tx<'_>) {
    const AT_ONCE: usize = 4;
    let now = tx.now().unix_timestamp();
    let oldest = tx.list::<Settling>().rev().take(AT_ONCE);
    let settled: Vec<_> = oldest.filter(|settling| settling.at <= now).collect();
    for settling in settled {
        tx.remove::<Settling>(&crate::store::Object::id(&*settling));
    }
}
