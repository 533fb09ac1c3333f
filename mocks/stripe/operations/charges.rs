//! Charges.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Charge, Kind, Method, Shipping, SourceObject, Terms, Thing};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::payment::{self, Order};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Payer, Scene};
use crate::mocks::stripe::search::{SEARCH, search};

use super::sources;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/charges", "charges.create", Kind::Charge, &["charge"], CHARGE_CREATE, create),
    row(Get, "/v1/charges", "charges.list", Kind::Charge, &[],
        &["created{}#", "customer$", "ending_before$", "limit#", "payment_intent$", "starting_after$", "transfer_group$"], list).listing(),
    row(Get, "/v1/charges/search", "charges.search", Kind::Charge, &[], SEARCH, search::<Charge>).listing(),
    row(Get, "/v1/charges/{id}", "charges.retrieve", Kind::Charge, &[], &[], retrieve),
    row(Post, "/v1/charges/{id}", "charges.update", Kind::Charge, &["charge_update"],
        &["customer$", "description$", "fraud_details{}", "metadata{}=", "receipt_email$", "shipping{}", "transfer_group$"], update),
    row(Post, "/v1/charges/{id}/capture", "charges.capture", Kind::Charge, &["charge_capture"],
        CHARGE_CAPTURE, capture),
];

#[rustfmt::skip]
const CHARGE_CREATE: &[&str] = &[
    "amount#", "application_fee_amount#", "capture?", "card{}$", "currency$", "customer$", "description$", "metadata{}=",
    "on_behalf_of$", "radar_options{}", "receipt_email$", "shipping{}", "source$", "statement_descriptor$",
    "statement_descriptor_suffix$", "transfer_data{}", "transfer_group$",
];

