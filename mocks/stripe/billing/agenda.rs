//! What falls due in billing: on the world's clock, or on a test clock for those who live on one.

use std::sync::Arc;

use time::OffsetDateTime;

use super::{collect, cycle};
use crate::mocks::stripe::due::{self, Work};
use crate::mocks::stripe::objects::{Invoice, InvoiceStatus, Subscription, SubscriptionStatus, Task, TestClock};
use crate::mocks::stripe::operations::checkout_complete;
use crate::mocks::stripe::operations::confirm::Presence;
use crate::mocks::stripe::scene::Scene;

pub(crate) const HOUR: i64 = 60 * 60;

/// Returns the time for what lives on this clock.
pub(crate) fn now(scene: &Scene<'_, '_>, clock: Option<&Arc<str>>) -> i64 {
    let clock = clock.and_then(|id| scene.tx.get::<TestClock>(id));
    clock.map_or_else(|| scene.now(), |clock| clock.frozen_time)
}

/// Plans a task; what was planned of the same kind for the same object is forgotten.
pub(crate) fn plan(scene: &mut Scene<'_, '_>, clock: Option<&Arc<str>>, at: i64, task: Task) {
    if let Some(id) = clock {
        if let Some(clock) = scene.tx.get::<TestClock>(id) {
            let mut clock = TestClock::clone(&clock);
            clock.agenda.retain(|(_, planned)| *planned != task);
            clock.agenda.push((at, task));
            scene.tx.put(clock);
        }
        return;
    }
    if let Ok(at) = OffsetDateTime::from_unix_timestamp(at) {
        scene.later(at, Work::Billing(task));
    }
}

/// Forgets a planned task.
pub(crate) fn forget(scene: &mut Scene<'_, '_>, clock: Option<&Arc<str>>, task: &Task) {
    match clock.map(|id| scene.tx.get::<TestClock>(id)) {
        None => due::never(scene.tx, &Work::Billing(task.clone())),
        Some(Some(clock)) if clock.agenda.iter().any(|(_, planned)| planned == task) => {
            let mut clock = TestClock::clone(&clock);
            clock.agenda.retain(|(_, planned)| planned != task);
            scene.tx.put(clock);
        }
        Some(_) => {}
    }
}

/// Does what is due.
pub(crate) fn run(scene: &mut Scene<'_, '_>, task: &Task, now: i64) {
    match task {
        Task::Finalize(id) => finalize(scene, id, now),
        Task::Collect(id) => {
            if let Some(invoice) = scene.tx.get::<Invoice>(id) {
                collect(scene, &invoice, now);
            }
        }
        Task::Cycle(id) => cycle::turn(scene, id, now),
        Task::TrialWillEnd(id) => cycle::trial_will_end(scene, id),
        Task::Expire(id) => cycle::expire(scene, id, now),
        Task::Cancel(id) => cycle::cancel_planned(scene, id, now),
        Task::ExpireSession(id) => checkout_complete::expire(scene, id),
    }
}

/// Finalizes a draft that goes its own way, and collects it at once.
fn finalize(scene: &mut Scene<'_, '_>, id: &str, now: i64) {
    let waits = |invoice: &Arc<Invoice>| invoice.status == InvoiceStatus::Draft && invoice.auto_advance;
    let Some(draft) = scene.tx.get::<Invoice>(id).filter(waits) else {
        return;
    };
    let invoice = collect::finalize(scene, &draft, now);
    scene.tx.effect("invoice_finalize", &invoice.id);
    if invoice.sent {
        scene.event("invoice.sent", Arc::clone(&invoice));
    } else {
        collect(scene, &invoice, now);
    }
}

/// Tries to collect an open invoice in its time. Where that was the last attempt, its subscription ends.
fn collect(scene: &mut Scene<'_, '_>, invoice: &Arc<Invoice>, now: i64) {
    if attempt(scene, invoice, now) {
        scene.tx.effect("invoice_pay", &invoice.id);
        return;
    }
    let after = scene.tx.get::<Invoice>(&invoice.id);
    let spent = after.filter(|after| after.status == InvoiceStatus::Open && after.next_attempt.is_none());
    let of = spent.and_then(|after| scene.tx.get::<Subscription>(after.subscription.as_deref()?));
    if let Some(running) = of.filter(|s| s.status == SubscriptionStatus::PastDue) {
        let ended = cycle::end(scene, &running, now, "payment_failed");
        scene.tx.effect("subscription_cancel", &ended.id);
    }
}

/// Tries to collect an open invoice, and says whether it was paid; nobody hears of a failure but by its events.
pub(crate) fn attempt(scene: &mut Scene<'_, '_>, invoice: &Arc<Invoice>, now: i64) -> bool {
    if invoice.status != InvoiceStatus::Open || invoice.sums.due == 0 {
        return false;
    }
    let method = collect::method_of(scene, invoice);
    if method.is_some_and(|method| collect::pay(scene, invoice, &method, Presence::AWAY, now).is_ok()) {
        return true;
    }
    // What could not even be tried, as there is no method that can be used, is an attempt as well.
    let after = scene.tx.get::<Invoice>(&invoice.id);
    if let Some(untried) = after.filter(|after| after.attempt_count == invoice.attempt_count) {
        collect::attempt_failed(scene, &untried, false, now);
    }
    false
}
