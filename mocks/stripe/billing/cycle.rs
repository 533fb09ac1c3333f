//! A subscription's way: through its periods, and by what becomes of its invoices.

use std::sync::Arc;

use super::agenda::{self, HOUR};
use super::{collect, draft, period};
use crate::mocks::stripe::objects::{
    Customer, Discount, Intent, Invoice, InvoiceStatus, Method, Period, Recurring, Subscription, SubscriptionItem,
    SubscriptionStatus, Task,
};
use crate::mocks::stripe::scene::Scene;

/// How long before its end is told that a trial will end.
const TRIAL_NOTICE: i64 = 3 * 24 * HOUR;
/// How long a first invoice may stay unpaid.
const INCOMPLETE: i64 = 23 * HOUR;

/// Ends a period, or a trial, and begins the next. Its invoice is a draft for an hour, in which it can be changed.
pub(crate) fn turn(scene: &mut Scene<'_, '_>, id: &str, now: i64) {
    use SubscriptionStatus::{Active, PastDue, Trialing};
    let runs = |s: &Arc<Subscription>| matches!(s.status, Active | PastDue | Trialing);
    let Some(before) = scene.tx.get::<Subscription>(id).filter(runs) else {
        return;
    };
    let customer = scene
        .tx
        .get::<Customer>(&before.customer)
        .filter(|customer| !customer.deleted);
    let Some(customer) = customer.filter(|_| !before.cancel_at_period_end) else {
        let ended = end(scene, &before, now, "cancellation_requested");
        scene.tx.effect("subscription_cancel", &ended.id);
        return;
    };
    let trialing = before.status == Trialing;
    if trialing && !before.sent && !has_method(scene, &before, &customer) {
        match before.missing_method {
            "cancel" => {
                let ended = end(scene, &before, now, "cancellation_requested");
                scene.tx.effect("subscription_cancel", &ended.id);
                return;
            }
            "pause" => {
                let paused = put(
                    scene,
                    &before,
                    Subscription {
                        status: SubscriptionStatus::Paused,
                        ..Subscription::clone(&before)
                    },
                );
                scene.tx.effect("subscription_pause", &paused.id);
                scene.event("customer.subscription.paused", paused);
                return;
            }
            _ => {}
        }
    }
    let mut next = Subscription::clone(&before);
    if trialing {
        next.status = Active;
        next.anchor = now;
    }
    if next
        .pause
        .is_some_and(|pause| pause.resumes_at.is_some_and(|at| at <= now))
    {
        next.pause = None;
    }
    next.period = period::holding(next.anchor, recurring(scene, &next), now);
    renew(scene, &next);
    let next = put(scene, &before, next);
    scene.tx.effect("subscription_cycle", &next.id);
    let invoice = bill(scene, &next, "subscription_cycle", before.period, now, false);
    match next.pause.map(|pause| pause.behavior) {
        None => wait(scene, &invoice, now),
        Some("keep_as_draft") => {}
        Some(behavior) => {
            let invoice = collect::finalize(scene, &invoice, now);
            match behavior {
                _ if invoice.status != InvoiceStatus::Open => {}
                "void" => drop(collect::void(scene, &invoice, now)),
                _ => drop(collect::give_up(scene, &invoice, now)),
            }
        }
    }
}

/// Lets a draft be finalized and collected in an hour.
pub(crate) fn wait(scene: &mut Scene<'_, '_>, draft: &Arc<Invoice>, now: i64) {
    let draft = scene.tx.put(Invoice {
        auto_advance: true,
        finalizes_at: Some(now + HOUR),
        ..Invoice::clone(draft)
    });
    agenda::plan(
        scene,
        draft.clock.as_ref(),
        now + HOUR,
        Task::Finalize(Arc::clone(&draft.id)),
    );
}

/// Gives the items their subscription's period, and plans its end.
pub(crate) fn renew(scene: &mut Scene<'_, '_>, of: &Subscription) {
    for item in items(scene, of) {
        scene.tx.put(SubscriptionItem {
            period: of.period,
            ..SubscriptionItem::clone(&item)
        });
    }
    let clock = of.clock.as_ref();
    agenda::plan(scene, clock, of.period.end, Task::Cycle(Arc::clone(&of.id)));
    let notice = of.period.end - TRIAL_NOTICE;
    if of.status == SubscriptionStatus::Trialing && notice > of.period.start {
        agenda::plan(scene, clock, notice, Task::TrialWillEnd(Arc::clone(&of.id)));
    }
}

