//! Refunds.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Charge, Dispute, Intent, Kind, Refund, RefundStatus, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::payment;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/refunds", "refunds.create", Kind::Refund, &["refund"], REFUND_CREATE, create),
    row(Get, "/v1/refunds", "refunds.list", Kind::Refund, &[],
        &["charge$", "created{}#", "ending_before$", "limit#", "payment_intent$", "starting_after$"], list).listing(),
    row(Get, "/v1/refunds/{id}", "refunds.retrieve", Kind::Refund, &[], &[], retrieve),
    row(Post, "/v1/refunds/{id}", "refunds.update", Kind::Refund, &["refund_update"], &["metadata{}="], update),
    row(Post, "/v1/refunds/{id}/cancel", "refunds.cancel", Kind::Refund, &["refund_cancel"], &[], cancel),
    row(Post, "/v1/charges/{id}/refunds", "charge_refunds.create", Kind::Refund, &["refund"], REFUND_CREATE, create_of),
    row(Get, "/v1/charges/{id}/refunds", "charge_refunds.list", Kind::Refund, &[],
        &["ending_before$", "limit#", "starting_after$"], list_of).listing(),
    row(Get, "/v1/charges/{parent}/refunds/{id}", "charge_refunds.retrieve", Kind::Refund, &[], &[], retrieve_of),
    row(Post, "/v1/charges/{parent}/refunds/{id}", "charge_refunds.update", Kind::Refund, &["refund_update"],
        &["metadata{}="], update_of),
];

#[rustfmt::skip]
const REFUND_CREATE: &[&str] = &[
    "amount#", "charge$", "currency$", "customer$", "instructions_email$", "metadata{}=", "origin=customer_balance",
    "payment_intent$", "reason=duplicate|fraudulent|requested_by_customer", "refund_application_fee?", "reverse_transfer?",
];

const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let charge = charge_of(scene)?;
    refund(scene, &charge)
}

/// Refunds the charge that the path names.
fn create_of(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let charge = scene.own::<Charge>(Kind::Charge, "charge")?;
    for (param, own) in [("charge", Some(&charge.id)), ("payment_intent", charge.intent.as_ref())] {
        if let Some(given) = scene.params.text(param)?
            && own.is_none_or(|own| **own != *given)
        {
            return Err(
                Failure::invalid(format!("Charge {} is not the one of {param} {given}.", charge.id)).param(param),
            );
        }
    }
    refund(scene, &charge)
}

fn refund(scene: &mut Scene<'_, '_>, charge: &Arc<Charge>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let amount = params.amount("amount")?;
    let reason = params.one_of("reason", &REASONS)?;
    let metadata = Metadata::read(&params)?;
    check_modelled(&params, charge)?;
    let amount = check(scene, charge, amount)?;
    let refund = Refund {
        id: scene.new_id("re_"),
        created: scene.now(),
        amount,
        currency: charge.currency,
        charge: Arc::clone(&charge.id),
        customer: charge.customer.clone(),
        intent: charge.intent.clone(),
        method: charge.method.clone(),
        reason,
        status: payment::first_status(charge),
        moved: charge.captured,
        metadata,
    };
    Ok(Answer::One(Thing::Refund(payment::give_back(scene, charge, refund))))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Refund(own(scene)?)))
}

