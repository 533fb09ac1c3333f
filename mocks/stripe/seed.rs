//! The table of what can be put under a chosen id. An object is made as its create call makes it, from the same fields and by the same
//! checks; what goes before and after that stands here.

use serde_json::{Map, Value, json};

use super::cards::Card;
use super::expand::shown;
use super::failure::{Failure, Outcome};
use super::form::of_json;
use super::ids::Ids;
use super::objects::{Charge, Intent, Kind, Meter, MeterName, Method, Refund, Status};
use super::operations::{
    charges, coupons, customers, meters, payment_intents, payment_methods, prices, products, promotion_codes, refunds,
    setup_intents, sources, tokens, webhook_endpoints,
};
use super::params::Params;
use super::scene::{Origin, Scene};
use super::{Stripe, payment, routes, search};
use crate::attempt::{Put, Resource, Seed, Wrong};
use crate::store::Tx;

/// Is one row of the table.
struct Row {
    name: &'static str,
    prefix: &'static str,
    kind: Kind,
    /// The operation whose parameters are the fields.
    operation: &'static str,
    /// The fields beside those.
    more: &'static [&'static str],
    /// Fills in what was left out, in the year that it is.
    complete: fn(&mut Map<String, Value>, i32),
    make: fn(&mut Scene<'_, '_>) -> Outcome<()>,
}

#[rustfmt::skip]
static ROWS: &[Row] = &[
    Row { name: "customers", prefix: "cus_", kind: Kind::Customer, operation: "customers.create", more: &[],
          complete: |_, _| (), make: |scene| customers::create(scene).map(drop) },
    Row { name: "payment_methods", prefix: "pm_", kind: Kind::Method, operation: "payment_methods.create", more: &["customer"],
          complete: method_card, make: method },
    Row { name: "payment_intents", prefix: "pi_", kind: Kind::Intent, operation: "payment_intents.create",
          more: &["cancellation_reason", "latest_charge", "status"], complete: towards_status, make: intent },
    Row { name: "charges", prefix: "ch_", kind: Kind::Charge, operation: "charges.create", more: &[],
          complete: charge_card, make: charge },
    Row { name: "refunds", prefix: "re_", kind: Kind::Refund, operation: "refunds.create", more: &[],
          complete: |_, _| (), make: refund },
    Row { name: "setup_intents", prefix: "seti_", kind: Kind::Setup, operation: "setup_intents.create", more: &[],
          complete: |_, _| (), make: |scene| setup_intents::create(scene).map(drop) },
    Row { name: "tokens", prefix: "tok_", kind: Kind::Token, operation: "tokens.create", more: &[],
          complete: token_card, make: |scene| tokens::create(scene).map(drop) },
    Row { name: "products", prefix: "prod_", kind: Kind::Product, operation: "products.create", more: &[],
          complete: product_name, make: |scene| products::create(scene).map(drop) },
    Row { name: "prices", prefix: "price_", kind: Kind::Price, operation: "prices.create", more: &[],
          complete: price_product, make: |scene| prices::create(scene).map(drop) },
    Row { name: "coupons", prefix: "", kind: Kind::Coupon, operation: "coupons.create", more: &[],
          complete: coupon_off, make: |scene| coupons::create(scene).map(drop) },
    Row { name: "promotion_codes", prefix: "promo_", kind: Kind::Promotion, operation: "promotion_codes.create", more: &[],
          complete: |_, _| (), make: |scene| promotion_codes::create(scene).map(drop) },
    Row { name: "webhook_endpoints", prefix: "we_", kind: Kind::Endpoint, operation: "webhook_endpoints.create", more: &["secret"],
          complete: |fields, _| set(fields, "enabled_events", json!(["*"])), make: |scene| webhook_endpoints::create(scene).map(drop) },
    Row { name: "sources", prefix: "src_", kind: Kind::Source, operation: "sources.create", more: &[],
          complete: source_token, make: |scene| sources::create(scene).map(drop) },
    Row { name: "meters", prefix: "mtr_test_", kind: Kind::Meter, operation: "billing.meters.create", more: &[],
          complete: meter_sum, make: meter },
];

const LONGEST_ID: usize = 255;
const STATUSES: [&str; 6] = [
    "requires_payment_method",
    "requires_confirmation",
    "requires_action",
    "requires_capture",
    "canceled",
    "succeeded",
];

impl Seed for Stripe {
    fn resources(&self) -> Vec<Resource> {
        let resource = |row: &Row| Resource {
            name: row.name,
            id: row.prefix,
            fields: Some(row.fields()),
        };
        ROWS.iter().map(resource).collect()
    }

