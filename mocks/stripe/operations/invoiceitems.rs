//! Invoice items.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, Chosen, For};
use crate::mocks::stripe::billing::{agenda, draft};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::decimal::Decimal;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Customer, Deleted, Invoice, InvoiceItem, InvoiceStatus, Kind, Line, LineOrigin, On, Period, Subscription, Thing,
};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};

use super::prices::{self, Allowed};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/invoiceitems", "invoiceitems.create", Kind::InvoiceItem, &["invoiceitem"], ITEM_CREATE, create),
    row(Get, "/v1/invoiceitems", "invoiceitems.list", Kind::InvoiceItem, &[], ITEM_LIST, list).listing(),
    row(Get, "/v1/invoiceitems/{id}", "invoiceitems.retrieve", Kind::InvoiceItem, &[], &[], retrieve),
    row(Post, "/v1/invoiceitems/{id}", "invoiceitems.update", Kind::InvoiceItem, &["invoiceitem_update"], ITEM_UPDATE, update),
    row(Delete, "/v1/invoiceitems/{id}", "invoiceitems.delete", Kind::InvoiceItem, &["invoiceitem_delete"], &[], delete),
];

#[rustfmt::skip]
const ITEM_CREATE: &[&str] = &[
    "amount#", "currency$", "customer$", "customer_account$", "description$", "discountable?", "discounts[]=", "invoice$",
    "metadata{}=", "period{}", "price_data{}", "pricing{}", "quantity#", "quantity_decimal$", "subscription$",
    "tax_behavior=exclusive|inclusive|unspecified", "tax_code$", "tax_rates[]", "unit_amount_decimal$",
];

#[rustfmt::skip]
const ITEM_UPDATE: &[&str] = &[
    "amount#", "description$", "discountable?", "discounts[]=", "metadata{}=", "period{}", "price_data{}", "pricing{}", "quantity#",
    "quantity_decimal$", "tax_behavior=exclusive|inclusive|unspecified", "tax_code$", "tax_rates[]=", "unit_amount_decimal$",
];

#[rustfmt::skip]
const ITEM_LIST: &[&str] = &[
    "created{}#", "customer$", "customer_account$", "ending_before$", "invoice$", "limit#", "pending?", "starting_after$",
];

