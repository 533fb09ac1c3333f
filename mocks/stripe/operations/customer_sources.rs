//! What a customer keeps to pay by, of the older kinds: cards and sources.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page_of;
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Customer, Deleted, Kind, Method, PaymentSource, Resource as _, SourceObject, SourceStatus, Thing,
};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Payer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/customers/{parent}/sources", "customers.sources.create", Kind::Card, &["card", "source_attach"],
        CREATE, create),
    row(Get, "/v1/customers/{parent}/sources", "customers.sources.list", Kind::Card, &[],
        &["ending_before$", "limit#", "object$", "starting_after$"], list).listing(),
    row(Get, "/v1/customers/{parent}/sources/{id}", "customers.sources.retrieve", Kind::Card, &[], &[], retrieve),
    row(Post, "/v1/customers/{parent}/sources/{id}", "customers.sources.update", Kind::Card,
        &["card_update", "source_update"], UPDATE, update),
    row(Delete, "/v1/customers/{parent}/sources/{id}", "customers.sources.delete", Kind::Card,
        &["card_delete", "source_detach"], &[], delete),
    row(Post, "/v1/customers/{parent}/cards", "customers.cards.create", Kind::Card, &["card", "source_attach"],
        CREATE, create),
    row(Get, "/v1/customers/{parent}/cards", "customers.cards.list", Kind::Card, &[],
        &["ending_before$", "limit#", "starting_after$"], list_cards).listing(),
    row(Get, "/v1/customers/{parent}/cards/{id}", "customers.cards.retrieve", Kind::Card, &[], &[], retrieve),
    row(Post, "/v1/customers/{parent}/cards/{id}", "customers.cards.update", Kind::Card,
        &["card_update", "source_update"], UPDATE, update),
    row(Delete, "/v1/customers/{parent}/cards/{id}", "customers.cards.delete", Kind::Card,
        &["card_delete", "source_detach"], &[], delete),
];

const CREATE: &[&str] = &["alipay_account$", "bank_account{}$", "card{}$", "metadata{}", "source$"];

#[rustfmt::skip]
const UPDATE: &[&str] = &[
    "account_holder_name$", "account_holder_type=company|individual", "address_city$", "address_country$", "address_line1$",
    "address_line2$", "address_state$", "address_zip$", "exp_month$", "exp_year$", "metadata{}=", "name$", "owner{}",
];

/// What can be changed of a card.
#[rustfmt::skip]
const OF_CARD: [&str; 11] = [
    "address_city", "address_country", "address_line1", "address_line2", "address_state", "address_zip", "exp_month",
    "exp_year", "expand", "metadata", "name",
];

/// Is what a parameter gives a customer to keep.
enum Given {
    Card(Payer, Metadata),
    Source(Arc<SourceObject>),
}

fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = owner(scene)?;
    params.not_modelled(&["alipay_account", "bank_account"])?;
    let added = Metadata::read(&params)?;
    let Some(given) = given(scene, &params)? else {
        return Err(Failure::missing("source"));
    };
    let mut customer = Customer::clone(&before);
    let kept = keep(scene, &mut customer, given, &added)?;
    let customer = scene.tx.put(customer);
    let effect = match &*kept {
        PaymentSource::Card(_) => "card",
        PaymentSource::Source(_) => "source_attach",
    };
    scene.tx.effect(effect, kept.id());
    scene.event("customer.source.created", Arc::clone(&kept));
    if customer.default_source != before.default_source {
        scene.changed("customer.updated", before, customer);
    }
    Ok(Answer::One(kept.into()))
}

/// Keeps what the parameter `source` of a customer gives, as the one that is charged from now on; comes last, as it uses a token up.
/// The one before goes.
pub(crate) fn replace_default(
    scene: &mut Scene<'_, '_>,
    customer: &mut Customer,
    params: &Params<'_>,
) -> Outcome<Option<Arc<PaymentSource>>> {
    let Some(given) = given(scene, params)? else {
        return Ok(None);
    };
    let old = customer.default_source.clone();
    let kept = keep(scene, customer, given, &Metadata::NONE)?;
    if let Some(old) = old.filter(|old| customer.keeps(old)) {
        take_away(scene, customer, &old);
    }
    customer.default_source = Some(kept.id().into());
    Ok(Some(kept))
}

fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = owner(scene)?;
    Ok(Answer::One(kept(scene, &customer)?.into()))
}

fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let object = scene.params.text("object")?;
    listed(scene, object)
}

fn list_cards(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    listed(scene, Some("card"))
}

fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let customer = owner(scene)?;
    let before = kept(scene, &customer)?;
    let after: Arc<PaymentSource> = match &*before {
        PaymentSource::Card(card) => {
            params.only(&OF_CARD)?;
            let card = changed_card(scene, card, &params)?;
            let card = scene.tx.put(card);
            scene.tx.effect("card_update", &card.id);
            PaymentSource::Card(card).into()
        }
        PaymentSource::Source(source) => {
            params.only(&["expand", "metadata", "owner"])?;
            let mut source = SourceObject::clone(source);
            source.metadata.merge(&params)?;
            let mut billing = source.owner.as_deref().cloned().unwrap_or_default();
            billing.merge_owner(&params)?;
            source.owner = billing.unless_empty();
            let source = scene.tx.put(source);
            scene.tx.effect("source_update", &source.id);
            PaymentSource::Source(source).into()
        }
    };
    scene.changed("customer.source.updated", before, Arc::clone(&after));
    Ok(Answer::One(after.into()))
}