    fn put(&self, tx: &mut Tx<'_>, resource: &str, id: &str, fields: &Map<String, Value>) -> Result<Put, Vec<Wrong>> {
        let row = ROWS.iter().find(|row| row.name == resource);
        let row = row.expect("the resource is one of those listed");
        let year = tx.now().year();
        check_id("id", id, year)?;
        row.check_names(fields)?;
        let new = row.kind.find(tx, id).is_none();
        let mut given = fields.clone();
        (row.complete)(&mut given, year);
        let latest = given.get("latest_charge").and_then(Value::as_str);
        if let Some(latest) = latest {
            check_id("latest_charge", latest, year)?;
        }
        let chosen: Vec<_> = [(row.prefix, id)]
            .into_iter()
            .chain(latest.map(|latest| ("ch_", latest)))
            .collect();
        let read = of_json(&given).map_err(|malformed| vec![Wrong::new("", &Value::Null, malformed.to_string())])?;
        let mut scene = Scene {
            tx,
            params: Params::new(&read),
            id,
            parent: "",
            base: "",
            origin: Origin::Seed,
            search_lag: self.search_lag,
            ids: Ids::Chosen(&chosen),
            allowed: &self.allowed,
        };
        (row.make)(&mut scene).map_err(|failure| vec![wrong(&failure, &given)])?;
        search::note(tx, self.search_lag);
        let made = row.kind.find(tx, id).expect("it was just made");
        let shown = serde_json::to_value(shown(tx, made));
        Ok(Put {
            new,
            shown: shown.expect("an object is JSON"),
        })
    }
}

