//! Sources.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Billing, By, Kind, SourceObject, SourceStatus, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Payer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/sources", "sources.create", Kind::Source, &["source"], CREATE, create).publishable(),
    row(Get, "/v1/sources/{id}", "sources.retrieve", Kind::Source, &[], &["client_secret$"], retrieve).publishable(),
    row(Post, "/v1/sources/{id}", "sources.update", Kind::Source, &["source_update"],
        &["amount#", "mandate{}", "metadata{}=", "owner{}", "source_order{}"], update),
];

#[rustfmt::skip]
const CREATE: &[&str] = &[
    "amount#", "currency$", "customer$", "flow=code_verification|none|receiver|redirect", "mandate{}", "metadata{}",
    "original_source$", "owner{}", "receiver{}", "redirect{}", "source_order{}", "statement_descriptor$", "token$", "type$",
    "usage=reusable|single_use",
];

/// The kinds that are modelled.
const TYPES: [&str; 3] = ["ach_credit_transfer", "card", "wechat"];
const FLOWS: [&str; 4] = ["code_verification", "none", "receiver", "redirect"];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["customer", "mandate", "original_source", "source_order"])?;
    params.required("type")?;
    let kind = params.one_of("type", &TYPES)?;
    params.one_of("flow", &FLOWS)?;
    let (amount, currency) = money(&params)?;
    let usage = params.one_of("usage", &["reusable", "single_use"])?;
    let metadata = Metadata::read(&params)?;
    let mut owner = Billing::default();
    owner.merge_owner(&params)?;
    let mut statement_descriptor = None;
    params.change("statement_descriptor")?.apply(&mut statement_descriptor);
    let (by, owner) = match kind {
        Some("card") => of_token(scene, &params, owner)?,
        Some("wechat") => {
            currency.ok_or_else(|| Failure::missing("currency"))?;
            amount.ok_or_else(|| Failure::missing("amount"))?;
            (By::Wechat, owner.unless_empty())
        }
        _ => {
            currency.ok_or_else(|| Failure::missing("currency"))?;
            let refunds = refunds_by(&params)?;
            (By::AchCreditTransfer { refunds }, owner.unless_empty())
        }
    };
    let status = match by {
        By::Card(_) => SourceStatus::Chargeable,
        _ => SourceStatus::Pending,
    };
    let (id, created) = (scene.new_id("src_"), scene.now());
    let source = scene.tx.put(SourceObject {
        id,
        created,
        by,
        status,
        single_use: usage.map_or(by == By::Wechat, |usage| usage == "single_use"),
        amount,
        currency,
        customer: None,
        owner,
        statement_descriptor,
        metadata,
    });
    scene.tx.effect("source", &source.id);
    if status == SourceStatus::Chargeable {
        scene.event("source.chargeable", Arc::clone(&source));
    }
    Ok(Answer::One(Thing::Source(source)))
}

/// Pays by a source that belongs to nobody, or to this customer. It is consumed, unless it can be used again and a customer keeps it.
pub(crate) fn spend(scene: &mut Scene<'_, '_>, source: &Arc<SourceObject>) -> Outcome<Payer> {
    let Some(card) = source.card() else {
        let message = format!(
            "The source {} is not chargeable: its status is {}.",
            source.id,
            source.status.as_str()
        );
        return Err(Failure::invalid(message).code("invalid_source_usage").param("source"));
    };
    if source.single_use || source.customer.is_none() {
        scene.tx.put(SourceObject {
            status: SourceStatus::Consumed,
            ..SourceObject::clone(source)
        });
    }
    Ok(Payer {
        card,
        billing: source.owner.clone(),
    })
}

fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let source = scene.own::<SourceObject>(Kind::Source, "source")?;
    let secret = scene.params.text("client_secret")?;
    if secret.is_some_and(|secret| secret != source.client_secret()) {
        return Err(Failure::no_such(Kind::Source.word(), scene.id, "source"));
    }
    Ok(Answer::One(Thing::Source(source)))
}

fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["mandate", "source_order"])?;
    let mut source = SourceObject::clone(&*scene.own::<SourceObject>(Kind::Source, "source")?);
    source.metadata.merge(&params)?;
    if let Some(amount) = params.amount("amount")? {
        source.amount = Some(amount);
    }
    let mut owner = source.owner.as_deref().cloned().unwrap_or_default();
    owner.merge_owner(&params)?;
    source.owner = owner.unless_empty();
    let source = scene.tx.put(source);
    scene.tx.effect("source_update", &source.id);
    Ok(Answer::One(Thing::Source(source)))
}

fn money(params: &Params<'_>) -> Outcome<(Option<i64>, Option<Currency>)> {
    let currency = match params.text("currency")? {
        Some(code) => Some(Currency::parse(code, "currency")?),
        None => None,
    };
    let amount = params.amount("amount")?;
    if let (Some(amount), Some(currency)) = (amount, currency) {
        currency.check(amount, "amount")?;
    }
    Ok((amount, currency))
}

/// Makes a source of a card's token, which is used up.
fn of_token(scene: &mut Scene<'_, '_>, params: &Params<'_>, owner: Billing) -> Outcome<(By, Option<Arc<Billing>>)> {
    let payer = scene.spend_token(params.required("token")?, "token")?;
    Ok((By::Card(payer.card), owner.unless_empty().or(payer.billing)))
}

fn refunds_by(params: &Params<'_>) -> Outcome<&'static str> {
    let Some(receiver) = params.nested("receiver")? else {
        return Ok("email");
    };
    receiver.only(&["refund_attributes_method"])?;
    let method = receiver.one_of("refund_attributes_method", &["email", "manual", "none"])?;
    Ok(method.unwrap_or("email"))
}
