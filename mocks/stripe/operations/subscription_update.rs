//! Changes of subscriptions: their terms, their items, and what comes of it for their invoices.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, For};
use crate::mocks::stripe::billing::{agenda, collect, cycle, draft, period};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{
    Invoice, InvoiceItem, InvoiceStatus, Kind, On, Pause, Period, Price, Subscription, SubscriptionItem,
    SubscriptionStatus, Thing,
};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::{Answer, Scene, missing};

use super::prices::{self, Allowed};
use super::subscription_terms::{self as terms, MOST_ITEMS, NewItem};
use super::subscription_waiting as waiting;
use super::subscriptions::{own, put_item};

/// What would need what is not modelled.
const NOT_MODELLED: [&str; 9] = [
    "application_fee_percent",
    "billing_schedules",
    "billing_thresholds",
    "default_tax_rates",
    "on_behalf_of",
    "pending_invoice_item_interval",
    "proration_date",
    "transfer_data",
    "trial_from_plan",
];

/// Is a change of one item.
pub(crate) enum Step {
    Add(NewItem),
    Change(Arc<SubscriptionItem>, SubscriptionItem),
    Remove(Arc<SubscriptionItem>),
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    params.one_of(
        "payment_behavior",
        &[
            "allow_incomplete",
            "default_incomplete",
            "error_if_incomplete",
            "pending_if_incomplete",
        ],
    )?;
    let anchor_now = params.one_of("billing_cycle_anchor", &["now", "unchanged"])? == Some("now");
    let proration = proration(&params)?;
    let before = own(scene)?;
    check_living(&before)?;
    let now = agenda::now(scene, before.clock.as_ref());
    let mut after = Subscription::clone(&before);
    terms::merge(scene, &mut after, &params, now)?;
    terms::cancellation(&mut after, &params)?;
    pause(&mut after, &params)?;
    let trial = new_trial(&before, &params, now)?;
    let what = For {
        customer: Some(&before.customer),
        currency: before.currency,
        amount: None,
        now,
    };
    let chosen = discounts::read(scene, &params, what)?;
    let steps = steps(scene, &before, &params, now)?;
    let extra = terms::extra(scene, &params, before.currency)?;
    match chosen {
        Change::Keep => {}
        Change::Clear => after.discounts.clear(),
        Change::Set(chosen) => {
            let on = On::Subscription(Arc::clone(&before.id));
            after.discounts = discounts::redeem(scene, chosen, &on, Some(&before.customer), now);
        }
    }
    let had_extra = !extra.is_empty();
    for extra in extra {
        waiting::put_extra(scene, extra, &before, now);
    }
    let restarts = take(scene, &before, &mut after, steps, proration, now);
    let ends_trial = matches!(trial, Some(None));
    if let Some(Some(trial)) = trial {
        (after.trial, after.anchor, after.period) = (Some(trial), trial.end, trial);
        after.status = SubscriptionStatus::Trialing;
        cycle::renew(scene, &after);
    }
    let updated = if restarts || ends_trial || anchor_now {
        restart(scene, &before, after, now)
    } else {
        let updated = cycle::put(scene, &before, after);
        terms::plan_end(scene, &updated);
        if had_extra || proration == "always_invoice" {
            bill_now(scene, &updated, now);
        }
        updated
    };
    scene.tx.effect("subscription_update", &updated.id);
    let updated = scene.tx.get::<Subscription>(&updated.id).expect("it was just put");
    Ok(Answer::One(Thing::Subscription(updated)))
}

