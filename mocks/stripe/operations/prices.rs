//! Prices: those that are made on their own, with a product, or in passing by what is sold.

use std::sync::Arc;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Interval, Kind, Price, Product, Recurring, Thing, Transform};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};
use crate::mocks::stripe::search::{SEARCH, search};

use super::products;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/prices", "prices.create", Kind::Price, &["price"], PRICE_CREATE, create),
    row(Get, "/v1/prices", "prices.list", Kind::Price, &[], PRICE_LIST, list).listing(),
    row(Get, "/v1/prices/search", "prices.search", Kind::Price, &[], SEARCH, search::<Price>).listing(),
    row(Get, "/v1/prices/{id}", "prices.retrieve", Kind::Price, &[], &[], retrieve),
    row(Post, "/v1/prices/{id}", "prices.update", Kind::Price, &["price_update"], PRICE_UPDATE, update),
];

#[rustfmt::skip]
const PRICE_CREATE: &[&str] = &[
    "active?", "billing_scheme=per_unit|tiered", "currency$", "currency_options{}", "custom_unit_amount{}", "lookup_key$",
    "metadata{}", "nickname$", "product$", "product_data{}", "recurring{}", "tax_behavior=exclusive|inclusive|unspecified",
    "tiers[]", "tiers_mode=graduated|volume", "transfer_lookup_key?", "transform_quantity{}", "unit_amount#",
    "unit_amount_decimal$",
];

#[rustfmt::skip]
const PRICE_UPDATE: &[&str] = &[
    "active?", "currency_options{}=", "lookup_key$", "metadata{}=", "nickname$", "tax_behavior=exclusive|inclusive|unspecified",
    "transfer_lookup_key?",
];

#[rustfmt::skip]
const PRICE_LIST: &[&str] = &[
    "active?", "created{}#", "currency$", "ending_before$", "limit#", "lookup_keys[]", "product$", "recurring{}", "starting_after$",
    "type=one_time|recurring",
];

const METERED: &str = "metered";
const USAGE: [&str; 2] = ["licensed", METERED];
const INTERVALS: [&str; 4] = ["day", "month", "week", "year"];
const TAX: [&str; 3] = ["exclusive", "inclusive", "unspecified"];

