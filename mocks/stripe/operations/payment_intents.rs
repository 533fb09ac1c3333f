//! Payment intents.

use std::sync::Arc;

use crate::mocks::stripe::billing::collect;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{CaptureMethod, Charge, Intent, Kind, Status, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::payment;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, unexpected_state};
use crate::mocks::stripe::search::{SEARCH, search};

use super::confirm::{Presence, confirm as take};
use super::intent_terms::{automatic, choose_method, merge};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/payment_intents", "payment_intents.create", Kind::Intent, &["payment_intent", "charge"],
        INTENT_CREATE, create),
    row(Get, "/v1/payment_intents", "payment_intents.list", Kind::Intent, &[],
        &["created{}#", "customer$", "customer_account$", "ending_before$", "limit#", "starting_after$"], list).listing(),
    row(Get, "/v1/payment_intents/search", "payment_intents.search", Kind::Intent, &[], SEARCH, search::<Intent>).listing(),
    row(Get, "/v1/payment_intents/{id}", "payment_intents.retrieve", Kind::Intent, &[], &["client_secret$"], retrieve),
    row(Post, "/v1/payment_intents/{id}", "payment_intents.update", Kind::Intent, &["payment_intent_update"],
        INTENT_UPDATE, update),
    row(Post, "/v1/payment_intents/{id}/confirm", "payment_intents.confirm", Kind::Intent, &["payment_intent_confirm", "charge"],
        INTENT_CONFIRM, confirm),
    row(Post, "/v1/payment_intents/{id}/capture", "payment_intents.capture", Kind::Intent, &["payment_intent_capture", "charge_capture"],
        INTENT_CAPTURE, capture),
    row(Post, "/v1/payment_intents/{id}/cancel", "payment_intents.cancel", Kind::Intent, &["payment_intent_cancel"],
        &["cancellation_reason=abandoned|duplicate|fraudulent|requested_by_customer"], cancel),
];

#[rustfmt::skip]
const INTENT_CREATE: &[&str] = &[
    "allowed_payment_method_types[]", "amount#", "amount_details{}", "application_fee_amount#", "automatic_payment_methods{}",
    "capture_method=automatic|automatic_async|manual", "confirm?", "confirmation_method=automatic|manual", "currency$", "customer$",
    "description$", "error_on_requires_action?", "excluded_payment_method_types[]", "hooks{}", "mandate$", "mandate_data{}=",
    "metadata{}", "off_session?=one_off|recurring", "on_behalf_of$", "payment_details{}", "payment_method$",
    "payment_method_configuration$", "payment_method_data{}", "payment_method_options{}", "payment_method_types[]",
    "radar_options{}", "receipt_email$", "return_url$", "setup_future_usage=off_session|on_session", "shipping{}",
    "statement_descriptor$", "statement_descriptor_suffix$", "transfer_data{}", "transfer_group$", "use_stripe_sdk?",
];

#[rustfmt::skip]
const INTENT_UPDATE: &[&str] = &[
    "allowed_payment_method_types[]", "amount#", "amount_details{}=", "application_fee_amount#=",
    "capture_method=automatic|automatic_async|manual", "currency$", "customer$", "description$", "excluded_payment_method_types[]=",
    "hooks{}", "metadata{}=", "payment_details{}=", "payment_method$", "payment_method_configuration$", "payment_method_data{}",
    "payment_method_options{}", "payment_method_types[]", "receipt_email$", "setup_future_usage=|off_session|on_session",
    "shipping{}=", "statement_descriptor$", "statement_descriptor_suffix$", "transfer_data{}", "transfer_group$",
];

#[rustfmt::skip]
const INTENT_CONFIRM: &[&str] = &[
    "allowed_payment_method_types[]", "amount_details{}=", "capture_method=automatic|automatic_async|manual", "client_secret$",
    "error_on_requires_action?", "excluded_payment_method_types[]=", "hooks{}", "mandate$", "mandate_data{}=",
    "off_session?=one_off|recurring", "payment_details{}=", "payment_method$", "payment_method_data{}", "payment_method_options{}",
    "payment_method_types[]", "radar_options{}", "receipt_email$", "return_url$", "setup_future_usage=|off_session|on_session",
    "shipping{}=", "use_stripe_sdk?",
];

#[rustfmt::skip]
const INTENT_CAPTURE: &[&str] = &[
    "amount_details{}", "amount_to_capture#", "application_fee_amount#", "final_capture?", "hooks{}", "metadata{}=",
    "payment_details{}=", "statement_descriptor$", "statement_descriptor_suffix$", "transfer_data{}",
];