/// Reads how a change within a period is billed.
pub(crate) fn proration(params: &Params<'_>) -> Outcome<&'static str> {
    let given = params.one_of("proration_behavior", &["always_invoice", "create_prorations", "none"])?;
    Ok(given.unwrap_or("create_prorations"))
}

pub(crate) fn check_living(of: &Subscription) -> Outcome<()> {
    if of.status.over() {
        let message = "A canceled subscription can only update its cancellation_details and metadata.";
        return Err(Failure::invalid(message));
    }
    Ok(())
}

fn pause(of: &mut Subscription, params: &Params<'_>) -> Outcome<()> {
    match params.nested_change("pause_collection")? {
        Change::Keep => {}
        Change::Clear => of.pause = None,
        Change::Set(given) => {
            given.only(&["behavior", "resumes_at"])?;
            let behavior = given.one_of("behavior", &["keep_as_draft", "mark_uncollectible", "void"])?;
            of.pause = Some(Pause {
                behavior: behavior.ok_or_else(|| Failure::missing(&given.name("behavior")))?,
                resumes_at: given.integer("resumes_at")?,
            });
        }
    }
    Ok(())
}

/// Reads what becomes of the trial: none is what it was, an empty one its end.
fn new_trial(of: &Subscription, params: &Params<'_>, now: i64) -> Outcome<Option<Option<Period>>> {
    match params.text("trial_end")? {
        None => Ok(None),
        Some("now") => Ok((of.status == SubscriptionStatus::Trialing).then_some(None)),
        Some(_) => {
            let mut trial = terms::trial(params, now)?;
            if let (Some(new), Some(old)) = (
                &mut trial,
                of.trial.filter(|_| of.status == SubscriptionStatus::Trialing),
            ) {
                new.start = old.start;
            }
            Ok(Some(trial))
        }
    }
}

/// Reads the changes of items.
fn steps(scene: &mut Scene<'_, '_>, of: &Subscription, params: &Params<'_>, now: i64) -> Outcome<Vec<Step>> {
    let mut steps = Vec::new();
    for given in params.hashes("items")? {
        given.only(&[
            "billing_thresholds",
            "clear_usage",
            "deleted",
            "discounts",
            "id",
            "metadata",
            "price",
            "price_data",
            "quantity",
            "tax_rates",
        ])?;
        steps.push(match given.text("id")? {
            None => Step::Add(terms::new_item(scene, &given, now)?),
            Some(id) => {
                let found = scene
                    .tx
                    .get::<SubscriptionItem>(id)
                    .filter(|item| item.subscription == of.id);
                let found = found.ok_or_else(|| missing(Kind::SubscriptionItem, id, &given.name("id")))?;
                if given.boolean("deleted")? == Some(true) {
                    Step::Remove(found)
                } else {
                    change(scene, found, &given)?
                }
            }
        });
    }
    check(scene, of, &steps)?;
    Ok(steps)
}

/// Reads the change of one item.
pub(crate) fn change(scene: &mut Scene<'_, '_>, before: Arc<SubscriptionItem>, given: &Params<'_>) -> Outcome<Step> {
    given.not_modelled(&["billing_thresholds", "discounts", "tax_rates"])?;
    let mut after = SubscriptionItem::clone(&before);
    after.quantity = given.natural("quantity")?.unwrap_or(after.quantity);
    after.metadata.merge(given)?;
    if given.has("price") || given.has("price_data") {
        after.price = prices::chosen(scene, given, Allowed::Recurring)?;
    }
    Ok(Step::Change(before, after))
}

/// Checks that what the changes leave is a subscription still.
pub(crate) fn check(scene: &Scene<'_, '_>, of: &Subscription, steps: &[Step]) -> Outcome<()> {
    let mut prices: Vec<Arc<Price>> = Vec::new();
    let touched = |item: &SubscriptionItem| {
        steps.iter().any(|step| match step {
            Step::Change(before, _) | Step::Remove(before) => before.id == item.id,
            Step::Add(_) => false,
        })
    };
    let rest = cycle::items(scene, of)
        .into_iter()
        .filter(|item| !touched(item))
        .map(|item| Arc::clone(&item.price));
    let new = steps.iter().filter_map(|step| match step {
        Step::Add(item) => Some(Arc::clone(&item.price)),
        Step::Change(_, after) => Some(Arc::clone(&after.price)),
        Step::Remove(_) => None,
    });
    for price in rest.chain(new) {
        terms::check_alike(
            &prices.iter().map(|price| &**price).collect::<Vec<_>>(),
            &price,
            "items",
        )?;
        prices.push(price);
    }
    match prices.first() {
        None => {
            let message =
                "A subscription must have at least one active item. Cancel it if nothing is to be left of it.";
            Err(Failure::invalid(message).param("items"))
        }
        Some(_) if prices.len() > MOST_ITEMS => {
            Err(Failure::invalid(format!("A subscription can have up to {MOST_ITEMS} items.")).param("items"))
        }
        Some(price) if price.currency != of.currency => {
            let message = format!(
                "The price is in {}, but the subscription in {}.",
                price.currency.code(),
                of.currency.code()
            );
            Err(Failure::invalid(message).param("items"))
        }
        Some(_) => Ok(()),
    }
}

/// Takes the changes of items, with what they are worth for the rest of the period; says whether a new period has to begin, because
/// another interval holds from now on.
pub(crate) fn take(
    scene: &mut Scene<'_, '_>,
    before: &Arc<Subscription>,
    after: &mut Subscription,
    steps: Vec<Step>,
    proration: &str,
    now: i64,
) -> bool {
    if steps.is_empty() {
        return false;
    }
    let interval = cycle::recurring(scene, before);
    let other = |price: &Price| price.recurring != Some(interval);
    let restarts = steps.iter().any(|step| match step {
        Step::Add(item) => other(&item.price),
        Step::Change(_, item) => other(&item.price),
        Step::Remove(_) => false,
    });
    let prorates =
        proration != "none" && matches!(before.status, SubscriptionStatus::Active | SubscriptionStatus::PastDue);
    for step in steps {
        match step {
            Step::Add(item) => {
                after.items.push(Arc::clone(&item.id));
                let item = put_item(scene, before, item, now);
                if prorates && !restarts {
                    waiting::charge(scene, before, &item, now);
                }
            }
            Step::Remove(item) => {
                after.items.retain(|id| *id != item.id);
                scene.tx.remove::<SubscriptionItem>(&item.id);
                if prorates {
                    waiting::credit(scene, before, &item, now);
                }
            }
            Step::Change(old, new) => {
                let costs = (old.price.id != new.price.id) || old.quantity != new.quantity;
                let new = scene.tx.put(new);
                if prorates && costs {
                    waiting::credit(scene, before, &old, now);
                    if !restarts {
                        waiting::charge(scene, before, &new, now);
                    }
                }
            }
        }
    }
    restarts
}

/// Begins a new period now, and bills it at once.
pub(crate) fn restart(
    scene: &mut Scene<'_, '_>,
    before: &Arc<Subscription>,
    mut after: Subscription,
    now: i64,
) -> Arc<Subscription> {
    let billed = after.period;
    if let Some(trial) = after
        .trial
        .as_mut()
        .filter(|_| before.status == SubscriptionStatus::Trialing)
    {
        trial.end = now;
    }
    if matches!(before.status, SubscriptionStatus::Trialing | SubscriptionStatus::Paused) {
        after.status = SubscriptionStatus::Active;
    }
    after.anchor = now;
    let kept = scene.tx.put(after.clone());
    after.period = period::holding(now, cycle::recurring(scene, &kept), now);
    cycle::renew(scene, &after);
    let after = cycle::put(scene, before, after);
    terms::plan_end(scene, &after);
    let draft = cycle::bill(scene, &after, "subscription_update", billed, now, false);
    collect_now(scene, &draft, now);
    scene.tx.get(&after.id).expect("it was just put")
}

/// Bills what waits for a subscription, if anything does.
pub(crate) fn bill_now(scene: &mut Scene<'_, '_>, of: &Arc<Subscription>, now: i64) {
    let own = |item: &InvoiceItem| item.subscription.as_ref() == Some(&of.id);
    if !draft::pending(scene, &of.customer, own).is_empty() {
        let draft = cycle::bill(scene, of, "subscription_update", of.period, now, true);
        collect_now(scene, &draft, now);
    }
}

/// Finalizes a draft and collects it, without waiting.
fn collect_now(scene: &mut Scene<'_, '_>, draft: &Arc<Invoice>, now: i64) {
    let draft = scene.tx.put(Invoice {
        auto_advance: true,
        ..Invoice::clone(draft)
    });
    let invoice = collect::finalize(scene, &draft, now);
    if invoice.status == InvoiceStatus::Open && !invoice.sent {
        agenda::attempt(scene, &invoice, now);
    }
}
