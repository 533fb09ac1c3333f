//! Subscriptions: made, found, cancelled, resumed.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, For};
use crate::mocks::stripe::billing::{agenda, collect, cycle, period};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Cancellation, Customer, Invoice, Kind, On, Period, Subscription, SubscriptionItem, SubscriptionStatus, Thing,
};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};
use crate::mocks::stripe::search::{SEARCH, search};

use super::confirm::Presence;
use super::subscription_terms::{self as terms, NewItem};
use super::subscription_update;
use super::subscription_waiting as waiting;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/subscriptions", "subscriptions.create", Kind::Subscription, &["subscription", "charge"],
        SUBSCRIPTION_CREATE, create),
    row(Get, "/v1/subscriptions", "subscriptions.list", Kind::Subscription, &[], SUBSCRIPTION_LIST, list).listing(),
    row(Get, "/v1/subscriptions/search", "subscriptions.search", Kind::Subscription, &[], SEARCH, search::<Subscription>).listing(),
    row(Get, "/v1/subscriptions/{id}", "subscriptions.retrieve", Kind::Subscription, &[], &[], retrieve),
    row(Post, "/v1/subscriptions/{id}", "subscriptions.update", Kind::Subscription, &["subscription_update", "charge"],
        SUBSCRIPTION_UPDATE, subscription_update::update),
    row(Delete, "/v1/subscriptions/{id}", "subscriptions.cancel", Kind::Subscription, &["subscription_cancel", "charge"],
        &["cancellation_details{}", "invoice_now?", "prorate?"], cancel),
    row(Post, "/v1/subscriptions/{id}/resume", "subscriptions.resume", Kind::Subscription, &["subscription_resume", "charge"],
        &["billing_cycle_anchor=now|unchanged", "proration_behavior=always_invoice|create_prorations|none", "proration_date#"], resume),
];

#[rustfmt::skip]
const SUBSCRIPTION_CREATE: &[&str] = &[
    "add_invoice_items[]", "application_fee_percent%=", "automatic_tax{}", "backdate_start_date#", "billing_cycle_anchor#",
    "billing_cycle_anchor_config{}", "billing_mode{}", "billing_schedules[]", "billing_thresholds{}=",
    "cancel_at#=max_billed_until|max_period_end|min_period_end", "cancel_at_period_end?",
    "collection_method=charge_automatically|send_invoice", "currency$", "customer$", "customer_account$", "days_until_due#",
    "default_payment_method$", "default_source$", "default_tax_rates[]=", "description$", "discounts[]=", "invoice_settings{}",
    "items[]", "metadata{}=", "off_session?", "on_behalf_of$",
    "payment_behavior=allow_incomplete|default_incomplete|error_if_incomplete|pending_if_incomplete", "payment_settings{}",
    "pending_invoice_item_interval{}=", "proration_behavior=always_invoice|create_prorations|none", "transfer_data{}",
    "trial_end#=now", "trial_from_plan?", "trial_period_days#", "trial_settings{}",
];

#[rustfmt::skip]
const SUBSCRIPTION_UPDATE: &[&str] = &[
    "add_invoice_items[]", "application_fee_percent%=", "automatic_tax{}", "billing_cycle_anchor=now|unchanged",
    "billing_schedules[]=", "billing_thresholds{}=", "cancel_at#=|max_billed_until|max_period_end|min_period_end",
    "cancel_at_period_end?", "cancellation_details{}", "collection_method=charge_automatically|send_invoice", "days_until_due#",
    "default_payment_method$", "default_source$", "default_tax_rates[]=", "description$", "discounts[]=", "invoice_settings{}",
    "items[]", "metadata{}=", "off_session?", "on_behalf_of$", "pause_collection{}=",
    "payment_behavior=allow_incomplete|default_incomplete|error_if_incomplete|pending_if_incomplete", "payment_settings{}",
    "pending_invoice_item_interval{}=", "proration_behavior=always_invoice|create_prorations|none", "proration_date#",
    "transfer_data{}=", "trial_end#=now", "trial_from_plan?", "trial_settings{}",
];