impl Row {
    fn fields(&self) -> Vec<&'static str> {
        let mut fields = [&*routes::parameters(self.operation), self.more].concat();
        fields.sort_unstable();
        fields
    }

    fn check_names(&self, fields: &Map<String, Value>) -> Result<(), Vec<Wrong>> {
        let known = self.fields();
        let unknown = fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let wrong: Vec<_> = unknown
            .map(|(name, value)| {
                let why = format!("is no field that {} can be put with", self.name);
                Wrong::new(name, value, why).allowing(&known)
            })
            .collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

/// Checks an id: any that a path can hold, but no name of a test card, which would hide the object.
fn check_id(field: &str, id: &str, year: i32) -> Result<(), Vec<Wrong>> {
    let refuse = |why: &str| Err(vec![Wrong::new(field, &id.into(), why)]);
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !(1..=LONGEST_ID).contains(&id.len()) || !id.bytes().all(fits) {
        return refuse("must be 1 to 255 of A-Z a-z 0-9 _ -, such as cus_123");
    }
    let test_card = |prefix| Card::named(id, prefix, year).is_some();
    if test_card("pm_card_") || test_card("tok_") {
        return refuse("is the name of a test card, which is there already");
    }
    Ok(())
}

fn wrong(failure: &Failure, given: &Map<String, Value>) -> Wrong {
    let param = failure.param.as_deref().unwrap_or_default();
    let mut steps = param.split(['[', ']']).filter(|step| !step.is_empty());
    let first = steps.next().and_then(|step| given.get(step));
    let value = steps.fold(first, |value, step| value.and_then(|value| value.get(step)));
    Wrong::new(param, value.unwrap_or(&Value::Null), failure.message.clone())
}

fn set(fields: &mut Map<String, Value>, name: &str, value: Value) {
    fields.entry(name).or_insert(value);
}

fn plain_card(year: i32) -> Value {
    json!({"number": "4242424242424242", "exp_month": 12, "exp_year": year + 1, "cvc": "123"})
}

fn method_card(fields: &mut Map<String, Value>, year: i32) {
    set(fields, "type", "card".into());
    set(fields, "card", plain_card(year));
}

fn token_card(fields: &mut Map<String, Value>, year: i32) {
    set(fields, "card", plain_card(year));
}

fn source_token(fields: &mut Map<String, Value>, _: i32) {
    set(fields, "type", "card".into());
    if fields.get("type").and_then(Value::as_str) == Some("card") {
        set(fields, "token", "tok_visa".into());
    }
}

fn meter_sum(fields: &mut Map<String, Value>, _: i32) {
    set(fields, "default_aggregation", json!({"formula": "sum"}));
    if let Some(name) = fields.get("event_name").cloned() {
        set(fields, "display_name", name);
    }
}

fn product_name(fields: &mut Map<String, Value>, _: i32) {
    set(fields, "name", "Product".into());
}

fn price_product(fields: &mut Map<String, Value>, _: i32) {
    set(fields, "currency", "usd".into());
    if !fields.contains_key("unit_amount_decimal") {
        set(fields, "unit_amount", 1000.into());
    }
    if !fields.contains_key("product") {
        set(fields, "product_data", json!({"name": "Product"}));
    }
}

fn coupon_off(fields: &mut Map<String, Value>, _: i32) {
    if fields.contains_key("amount_off") {
        set(fields, "currency", "usd".into());
    } else {
        set(fields, "percent_off", 10.into());
    }
}

fn charge_card(fields: &mut Map<String, Value>, year: i32) {
    if !fields.contains_key("source") {
        set(fields, "card", plain_card(year));
    }
}

/// Fills in what leads an intent to the status that it should have.
fn towards_status(fields: &mut Map<String, Value>, _: i32) {
    let Some(status) = fields.get("status").and_then(Value::as_str).map(str::to_owned) else {
        return;
    };
    let card = match &*status {
        "succeeded" | "requires_capture" | "requires_confirmation" => "pm_card_visa",
        "requires_action" => "pm_card_authenticationRequired",
        _ => return,
    };
    if !fields.contains_key("payment_method_data") {
        set(fields, "payment_method", card.into());
    }
    if status != "requires_confirmation" {
        set(fields, "confirm", true.into());
    }
    if status == "requires_capture" {
        set(fields, "capture_method", "manual".into());
    }
}

fn method(scene: &mut Scene<'_, '_>) -> Outcome<()> {
    let customer = match scene.params.text("customer")? {
        Some(id) => Some(scene.customer(id, "customer")?),
        None => None,
    };
    payment_methods::create(scene)?;
    if let (Some(customer), Some(made)) = (customer, scene.tx.get::<Method>(scene.id)) {
        let attached = payment_methods::attached(Method::clone(&made), &customer.id)?;
        scene.tx.put(attached);
    }
    Ok(())
}

/// Makes a meter; the old one's name is free again.
fn meter(scene: &mut Scene<'_, '_>) -> Outcome<()> {
    if let Some(old) = scene.tx.get::<Meter>(scene.id) {
        scene.tx.remove::<MeterName>(&old.event_name);
    }
    meters::create(scene).map(drop)
}

/// Takes an intent's charge away with its old version, makes the intent, and sees where it has come.
fn intent(scene: &mut Scene<'_, '_>) -> Outcome<()> {
    let params = scene.params.clone();
    let wanted = params.one_of("status", &STATUSES)?;
    let latest = params.text("latest_charge")?;
    let old = scene
        .tx
        .get::<Intent>(scene.id)
        .and_then(|intent| intent.charge.clone());
    if let Some(id) = latest
        && old.as_deref() != Some(id)
        && scene.tx.get::<Charge>(id).is_some()
    {
        let message = format!("There is a charge {id} already, and it is not this PaymentIntent's.");
        return Err(Failure::invalid(message).param("latest_charge"));
    }
    if let Some(charge) = old.and_then(|id| scene.tx.get::<Charge>(&id)) {
        payment::unbook(scene.tx, &charge);
        scene.tx.remove::<Charge>(&charge.id);
    }
    unless_declined(payment_intents::create(scene).map(drop))?;
    if wanted == Some(Status::Canceled.as_str()) {
        payment_intents::cancel(scene)?;
    }
    let made = scene.tx.get::<Intent>(scene.id).expect("it was just made");
    let status = made.status.as_str();
    if wanted.is_some_and(|wanted| wanted != status) {
        let message = format!("With these fields the PaymentIntent's status is {status}.");
        return Err(Failure::invalid(message).param("status"));
    }
    if latest.is_some() && made.charge.as_deref() != latest {
        let message = format!("A PaymentIntent whose status is {status} has no charge that could have this id.");
        return Err(Failure::invalid(message).param("latest_charge"));
    }
    Ok(())
}

fn charge(scene: &mut Scene<'_, '_>) -> Outcome<()> {
    if let Some(old) = scene.tx.get::<Charge>(scene.id) {
        if let Some(intent) = &old.intent {
            let message = format!(
                "Charge {} belongs to PaymentIntent {intent}: put that one instead.",
                old.id
            );
            return Err(Failure::invalid(message).param("id"));
        }
        payment::unbook(scene.tx, &old);
    }
    unless_declined(charges::create(scene).map(drop))
}

fn refund(scene: &mut Scene<'_, '_>) -> Outcome<()> {
    if let Some(old) = scene.tx.get::<Refund>(scene.id) {
        payment::take_back(scene.tx, &old);
    }
    refunds::create(scene).map(drop)
}

/// Takes a decline that has left its object behind for what was asked for.
fn unless_declined(made: Outcome<()>) -> Outcome<()> {
    match made {
        Err(failure) if failure.charge.is_some() => Ok(()),
        made => made,
    }
}
