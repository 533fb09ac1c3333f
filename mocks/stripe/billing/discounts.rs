//! Coupons and promotion codes as something redeems them.

use std::sync::Arc;

use super::period;
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{Coupon, Discount, Invoice, InvoiceStatus, Kind, Lasts, Off, On, Promotion};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::{Scene, missing};

/// Is what a list of discounts names.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    Coupon(Arc<Coupon>, Option<Arc<Promotion>>),
    /// A discount that there is already.
    Kept(Arc<str>),
}

/// Says what the discounts are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct For<'f> {
    pub(crate) customer: Option<&'f Arc<str>>,
    pub(crate) currency: Currency,
    /// What is to be paid, where it is known.
    pub(crate) amount: Option<i64>,
    pub(crate) now: i64,
}

/// How many discounts one thing may have.
const MOST: usize = 20;

/// Reads `discounts`, checks that all can be redeemed, and redeems nothing yet.
pub(crate) fn read(scene: &Scene<'_, '_>, params: &Params<'_>, what: For<'_>) -> Outcome<Change<Vec<Chosen>>> {
    if params.change("discounts").ok() == Some(Change::Clear) {
        return Ok(Change::Clear);
    }
    if !params.has("discounts") {
        return Ok(Change::Keep);
    }
    let list = params.hashes("discounts")?;
    if list.len() > MOST {
        return Err(
            Failure::invalid(format!("Array must contain at most {MOST} items.")).param(&params.name("discounts"))
        );
    }
    let read = list.iter().map(|given| one(scene, given, what));
    read.collect::<Outcome<_>>().map(Change::Set)
}

fn one(scene: &Scene<'_, '_>, given: &Params<'_>, what: For<'_>) -> Outcome<Chosen> {
    given.only(&["coupon", "discount", "promotion_code"])?;
    match (
        given.text("coupon")?,
        given.text("discount")?,
        given.text("promotion_code")?,
    ) {
        (Some(id), None, None) => {
            let param = given.name("coupon");
            let coupon = scene
                .tx
                .get::<Coupon>(id)
                .ok_or_else(|| missing(Kind::Coupon, id, &param))?;
            check(&coupon, what, &param)?;
            Ok(Chosen::Coupon(coupon, None))
        }
        (None, Some(id), None) => {
            let found = scene.tx.get::<Discount>(id);
            let found = found.ok_or_else(|| missing(Kind::Discount, id, &given.name("discount")))?;
            Ok(Chosen::Kept(Arc::clone(&found.id)))
        }
        (None, None, Some(id)) => {
            let param = given.name("promotion_code");
            let promotion = scene.tx.get::<Promotion>(id);
            let promotion = promotion.ok_or_else(|| missing(Kind::Promotion, id, &param))?;
            check_promotion(scene, &promotion, what, &param)?;
            let coupon = scene.tx.get::<Coupon>(&promotion.coupon);
            let coupon = coupon.ok_or_else(|| missing(Kind::Coupon, &promotion.coupon, &param))?;
            check(&coupon, what, &param)?;
            Ok(Chosen::Coupon(coupon, Some(promotion)))
        }
        _ => {
            let message = "Exactly one of `coupon`, `discount` and `promotion_code` has to be given for each discount.";
            Err(Failure::invalid(message).param(&given.name("coupon")))
        }
    }
}

fn check(coupon: &Coupon, what: For<'_>, param: &str) -> Outcome<()> {
    if !coupon.at(what.now).valid() {
        let message = format!("Coupon {} is used up or has expired.", coupon.id);
        return Err(Failure::invalid(message).code("coupon_expired").param(param));
    }
    match coupon.off {
        Off::Amount(_, currency) if currency != what.currency => {
            let (own, other) = (currency.code(), what.currency.code());
            let message = format!(
                "The coupon {} takes off {own}, which cannot be taken off {other}.",
                coupon.id
            );
            Err(Failure::invalid(message).param(param))
        }
        _ => Ok(()),
    }
}

fn check_promotion(scene: &Scene<'_, '_>, promotion: &Promotion, what: For<'_>, param: &str) -> Outcome<()> {
    let refuse = |message: &str| Err(Failure::invalid(message.to_owned()).param(param));
    if !promotion.at(what.now).active {
        return refuse("This promotion code is no longer active.");
    }
    if promotion.customer.is_some() && promotion.customer.as_ref() != what.customer {
        return refuse("This promotion code cannot be redeemed by this customer.");
    }
    let paid = |invoice: Arc<Invoice>| {
        invoice.status == InvoiceStatus::Paid && invoice.sums.paid > 0 && Some(&invoice.customer) == what.customer
    };
    if promotion.first_time && scene.tx.list::<Invoice>().any(paid) {
        return refuse(
            "This promotion code cannot be redeemed because the associated customer has prior transactions.",
        );
    }
    match (promotion.minimum, what.amount) {
        (Some((least, currency)), Some(amount)) if currency != what.currency || amount < least => {
            refuse("The amount does not reach the minimum that this promotion code demands.")
        }
        _ => Ok(()),
    }
}

/// Redeems what was chosen, and returns the discounts' ids.
pub(crate) fn redeem(
    scene: &mut Scene<'_, '_>,
    chosen: Vec<Chosen>,
    on: &On,
    customer: Option<&Arc<str>>,
    now: i64,
) -> Vec<Arc<str>> {
    let mut ids = Vec::with_capacity(chosen.len());
    for chosen in chosen {
        let (coupon, promotion) = match chosen {
            Chosen::Kept(id) => {
                ids.push(id);
                continue;
            }
            Chosen::Coupon(coupon, promotion) => (coupon, promotion),
        };
        // Another discount of the same list may have redeemed it just now.
        let coupon = scene.tx.get::<Coupon>(&coupon.id).unwrap_or(coupon);
        let coupon = scene.tx.put(Coupon {
            redeemed: coupon.redeemed + 1,
            ..Coupon::clone(&coupon)
        });
        if let Some(promotion) = &promotion {
            scene.tx.put(Promotion {
                redeemed: promotion.redeemed + 1,
                ..Promotion::clone(promotion)
            });
        }
        let discount = Discount {
            id: scene.new_id("di_"),
            promotion: promotion.map(|promotion| Arc::clone(&promotion.id)),
            customer: customer.cloned(),
            on: on.clone(),
            start: now,
            end: match coupon.lasts {
                Lasts::Months(months) => Some(period::months(now, months.into())),
                _ => None,
            },
            coupon,
        };
        ids.push(Arc::clone(&scene.tx.put(discount).id));
    }
    ids
}