#[rustfmt::skip]
const SUBSCRIPTION_LIST: &[&str] = &[
    "automatic_tax{}", "collection_method=charge_automatically|send_invoice", "created{}#", "current_period_end{}#",
    "current_period_start{}#", "customer$", "customer_account$", "ending_before$", "limit#", "price$", "starting_after$",
    "status=active|all|canceled|ended|incomplete|incomplete_expired|past_due|paused|trialing|unpaid", "test_clock$",
];

/// What would need what is not modelled.
const NOT_MODELLED: [&str; 10] = [
    "application_fee_percent",
    "backdate_start_date",
    "billing_cycle_anchor",
    "billing_cycle_anchor_config",
    "billing_schedules",
    "billing_thresholds",
    "default_tax_rates",
    "on_behalf_of",
    "pending_invoice_item_interval",
    "transfer_data",
];

/// Is a subscription that is to be made.
pub(crate) struct Plan {
    pub(crate) subscription: Subscription,
    pub(crate) items: Vec<NewItem>,
    pub(crate) discounts: Vec<discounts::Chosen>,
    pub(crate) extra: Vec<terms::Extra>,
}

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    const BEHAVIORS: [&str; 4] = [
        "allow_incomplete",
        "default_incomplete",
        "error_if_incomplete",
        "pending_if_incomplete",
    ];
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    let customer = scene.customer(params.required("customer")?, "customer")?;
    let now = agenda::now(scene, customer.clock.as_ref());
    let behavior = params
        .one_of("payment_behavior", &BEHAVIORS)?
        .unwrap_or("allow_incomplete");
    if behavior == "pending_if_incomplete" {
        return Err(params.unmodelled("payment_behavior"));
    }
    let away = params.boolean("off_session")?.unwrap_or(false);
    let plan = plan(scene, &params, &customer, now)?;
    let collects = !plan.subscription.sent && plan.subscription.trial.is_none() && behavior != "default_incomplete";
    let costs = plan
        .items
        .iter()
        .map(|item| item.price.amount(item.quantity))
        .sum::<i64>()
        > 0;
    if collects && costs && !cycle::has_method(scene, &plan.subscription, &customer) {
        return Err(collect::no_method());
    }
    let presence = if away { Presence::AWAY } else { Presence::HERE };
    let (id, first) = begin(scene, plan, &customer, now);
    if let Some(open) = first.filter(|_| behavior != "default_incomplete") {
        let paid = match collect::method_of(scene, &open) {
            Some(method) => collect::pay(scene, &open, &method, presence, now),
            None => Err(collect::no_method()),
        };
        match paid {
            Err(failure) if behavior == "error_if_incomplete" => {
                scene.tx.discard();
                return Err(failure.plain());
            }
            _ => {}
        }
    }
    scene.tx.effect("subscription", &id);
    let made = scene.tx.get::<Subscription>(&id).expect("it was just put");
    Ok(Answer::One(Thing::Subscription(made)))
}

/// Reads a subscription that is to be made; nothing of it is put yet but prices made in passing.
pub(crate) fn plan(
    scene: &mut Scene<'_, '_>,
    params: &Params<'_>,
    customer: &Arc<Customer>,
    now: i64,
) -> Outcome<Plan> {
    let trial = terms::trial(params, now)?;
    let items = terms::new_items(scene, params, now)?;
    let currency = items[0].price.currency;
    terms::check_currency(params, currency)?;
    let mut subscription = blank(scene, customer, &items, trial, now);
    subscription.flexible = terms::flexible(params)?;
    terms::merge(scene, &mut subscription, params, now)?;
    let what = For {
        customer: Some(&customer.id),
        currency,
        amount: Some(items.iter().map(|item| item.price.amount(item.quantity)).sum()),
        now,
    };
    let discounts = match discounts::read(scene, params, what)? {
        Change::Set(chosen) => chosen,
        Change::Keep | Change::Clear => Vec::new(),
    };
    let extra = terms::extra(scene, params, currency)?;
    Ok(Plan {
        subscription,
        items,
        discounts,
        extra,
    })
}