/// Says whether a price may fall due again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    OneTime,
    Recurring,
    Both,
}

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["custom_unit_amount", "tiers", "tiers_mode"])?;
    if params.one_of("billing_scheme", &["per_unit", "tiered"])? == Some("tiered") {
        return Err(params.unmodelled("billing_scheme"));
    }
    let (product, new_product) = product_of(scene, &params, &["product", "product_data"])?;
    let mut price = read(scene, &params, product, Allowed::Both)?;
    price.active = params.boolean("active")?.unwrap_or(true);
    price.transform = match params.nested("transform_quantity")? {
        Some(given) => Some(transform(&given)?),
        None => None,
    };
    merge(&mut price, &params)?;
    let loser = look_up(scene, &mut price, &params)?;
    if let Some(product) = new_product {
        let product = scene.tx.put(product);
        scene.event("product.created", product);
    }
    hand_over(scene, loser);
    let price = scene.tx.put(price);
    scene.tx.effect("price", &price.id);
    scene.event("price.created", Arc::clone(&price));
    Ok(Answer::One(Thing::Price(price)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Price(scene.own(Kind::Price, "price")?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Price>(Kind::Price, "price")?;
    let mut price = Price::clone(&before);
    if let Some(active) = params.boolean("active")? {
        price.active = active;
    }
    let tax = params.one_of("tax_behavior", &TAX)?;
    if tax.is_some_and(|tax| price.tax_behavior != "unspecified" && tax != price.tax_behavior) {
        let message = "The `tax_behavior` of a price cannot be changed once it is `inclusive` or `exclusive`.";
        return Err(Failure::invalid(message).param("tax_behavior"));
    }
    price.tax_behavior = tax.unwrap_or(price.tax_behavior);
    merge(&mut price, &params)?;
    let loser = look_up(scene, &mut price, &params)?;
    hand_over(scene, loser);
    let price = scene.tx.put(price);
    scene.tx.effect("price_update", &price.id);
    scene.changed("price.updated", before, Arc::clone(&price));
    Ok(Answer::One(Thing::Price(price)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let created = Created::read(&params)?;
    let active = params.boolean("active")?;
    let currency = match params.text("currency")? {
        Some(code) => Some(Currency::parse(code, "currency")?),
        None => None,
    };
    let product = params.text("product")?;
    let keys = params.list("lookup_keys")?;
    let kind = params.one_of("type", &["one_time", "recurring"])?;
    let renews = params.nested("recurring")?.map(|given| renews(&given)).transpose()?;
    let keep = |p: &Price| {
        created.holds(p.created)
            && active.is_none_or(|active| p.active == active)
            && currency.is_none_or(|currency| p.currency == currency)
            && product.is_none_or(|id| *p.product == *id)
            && (keys.is_empty() || p.lookup_key.as_deref().is_some_and(|key| keys.contains(&key)))
            && kind.is_none_or(|kind| p.recurring.is_some() == (kind == "recurring"))
            && renews.as_ref().is_none_or(|renews| p.recurring.is_some_and(renews))
    };
    page(scene, Kind::Price, keep, Thing::Price)
}

/// Reads which recurring prices are listed. None is metered here.
fn renews(given: &Params<'_>) -> Outcome<impl Fn(Recurring) -> bool + use<>> {
    given.only(&["interval", "meter", "usage_type"])?;
    let interval = given.one_of("interval", &INTERVALS)?.map(Interval::named);
    let metered = given.text("meter")?.is_some() || given.one_of("usage_type", &USAGE)? == Some(METERED);
    Ok(move |r: Recurring| !metered && interval.is_none_or(|interval| r.interval == interval))
}

/// Reads the price that `default_price_data` describes; it is not put yet.
pub(crate) fn default_of(scene: &mut Scene<'_, '_>, product: &Arc<str>, data: &Params<'_>) -> Outcome<Price> {
    data.only(&[
        "currency",
        "currency_options",
        "custom_unit_amount",
        "metadata",
        "recurring",
        "tax_behavior",
        "unit_amount",
        "unit_amount_decimal",
    ])?;
    data.not_modelled(&["custom_unit_amount"])?;
    let mut price = read(scene, data, Arc::clone(product), Allowed::Both)?;
    price.metadata = Metadata::read(data)?;
    Ok(price)
}

/// Reads the price that something is sold for, `price` or `price_data`; what it makes in passing is put at once.
pub(crate) fn chosen(scene: &mut Scene<'_, '_>, params: &Params<'_>, allowed: Allowed) -> Outcome<Arc<Price>> {
    let Some(data) = params.nested("price_data")? else {
        let id = params.required("price")?;
        let param = params.name("price");
        let price = scene
            .tx
            .get::<Price>(id)
            .ok_or_else(|| missing(Kind::Price, id, &param))?;
        if !price.active {
            let message = format!("The price specified is inactive. This field only accepts active prices: {id}.");
            return Err(Failure::invalid(message).param(&param));
        }
        check_kind(price.recurring.is_some(), allowed, &param)?;
        return Ok(price);
    };
    data.only(&[
        "currency",
        "product",
        "product_data",
        "recurring",
        "tax_behavior",
        "unit_amount",
        "unit_amount_decimal",
    ])?;
    let (product, new_product) = product_of(scene, &data, &["product", "product_data"])?;
    let mut price = read(scene, &data, product, allowed)?;
    price.active = false;
    if let Some(mut product) = new_product {
        product.active = false;
        scene.tx.put(product);
    }
    Ok(scene.tx.put(price))
}

fn check_kind(recurring: bool, allowed: Allowed, param: &str) -> Outcome<()> {
    let message = match (recurring, allowed) {
        (false, Allowed::Recurring) => {
            "The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`."
        }
        (true, Allowed::OneTime) => {
            "The price specified is set to `type=recurring` but this field only accepts prices with `type=one_time`."
        }
        _ => return Ok(()),
    };
    Err(Failure::invalid(message).param(param))
}

/// Finds the product, or reads the new one, which is not put yet.
fn product_of(
    scene: &mut Scene<'_, '_>,
    params: &Params<'_>,
    names: &[&str; 2],
) -> Outcome<(Arc<str>, Option<Product>)> {
    let [by_id, by_data] = names;
    match (params.text(by_id)?, params.nested(by_data)?) {
        (Some(_), Some(_)) => {
            let message = format!("You may only specify one of these parameters: {by_id}, {by_data}.");
            Err(Failure::invalid(message).param(&params.name(by_id)))
        }
        (Some(id), None) => {
            let found = scene.tx.get::<Product>(id);
            let found = found.ok_or_else(|| missing(Kind::Product, id, &params.name(by_id)))?;
            Ok((Arc::clone(&found.id), None))
        }
        (None, Some(data)) => {
            data.only(&[
                "active",
                "description",
                "id",
                "images",
                "metadata",
                "name",
                "statement_descriptor",
                "tax_code",
                "unit_label",
            ])?;
            let name = data.required("name")?;
            let id = scene.own_id(&data, Kind::Product, "prod_")?;
            let mut product = Product::new(id, name, scene.now());
            products::merge(&mut product, &data)?;
            Ok((Arc::clone(&product.id), Some(product)))
        }
        (None, None) => Err(Failure::missing(&params.name(by_id))),
    }
}

/// Reads what all ways to make a price have in common.
fn read(scene: &mut Scene<'_, '_>, params: &Params<'_>, product: Arc<str>, allowed: Allowed) -> Outcome<Price> {
    let currency = Currency::parse(params.required("currency")?, &params.name("currency"))?;
    let recurring = match params.nested("recurring")? {
        Some(given) => Some(recurring(&given)?),
        None => None,
    };
    if allowed == Allowed::Recurring && recurring.is_none() {
        return Err(Failure::missing(&params.name("recurring")));
    }
    check_kind(recurring.is_some(), allowed, &params.name("recurring"))?;
    Ok(Price {
        unit: unit(params)?,
        tax_behavior: params.one_of("tax_behavior", &TAX)?.unwrap_or("unspecified"),
        id: scene.new_id("price_"),
        created: scene.now(),
        active: true,
        currency,
        product,
        recurring,
        lookup_key: None,
        nickname: None,
        transform: None,
        metadata: Metadata::default(),
    })
}

/// Reads `unit_amount` or `unit_amount_decimal`.
pub(crate) fn unit(params: &Params<'_>) -> Outcome<Decimal> {
    let (name, unit) = match (params.natural("unit_amount")?, params.decimal("unit_amount_decimal")?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: unit_amount, unit_amount_decimal.";
            return Err(Failure::invalid(message).param(&params.name("unit_amount")));
        }
        (Some(unit), None) => ("unit_amount", Decimal::from(unit)),
        (None, Some(unit)) => ("unit_amount_decimal", unit),
        (None, None) => return Err(Failure::missing(&params.name("unit_amount"))),
    };
    if unit.is_negative() || unit > Decimal::from(LARGEST) {
        let message = format!("Invalid unit amount: must be between 0 and {LARGEST}.");
        return Err(Failure::invalid(message).param(&params.name(name)));
    }
    Ok(unit)
}

/// The largest unit amount.
const LARGEST: i64 = 999_999_999_999;

/// Reads `recurring`: at most three years.
fn recurring(given: &Params<'_>) -> Outcome<Recurring> {
    given.only(&["interval", "interval_count", "meter", "usage_type"])?;
    given.not_modelled(&["meter"])?;
    if given.one_of("usage_type", &USAGE)? == Some(METERED) {
        return Err(given.unmodelled("usage_type"));
    }
    let interval = given.one_of("interval", &INTERVALS)?;
    let interval = Interval::named(interval.ok_or_else(|| Failure::missing(&given.name("interval")))?);
    let most = match interval {
        Interval::Day => 1095,
        Interval::Week => 156,
        Interval::Month => 36,
        Interval::Year => 3,
    };
    let count = given.amount("interval_count")?.unwrap_or(1);
    let count = u16::try_from(count).ok().filter(|count| *count <= most);
    let count = count.ok_or_else(|| {
        let message = "Invalid interval_count: the longest interval is three years (1095 days, 156 weeks, 36 months).";
        Failure::invalid(message).param(&given.name("interval_count"))
    })?;
    Ok(Recurring { interval, count })
}

fn transform(given: &Params<'_>) -> Outcome<Transform> {
    given.only(&["divide_by", "round"])?;
    let missing = |name: &str| Failure::missing(&given.name(name));
    Ok(Transform {
        divide_by: given.amount("divide_by")?.ok_or_else(|| missing("divide_by"))?,
        round: given
            .one_of("round", &["down", "up"])?
            .ok_or_else(|| missing("round"))?,
    })
}

fn merge(price: &mut Price, params: &Params<'_>) -> Outcome<()> {
    params.change("nickname")?.apply(&mut price.nickname);
    params.nested_change("currency_options")?;
    price.metadata.merge(params)
}

/// Reads `lookup_key`, which one price has at a time, and returns the one that has to give it up.
fn look_up(scene: &Scene<'_, '_>, price: &mut Price, params: &Params<'_>) -> Outcome<Option<Arc<Price>>> {
    let transfer = params.boolean("transfer_lookup_key")?.unwrap_or(false);
    params.change("lookup_key")?.apply(&mut price.lookup_key);
    let Some(key) = price.lookup_key.as_deref().filter(|_| params.has("lookup_key")) else {
        return Ok(None);
    };
    let same = |p: &Arc<Price>| p.id != price.id && p.lookup_key.as_deref() == Some(key);
    let other = scene.tx.list::<Price>().find(same);
    match other {
        Some(other) if !transfer => {
            let message = format!("A price (`{}`) already uses that lookup key.", other.id);
            Err(Failure::invalid(message).param("lookup_key"))
        }
        other => Ok(other),
    }
}

fn hand_over(scene: &mut Scene<'_, '_>, loser: Option<Arc<Price>>) {
    if let Some(before) = loser {
        let without = scene.tx.put(Price {
            lookup_key: None,
            ..Price::clone(&before)
        });
        scene.changed("price.updated", before, without);
    }
}