#[rustfmt::skip]
const CHARGE_CAPTURE: &[&str] = &[
    "amount#", "application_fee_amount#", "receipt_email$", "statement_descriptor$", "statement_descriptor_suffix$",
    "transfer_data{}", "transfer_group$",
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let amount = params.amount("amount")?.ok_or_else(|| Failure::missing("amount"))?;
    let currency = Currency::parse(params.required("currency")?, "currency")?;
    currency.check(amount, "amount")?;
    let capture = params.boolean("capture")?.unwrap_or(true);
    let mut description: Option<Arc<str>> = None;
    params.change("description")?.apply(&mut description);
    let metadata = Metadata::read(&params)?;
    let mut terms = Terms::default();
    merge_terms(&mut terms, &params)?;
    let named = TERMS.iter().any(|name| params.has(name));
    let (payer, customer, method) = payer(scene, &params)?;
    let decline = payer.card.decline();
    let order = Order {
        id: scene.new_id("ch_"),
        amount,
        currency,
        capture,
        card: payer.card,
        secured: false,
        customer,
        intent: None,
        method,
        description,
        metadata,
        billing: payer.billing,
        terms: named.then(|| terms.into()),
    };
    let charge = payment::charge(scene, order, decline);
    match decline {
        Some(decline) => Err(Failure::card(decline).charge(&charge.id)),
        None => Ok(Answer::One(Thing::Charge(charge))),
    }
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Charge(scene.own(Kind::Charge, "id")?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Charge>(Kind::Charge, "id")?;
    let mut charge = Charge::clone(&before);
    charge.metadata.merge(&params)?;
    params.change("description")?.apply(&mut charge.description);
    let mut terms = charge.terms.as_deref().cloned().unwrap_or_default();
    merge_terms(&mut terms, &params)?;
    if let Some(fraud) = params.nested("fraud_details")? {
        fraud.only(&["user_report"])?;
        terms.fraud_report = fraud.one_of("user_report", &["fraudulent", "safe"])?;
    }
    if let Some(id) = params.text("customer")? {
        let customer = scene.customer(id, "customer")?;
        if charge.customer.as_ref().is_some_and(|own| *own != customer.id) {
            let message = "You cannot change the customer of a charge that already has one.";
            return Err(Failure::invalid(message).param("customer"));
        }
        charge.customer = Some(Arc::clone(&customer.id));
    }
    if TERMS.iter().any(|name| params.has(name)) || params.has("fraud_details") {
        charge.terms = Some(terms.into());
    }
    let charge = scene.tx.put(charge);
    scene.tx.effect("charge_update", &charge.id);
    scene.changed("charge.updated", before, Arc::clone(&charge));
    Ok(Answer::One(Thing::Charge(charge)))
}

pub(crate) fn capture(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let amount = params.amount("amount")?;
    let charge = scene.own::<Charge>(Kind::Charge, "charge")?;
    let amount = check_capture(&charge, amount)?;
    let mut changed = Charge::clone(&charge);
    let mut terms = changed.terms.as_deref().cloned().unwrap_or_default();
    merge_terms(&mut terms, &params)?;
    if TERMS.iter().any(|name| params.has(name)) {
        changed.terms = Some(terms.into());
    }
    let charge = payment::capture(scene, &changed, amount);
    Ok(Answer::One(Thing::Charge(charge)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let customer = scene.params.text("customer")?;
    let intent = scene.params.text("payment_intent")?;
    let group = scene.params.text("transfer_group")?;
    let keep = |c: &Charge| {
        created.holds(c.created)
            && customer.is_none_or(|id| c.customer.as_deref() == Some(id))
            && intent.is_none_or(|id| c.intent.as_deref() == Some(id))
            && group.is_none_or(|g| c.terms.as_deref().and_then(|t| t.transfer_group.as_deref()) == Some(g))
    };
    page(scene, Kind::Charge, keep, Thing::Charge)
}

/// Checks that a charge can be captured, and returns how much of it is to be.
fn check_capture(charge: &Charge, amount: Option<i64>) -> Outcome<i64> {
    let id = &charge.id;
    let refuse = |message: String, code: &'static str| Err(Failure::invalid(message).code(code));
    if let Some(intent) = &charge.intent {
        let message = format!("Charge {id} was made by PaymentIntent {intent}: capture the PaymentIntent instead.");
        return Err(Failure::invalid(message).param("charge"));
    }
    if !charge.paid() {
        let message = format!("Charge {id} has failed, so there is nothing to capture.");
        return Err(Failure::invalid(message).param("charge"));
    }
    if charge.captured {
        return refuse(
            format!("Charge {id} has already been captured."),
            "charge_already_captured",
        );
    }
    if charge.refunded() {
        return refuse(
            format!("Charge {id} has already been refunded."),
            "charge_already_refunded",
        );
    }
    match amount {
        Some(amount) if amount > charge.amount => {
            let most = charge.currency.show(charge.amount);
            let message = format!("You cannot capture more than the amount that was authorized ({most}).");
            Err(Failure::invalid(message).code("amount_too_large").param("amount"))
        }
        amount => Ok(amount.unwrap_or(charge.amount)),
    }
}

const TERMS: [&str; 5] = [
    "receipt_email",
    "shipping",
    "statement_descriptor",
    "statement_descriptor_suffix",
    "transfer_group",
];

fn merge_terms(terms: &mut Terms, params: &Params<'_>) -> Outcome<()> {
    params.change("receipt_email")?.apply(&mut terms.receipt_email);
    params.change("transfer_group")?.apply(&mut terms.transfer_group);
    params
        .change("statement_descriptor")?
        .apply(&mut terms.statement_descriptor);
    params
        .change("statement_descriptor_suffix")?
        .apply(&mut terms.statement_descriptor_suffix);
    Shipping::change(&mut terms.shipping, params)
}

type Found = (Payer, Option<Arc<str>>, Option<Arc<str>>);

/// Finds the card that is to be charged, its customer, and its id where it has one of its own.
fn payer(scene: &mut Scene<'_, '_>, params: &Params<'_>) -> Outcome<Found> {
    let customer = match params.text("customer")? {
        Some(id) => Some(scene.customer(id, "customer")?),
        None => None,
    };
    let inline = match params.nested("card")? {
        Some(card) => Some(card),
        None => params.nested("source").ok().flatten(),
    };
    if let Some(card) = inline {
        return Ok((scene.card(&card)?, customer.map(|c| Arc::clone(&c.id)), None));
    }
    let source = match params.change("source")? {
        Change::Set(id) => Some(id),
        _ => None,
    };
    match (customer, source) {
        (None, None) => Err(Failure::invalid("Must provide source or customer.").code("parameter_missing")),
        (None, Some(id)) => match scene.tx.get::<SourceObject>(id).filter(|s| s.customer.is_none()) {
            Some(source) => Ok((sources::spend(scene, &source)?, None, Some(Arc::clone(&source.id)))),
            None => Ok((scene.spend_token(id, "source")?, None, None)),
        },
        (Some(customer), source) => {
            let Some(id) = source.or(customer.default_source.as_deref()) else {
                return Err(
                    Failure::new(402, "card_error", "Cannot charge a customer that has no active card")
                        .code("missing")
                        .param("card"),
                );
            };
            let own = scene.tx.get::<SourceObject>(id);
            if let Some(source) = own.filter(|s| s.customer.as_ref() == Some(&customer.id)) {
                let payer = sources::spend(scene, &source)?;
                return Ok((payer, Some(Arc::clone(&customer.id)), Some(Arc::clone(&source.id))));
            }
            let method = scene
                .tx
                .get::<Method>(id)
                .filter(|m| m.customer.as_ref() == Some(&customer.id));
            let method = method.ok_or_else(|| {
                let message = format!("Customer {} does not have a linked source with ID {id}.", customer.id);
                Failure::new(404, "invalid_request_error", message)
                    .code("missing")
                    .param("source")
            })?;
            let payer = Payer {
                card: method.card,
                billing: method.billing.clone(),
            };
            Ok((payer, Some(Arc::clone(&customer.id)), Some(Arc::clone(&method.id))))
        }
    }
}