/// What would need what is not modelled.
const NOT_MODELLED: [&str; 2] = ["quantity_decimal", "tax_rates"];
/// The largest amount of one item, either way.
const LARGEST: i64 = 99_999_999;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    let draft = match params.text("invoice")? {
        Some(id) => Some(draft_of(scene, id)?),
        None => None,
    };
    let customer = customer(scene, &params, draft.as_deref())?;
    let now = agenda::now(scene, customer.clock.as_ref());
    let subscription = match params.text("subscription")? {
        Some(id) => Some(subscription(scene, id, &customer.id)?),
        None => None,
    };
    let currency = match params.text("currency")? {
        Some(code) => Some(Currency::parse(code, "currency")?),
        None => draft.as_ref().map(|draft| draft.currency),
    };
    let mut item = InvoiceItem {
        id: scene.new_id("ii_"),
        date: now,
        customer: Arc::clone(&customer.id),
        invoice: None,
        was_pending: draft.is_none(),
        subscription,
        amount: 0,
        currency: currency.or(customer.currency).unwrap_or(Currency::USD),
        quantity: 1,
        unit: Decimal::default(),
        price: None,
        description: None,
        discountable: true,
        discounts: Vec::new(),
        period: Period { start: now, end: now },
        proration: false,
        clock: customer.clock.clone(),
        metadata: Metadata::default(),
    };
    if !["amount", "pricing", "price_data", "unit_amount_decimal"]
        .iter()
        .any(|name| params.has(name))
    {
        let message = "One of the following params should be provided for this request: amount, pricing, price_data or \
                       unit_amount_decimal.";
        return Err(Failure::invalid(message).code("parameter_missing"));
    }
    if params.has("amount") || params.has("unit_amount_decimal") {
        currency.ok_or_else(|| Failure::missing("currency"))?;
    }
    cost(scene, &mut item, &params)?;
    if let Some(draft) = draft.as_ref().filter(|draft| draft.currency != item.currency) {
        let (own, other) = (item.currency.code(), draft.currency.code());
        let message = format!("The currency of the invoice item ({own}) must be that of the invoice ({other}).");
        return Err(Failure::invalid(message).param("currency"));
    }
    let chosen = merge(scene, &mut item, &params, now)?;
    redeem(scene, &mut item, chosen, now);
    if let Some(draft) = draft {
        let mut invoice = Invoice::clone(&draft);
        draft::add_item(scene, &mut invoice, &item);
        put_draft(scene, &draft, invoice, now);
        item.invoice = Some(Arc::clone(&draft.id));
    }
    let item = match item.invoice {
        None => draft::put_pending(scene, item),
        Some(_) => scene.tx.put(item),
    };
    scene.tx.effect("invoiceitem", &item.id);
    scene.event("invoiceitem.created", Arc::clone(&item));
    Ok(Answer::One(Thing::InvoiceItem(item)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::InvoiceItem(own(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    let before = own(scene)?;
    let draft = editable(scene, &before)?;
    let now = agenda::now(scene, before.clock.as_ref());
    let mut item = InvoiceItem::clone(&before);
    cost(scene, &mut item, &params)?;
    if item.currency != before.currency {
        return Err(Failure::invalid("The currency of an invoice item cannot be changed.").param("pricing"));
    }
    let chosen = merge(scene, &mut item, &params, now)?;
    redeem(scene, &mut item, chosen, now);
    let item = scene.tx.put(item);
    if let Some(draft) = draft {
        if let Some(line) = line_of(scene, &draft, &item.id) {
            let changed = draft::line_of(Arc::clone(&line.id), &draft, &item);
            scene.tx.put(changed);
        }
        put_draft(scene, &draft, Invoice::clone(&draft), now);
    }
    scene.tx.effect("invoiceitem_update", &item.id);
    Ok(Answer::One(Thing::InvoiceItem(item)))
}

pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let item = own(scene)?;
    let draft = editable(scene, &item)?;
    scene.tx.remove::<InvoiceItem>(&item.id);
    if let Some(draft) = draft {
        let mut invoice = Invoice::clone(&draft);
        if let Some(line) = line_of(scene, &draft, &item.id) {
            invoice.lines.retain(|id| *id != line.id);
            scene.tx.remove::<Line>(&line.id);
        }
        let now = agenda::now(scene, draft.clock.as_ref());
        put_draft(scene, &draft, invoice, now);
    }
    scene.tx.effect("invoiceitem_delete", &item.id);
    let id = Arc::clone(&item.id);
    scene.event("invoiceitem.deleted", item);
    Ok(Answer::One(Deleted::of(id, "invoiceitem")))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let customer = scene.params.text("customer")?;
    let invoice = scene.params.text("invoice")?;
    let pending = scene.params.boolean("pending")?;
    let keep = |i: &InvoiceItem| {
        created.holds(i.date)
            && customer.is_none_or(|id| *i.customer == *id)
            && invoice.is_none_or(|id| i.invoice.as_deref() == Some(id))
            && pending.is_none_or(|pending| i.invoice.is_none() == pending)
    };
    page(scene, Kind::InvoiceItem, keep, Thing::InvoiceItem)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<InvoiceItem>> {
    scene.own(Kind::InvoiceItem, "id")
}

fn customer(scene: &Scene<'_, '_>, params: &Params<'_>, draft: Option<&Invoice>) -> Outcome<Arc<Customer>> {
    let id = match (params.text("customer")?, draft) {
        (Some(id), Some(draft)) if *draft.customer != *id => {
            let message = "The invoice that was given belongs to another customer.";
            return Err(Failure::invalid(message).param("invoice"));
        }
        (Some(id), _) => id,
        (None, Some(draft)) => &draft.customer,
        (None, None) => return Err(Failure::missing("customer")),
    };
    scene.customer(id, "customer")
}

fn subscription(scene: &Scene<'_, '_>, id: &str, customer: &str) -> Outcome<Arc<str>> {
    let found = scene
        .tx
        .get::<Subscription>(id)
        .filter(|found| *found.customer == *customer);
    let found = found.ok_or_else(|| missing(Kind::Subscription, id, "subscription"))?;
    if found.status.over() {
        let message = "You cannot add an invoice item to a subscription that is canceled.";
        return Err(Failure::invalid(message).param("subscription"));
    }
    Ok(Arc::clone(&found.id))
}

fn draft_of(scene: &Scene<'_, '_>, id: &str) -> Outcome<Arc<Invoice>> {
    let found = scene
        .tx
        .get::<Invoice>(id)
        .ok_or_else(|| missing(Kind::Invoice, id, "invoice"))?;
    if found.status == InvoiceStatus::Draft {
        return Ok(found);
    }
    Err(Failure::invalid(FINALIZED)
        .code("invoice_not_editable")
        .param("invoice"))
}

const FINALIZED: &str = "This invoice is no longer editable, because it is not a draft.";

/// Finds the draft on which an item stands, if any; one on a finalized invoice cannot be changed.
fn editable(scene: &Scene<'_, '_>, item: &InvoiceItem) -> Outcome<Option<Arc<Invoice>>> {
    let invoice = item.invoice.as_deref().and_then(|id| scene.tx.get::<Invoice>(id));
    match invoice {
        Some(invoice) if invoice.status != InvoiceStatus::Draft => {
            Err(Failure::invalid(FINALIZED).code("invoice_not_editable"))
        }
        invoice => Ok(invoice),
    }
}

fn line_of(scene: &Scene<'_, '_>, draft: &Invoice, item: &str) -> Option<Arc<Line>> {
    let mut lines = draft.lines.iter().filter_map(|id| scene.tx.get::<Line>(id));
    lines.find(|line| matches!(&line.origin, LineOrigin::Item { item: own, .. } if **own == *item))
}

/// Adds a draft up, puts it, and tells of the change.
pub(crate) fn put_draft(
    scene: &mut Scene<'_, '_>,
    before: &Arc<Invoice>,
    mut after: Invoice,
    now: i64,
) -> Arc<Invoice> {
    draft::add_up(scene, &mut after, now);
    let after = scene.tx.put(after);
    scene.changed("invoice.updated", Arc::clone(before), Arc::clone(&after));
    after
}

/// Reads what an item costs: an amount, or a price by a quantity.
fn cost(scene: &mut Scene<'_, '_>, item: &mut InvoiceItem, params: &Params<'_>) -> Outcome<()> {
    let ways = ["amount", "price_data", "pricing", "unit_amount_decimal"];
    let given: Vec<_> = ways.into_iter().filter(|name| params.has(name)).collect();
    if given.len() > 1 {
        let message = format!("You may only specify one of these parameters: {}.", given.join(", "));
        return Err(Failure::invalid(message).param(given[0]));
    }
    if let Some(quantity) = params.natural("quantity")? {
        if params.has("amount") {
            let message = "You may only specify one of these parameters: amount, quantity.";
            return Err(Failure::invalid(message).param("quantity"));
        }
        item.quantity = quantity;
    }
    match given.first() {
        None if !params.has("quantity") => return Ok(()),
        None => {}
        Some(&"amount") => {
            let amount = params.integer("amount")?.unwrap_or_default();
            (item.quantity, item.unit, item.price) = (1, Decimal::from(amount.clamp(-LARGEST - 1, LARGEST + 1)), None);
        }
        Some(&"unit_amount_decimal") => {
            item.unit = params.decimal("unit_amount_decimal")?.unwrap_or_default();
            item.price = None;
        }
        Some(&"pricing") => {
            let pricing = params.nested("pricing")?.ok_or_else(|| Failure::missing("pricing"))?;
            pricing.only(&["price"])?;
            priced(scene, item, &pricing)?;
        }
        Some(_) => priced(scene, item, params)?,
    }
    item.amount = match item
        .price
        .as_ref()
        .and_then(|(id, _)| scene.tx.get::<crate::mocks::stripe::objects::Price>(id))
    {
        Some(price) => price.amount(item.quantity),
        None => item.unit.times(item.quantity),
    };
    if item.amount.abs() > LARGEST {
        let message = format!("Amount must be no more than {}", item.currency.show(LARGEST));
        return Err(Failure::invalid(message).code("amount_too_large").param("amount"));
    }
    Ok(())
}

fn priced(scene: &mut Scene<'_, '_>, item: &mut InvoiceItem, params: &Params<'_>) -> Outcome<()> {
    let price = prices::chosen(scene, params, Allowed::OneTime)?;
    item.currency = price.currency;
    item.unit = price.unit;
    item.price = Some((Arc::clone(&price.id), Arc::clone(&price.product)));
    if item.description.is_none() {
        item.description = Some((*draft::product_name(scene, &price)).into());
    }
    Ok(())
}

/// Reads what create and update have in common, and the discounts, which are not redeemed yet.
fn merge(scene: &Scene<'_, '_>, item: &mut InvoiceItem, params: &Params<'_>, now: i64) -> Outcome<Change<Vec<Chosen>>> {
    params.change("description")?.apply(&mut item.description);
    item.metadata.merge(params)?;
    if let Some(discountable) = params.boolean("discountable")? {
        item.discountable = discountable;
    } else if !params.has("discountable") && item.amount < 0 {
        item.discountable = false;
    }
    if let Some(given) = params.nested("period")? {
        given.only(&["end", "start"])?;
        let read = |name: &str| given.integer(name)?.ok_or_else(|| Failure::missing(&given.name(name)));
        item.period = Period {
            start: read("start")?,
            end: read("end")?,
        };
        if item.period.end < item.period.start {
            return Err(Failure::invalid("Invalid period: it has to end after its start.").param("period[end]"));
        }
    }
    let what = For {
        customer: Some(&item.customer),
        currency: item.currency,
        amount: Some(item.amount),
        now,
    };
    discounts::read(scene, params, what)
}

fn redeem(scene: &mut Scene<'_, '_>, item: &mut InvoiceItem, chosen: Change<Vec<Chosen>>, now: i64) {
    match chosen {
        Change::Keep => {}
        Change::Clear => item.discounts.clear(),
        Change::Set(chosen) => {
            let on = On::InvoiceItem(Arc::clone(&item.id));
            item.discounts = discounts::redeem(scene, chosen, &on, Some(&item.customer), now);
        }
    }
}
