//! Money: the one place where it is taken, captured and given back. What moves the balance is entered into the books with it.

use std::sync::Arc;

use time::Duration;

use super::books;
use super::cards::{Card, Quirk};
use super::currency::Currency;
use super::declines::Decline;
use super::dispute;
use super::due::{self, Work};
use super::metadata::Metadata;
use super::objects::{Billing, Cause, Charge, Dispute, History, Refund, RefundStatus, Terms};
use super::scene::Scene;
use crate::store::Tx;

/// After what time a refund fails that its card lets fail.
const REFUND_FAILS: Duration = Duration::seconds(1);
/// How long a refund is pending that its card lets wait.
const REFUND_WAITS: Duration = Duration::seconds(10);

/// Is what is to be charged.
#[derive(Debug)]
pub(crate) struct Order {
    /// The id that the charge gets.
    pub(crate) id: Arc<str>,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) capture: bool,
    pub(crate) card: Card,
    /// Whether the card's holder authenticated.
    pub(crate) secured: bool,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) method: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) billing: Option<Arc<Billing>>,
    pub(crate) terms: Option<Arc<Terms>>,
}

/// Charges a card. A declined charge is kept, and is no effect.
pub(crate) fn charge(scene: &mut Scene<'_, '_>, order: Order, decline: Option<&'static Decline>) -> Arc<Charge> {
    let paid = decline.is_none();
    let captured = paid && order.capture;
    let charge = scene.tx.put(Charge {
        id: order.id,
        created: scene.now(),
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
        secured: order.secured,
        history: None,
    });
    if !paid {
        scene.event("charge.failed", Arc::clone(&charge));
        return charge;
    }
    scene.tx.effect("charge", &charge.id);
    if !captured {
        let at = scene.tx.now().saturating_add(due::AUTHORISED);
        scene.later(at, expiry(&charge));
        scene.event("charge.succeeded", Arc::clone(&charge));
        return charge;
    }
    books::take(scene.tx, &charge, charge.amount);
    scene.event("charge.succeeded", Arc::clone(&charge));
    complain(scene, charge)
}