/// Gives a first invoice its time to be paid.
pub(crate) fn wait_for_payment(scene: &mut Scene<'_, '_>, of: &Subscription, now: i64) {
    agenda::plan(
        scene,
        of.clock.as_ref(),
        now + INCOMPLETE,
        Task::Expire(Arc::clone(&of.id)),
    );
}

/// Makes the draft for a period that begins, with all that waits for it. What counts once is used up by it.
pub(crate) fn bill(
    scene: &mut Scene<'_, '_>,
    of: &Arc<Subscription>,
    reason: &'static str,
    billed: Period,
    now: i64,
    only_pending: bool,
) -> Arc<Invoice> {
    let customer = scene
        .tx
        .get::<Customer>(&of.customer)
        .expect("a customer stays, deleted or not");
    let mut invoice = draft::blank(scene, &customer, of.currency, now);
    invoice.reason = reason;
    invoice.sent = of.sent;
    invoice.days_until_due = of.days_until_due;
    invoice.subscription = Some(Arc::clone(&of.id));
    invoice.subscription_metadata = of.metadata.clone();
    invoice.period = billed;
    let counts = |id: &&Arc<str>| {
        scene
            .tx
            .get::<Discount>(id)
            .is_some_and(|discount| discount.counts(now))
    };
    invoice.discounts = of.discounts.iter().filter(counts).cloned().collect();
    let own = |other: Option<&Arc<str>>| other.is_none_or(|other| *other == of.id);
    let waiting = draft::pending(scene, &of.customer, |item| {
        item.currency == of.currency && own(item.subscription.as_ref())
    });
    for item in waiting {
        draft::add_item(scene, &mut invoice, &item);
    }
    let free = of.status == SubscriptionStatus::Trialing;
    for item in items(scene, of).iter().filter(|_| !only_pending) {
        draft::add_period(scene, &mut invoice, of, item, free);
    }
    draft::add_up(scene, &mut invoice, now);
    let invoice = scene.tx.put(invoice);
    scene.event("invoice.created", Arc::clone(&invoice));
    let mut after = Subscription::clone(of);
    after.latest_invoice = Some(Arc::clone(&invoice.id));
    if !free && !invoice.sums.reductions.is_empty() {
        let once = |id: &Arc<str>| scene.tx.get::<Discount>(id).is_some_and(|discount| discount.once());
        after.discounts.retain(|id| !once(id));
    }
    scene.tx.put(after);
    invoice
}

/// Lists a subscription's items.
pub(crate) fn items(scene: &Scene<'_, '_>, of: &Subscription) -> Vec<Arc<SubscriptionItem>> {
    of.items.iter().filter_map(|id| scene.tx.get(id)).collect()
}

/// Says how often a subscription is billed.
pub(crate) fn recurring(scene: &Scene<'_, '_>, of: &Subscription) -> Recurring {
    let found = items(scene, of).into_iter().find_map(|item| item.price.recurring);
    found.expect("a subscription has an item, and its price is recurring")
}

/// Says whether there is something to collect with.
pub(crate) fn has_method(scene: &Scene<'_, '_>, of: &Subscription, customer: &Customer) -> bool {
    let methods = [&of.default_method, &customer.default_method, &customer.default_source];
    methods
        .into_iter()
        .flatten()
        .any(|id| scene.tx.get::<Method>(id).is_some())
}

/// Tells that a trial will end.
pub(crate) fn trial_will_end(scene: &mut Scene<'_, '_>, id: &str) {
    let trialing = |s: &Arc<Subscription>| s.status == SubscriptionStatus::Trialing;
    if let Some(found) = scene.tx.get::<Subscription>(id).filter(trialing) {
        scene.event("customer.subscription.trial_will_end", found);
    }
}

/// Gives up a subscription whose first invoice was not paid.
pub(crate) fn expire(scene: &mut Scene<'_, '_>, id: &str, now: i64) {
    let incomplete = |s: &Arc<Subscription>| s.status == SubscriptionStatus::Incomplete;
    let Some(before) = scene.tx.get::<Subscription>(id).filter(incomplete) else {
        return;
    };
    let open = before
        .latest_invoice
        .as_deref()
        .and_then(|id| scene.tx.get::<Invoice>(id));
    if let Some(open) = open.filter(|invoice| invoice.status == InvoiceStatus::Open) {
        collect::void(scene, &open, now);
    }
    forget(scene, &before);
    let expired = put(
        scene,
        &before,
        Subscription {
            status: SubscriptionStatus::IncompleteExpired,
            ended_at: Some(now),
            ..Subscription::clone(&before)
        },
    );
    scene.tx.effect("subscription_expire", &expired.id);
}