fn retrieve_of(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Refund(own_of_parent(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = own(scene)?;
    updated(scene, &before)
}

fn update_of(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = own_of_parent(scene)?;
    updated(scene, &before)
}

fn updated(scene: &mut Scene<'_, '_>, before: &Arc<Refund>) -> Outcome<Answer> {
    let mut refund = Refund::clone(before);
    refund.metadata.merge(&scene.params)?;
    let refund = scene.tx.put(refund);
    scene.tx.effect("refund_update", &refund.id);
    payment::tell_of_change(scene, before, &refund);
    Ok(Answer::One(Thing::Refund(refund)))
}

fn cancel(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let refund = own(scene)?;
    if refund.status != RefundStatus::Pending {
        let message = format!(
            "Refund {} cannot be canceled because it has a status of {}. Only a refund whose status is pending may be canceled.",
            refund.id,
            refund.status.as_str()
        );
        return Err(Failure::invalid(message).param("refund"));
    }
    Ok(Answer::One(Thing::Refund(payment::cancel(scene, &refund))))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let charge = scene.params.text("charge")?;
    let intent = scene.params.text("payment_intent")?;
    let keep = |r: &Refund| {
        created.holds(r.created)
            && charge.is_none_or(|id| *r.charge == *id)
            && intent.is_none_or(|id| r.intent.as_deref() == Some(id))
    };
    page(scene, Kind::Refund, keep, Thing::Refund)
}

fn list_of(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let charge = scene.own::<Charge>(Kind::Charge, "charge")?;
    page(scene, Kind::Refund, |r: &Refund| r.charge == charge.id, Thing::Refund)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Refund>> {
    scene.own(Kind::Refund, "id")
}

/// Finds the refund that the path names, of the charge that it names before.
fn own_of_parent(scene: &Scene<'_, '_>) -> Outcome<Arc<Refund>> {
    if scene.tx.get::<Charge>(scene.parent).is_none() {
        return Err(Failure::no_such(Kind::Charge.word(), scene.parent, "charge"));
    }
    let refund = own(scene)?;
    if *refund.charge != *scene.parent {
        return Err(Failure::no_such(Kind::Refund.word(), scene.id, "id"));
    }
    Ok(refund)
}

/// Refuses what belongs to refunds of a customer's cash balance.
fn check_modelled(params: &Params<'_>, charge: &Charge) -> Outcome<()> {
    for param in ["origin", "customer"] {
        if params.has(param) {
            let message = format!("Refunds of a customer's cash balance are not modelled here: leave `{param}` out.");
            return Err(Failure::invalid(message).param(param));
        }
    }
    match params.text("currency")? {
        Some(code) if Currency::parse(code, "currency")? != charge.currency => {
            let message = format!(
                "A refund has its charge's currency, which is {}.",
                charge.currency.code()
            );
            Err(Failure::invalid(message).param("currency"))
        }
        _ => Ok(()),
    }
}

/// Finds the charge that is to be refunded, by its own id or its intent's.
fn charge_of(scene: &Scene<'_, '_>) -> Outcome<Arc<Charge>> {
    let charge = scene.params.text("charge")?;
    let intent = scene.params.text("payment_intent")?;
    let id = match (charge, intent) {
        (Some(id), _) => Arc::from(id),
        (None, Some(id)) => {
            let intent = scene.tx.get::<Intent>(id);
            let intent = intent.ok_or_else(|| missing(Kind::Intent, id, "payment_intent"))?;
            intent.charge.clone().ok_or_else(|| no_charge(&intent.id))?
        }
        (None, None) => {
            let message = "One of the following params should be provided for this request: payment_intent or charge.";
            return Err(Failure::invalid(message).code("parameter_missing"));
        }
    };
    let found = scene.tx.get::<Charge>(&id);
    let found = found.ok_or_else(|| missing(Kind::Charge, &id, "charge"))?;
    match (charge, intent, &found.intent) {
        (Some(_), Some(given), own) if own.as_deref() != Some(given) => {
            let message = format!("Charge {} does not belong to PaymentIntent {given}.", found.id);
            Err(Failure::invalid(message).param("charge"))
        }
        (_, _, Some(own)) if !found.paid() || !found.captured => Err(no_charge(own)),
        _ => Ok(found),
    }
}

/// Checks what can be given back, and returns how much.
fn check(scene: &Scene<'_, '_>, charge: &Charge, amount: Option<i64>) -> Outcome<i64> {
    let id = &charge.id;
    let left = charge.amount - charge.amount_refunded;
    if !charge.paid() {
        let message = format!("Charge {id} has failed, so there is nothing to refund.");
        return Err(Failure::invalid(message).param("charge"));
    }
    let dispute = charge.dispute().and_then(|id| scene.tx.get::<Dispute>(id));
    if dispute.is_some_and(|dispute| !dispute.lets_refund()) {
        let message = format!("Charge {id} has been charged back; cannot issue a refund.");
        return Err(Failure::invalid(message).code("charge_disputed"));
    }
    if left == 0 {
        let message = format!("Charge {id} has already been refunded.");
        return Err(Failure::invalid(message).code("charge_already_refunded"));
    }
    let amount = amount.unwrap_or(left);
    if amount > left {
        let show = |amount| charge.currency.show(amount);
        let (asked, left) = (show(amount), show(left));
        let message = format!("Refund amount ({asked}) is greater than unrefunded amount on charge ({left})");
        return Err(Failure::invalid(message).param("amount"));
    }
    if !charge.captured && amount < left {
        let message = "You cannot partially refund an uncaptured charge. Instead, capture the charge for an amount less \
                       than the original amount.";
        return Err(Failure::invalid(message).param("amount"));
    }
    Ok(amount)
}

fn no_charge(intent: &str) -> Box<Failure> {
    let message = format!("This PaymentIntent ({intent}) does not have a successful charge to refund.");
    Failure::invalid(message).param("payment_intent")
}
