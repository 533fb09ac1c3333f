//! Promotion codes.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Coupon, Kind, Promotion, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/promotion_codes", "promotion_codes.create", Kind::Promotion, &["promotion_code"],
        &["active?", "code$", "customer$", "customer_account$", "expires_at#", "max_redemptions#", "metadata{}", "promotion{}", "restrictions{}"],
        create),
    row(Get, "/v1/promotion_codes", "promotion_codes.list", Kind::Promotion, &[],
        &["active?", "code$", "coupon$", "created{}#", "customer$", "customer_account$", "ending_before$", "limit#", "starting_after$"],
        list).listing(),
    row(Get, "/v1/promotion_codes/{id}", "promotion_codes.retrieve", Kind::Promotion, &[], &[], retrieve),
    row(Post, "/v1/promotion_codes/{id}", "promotion_codes.update", Kind::Promotion, &["promotion_code_update"],
        &["active?", "metadata{}=", "restrictions{}"], update),
];

/// The longest code.
const MAX_CODE: usize = 500;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let coupon = coupon(scene, &params)?;
    let customer = match params.text("customer")? {
        Some(id) => Some(Arc::clone(&scene.customer(id, "customer")?.id)),
        None => None,
    };
    let expires_at = params.integer("expires_at")?;
    if expires_at.is_some_and(|until| until <= scene.now()) {
        return Err(Failure::invalid("The `expires_at` timestamp must be in the future.").param("expires_at"));
    }
    let (first_time, minimum) = restrictions(&params)?;
    let id = scene.new_id("promo_");
    let promotion = Promotion {
        code: code(scene, &params, &id)?,
        id,
        created: scene.now(),
        active: params.boolean("active")?.unwrap_or(true),
        coupon,
        customer,
        expires_at,
        max_redemptions: params.amount("max_redemptions")?,
        redeemed: 0,
        first_time,
        minimum,
        metadata: Metadata::read(&params)?,
    };
    let promotion = scene.tx.put(promotion);
    scene.tx.effect("promotion_code", &promotion.id);
    scene.event("promotion_code.created", Arc::clone(&promotion));
    Ok(Answer::One(Thing::Promotion(promotion)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let promotion = scene.own::<Promotion>(Kind::Promotion, "promotion_code")?;
    Ok(Answer::One(Thing::Promotion(Arc::new(promotion.at(scene.now())))))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Promotion>(Kind::Promotion, "promotion_code")?;
    let mut promotion = Promotion::clone(&before);
    if let Some(given) = params.nested("restrictions")? {
        given.only(&["currency_options"])?;
    }
    if let Some(active) = params.boolean("active")? {
        if active && !promotion.active {
            free(scene, &promotion.code, &promotion.id)?;
        }
        promotion.active = active;
    }
    promotion.metadata.merge(&params)?;
    let promotion = scene.tx.put(promotion);
    scene.tx.effect("promotion_code_update", &promotion.id);
    scene.changed("promotion_code.updated", before, Arc::clone(&promotion));
    Ok(Answer::One(Thing::Promotion(promotion)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let active = scene.params.boolean("active")?;
    let code = scene.params.text("code")?;
    let coupon = scene.params.text("coupon")?;
    let customer = scene.params.text("customer")?;
    let now = scene.now();
    let keep = |p: &Promotion| {
        created.holds(p.created)
            && active.is_none_or(|active| p.at(now).active == active)
            && code.is_none_or(|code| p.code.eq_ignore_ascii_case(code))
            && coupon.is_none_or(|id| *p.coupon == *id)
            && customer.is_none_or(|id| p.customer.as_deref() == Some(id))
    };
    let mut answer = page(scene, Kind::Promotion, keep, Thing::Promotion)?;
    if let Answer::Page { data, .. } = &mut answer {
        for thing in data {
            if let Thing::Promotion(promotion) = thing {
                *promotion = Arc::new(promotion.at(now));
            }
        }
    }
    Ok(answer)
}

/// Reads `promotion`: only coupons are promoted.
fn coupon(scene: &Scene<'_, '_>, params: &Params<'_>) -> Outcome<Arc<str>> {
    let given = params
        .nested("promotion")?
        .ok_or_else(|| Failure::missing("promotion"))?;
    given.only(&["coupon", "type"])?;
    let kind = given.one_of("type", &["coupon"])?;
    kind.ok_or_else(|| Failure::missing("promotion[type]"))?;
    let id = given.required("coupon")?;
    let found = scene.tx.get::<Coupon>(id);
    let found = found.ok_or_else(|| missing(Kind::Coupon, id, "promotion[coupon]"))?;
    Ok(Arc::clone(&found.id))
}

fn restrictions(params: &Params<'_>) -> Outcome<(bool, Option<(i64, Currency)>)> {
    let Some(given) = params.nested("restrictions")? else {
        return Ok((false, None));
    };
    given.only(&[
        "currency_options",
        "first_time_transaction",
        "minimum_amount",
        "minimum_amount_currency",
    ])?;
    let minimum = match given.amount("minimum_amount")? {
        Some(amount) => {
            let code = given.required("minimum_amount_currency")?;
            Some((amount, Currency::parse(code, "restrictions[minimum_amount_currency]")?))
        }
        None => None,
    };
    Ok((given.boolean("first_time_transaction")?.unwrap_or(false), minimum))
}

/// Reads the code, or makes one.
fn code(scene: &Scene<'_, '_>, params: &Params<'_>, id: &str) -> Outcome<Box<str>> {
    let Some(code) = params.text("code")? else {
        return Ok(letters(&[b"code", id.as_bytes()], 8).to_ascii_uppercase().into());
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if code.chars().count() > MAX_CODE || !code.chars().all(fits) {
        let message = "Invalid code: a promotion code may have up to 500 of the characters a-z, A-Z, 0-9 and -.";
        return Err(Failure::invalid(message).param("code"));
    }
    free(scene, code, id)?;
    Ok(code.into())
}

/// Refuses a code that another active promotion code has.
fn free(scene: &Scene<'_, '_>, code: &str, id: &str) -> Outcome<()> {
    let now = scene.now();
    let same = |p: &Arc<Promotion>| *p.id != *id && p.code.eq_ignore_ascii_case(code) && p.at(now).active;
    if scene.tx.list::<Promotion>().any(|p| same(&p)) {
        let message = format!("An active promotion code with `code: {code}` already exists.");
        return Err(Failure::invalid(message).param("code"));
    }
    Ok(())
}