/// Cancels at the time that was asked for.
pub(crate) fn cancel_planned(scene: &mut Scene<'_, '_>, id: &str, now: i64) {
    let due = |s: &Arc<Subscription>| !s.status.over() && s.cancel_at.is_some_and(|at| at <= now);
    if let Some(found) = scene.tx.get::<Subscription>(id).filter(due) {
        let ended = end(scene, &found, now, "cancellation_requested");
        scene.tx.effect("subscription_cancel", &ended.id);
    }
}

/// Ends a subscription now. Its last invoice goes no way of its own any more.
pub(crate) fn end(
    scene: &mut Scene<'_, '_>,
    before: &Arc<Subscription>,
    now: i64,
    reason: &'static str,
) -> Arc<Subscription> {
    forget(scene, before);
    let latest = before
        .latest_invoice
        .as_deref()
        .and_then(|id| scene.tx.get::<Invoice>(id));
    if let Some(latest) = latest.filter(|latest| matches!(latest.status, InvoiceStatus::Draft | InvoiceStatus::Open)) {
        for task in [
            Task::Finalize(Arc::clone(&latest.id)),
            Task::Collect(Arc::clone(&latest.id)),
        ] {
            agenda::forget(scene, latest.clock.as_ref(), &task);
        }
        scene.tx.put(Invoice {
            auto_advance: false,
            finalizes_at: None,
            next_attempt: None,
            ..Invoice::clone(&latest)
        });
    }
    let mut after = Subscription::clone(before);
    after.status = SubscriptionStatus::Canceled;
    after.canceled_at = after.canceled_at.or(Some(now));
    after.ended_at = Some(now);
    after.cancellation.reason = Some(reason);
    let after = scene.tx.put(after);
    scene.event("customer.subscription.deleted", Arc::clone(&after));
    after
}

/// Forgets all that was planned for a subscription.
fn forget(scene: &mut Scene<'_, '_>, of: &Subscription) {
    let id = || Arc::clone(&of.id);
    for task in [
        Task::Cycle(id()),
        Task::TrialWillEnd(id()),
        Task::Expire(id()),
        Task::Cancel(id()),
    ] {
        agenda::forget(scene, of.clock.as_ref(), &task);
    }
}

/// Puts a new version, and tells of it.
pub(crate) fn put(scene: &mut Scene<'_, '_>, before: &Arc<Subscription>, after: Subscription) -> Arc<Subscription> {
    let after = scene.tx.put(after);
    scene.changed("customer.subscription.updated", Arc::clone(before), Arc::clone(&after));
    after
}

/// Takes note that an invoice was paid: what was incomplete or past due is active.
pub(crate) fn paid(scene: &mut Scene<'_, '_>, invoice: &Invoice) {
    use SubscriptionStatus::{Active, Incomplete, PastDue};
    let latest = |s: &Arc<Subscription>| s.latest_invoice.as_ref() == Some(&invoice.id);
    let found = invoice
        .subscription
        .as_deref()
        .and_then(|id| scene.tx.get::<Subscription>(id));
    let Some(before) = found.filter(|s| matches!(s.status, Incomplete | PastDue) && latest(s)) else {
        return;
    };
    agenda::forget(scene, before.clock.as_ref(), &Task::Expire(Arc::clone(&before.id)));
    put(
        scene,
        &before,
        Subscription {
            status: Active,
            ..Subscription::clone(&before)
        },
    );
}

/// Keeps the method that paid for a subscription which was told to.
pub(crate) fn keep_method(scene: &mut Scene<'_, '_>, invoice: &Invoice, intent: &Intent) {
    let found = invoice
        .subscription
        .as_deref()
        .and_then(|id| scene.tx.get::<Subscription>(id));
    let Some(before) = found.filter(|s| s.saves_method && s.default_method.is_none()) else {
        return;
    };
    let method = intent.method.as_deref().and_then(|id| scene.tx.get::<Method>(id));
    if let Some(method) = method.filter(|method| method.customer.as_ref() == Some(&before.customer)) {
        put(
            scene,
            &before,
            Subscription {
                default_method: Some(Arc::clone(&method.id)),
                ..Subscription::clone(&before)
            },
        );
    }
}

/// Takes note that an invoice could not be collected.
pub(crate) fn not_paid(scene: &mut Scene<'_, '_>, invoice: &Invoice) {
    let found = invoice
        .subscription
        .as_deref()
        .and_then(|id| scene.tx.get::<Subscription>(id));
    if let Some(before) = found.filter(|s| s.status == SubscriptionStatus::Active) {
        put(
            scene,
            &before,
            Subscription {
                status: SubscriptionStatus::PastDue,
                ..Subscription::clone(&before)
            },
        );
    }
}
