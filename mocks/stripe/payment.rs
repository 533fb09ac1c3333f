//! Money: the one place where it is taken, captured and given back, and where the balance moves with it.

use std::sync::Arc;

use super::cards::{Card, Quirk};
use super::currency::Currency;
use super::declines::Decline;
use super::due::{self, Work};
use super::metadata::Metadata;
use super::objects::{Balance, Billing, Charge, Refund, Terms};
use crate::store::Tx;

/// Is what is to be charged.
#[derive(Debug)]
pub(crate) struct Order {
    /// The id that the charge gets.
    pub(crate) id: Arc<str>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) capture: bool,
    pub(crate) card: Card,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) method: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) billing: Option<Arc<Billing>>,
    pub(crate) terms: Option<Arc<Terms>>,
}

/// Charges a card. A declined charge is kept, and is no effect.
pub(crate) fn charge(tx: &mut Tx<'_>, order: Order, decline: Option<&'static Decline>) -> Arc<Charge> {
    let paid = decline.is_none();
    let captured = paid && order.capture;
    let charge = Charge {
        id: order.id,
        created: tx.now().unix_timestamp(),
        amount: order.amount,
        amount_captured: if captured { order.amount } else { 0 },
        amount_refunded: 0,
        currency: order.currency,
        captured,
        direct: order.intent.is_none(),
        card: order.card,
        customer: order.customer,
        intent: order.intent,
        method: order.method,
        decline,
        description: order.description,
        metadata: order.metadata,
        billing: order.billing,
        terms: order.terms,
        refunds: None,
    };
    let charge = tx.put(charge);
    if paid {
        tx.effect("charge", &charge.id);
    }
    if captured {
        book(tx, &charge, order.amount);
    } else if paid {
        let at = tx.now().saturating_add(due::AUTHORISED);
        due::later(tx, at, expiry(&charge));
    }
    charge
}

/// Captures an authorised charge, all of it or less; the rest is released, and counts as refunded.
pub(crate) fn capture(tx: &mut Tx<'_>, charge: &Charge, amount: i64) -> Arc<Charge> {
    let captured = tx.put(Charge {
        captured: true,
        amount_captured: amount,
        amount_refunded: charge.amount - amount,
        ..charge.clone()
    });
    due::never(tx, &expiry(&captured));
    tx.effect("charge_capture", &captured.id);
    book(tx, &captured, amount);
    captured
}

/// Releases an authorisation that was not captured.
pub(crate) fn release(tx: &mut Tx<'_>, charge: &Charge) -> Arc<Charge> {
    due::never(tx, &expiry(charge));
    tx.put(Charge {
        amount_refunded: charge.amount,
        ..charge.clone()
    })
}

/// Gives back some of what is left of a charge.
pub(crate) fn give_back(tx: &mut Tx<'_>, charge: &Charge, refund: &Arc<str>, amount: i64) -> Arc<Charge> {
    let known = charge.refunds.as_deref().unwrap_or_default();
    let refunds = known.iter().chain([refund]).cloned().collect();
    let changed = tx.put(Charge {
        amount_refunded: charge.amount_refunded + amount,
        refunds: Some(refunds),
        ..charge.clone()
    });
    if changed.captured {
        book(tx, &changed, -amount);
    }
    changed
}

/// Takes a charge back out of the balance, as if it had never been made.
pub(crate) fn unbook(tx: &mut Tx<'_>, charge: &Charge) {
    if charge.captured {
        book(tx, charge, charge.amount_refunded - charge.amount);
    }
}

/// Takes a refund back out of its charge, as if it had never been made.
pub(crate) fn take_back(tx: &mut Tx<'_>, refund: &Refund) {
    let Some(charge) = tx.get::<Charge>(&refund.charge) else {
        return;
    };
    let known = charge.refunds.as_deref().unwrap_or_default();
    let others: Vec<_> = known.iter().filter(|id| **id != refund.id).cloned().collect();
    if others.len() == known.len() {
        return;
    }
    let changed = tx.put(Charge {
        amount_refunded: charge.amount_refunded - refund.amount,
        refunds: (!others.is_empty()).then(|| others.into()),
        ..Charge::clone(&charge)
    });
    if changed.captured {
        book(tx, &changed, refund.amount);
    }
}

fn expiry(charge: &Charge) -> Work {
    let charge = Arc::clone(&charge.id);
    Work::ExpireAuthorisation { charge }
}

fn book(tx: &mut Tx<'_>, charge: &Charge, amount: i64) {
    let currency = charge.currency;
    let known = tx.get::<Balance>(currency.code());
    let mut balance = known.map_or(
        Balance {
            currency,
            available: 0,
            pending: 0,
        },
        |b| Balance::clone(&b),
    );
    let side = match charge.card.test.quirk {
        Quirk::BypassPending => &mut balance.available,
        _ => &mut balance.pending,
    };
    *side = side.saturating_add(amount);
    tx.put(balance);
}
