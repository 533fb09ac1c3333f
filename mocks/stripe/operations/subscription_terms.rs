//! What is read of a subscription, whoever makes or changes it.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, Chosen, For};
use crate::mocks::stripe::billing::{agenda, collect};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Period, Price, Subscription, Task};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::Scene;

use super::prices::{self, Allowed};

/// How many items a subscription may have.
pub(crate) const MOST_ITEMS: usize = 20;
/// The longest trial, in days.
const LONGEST_TRIAL: i64 = 730;
const DAY: i64 = 86_400;

/// Is an item that is to be made.
#[derive(Debug)]
pub(crate) struct NewItem {
    pub(crate) id: Arc<str>,
    pub(crate) price: Arc<Price>,
    pub(crate) quantity: i64,
    pub(crate) discounts: Vec<Chosen>,
    pub(crate) metadata: Metadata,
}

/// Is what is billed once beside the items.
#[derive(Debug)]
pub(crate) struct Extra {
    pub(crate) price: Arc<Price>,
    pub(crate) quantity: i64,
    pub(crate) discountable: bool,
    pub(crate) metadata: Metadata,
}

/// Reads the items of a subscription that is to be made.
pub(crate) fn new_items(scene: &mut Scene<'_, '_>, params: &Params<'_>, now: i64) -> Outcome<Vec<NewItem>> {
    let given = params.hashes("items")?;
    if given.is_empty() {
        return Err(Failure::missing("items"));
    }
    if given.len() > MOST_ITEMS {
        return Err(Failure::invalid(format!("Array must contain at most {MOST_ITEMS} items.")).param("items"));
    }
    let mut items: Vec<NewItem> = Vec::with_capacity(given.len());
    for given in given {
        given.only(&[
            "billing_thresholds",
            "discounts",
            "metadata",
            "price",
            "price_data",
            "quantity",
            "tax_rates",
        ])?;
        let item = new_item(scene, &given, now)?;
        check_alike(
            &items.iter().map(|item| &*item.price).collect::<Vec<_>>(),
            &item.price,
            &given.name("price"),
        )?;
        items.push(item);
    }
    Ok(items)
}

/// Reads one item.
pub(crate) fn new_item(scene: &mut Scene<'_, '_>, given: &Params<'_>, now: i64) -> Outcome<NewItem> {
    given.not_modelled(&["billing_thresholds", "tax_rates"])?;
    let quantity = given.natural("quantity")?.unwrap_or(1);
    let metadata = Metadata::read(given)?;
    let price = prices::chosen(scene, given, Allowed::Recurring)?;
    let what = For {
        customer: None,
        currency: price.currency,
        amount: Some(price.amount(quantity)),
        now,
    };
    let discounts = match discounts::read(scene, given, what)? {
        Change::Set(chosen) => chosen,
        Change::Keep | Change::Clear => Vec::new(),
    };
    Ok(NewItem {
        id: scene.new_id("si_"),
        price,
        quantity,
        discounts,
        metadata,
    })
}

/// Checks that a price goes with the others of a subscription.
pub(crate) fn check_alike(others: &[&Price], price: &Price, param: &str) -> Outcome<()> {
    let refuse = |message: String| Err(Failure::invalid(message).param(param));
    if others.iter().any(|other| other.id == price.id) {
        return refuse(format!(
            "Cannot add multiple subscription items with the same price: {}",
            price.id
        ));
    }
    let Some(first) = others.first() else {
        return Ok(());
    };
    if first.currency != price.currency {
        return refuse("All prices on a subscription must have the same `currency`.".to_owned());
    }
    if first.recurring != price.recurring {
        let message = "All prices on a subscription must have the same `recurring.interval` and `recurring.interval_count`: mixed \
                       intervals are not modelled here.";
        return refuse(message.to_owned());
    }
    Ok(())
}

pub(crate) fn check_currency(params: &Params<'_>, currency: Currency) -> Outcome<()> {
    match params.text("currency")? {
        Some(code) if Currency::parse(code, "currency")? != currency => {
            let message = format!(
                "The prices of this subscription are in {}, not in {code}.",
                currency.code()
            );
            Err(Failure::invalid(message).param("currency"))
        }
        _ => Ok(()),
    }
}

