//! Coupons.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::ids::{Ids, letters};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Coupon, Deleted, Kind, Lasts, Off, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/coupons", "coupons.create", Kind::Coupon, &["coupon"], COUPON_CREATE, create),
    row(Get, "/v1/coupons", "coupons.list", Kind::Coupon, &[],
        &["created{}#", "ending_before$", "limit#", "starting_after$"], list).listing(),
    row(Get, "/v1/coupons/{id}", "coupons.retrieve", Kind::Coupon, &[], &[], retrieve),
    row(Post, "/v1/coupons/{id}", "coupons.update", Kind::Coupon, &["coupon_update"],
        &["currency_options{}", "metadata{}=", "name$"], update),
    row(Delete, "/v1/coupons/{id}", "coupons.delete", Kind::Coupon, &["coupon_delete"], &[], delete),
];

#[rustfmt::skip]
const COUPON_CREATE: &[&str] = &[
    "amount_off#", "applies_to{}", "currency$", "currency_options{}", "duration=forever|once|repeating", "duration_in_months#",
    "id$", "max_redemptions#", "metadata{}=", "name$", "percent_off%", "redeem_by#",
];

/// The longest name.
const MAX_NAME: usize = 40;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["applies_to"])?;
    let id = match (params.has("id"), scene.ids) {
        (false, Ids::Random) => short(scene),
        _ => scene.own_id(&params, Kind::Coupon, "")?,
    };
    let redeem_by = params.integer("redeem_by")?;
    if redeem_by.is_some_and(|until| until <= scene.now()) {
        let message = "The `redeem_by` timestamp must be in the future.";
        return Err(Failure::invalid(message).param("redeem_by"));
    }
    let mut coupon = Coupon {
        id,
        created: scene.now(),
        off: off(&params)?,
        lasts: lasts(&params)?,
        name: None,
        max_redemptions: params.amount("max_redemptions")?,
        redeem_by,
        redeemed: 0,
        expired: false,
        metadata: Metadata::default(),
    };
    merge(&mut coupon, &params)?;
    let coupon = scene.tx.put(coupon);
    scene.tx.effect("coupon", &coupon.id);
    scene.event("coupon.created", Arc::clone(&coupon));
    Ok(Answer::One(Thing::Coupon(coupon)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let coupon = scene.own::<Coupon>(Kind::Coupon, "coupon")?;
    Ok(Answer::One(Thing::Coupon(Arc::new(coupon.at(scene.now())))))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Coupon>(Kind::Coupon, "coupon")?;
    let mut coupon = before.at(scene.now());
    merge(&mut coupon, &params)?;
    let coupon = scene.tx.put(coupon);
    scene.tx.effect("coupon_update", &coupon.id);
    scene.changed("coupon.updated", before, Arc::clone(&coupon));
    Ok(Answer::One(Thing::Coupon(coupon)))
}

/// Deletes a coupon; what was redeemed of it stays.
pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let coupon = scene.own::<Coupon>(Kind::Coupon, "coupon")?;
    scene.tx.remove::<Coupon>(&coupon.id);
    scene.tx.effect("coupon_delete", &coupon.id);
    let id = Arc::clone(&coupon.id);
    scene.event("coupon.deleted", coupon);
    Ok(Answer::One(Deleted::of(id, "coupon")))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let now = scene.now();
    let keep = |c: &Coupon| created.holds(c.created);
    let mut answer = page(scene, Kind::Coupon, keep, Thing::Coupon)?;
    if let Answer::Page { data, .. } = &mut answer {
        for thing in data {
            if let Thing::Coupon(coupon) = thing {
                *coupon = Arc::new(coupon.at(now));
            }
        }
    }
    Ok(answer)
}

/// Makes an id of eight letters, as Stripe does, that no coupon has.
fn short(scene: &mut Scene<'_, '_>) -> Arc<str> {
    loop {
        let id = scene.new_id("");
        let short = letters(&[b"coupon", id.as_bytes()], 8).to_ascii_uppercase();
        if scene.tx.get::<Coupon>(&short).is_none() {
            return short.into();
        }
    }
}

fn off(params: &Params<'_>) -> Outcome<Off> {
    match (params.amount("amount_off")?, params.decimal("percent_off")?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: amount_off, percent_off.";
            Err(Failure::invalid(message).param("amount_off"))
        }
        (None, None) => {
            let message = "Must provide percent_off or amount_off for coupon creation.";
            Err(Failure::invalid(message).code("parameter_missing"))
        }
        (Some(amount), None) => {
            let currency = Currency::parse(params.required("currency")?, "currency")?;
            Ok(Off::Amount(amount, currency))
        }
        (None, Some(percent))
            if percent.is_negative() || percent == Decimal::default() || percent > Decimal::from(100) =>
        {
            let message = "Invalid percent_off: must be greater than 0 and at most 100.";
            Err(Failure::invalid(message).param("percent_off"))
        }
        (None, Some(percent)) => Ok(Off::Percent(percent)),
    }
}

fn lasts(params: &Params<'_>) -> Outcome<Lasts> {
    let duration = params.one_of("duration", &["forever", "once", "repeating"])?;
    let months = params.amount("duration_in_months")?;
    if months.is_some() && duration != Some("repeating") {
        let message = "You may only specify `duration_in_months` when `duration` is `repeating`.";
        return Err(Failure::invalid(message).param("duration_in_months"));
    }
    match (duration, months) {
        (Some("forever"), _) => Ok(Lasts::Forever),
        (Some("repeating"), None) => Err(Failure::missing("duration_in_months")),
        (Some("repeating"), Some(months)) => match u16::try_from(months) {
            Ok(months) => Ok(Lasts::Months(months)),
            Err(_) => {
                Err(Failure::invalid("Invalid duration_in_months: must be at most 65535.").param("duration_in_months"))
            }
        },
        _ => Ok(Lasts::Once),
    }
}

fn merge(coupon: &mut Coupon, params: &Params<'_>) -> Outcome<()> {
    params.change("name")?.apply(&mut coupon.name);
    if coupon
        .name
        .as_deref()
        .is_some_and(|name| name.chars().count() > MAX_NAME)
    {
        let message = format!("Invalid string: name; must be at most {MAX_NAME} characters");
        return Err(Failure::invalid(message).param("name"));
    }
    params.nested("currency_options")?;
    coupon.metadata.merge(params)
}
