//! Products.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::objects::{Deleted, Dimensions, Kind, Price, Product, Thing};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};
use crate::mocks::stripe::search::{SEARCH, search};

use super::prices;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/products", "products.create", Kind::Product, &["product"], PRODUCT_CREATE, create),
    row(Get, "/v1/products", "products.list", Kind::Product, &[],
        &["active", "created", "ending_before", "ids", "limit", "shippable", "starting_after", "url"], list).listing(),
    row(Get, "/v1/products/search", "products.search", Kind::Product, &[], SEARCH, search::<Product>).listing(),
    row(Get, "/v1/products/{id}", "products.retrieve", Kind::Product, &[], &[], retrieve),
    row(Post, "/v1/products/{id}", "products.update", Kind::Product, &["product_update"], PRODUCT_UPDATE, update),
    row(Delete, "/v1/products/{id}", "products.delete", Kind::Product, &["product_delete"], &[], delete),
];

#[rustfmt::skip]
const PRODUCT_CREATE: &[&str] = &[
    "active?", "default_price_data{}", "description$", "id$", "images[]", "marketing_features[]", "metadata{}",
    "name$", "package_dimensions{}", "shippable?", "statement_descriptor$", "tax_code$", "unit_label$", "url$",
];

#[rustfmt::skip]
const PRODUCT_UPDATE: &[&str] = &[
    "active?", "default_price$", "description$", "images[]=", "marketing_features[]=", "metadata{}=", "name$",
    "package_dimensions{}=", "shippable?", "statement_descriptor$", "tax_code$", "unit_label$", "url$",
];

/// How many images a product may have.
const MOST_IMAGES: usize = 8;
/// How many features a product may have.
const MOST_FEATURES: usize = 15;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let name = params.required("name")?;
    let id = scene.own_id(&params, Kind::Product, "prod_")?;
    let mut product = Product::new(id, name, scene.now());
    merge(&mut product, &params)?;
    let price = match params.nested("default_price_data")? {
        Some(data) => Some(prices::default_of(scene, &product.id, &data)?),
        None => None,
    };
    product.default_price = price.as_ref().map(|price| Arc::clone(&price.id));
    let product = scene.tx.put(product);
    scene.tx.effect("product", &product.id);
    scene.event("product.created", Arc::clone(&product));
    if let Some(price) = price {
        let price = scene.tx.put(price);
        scene.event("price.created", price);
    }
    Ok(Answer::One(Thing::Product(product)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Product(scene.own(Kind::Product, "id")?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = scene.own::<Product>(Kind::Product, "id")?;
    let mut product = Product::clone(&before);
    product.updated = scene.now();
    if let Some(name) = params.text("name")? {
        product.name = name.into();
    }
    if let Some(id) = params.text("default_price")? {
        let price = scene.tx.get::<Price>(id).filter(|price| price.product == product.id);
        let price = price.ok_or_else(|| missing(Kind::Price, id, "default_price"))?;
        product.default_price = Some(Arc::clone(&price.id));
    }
    merge(&mut product, &params)?;
    let product = scene.tx.put(product);
    scene.tx.effect("product_update", &product.id);
    scene.changed("product.updated", before, Arc::clone(&product));
    Ok(Answer::One(Thing::Product(product)))
}

/// Deletes a product, which only one without prices allows.
pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let product = scene.own::<Product>(Kind::Product, "id")?;
    if scene.tx.list::<Price>().any(|price| price.product == product.id) {
        let message = "This product cannot be deleted because it has one or more user-created prices.";
        return Err(Failure::invalid(message));
    }
    scene.tx.remove::<Product>(&product.id);
    scene.tx.effect("product_delete", &product.id);
    let id = Arc::clone(&product.id);
    scene.event("product.deleted", product);
    Ok(Answer::One(Deleted::of(id, "product")))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let active = scene.params.boolean("active")?;
    let shippable = scene.params.boolean("shippable")?;
    let ids = scene.params.list("ids")?;
    let url = scene.params.text("url")?;
    let keep = |p: &Product| {
        created.holds(p.created)
            && active.is_none_or(|active| p.active == active)
            && shippable.is_none_or(|shippable| p.shippable.unwrap_or(false) == shippable)
            && (ids.is_empty() || ids.contains(&&*p.id))
            && url.is_none_or(|url| p.url.as_deref() == Some(url))
    };
    page(scene, Kind::Product, keep, Thing::Product)
}

/// Reads what create and update have in common.
pub(crate) fn merge(product: &mut Product, params: &Params<'_>) -> Outcome<()> {
    if let Some(active) = params.boolean("active")? {
        product.active = active;
    }
    if let Some(shippable) = params.boolean("shippable")? {
        product.shippable = Some(shippable);
    }
    params.change("description")?.apply(&mut product.description);
    params
        .change("statement_descriptor")?
        .apply(&mut product.statement_descriptor);
    params.change("tax_code")?.apply(&mut product.tax_code);
    params.change("unit_label")?.apply(&mut product.unit_label);
    params.change("url")?.apply(&mut product.url);
    product.metadata.merge(params)?;
    if params.has("images") {
        product.images = list_of(params, "images", MOST_IMAGES, |params| {
            Ok(params.list("images")?.into_iter().map(Into::into).collect())
        })?;
    }
    if params.has("marketing_features") {
        product.features = list_of(params, "marketing_features", MOST_FEATURES, features)?;
    }
    match params.nested_change("package_dimensions")? {
        Change::Keep => {}
        Change::Clear => product.dimensions = None,
        Change::Set(given) => product.dimensions = Some(dimensions(&given)?.into()),
    }
    Ok(())
}

/// Reads a list that an empty text clears.
fn list_of(
    params: &Params<'_>,
    name: &str,
    most: usize,
    read: impl Fn(&Params<'_>) -> Outcome<Vec<Box<str>>>,
) -> Outcome<Vec<Box<str>>> {
    if params.change(name).ok() == Some(Change::Clear) {
        return Ok(Vec::new());
    }
    let list = read(params)?;
    if list.len() > most {
        return Err(Failure::invalid(format!("Array must contain at most {most} items.")).param(name));
    }
    Ok(list)
}

fn features(params: &Params<'_>) -> Outcome<Vec<Box<str>>> {
    let feature = |given: Params<'_>| {
        given.only(&["name"])?;
        given.required("name").map(Into::into)
    };
    params.hashes("marketing_features")?.into_iter().map(feature).collect()
}

fn dimensions(given: &Params<'_>) -> Outcome<Dimensions> {
    given.only(&["height", "length", "weight", "width"])?;
    let read = |name: &str| given.decimal(name)?.ok_or_else(|| Failure::missing(&given.name(name)));
    Ok(Dimensions {
        height: read("height")?,
        length: read("length")?,
        weight: read("weight")?,
        width: read("width")?,
    })
}