/// Reads `trial_end` or `trial_period_days`.
pub(crate) fn trial(params: &Params<'_>, now: i64) -> Outcome<Option<Period>> {
    if params.boolean("trial_from_plan")? == Some(true) {
        return Err(params.unmodelled("trial_from_plan"));
    }
    let days = params.amount("trial_period_days")?;
    let end = match (params.text("trial_end")?, days) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: trial_end, trial_period_days.";
            return Err(Failure::invalid(message).param("trial_end"));
        }
        (Some("now"), None) | (None, None) => return Ok(None),
        (Some(_), None) => params.integer("trial_end")?.unwrap_or(now),
        (None, Some(days)) => now.saturating_add(days.saturating_mul(DAY)),
    };
    let param = if days.is_some() {
        "trial_period_days"
    } else {
        "trial_end"
    };
    if end <= now {
        return Err(
            Failure::invalid("Invalid timestamp: must be an integer Unix timestamp in the future.").param(param),
        );
    }
    if end > now + LONGEST_TRIAL * DAY {
        let message = format!("Invalid trial: the maximum number of trial period days is {LONGEST_TRIAL} (2 years).");
        return Err(Failure::invalid(message).param(param));
    }
    Ok(Some(Period { start: now, end }))
}

/// Reads `billing_mode`.
pub(crate) fn flexible(params: &Params<'_>) -> Outcome<bool> {
    let Some(given) = params.nested("billing_mode")? else {
        return Ok(true);
    };
    given.only(&["flexible", "type"])?;
    let kind = given.one_of("type", &["classic", "flexible"])?;
    Ok(kind.ok_or_else(|| Failure::missing("billing_mode[type]"))? == "flexible")
}

/// Reads what create and update have in common.
pub(crate) fn merge(scene: &Scene<'_, '_>, of: &mut Subscription, params: &Params<'_>, now: i64) -> Outcome<()> {
    if let Some(tax) = params.nested("automatic_tax")? {
        tax.only(&["enabled", "liability"])?;
        if tax.boolean("enabled")? == Some(true) {
            return Err(tax.unmodelled("enabled"));
        }
    }
    if let Some(method) = params.one_of("collection_method", &["charge_automatically", "send_invoice"])? {
        of.sent = method == "send_invoice";
    }
    of.days_until_due = params
        .natural("days_until_due")?
        .or(of.days_until_due)
        .filter(|_| of.sent);
    if params.has("days_until_due") && !of.sent {
        let message = "`days_until_due` can only be set if `collection_method` is `send_invoice`.";
        return Err(Failure::invalid(message).param("days_until_due"));
    }
    if of.sent && of.days_until_due.is_none() {
        return Err(Failure::missing("days_until_due"));
    }
    for name in ["default_payment_method", "default_source"] {
        match params.change(name)? {
            Change::Keep => {}
            Change::Clear => of.default_method = None,
            Change::Set(id) => {
                of.default_method = Some(Arc::clone(&collect::owned(scene, id, &of.customer, name)?.id));
            }
        }
    }
    if let Some(settings) = params.nested("payment_settings")? {
        settings.only(&[
            "payment_method_options",
            "payment_method_types",
            "save_default_payment_method",
        ])?;
        if let Some(saves) = settings.one_of("save_default_payment_method", &["off", "on_subscription"])? {
            of.saves_method = saves == "on_subscription";
        }
    }
    if let Some(settings) = params.nested("trial_settings")? {
        settings.only(&["end_behavior"])?;
        let behavior = settings
            .nested("end_behavior")?
            .ok_or_else(|| Failure::missing("trial_settings[end_behavior]"))?;
        behavior.only(&["missing_payment_method"])?;
        let word = behavior.one_of("missing_payment_method", &["cancel", "create_invoice", "pause"])?;
        of.missing_method = word.ok_or_else(|| Failure::missing(&behavior.name("missing_payment_method")))?;
    }
    params.change("description")?.apply(&mut of.description);
    of.metadata.merge(params)?;
    ends(of, params, now)
}