fn changed_card(scene: &Scene<'_, '_>, card: &Method, params: &Params<'_>) -> Outcome<Method> {
    let mut card = card.clone();
    card.metadata.merge(params)?;
    let mut billing = card.billing.as_deref().cloned().unwrap_or_default();
    billing.merge_card(params)?;
    card.billing = billing.unless_empty();
    if params.has("exp_month") || params.has("exp_year") {
        card.card = card.card.renewed(params, scene.tx.now().date())?;
    }
    Ok(card)
}

fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = owner(scene)?;
    let gone = kept(scene, &before)?;
    let mut customer = Customer::clone(&before);
    let left = take_away(scene, &mut customer, gone.id());
    let customer = scene.tx.put(customer);
    let effect = match &*gone {
        PaymentSource::Card(_) => "card_delete",
        PaymentSource::Source(_) => "source_detach",
    };
    scene.tx.effect(effect, gone.id());
    if customer.default_source != before.default_source {
        scene.changed("customer.updated", before, customer);
    }
    Ok(Answer::One(left))
}

/// Takes a card or a source away from its customer: a card is deleted, a source used up. Returns what is left of it.
fn take_away(scene: &mut Scene<'_, '_>, customer: &mut Customer, id: &str) -> Thing {
    let gone = PaymentSource::find(scene.tx, id);
    customer.forget(id);
    let left = match gone.as_deref() {
        Some(PaymentSource::Source(source)) => {
            let source = scene.tx.put(SourceObject {
                customer: None,
                status: SourceStatus::Consumed,
                ..SourceObject::clone(source)
            });
            Thing::Source(source)
        }
        _ => {
            scene.tx.remove::<Method>(id);
            let deleted = Deleted {
                id: id.into(),
                object: "card",
            };
            Thing::Deleted(deleted.into())
        }
    };
    if let Some(gone) = gone {
        scene.event("customer.source.deleted", gone);
    }
    left
}

/// Reads what is to be kept; a token is used up by it.
fn given(scene: &mut Scene<'_, '_>, params: &Params<'_>) -> Outcome<Option<Given>> {
    let Some(name) = ["source", "card"].into_iter().find(|name| params.has(name)) else {
        return Ok(None);
    };
    if let Ok(Some(card)) = params.nested(name) {
        card.one_of("object", &["card"])?;
        let metadata = Metadata::read(&card)?;
        return Ok(Some(Given::Card(scene.card(&card)?, metadata)));
    }
    let id = params.required(name)?;
    if let Some(source) = scene.tx.get::<SourceObject>(id) {
        return Ok(Some(Given::Source(source)));
    }
    let payer = scene.spend_token(id, name)?;
    Ok(Some(Given::Card(payer, Metadata::NONE)))
}

/// Gives a customer what it keeps from now on.
fn keep(
    scene: &mut Scene<'_, '_>,
    customer: &mut Customer,
    given: Given,
    added: &Metadata,
) -> Outcome<Arc<PaymentSource>> {
    let kept = match given {
        Given::Card(payer, metadata) => {
            payer.card.check_keepable()?;
            let card = Method {
                id: scene.new_id("card_"),
                created: scene.now(),
                card: payer.card,
                customer: Some(Arc::clone(&customer.id)),
                spent: false,
                set_up: false,
                allow_redisplay: None,
                billing: payer.billing,
                metadata: metadata.with(added),
            };
            PaymentSource::Card(scene.tx.put(card))
        }
        Given::Source(source) => {
            let refuse = |why: &str| Err(Failure::invalid(format!("The source {} {why}", source.id)).param("source"));
            if source.customer.is_some() {
                return refuse("is attached to a customer already.");
            }
            if source.status == SourceStatus::Consumed {
                return refuse("was consumed, and cannot be attached to a customer any more.");
            }
            let attached = SourceObject {
                customer: Some(Arc::clone(&customer.id)),
                metadata: source.metadata.clone().with(added),
                ..SourceObject::clone(&source)
            };
            PaymentSource::Source(scene.tx.put(attached))
        }
    };
    customer.keep(&kept.id().into());
    Ok(kept.into())
}

fn listed(scene: &Scene<'_, '_>, object: Option<&str>) -> Outcome<Answer> {
    let customer = owner(scene)?;
    let ids = customer.sources.as_deref().unwrap_or_default();
    let found = ids.iter().rev().filter_map(|id| PaymentSource::find(scene.tx, id));
    let found = found.filter(|kept| object.is_none_or(|object| kept.object() == object));
    page_of(scene, Kind::Card, found.map(Thing::Card).collect())
}

/// Finds the customer that the path names.
pub(crate) fn owner(scene: &Scene<'_, '_>) -> Outcome<Arc<Customer>> {
    let found = scene.tx.get::<Customer>(scene.parent).filter(|c| !c.deleted);
    found.ok_or_else(|| Failure::no_such(Customer::WORD, scene.parent, "customer"))
}

/// Finds the card or source that the path names; it must be the customer's own.
fn kept(scene: &Scene<'_, '_>, customer: &Customer) -> Outcome<Arc<PaymentSource>> {
    let own = customer.keeps(scene.id);
    let found = own.then(|| PaymentSource::find(scene.tx, scene.id)).flatten();
    found.ok_or_else(|| Failure::no_such(PaymentSource::WORD, scene.id, "id"))
}
