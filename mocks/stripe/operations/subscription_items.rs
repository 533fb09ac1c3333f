//! The items of subscriptions, each on its own.

use std::sync::Arc;

use crate::mocks::stripe::billing::{agenda, cycle};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::members;
use crate::mocks::stripe::objects::{Deleted, Kind, Subscription, SubscriptionItem, Thing};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};

use super::subscription_terms as terms;
use super::subscription_update::{self as changes, Step};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/subscription_items", "subscription_items.create", Kind::SubscriptionItem, &["subscription_item", "charge"],
        ITEM_CREATE, create),
    row(Get, "/v1/subscription_items", "subscription_items.list", Kind::SubscriptionItem, &[], ITEM_LIST, list).listing(),
    row(Get, "/v1/subscription_items/{id}", "subscription_items.retrieve", Kind::SubscriptionItem, &[], &[], retrieve),
    row(Post, "/v1/subscription_items/{id}", "subscription_items.update", Kind::SubscriptionItem,
        &["subscription_item_update", "charge"], ITEM_UPDATE, update),
    row(Delete, "/v1/subscription_items/{id}", "subscription_items.delete", Kind::SubscriptionItem,
        &["subscription_item_delete"], ITEM_DELETE, delete),
];

#[rustfmt::skip]
const ITEM_CREATE: &[&str] = &[
    "billing_thresholds{}=", "discounts[]=", "metadata{}",
    "payment_behavior=allow_incomplete|default_incomplete|error_if_incomplete|pending_if_incomplete", "price$", "price_data{}",
    "proration_behavior=always_invoice|create_prorations|none", "proration_date#", "quantity#", "subscription$", "tax_rates[]=",
];

#[rustfmt::skip]
const ITEM_UPDATE: &[&str] = &[
    "billing_thresholds{}=", "discounts[]=", "metadata{}=", "off_session?",
    "payment_behavior=allow_incomplete|default_incomplete|error_if_incomplete|pending_if_incomplete", "price$", "price_data{}",
    "proration_behavior=always_invoice|create_prorations|none", "proration_date#", "quantity#", "tax_rates[]=",
];

#[rustfmt::skip]
const ITEM_DELETE: &[&str] = &[
    "clear_usage?", "payment_behavior=allow_incomplete|default_incomplete|error_if_incomplete|pending_if_incomplete",
    "proration_behavior=always_invoice|create_prorations|none", "proration_date#",
];

#[rustfmt::skip]
const ITEM_LIST: &[&str] = &[
    "ending_before$", "limit#", "starting_after$", "subscription$",
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let id = params.required("subscription")?;
    let of = scene.tx.get::<Subscription>(id);
    let of = of.ok_or_else(|| missing(Kind::Subscription, id, "subscription"))?;
    let now = agenda::now(scene, of.clock.as_ref());
    let item = terms::new_item(scene, &params, now)?;
    let id = Arc::clone(&item.id);
    carry_out(scene, &of, Step::Add(item), now)?;
    scene.tx.effect("subscription_item", &id);
    answer(scene, &id)
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::SubscriptionItem(own(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let (item, of) = with_subscription(scene)?;
    let now = agenda::now(scene, of.clock.as_ref());
    let id = Arc::clone(&item.id);
    let step = changes::change(scene, item, &params)?;
    carry_out(scene, &of, step, now)?;
    scene.tx.effect("subscription_item_update", &id);
    answer(scene, &id)
}

pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let (item, of) = with_subscription(scene)?;
    let now = agenda::now(scene, of.clock.as_ref());
    let id = Arc::clone(&item.id);
    carry_out(scene, &of, Step::Remove(item), now)?;
    scene.tx.effect("subscription_item_delete", &id);
    Ok(Answer::One(Deleted::of(id, "subscription_item")))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let id = scene.params.required("subscription")?;
    let of = scene.tx.get::<Subscription>(id);
    let of = of.ok_or_else(|| missing(Kind::Subscription, id, "subscription"))?;
    members(scene, Kind::SubscriptionItem, &of.items)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<SubscriptionItem>> {
    scene.own(Kind::SubscriptionItem, "item")
}

fn with_subscription(scene: &Scene<'_, '_>) -> Outcome<(Arc<SubscriptionItem>, Arc<Subscription>)> {
    let item = own(scene)?;
    let of = scene.tx.get::<Subscription>(&item.subscription);
    Ok((item, of.expect("an item goes with its subscription")))
}

/// Carries a change of one item out as the subscription's own update does.
fn carry_out(scene: &mut Scene<'_, '_>, of: &Arc<Subscription>, step: Step, now: i64) -> Outcome<()> {
    let params = scene.params.clone();
    params.not_modelled(&["proration_date"])?;
    let behaviors = [
        "allow_incomplete",
        "default_incomplete",
        "error_if_incomplete",
        "pending_if_incomplete",
    ];
    params.one_of("payment_behavior", &behaviors)?;
    let proration = changes::proration(&params)?;
    changes::check_living(of)?;
    let steps = vec![step];
    changes::check(scene, of, &steps)?;
    let mut after = Subscription::clone(of);
    if changes::take(scene, of, &mut after, steps, proration, now) {
        changes::restart(scene, of, after, now);
        return Ok(());
    }
    let after = cycle::put(scene, of, after);
    if proration == "always_invoice" {
        changes::bill_now(scene, &after, now);
    }
    Ok(())
}

fn answer(scene: &Scene<'_, '_>, id: &str) -> Outcome<Answer> {
    let item = scene.tx.get::<SubscriptionItem>(id);
    let item = item.ok_or_else(|| Failure::no_such(Kind::SubscriptionItem.word(), id, "item"))?;
    Ok(Answer::One(Thing::SubscriptionItem(item)))
}