/// Reads when it is to end.
fn ends(of: &mut Subscription, params: &Params<'_>, now: i64) -> Outcome<()> {
    if let Some(at_end) = params.boolean("cancel_at_period_end")? {
        if at_end && params.has("cancel_at") {
            let message = "You may only specify one of these parameters: cancel_at, cancel_at_period_end.";
            return Err(Failure::invalid(message).param("cancel_at"));
        }
        of.cancel_at_period_end = at_end;
        of.cancel_at = at_end.then_some(of.period.end);
        of.canceled_at = at_end.then_some(now);
        of.cancellation.reason = at_end.then_some("cancellation_requested");
    }
    match params.change("cancel_at")? {
        Change::Keep => {}
        Change::Clear => (of.cancel_at, of.canceled_at, of.cancel_at_period_end) = (None, None, false),
        Change::Set("min_period_end" | "max_period_end") => {
            (of.cancel_at, of.canceled_at) = (Some(of.period.end), Some(now));
        }
        Change::Set("max_billed_until") => return Err(params.unmodelled("cancel_at")),
        Change::Set(_) => {
            let at = params.integer("cancel_at")?.unwrap_or(now);
            if at <= now {
                let message = "Invalid timestamp: must be an integer Unix timestamp in the future.";
                return Err(Failure::invalid(message).param("cancel_at"));
            }
            (of.cancel_at, of.canceled_at, of.cancel_at_period_end) = (Some(at), Some(now), false);
        }
    }
    Ok(())
}

/// Plans the end that was asked for, or forgets it.
pub(crate) fn plan_end(scene: &mut Scene<'_, '_>, of: &Subscription) {
    let task = Task::Cancel(Arc::clone(&of.id));
    match of.cancel_at.filter(|_| !of.cancel_at_period_end) {
        Some(at) => agenda::plan(scene, of.clock.as_ref(), at, task),
        None => agenda::forget(scene, of.clock.as_ref(), &task),
    }
}

/// Reads `cancellation_details`.
pub(crate) fn cancellation(of: &mut Subscription, params: &Params<'_>) -> Outcome<()> {
    const FEEDBACK: [&str; 8] = [
        "customer_service",
        "low_quality",
        "missing_features",
        "other",
        "switched_service",
        "too_complex",
        "too_expensive",
        "unused",
    ];
    let Some(given) = params.nested("cancellation_details")? else {
        return Ok(());
    };
    given.only(&["comment", "feedback", "feedback_option"])?;
    given.change("comment")?.apply(&mut of.cancellation.comment);
    match given.change("feedback")? {
        Change::Keep => {}
        Change::Clear => of.cancellation.feedback = None,
        Change::Set(_) => of.cancellation.feedback = given.one_of("feedback", &FEEDBACK)?,
    }
    Ok(())
}

/// Reads `add_invoice_items`.
pub(crate) fn extra(scene: &mut Scene<'_, '_>, params: &Params<'_>, currency: Currency) -> Outcome<Vec<Extra>> {
    let mut extra = Vec::new();
    for given in params.hashes("add_invoice_items")? {
        given.only(&[
            "discountable",
            "discounts",
            "metadata",
            "period",
            "price",
            "price_data",
            "quantity",
            "tax_rates",
        ])?;
        given.not_modelled(&["discounts", "period", "tax_rates"])?;
        let price = prices::chosen(scene, &given, Allowed::OneTime)?;
        if price.currency != currency {
            let message = format!(
                "The price is in {}, but the subscription in {}.",
                price.currency.code(),
                currency.code()
            );
            return Err(Failure::invalid(message).param(&given.name("price")));
        }
        extra.push(Extra {
            quantity: given.natural("quantity")?.unwrap_or(1),
            discountable: given.boolean("discountable")?.unwrap_or(true),
            metadata: Metadata::read(&given)?,
            price,
        });
    }
    Ok(extra)
}
