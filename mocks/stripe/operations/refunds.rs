//! Refunds.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Charge, Intent, Kind, Refund, Thing};
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
        &["charge", "created", "ending_before", "limit", "payment_intent", "starting_after"], list).listing(),
    row(Get, "/v1/refunds/{id}", "refunds.retrieve", Kind::Refund, &[], &[], retrieve),
    row(Post, "/v1/refunds/{id}", "refunds.update", Kind::Refund, &["refund_update"], &["metadata"], update),
];

#[rustfmt::skip]
const REFUND_CREATE: &[&str] = &[
    "amount", "charge", "instructions_email", "metadata", "payment_intent", "reason", "refund_application_fee",
    "reverse_transfer",
];

const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let amount = scene.params.amount("amount")?;
    let reason = scene.params.one_of("reason", &REASONS)?;
    let metadata = Metadata::read(&scene.params)?;
    let charge = charge_of(scene)?;
    let amount = check(&charge, amount)?;
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
        metadata,
    };
    let refund = scene.tx.put(refund);
    scene.tx.effect("refund", &refund.id);
    payment::give_back(scene.tx, &charge, &refund.id, amount);
    Ok(Answer::One(Thing::Refund(refund)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Refund(scene.own(Kind::Refund, "id")?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let mut refund = Refund::clone(&*scene.own::<Refund>(Kind::Refund, "id")?);
    refund.metadata.merge(&scene.params)?;
    let refund = scene.tx.put(refund);
    scene.tx.effect("refund_update", &refund.id);
    Ok(Answer::One(Thing::Refund(refund)))
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
fn check(charge: &Charge, amount: Option<i64>) -> Outcome<i64> {
    let id = &charge.id;
    let left = charge.amount - charge.amount_refunded;
    if !charge.paid() {
        let message = format!("Charge {id} has failed, so there is nothing to refund.");
        return Err(Failure::invalid(message).param("charge"));
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