/// Makes a subscription of these items, of which there is one at least, on no terms of its own; it is not put yet.
pub(crate) fn blank(
    scene: &mut Scene<'_, '_>,
    customer: &Customer,
    items: &[NewItem],
    trial: Option<Period>,
    now: i64,
) -> Subscription {
    let price = &items[0].price;
    let recurring = price.recurring.expect("the price of an item is recurring");
    Subscription {
        id: scene.new_id("sub_"),
        created: now,
        customer: Arc::clone(&customer.id),
        status: SubscriptionStatus::Incomplete,
        currency: price.currency,
        items: items.iter().map(|item| Arc::clone(&item.id)).collect(),
        anchor: trial.map_or(now, |trial| trial.end),
        period: trial.unwrap_or_else(|| period::holding(now, recurring, now)),
        flexible: true,
        cancel_at: None,
        cancel_at_period_end: false,
        canceled_at: None,
        ended_at: None,
        cancellation: Cancellation::default(),
        sent: false,
        days_until_due: None,
        default_method: None,
        saves_method: false,
        description: None,
        discounts: Vec::new(),
        latest_invoice: None,
        pause: None,
        trial,
        missing_method: "create_invoice",
        clock: customer.clock.clone(),
        metadata: Metadata::default(),
    }
}

/// Makes a subscription with its first invoice, and returns that if it is open.
pub(crate) fn begin(
    scene: &mut Scene<'_, '_>,
    plan: Plan,
    customer: &Arc<Customer>,
    now: i64,
) -> (Arc<str>, Option<Arc<Invoice>>) {
    let mut new = plan.subscription;
    let id = Arc::clone(&new.id);
    if customer.currency.is_none() {
        scene.tx.put(Customer {
            currency: Some(new.currency),
            ..Customer::clone(customer)
        });
    }
    new.discounts = discounts::redeem(
        scene,
        plan.discounts,
        &On::Subscription(Arc::clone(&id)),
        Some(&customer.id),
        now,
    );
    for item in plan.items {
        put_item(scene, &new, item, now);
    }
    for extra in plan.extra {
        waiting::put_extra(scene, extra, &new, now);
    }
    new.status = match new.trial {
        Some(_) => SubscriptionStatus::Trialing,
        None if new.sent => SubscriptionStatus::Active,
        None => SubscriptionStatus::Incomplete,
    };
    let new = scene.tx.put(new);
    cycle::renew(scene, &new);
    terms::plan_end(scene, &new);
    let draft = cycle::bill(
        scene,
        &new,
        "subscription_create",
        Period { start: now, end: now },
        now,
        false,
    );
    let new = scene.tx.get::<Subscription>(&id).expect("it was just put");
    scene.event("customer.subscription.created", Arc::clone(&new));
    if new.sent && draft.sums.due > 0 {
        cycle::wait(scene, &draft, now);
        return (id, None);
    }
    if new.status == SubscriptionStatus::Incomplete {
        cycle::wait_for_payment(scene, &new, now);
    }
    let invoice = collect::finalize(scene, &draft, now);
    (id, (invoice.sums.due > 0).then_some(invoice))
}

/// Puts an item of a subscription.
pub(crate) fn put_item(scene: &mut Scene<'_, '_>, of: &Subscription, item: NewItem, now: i64) -> Arc<SubscriptionItem> {
    let on = On::SubscriptionItem(Arc::clone(&of.id), Arc::clone(&item.id));
    let discounts = discounts::redeem(scene, item.discounts, &on, Some(&of.customer), now);
    scene.tx.put(SubscriptionItem {
        id: item.id,
        created: now,
        subscription: Arc::clone(&of.id),
        price: item.price,
        quantity: item.quantity,
        discounts,
        period: of.period,
        metadata: item.metadata,
    })
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Subscription(own(scene)?)))
}