const OPEN: [Status; 3] = [
    Status::RequiresPaymentMethod,
    Status::RequiresConfirmation,
    Status::RequiresAction,
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let amount = params.amount("amount")?.ok_or_else(|| Failure::missing("amount"))?;
    let currency = Currency::parse(params.required("currency")?, "currency")?;
    currency.check(amount, "amount")?;
    let confirm = params.boolean("confirm")?.unwrap_or(false);
    let presence = Presence::read(&params)?;
    let mut intent = Intent {
        id: scene.new_id("pi_"),
        created: scene.now(),
        amount,
        amount_received: 0,
        currency,
        status: Status::RequiresPaymentMethod,
        capture_method: CaptureMethod::AutomaticAsync,
        confirmation_manual: false,
        customer: None,
        method: None,
        charge: None,
        description: None,
        metadata: Metadata::read(&params)?,
        failed: None,
        canceled: None,
        authenticated: false,
        page: None,
        terms: None,
    };
    if params.one_of("confirmation_method", &["automatic", "manual"])? == Some("manual") {
        intent.confirmation_manual = true;
    }
    merge(scene, &mut intent, &params)?;
    if let Some(redirects) = automatic(&params)? {
        let mut terms = intent.terms.as_deref().cloned().unwrap_or_default();
        terms.automatic = Some(redirects);
        intent.terms = Some(terms.into());
    }
    let made = choose_method(scene, &mut intent, &params)?;
    scene.event("payment_intent.created", Arc::new(intent.clone()));
    let intent = if confirm {
        take(scene, intent, made, presence)?
    } else {
        made.map(|m| scene.tx.put(m));
        scene.tx.put(intent)
    };
    scene.tx.effect("payment_intent", &intent.id);
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let secret = scene.params.text("client_secret")?;
    let intent = own(scene)?;
    if secret.is_some_and(|s| !s.starts_with(&*intent.id)) {
        let message = "The client_secret provided does not match the client_secret associated with the PaymentIntent.";
        return Err(Failure::invalid(message).param("client_secret"));
    }
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let mut intent = Intent::clone(&*own(scene)?);
    check_free(scene, &intent, &params)?;
    for field in [
        "amount",
        "currency",
        "customer",
        "payment_method",
        "payment_method_data",
    ] {
        if params.has(field) {
            check_open(&intent, field)?;
        }
    }
    if let Some(currency) = params.text("currency")? {
        intent.currency = Currency::parse(currency, "currency")?;
    }
    if let Some(amount) = params.amount("amount")? {
        intent.amount = amount;
    }
    if params.has("amount") || params.has("currency") {
        intent.currency.check(intent.amount, "amount")?;
        reopen(&mut intent);
    }
    intent.metadata.merge(&params)?;
    merge(scene, &mut intent, &params)?;
    let made = choose_method(scene, &mut intent, &params)?;
    made.map(|m| scene.tx.put(m));
    let intent = scene.tx.put(intent);
    scene.tx.effect("payment_intent_update", &intent.id);
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn confirm(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let presence = Presence::read(&params)?;
    let mut intent = Intent::clone(&*own(scene)?);
    check_free(scene, &intent, &params)?;
    if !OPEN.contains(&intent.status) {
        let message = match intent.status {
            Status::Succeeded => "You cannot confirm this PaymentIntent because it has already succeeded after being \
                                  previously confirmed."
                .to_owned(),
            other => format!(
                "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of the \
                 following statuses may be confirmed: requires_confirmation, requires_action.",
                other.as_str()
            ),
        };
        return Err(unexpected_state(message, Thing::Intent(intent.into()).plain()));
    }
    merge(scene, &mut intent, &params)?;
    let made = choose_method(scene, &mut intent, &params)?;
    let intent = take(scene, intent, made, presence)?;
    scene.tx.effect("payment_intent_confirm", &intent.id);
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn capture(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let amount = params.amount("amount_to_capture")?;
    if params.boolean("final_capture")? == Some(false) {
        let message = "This PaymentIntent cannot be captured more than once: `final_capture` has to be true.";
        return Err(Failure::invalid(message).param("final_capture"));
    }
    let mut intent = Intent::clone(&*own(scene)?);
    intent.metadata.merge(&params)?;
    let status = intent.status;
    if status != Status::RequiresCapture {
        let message = format!(
            "This PaymentIntent could not be captured because it has a status of {}. Only a PaymentIntent with one of the \
             following statuses may be captured: requires_capture.",
            status.as_str()
        );
        return Err(unexpected_state(message, Thing::Intent(intent.into()).plain()));
    }
    let amount = amount.unwrap_or(intent.amount);
    if amount > intent.amount {
        let show = |amount| intent.currency.show(amount);
        let message = format!(
            "The amount to capture ({}) is greater than the amount that can be captured ({}).",
            show(amount),
            show(intent.amount)
        );
        return Err(Failure::invalid(message)
            .code("amount_too_large")
            .param("amount_to_capture"));
    }
    let charge = authorised(scene, &intent);
    let charge = payment::capture(scene, &charge, amount);
    intent.took(&charge);
    let intent = scene.tx.put(intent);
    scene.tx.effect("payment_intent_capture", &intent.id);
    scene.event("payment_intent.succeeded", Arc::clone(&intent));
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn cancel(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    const REASONS: [&str; 4] = ["duplicate", "fraudulent", "requested_by_customer", "abandoned"];
    let reason = scene.params.one_of("cancellation_reason", &REASONS)?;
    let mut intent = Intent::clone(&*own(scene)?);
    if collect::is_of_invoice(scene, &intent.id) {
        let message =
            "You cannot cancel this PaymentIntent because it was created by an invoice. Void the invoice instead.";
        return Err(unexpected_state(
            message.to_owned(),
            Thing::Intent(intent.into()).plain(),
        ));
    }
    match intent.status {
        Status::Succeeded | Status::Canceled => {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of the \
                 following statuses may be canceled: requires_payment_method, requires_capture, requires_confirmation, \
                 requires_action, processing.",
                intent.status.as_str()
            );
            return Err(unexpected_state(message, Thing::Intent(intent.into()).plain()));
        }
        Status::RequiresCapture => {
            let charge = authorised(scene, &intent);
            let released = payment::release(scene.tx, &charge);
            scene.changed("charge.refunded", charge, released);
        }
        _ => {}
    }
    intent.status = Status::Canceled;
    intent.canceled = Some(Box::new((scene.now(), reason)));
    let intent = scene.tx.put(intent);
    scene.tx.effect("payment_intent_cancel", &intent.id);
    scene.event("payment_intent.canceled", Arc::clone(&intent));
    Ok(Answer::One(Thing::Intent(intent)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let customer = scene.params.text("customer")?;
    let keep = |i: &Intent| created.holds(i.created) && customer.is_none_or(|id| i.customer.as_deref() == Some(id));
    page(scene, Kind::Intent, keep, Thing::Intent)
}

pub(crate) fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Intent>> {
    scene.own(Kind::Intent, "intent")
}

/// Refuses changes of an intent that its invoice alone may make.
fn check_free(scene: &Scene<'_, '_>, intent: &Intent, params: &Params<'_>) -> Outcome<()> {
    const FIXED: [&str; 4] = ["amount", "capture_method", "currency", "customer"];
    let changed = FIXED.into_iter().find(|name| params.has(name));
    match changed.filter(|_| collect::is_of_invoice(scene, &intent.id)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("The {name} of a PaymentIntent that was created by an invoice cannot be changed.");
            Err(Failure::invalid(message).param(name))
        }
    }
}

fn authorised(scene: &Scene<'_, '_>, intent: &Intent) -> Arc<Charge> {
    let id = intent.charge.as_deref().unwrap_or_default();
    let charge = scene.tx.get::<Charge>(id);
    charge.expect("an intent that can be captured was authorised by a charge, which goes only with its intent")
}

fn check_open(intent: &Intent, field: &str) -> Outcome<()> {
    if OPEN.contains(&intent.status) {
        return Ok(());
    }
    let message = format!(
        "This PaymentIntent's {field} could not be updated because it has a status of {}. You may only update the {field} \
         of a PaymentIntent with one of the following statuses: requires_payment_method, requires_confirmation, \
         requires_action.",
        intent.status.as_str()
    );
    Err(unexpected_state(
        message,
        Thing::Intent(Arc::new(intent.clone())).plain(),
    ))
}

/// Lets an intent be confirmed anew after a change of what its holder agreed to.
fn reopen(intent: &mut Intent) {
    if intent.status == Status::RequiresAction {
        intent.status = Status::RequiresConfirmation;
    }
    intent.authenticated = false;
}
