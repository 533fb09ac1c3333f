//! Customers.

use std::sync::Arc;

use crate::mocks::stripe::billing::{agenda, cycle};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::objects::{
    Address, Customer, Kind, Method, Preferences, Shipping, Subscription, TestClock, Thing,
};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};
use crate::mocks::stripe::search::{SEARCH, search};

use super::{customer_sources, payment_methods};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/customers", "customers.create", Kind::Customer, &["customer"], CUSTOMER_CREATE, create),
    row(Get, "/v1/customers", "customers.list", Kind::Customer, &[],
        &["created", "email", "ending_before", "limit", "starting_after", "test_clock"], list).listing(),
    row(Get, "/v1/customers/search", "customers.search", Kind::Customer, &[], SEARCH, search::<Customer>).listing(),
    row(Get, "/v1/customers/{id}", "customers.retrieve", Kind::Customer, &[], &[], retrieve),
    row(Post, "/v1/customers/{id}", "customers.update", Kind::Customer, &["customer_update"], CUSTOMER_UPDATE, update),
    row(Delete, "/v1/customers/{id}", "customers.delete", Kind::Customer, &["customer_delete"], &[], delete),
];

#[rustfmt::skip]
const CUSTOMER_CREATE: &[&str] = &[
    "address", "balance", "business_name", "cash_balance", "description", "email", "individual_name",
    "invoice_prefix", "invoice_settings", "metadata", "name", "next_invoice_sequence", "payment_method", "phone",
    "preferred_locales", "shipping", "source", "tax", "tax_exempt", "tax_id_data", "test_clock",
];

#[rustfmt::skip]
const CUSTOMER_UPDATE: &[&str] = &[
    "address", "balance", "business_name", "cash_balance", "default_source", "description", "email",
    "individual_name", "invoice_prefix", "invoice_settings", "metadata", "name", "next_invoice_sequence", "phone",
    "preferred_locales", "shipping", "source", "tax", "tax_exempt",
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let mut customer = Customer::new(scene.new_id("cus_"), scene.now());
    merge(&mut customer, &params)?;
    if let Some(id) = params.text("test_clock")? {
        let clock = scene.tx.get::<TestClock>(id);
        let clock = clock.ok_or_else(|| missing(Kind::TestClock, id, "test_clock"))?;
        customer.created = clock.frozen_time;
        customer.clock = Some(Arc::clone(&clock.id));
    }
    if let Some(id) = params.text("payment_method")? {
        let method = scene.method(id, "payment_method")?;
        let method = payment_methods::attached(method, &customer.id)?;
        set_default_method(scene, &mut customer, &params, Some(&method.id))?;
        payment_methods::put_attached(scene, method);
    } else {
        set_default_method(scene, &mut customer, &params, None)?;
    }
    let kept = customer_sources::replace_default(scene, &mut customer, &params)?;
    let customer = scene.tx.put(customer);
    scene.tx.effect("customer", &customer.id);
    scene.event("customer.created", Arc::clone(&customer));
    if let Some(kept) = kept {
        scene.event("customer.source.created", kept);
    }
    Ok(Answer::One(Thing::Customer(customer)))
}

/// Finds a customer; a deleted one still answers.
pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Customer(scene.own(Kind::Customer, "id")?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = living(scene)?;
    let mut customer = Customer::clone(&before);
    merge(&mut customer, &params)?;
    if let Some(id) = params.text("default_source")? {
        if !customer.keeps(id) {
            return Err(missing(Kind::Card, id, "default_source"));
        }
        customer.default_source = Some(id.into());
    }
    set_default_method(scene, &mut customer, &params, None)?;
    let kept = customer_sources::replace_default(scene, &mut customer, &params)?;
    let customer = scene.tx.put(customer);
    scene.tx.effect("customer_update", &customer.id);
    scene.changed("customer.updated", before, Arc::clone(&customer));
    if let Some(kept) = kept {
        scene.event("customer.source.created", kept);
    }
    Ok(Answer::One(Thing::Customer(customer)))
}

pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = living(scene)?;
    let own = |s: &Arc<Subscription>| s.customer == customer.id && !s.status.over();
    let running: Vec<_> = scene.tx.list::<Subscription>().filter(own).collect();
    for subscription in running {
        let now = agenda::now(scene, subscription.clock.as_ref());
        cycle::end(scene, &subscription, now, "cancellation_requested");
    }
    let mut gone = Customer::new(Arc::clone(&customer.id), customer.created);
    gone.deleted = true;
    let gone = scene.tx.put(gone);
    scene.tx.effect("customer_delete", &gone.id);
    scene.event("customer.deleted", customer);
    Ok(Answer::One(Thing::Customer(gone)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let email = scene.params.text("email")?;
    let clock = scene.params.text("test_clock")?;
    // Who lives on a test clock is listed with it only.
    let keep = |c: &Customer| {
        !c.deleted
            && c.clock.as_deref() == clock
            && created.holds(c.created)
            && email.is_none_or(|email| c.email.as_deref() == Some(email))
    };
    page(scene, Kind::Customer, keep, Thing::Customer)
}

fn living(scene: &Scene<'_, '_>) -> Outcome<Arc<Customer>> {
    let found = scene.own::<Customer>(Kind::Customer, "id")?;
    if found.deleted {
        return Err(Failure::no_such(Kind::Customer.word(), scene.id, "id"));
    }
    Ok(found)
}

fn merge(customer: &mut Customer, params: &Params<'_>) -> Outcome<()> {
    params.change("name")?.apply(&mut customer.name);
    params.change("phone")?.apply(&mut customer.phone);
    params.change("description")?.apply(&mut customer.description);
    if let Change::Set(email) = params.change("email")? {
        let valid = email
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !email.contains(char::is_whitespace));
        if !valid {
            let shown: String = email.chars().take(200).collect();
            return Err(Failure::invalid(format!("Invalid email address: {shown}"))
                .code("email_invalid")
                .param("email"));
        }
    }
    params.change("email")?.apply(&mut customer.email);
    if let Some(balance) = params.integer("balance")? {
        customer.balance = balance;
    }
    if let Some(next) = params.amount("next_invoice_sequence")? {
        if next > 1_000_000_000 {
            let message = "This value must be at most 1000000000.";
            return Err(Failure::invalid(message).param("next_invoice_sequence"));
        }
        customer.next_invoice = next;
    }
    Address::change(&mut customer.address, params, "address")?;
    Shipping::change(&mut customer.shipping, params)?;
    Preferences::change(&mut customer.preferences, params)?;
    customer.metadata.merge(params)
}

/// Reads `invoice_settings[default_payment_method]`, which must be the customer's own.
fn set_default_method(
    scene: &Scene<'_, '_>,
    customer: &mut Customer,
    params: &Params<'_>,
    attached: Option<&Arc<str>>,
) -> Outcome<()> {
    let Some(settings) = params.nested("invoice_settings")? else {
        return Ok(());
    };
    settings.only(&["custom_fields", "default_payment_method", "footer", "rendering_options"])?;
    customer.default_method = match settings.change("default_payment_method")? {
        Change::Keep => return Ok(()),
        Change::Clear => None,
        Change::Set(id) => {
            let stored = scene.tx.get::<Method>(id);
            let own = stored.filter(|m| m.customer.as_ref() == Some(&customer.id));
            let just_now = attached.filter(|_| params.text("payment_method").ok().flatten() == Some(id));
            let id = own.map(|m| Arc::clone(&m.id)).or_else(|| just_now.cloned());
            Some(id.ok_or_else(|| {
                let message = "The customer does not have a payment method with this ID. The payment method must be \
                               attached to the customer.";
                Failure::invalid(message)
                    .code("resource_missing")
                    .param("invoice_settings[default_payment_method]")
            })?)
        }
    };
    Ok(())
}