pub(crate) fn cancel(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let (invoices, prorates) = (params.boolean("invoice_now")?, params.boolean("prorate")?);
    let before = own(scene)?;
    if before.status.over() {
        return Err(Failure::no_such(Kind::Subscription.word(), scene.id, "id"));
    }
    let now = agenda::now(scene, before.clock.as_ref());
    let mut changed = Subscription::clone(&before);
    terms::cancellation(&mut changed, &params)?;
    let changed = scene.tx.put(changed);
    if prorates == Some(true) && before.status != SubscriptionStatus::Incomplete {
        for item in cycle::items(scene, &changed) {
            waiting::credit(scene, &changed, &item, now);
        }
    }
    let ended = cycle::end(scene, &changed, now, "cancellation_requested");
    if invoices == Some(true) {
        subscription_update::bill_now(scene, &ended, now);
    }
    scene.tx.effect("subscription_cancel", &before.id);
    let ended = scene.tx.get::<Subscription>(&before.id).expect("it was just put");
    Ok(Answer::One(Thing::Subscription(ended)))
}

/// Resumes a subscription that was paused at the end of its trial: a period begins now.
pub(crate) fn resume(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    if params.one_of("billing_cycle_anchor", &["now", "unchanged"])? == Some("unchanged") {
        return Err(params.unmodelled("billing_cycle_anchor"));
    }
    let before = own(scene)?;
    if before.status != SubscriptionStatus::Paused {
        let message = format!(
            "This subscription cannot be resumed because it is {}; it has to be paused.",
            before.status.as_str()
        );
        return Err(Failure::invalid(message));
    }
    let now = agenda::now(scene, before.clock.as_ref());
    let after = subscription_update::restart(scene, &before, Subscription::clone(&before), now);
    scene.event("customer.subscription.resumed", Arc::clone(&after));
    scene.tx.effect("subscription_resume", &after.id);
    Ok(Answer::One(Thing::Subscription(after)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    const STATUSES: [&str; 10] = [
        "active",
        "all",
        "canceled",
        "ended",
        "incomplete",
        "incomplete_expired",
        "past_due",
        "paused",
        "trialing",
        "unpaid",
    ];
    let params = &scene.params;
    params.not_modelled(&["automatic_tax"])?;
    let created = Created::read(params)?;
    let ends = Created::read_as(params, "current_period_end")?;
    let starts = Created::read_as(params, "current_period_start")?;
    let customer = params.text("customer")?;
    let price = params.text("price")?;
    let status = params.one_of("status", &STATUSES)?;
    let clock = params.text("test_clock")?;
    let sent = params.one_of("collection_method", &["charge_automatically", "send_invoice"])?;
    let sent = sent.map(|method| method == "send_invoice");
    let tx = &*scene.tx;
    let has = |s: &Subscription, price: &str| {
        let mut items = s.items.iter().filter_map(|id| tx.get::<SubscriptionItem>(id));
        items.any(|item| *item.price.id == *price)
    };
    let keep = |s: &Subscription| {
        created.holds(s.created)
            && ends.holds(s.period.end)
            && starts.holds(s.period.start)
            && customer.is_none_or(|id| *s.customer == *id)
            && clock.is_none_or(|id| s.clock.as_deref() == Some(id))
            && sent.is_none_or(|sent| s.sent == sent)
            && price.is_none_or(|price| has(s, price))
            && match status {
                None => s.status != SubscriptionStatus::Canceled,
                Some("all") => true,
                Some("ended") => s.status.over(),
                Some(status) => s.status.as_str() == status,
            }
    };
    page(scene, Kind::Subscription, keep, Thing::Subscription)
}

pub(crate) fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Subscription>> {
    scene.own(Kind::Subscription, "id")
}