/// Captures an authorised charge, all of it or less; the rest is released, and counts as refunded.
pub(crate) fn capture(scene: &mut Scene<'_, '_>, charge: &Charge, amount: i64) -> Arc<Charge> {
    let captured = scene.tx.put(Charge {
        captured: true,
        amount_captured: amount,
        amount_refunded: charge.amount - amount,
        ..charge.clone()
    });
    due::never(scene.tx, &expiry(&captured));
    scene.tx.effect("charge_capture", &captured.id);
    books::take(scene.tx, &captured, amount);
    scene.event("charge.captured", Arc::clone(&captured));
    complain(scene, captured)
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
pub(crate) fn give_back(scene: &mut Scene<'_, '_>, charge: &Arc<Charge>, refund: Refund) -> Arc<Refund> {
    let refund = scene.tx.put(refund);
    scene.tx.effect("refund", &refund.id);
    let mut history = charge.history.as_deref().cloned().unwrap_or_default();
    history.refunds.push(Arc::clone(&refund.id));
    let changed = scene.tx.put(Charge {
        amount_refunded: charge.amount_refunded + refund.amount,
        history: Some(history.into()),
        ..Charge::clone(charge)
    });
    if refund.moved {
        books::correct(scene.tx, charge, Cause::Refund, &refund.id, -refund.amount);
        plan(scene, charge, &refund);
    } else {
        due::never(scene.tx, &expiry(charge));
    }
    scene.event("refund.created", Arc::clone(&refund));
    scene.changed("charge.refunded", Arc::clone(charge), changed);
    refund
}

/// Says with which status a refund of a charge begins.
pub(crate) fn first_status(charge: &Charge) -> RefundStatus {
    match charge.card.test.quirk {
        Quirk::DelaysRefund if charge.captured => RefundStatus::Pending,
        _ => RefundStatus::Succeeded,
    }
}

/// Lets a refund that was pending have succeeded.
pub(crate) fn settle(scene: &mut Scene<'_, '_>, id: &str) {
    let pending = scene.tx.get::<Refund>(id);
    let Some(before) = pending.filter(|refund| refund.status == RefundStatus::Pending) else {
        return;
    };
    let refund = scene.tx.put(Refund {
        status: RefundStatus::Succeeded,
        ..Refund::clone(&before)
    });
    scene.tx.effect("refund_settle", id);
    tell_of_change(scene, &before, &refund);
}

/// Lets a refund fail after it seemed to have succeeded.
pub(crate) fn fail(scene: &mut Scene<'_, '_>, id: &str) {
    let open = scene.tx.get::<Refund>(id).filter(|refund| !refund.status.is_undone());
    if let Some(before) = open {
        let refund = undo(scene, &before, RefundStatus::Failed);
        scene.tx.effect("refund_fail", id);
        scene.event("refund.failed", Arc::clone(&refund));
        tell_of_change(scene, &before, &refund);
    }
}

/// Cancels a refund that is pending.
pub(crate) fn cancel(scene: &mut Scene<'_, '_>, before: &Arc<Refund>) -> Arc<Refund> {
    let refund = undo(scene, before, RefundStatus::Canceled);
    scene.tx.effect("refund_cancel", &refund.id);
    tell_of_change(scene, before, &refund);
    refund
}

/// Takes a charge back out of the books, and all that came of it, as if it had never been made.
pub(crate) fn unbook(tx: &mut Tx<'_>, charge: &Charge) {
    due::never(tx, &expiry(charge));
    books::strike(tx, Cause::Charge, &charge.id);
    for id in charge.refunds() {
        if let Some(refund) = tx.get::<Refund>(id) {
            forget(tx, &refund);
            tx.put(Refund {
                moved: false,
                ..Refund::clone(&refund)
            });
        }
    }
    if let Some(dispute) = charge.dispute() {
        books::strike(tx, Cause::Dispute, dispute);
        books::strike(tx, Cause::DisputeReversal, dispute);
        tx.remove::<Dispute>(dispute);
    }
}

/// Takes a refund back out of its charge, as if it had never been made.
pub(crate) fn take_back(tx: &mut Tx<'_>, refund: &Refund) {
    let Some(charge) = tx.get::<Charge>(&refund.charge) else {
        return;
    };
    let known = charge.refunds();
    let others: Vec<_> = known.iter().filter(|id| **id != refund.id).cloned().collect();
    if others.len() == known.len() {
        return;
    }
    let given = if refund.status.is_undone() { 0 } else { refund.amount };
    let dispute = charge.dispute().cloned();
    let history = History {
        refunds: others,
        dispute,
    };
    tx.put(Charge {
        amount_refunded: charge.amount_refunded - given,
        history: Some(history.into()),
        ..Charge::clone(&charge)
    });
    forget(tx, refund);
}

/// Strikes what a refund moved, and forgets what was planned for it.
fn forget(tx: &mut Tx<'_>, refund: &Refund) {
    books::strike(tx, Cause::Refund, &refund.id);
    books::strike(tx, Cause::RefundFailure, &refund.id);
    for work in works(refund) {
        due::never(tx, &work);
    }
}

/// Returns a refund's money to the balance, and its amount to what can be refunded of the charge.
fn undo(scene: &mut Scene<'_, '_>, before: &Refund, status: RefundStatus) -> Arc<Refund> {
    for work in works(before) {
        due::never(scene.tx, &work);
    }
    let refund = scene.tx.put(Refund {
        status,
        ..before.clone()
    });
    if let Some(charge) = scene.tx.get::<Charge>(&refund.charge) {
        scene.tx.put(Charge {
            amount_refunded: charge.amount_refunded - refund.amount,
            ..Charge::clone(&charge)
        });
        if refund.moved {
            books::correct(scene.tx, &charge, Cause::RefundFailure, &refund.id, refund.amount);
        }
    }
    refund
}

/// Plans what becomes of a refund later.
fn plan(scene: &mut Scene<'_, '_>, charge: &Charge, refund: &Refund) {
    let [fail, settle] = works(refund);
    let (after, work) = match charge.card.test.quirk {
        Quirk::FailsRefund => (REFUND_FAILS, fail),
        Quirk::DelaysRefund => (REFUND_WAITS, settle),
        _ => return,
    };
    scene.later(scene.tx.now().saturating_add(after), work);
}

fn works(refund: &Refund) -> [Work; 2] {
    let id = || Arc::clone(&refund.id);
    [Work::FailRefund { refund: id() }, Work::SettleRefund { refund: id() }]
}

/// Tells of a refund's change, under its older name too.
pub(crate) fn tell_of_change(scene: &mut Scene<'_, '_>, before: &Arc<Refund>, after: &Arc<Refund>) {
    for kind in ["refund.updated", "charge.refund.updated"] {
        scene.changed(kind, Arc::clone(before), Arc::clone(after));
    }
}

/// Lets the holder dispute what was taken, if the card is one for that.
fn complain(scene: &mut Scene<'_, '_>, charge: Arc<Charge>) -> Arc<Charge> {
    match charge.card.test.quirk {
        Quirk::Disputes(complaint) => dispute::open(scene, &charge, complaint),
        _ => charge,
    }
}

fn expiry(charge: &Charge) -> Work {
    let charge = Arc::clone(&charge.id);
    Work::ExpireAuthorisation { charge }
}
