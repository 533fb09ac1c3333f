//! Invoices: drafts, and what becomes of them.

use std::sync::Arc;

use crate::mocks::stripe::billing::{agenda, collect, draft};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, members, page};
use crate::mocks::stripe::objects::{
    Deleted, Invoice, InvoiceItem, InvoiceStatus, Kind, Line, Subscription, Task, Thing,
};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, missing};
use crate::mocks::stripe::search::{SEARCH, search};

use super::confirm::Presence;
use super::invoice_terms::{merge, redeem};
use super::invoiceitems::put_draft;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/invoices", "invoices.create", Kind::Invoice, &["invoice"], INVOICE_CREATE, create),
    row(Get, "/v1/invoices", "invoices.list", Kind::Invoice, &[], INVOICE_LIST, list).listing(),
    row(Get, "/v1/invoices/search", "invoices.search", Kind::Invoice, &[], SEARCH, search::<Invoice>).listing(),
    row(Get, "/v1/invoices/{id}", "invoices.retrieve", Kind::Invoice, &[], &[], retrieve),
    row(Post, "/v1/invoices/{id}", "invoices.update", Kind::Invoice, &["invoice_update"], INVOICE_UPDATE, update),
    row(Delete, "/v1/invoices/{id}", "invoices.delete", Kind::Invoice, &["invoice_delete"], &[], delete),
    row(Post, "/v1/invoices/{id}/finalize", "invoices.finalize", Kind::Invoice, &["invoice_finalize"], &["auto_advance?"], finalize),
    row(Post, "/v1/invoices/{id}/pay", "invoices.pay", Kind::Invoice, &["invoice_pay", "charge"], INVOICE_PAY, pay),
    row(Post, "/v1/invoices/{id}/void", "invoices.void", Kind::Invoice, &["invoice_void"], &[], void),
    row(Post, "/v1/invoices/{id}/mark_uncollectible", "invoices.mark_uncollectible", Kind::Invoice,
        &["invoice_mark_uncollectible"], &[], mark_uncollectible),
    row(Post, "/v1/invoices/{id}/send", "invoices.send", Kind::Invoice, &["invoice_send"], &[], send),
    row(Get, "/v1/invoices/{id}/lines", "invoices.lines", Kind::Line, &[],
        &["ending_before$", "limit#", "starting_after$"], lines).listing(),
];

#[rustfmt::skip]
const INVOICE_CREATE: &[&str] = &[
    "account_tax_ids[]=", "application_fee_amount#", "auto_advance?", "automatic_tax{}", "automatically_finalizes_at#",
    "collection_method=charge_automatically|send_invoice", "currency$", "custom_fields[]=", "customer$", "customer_account$",
    "days_until_due#", "default_payment_method$", "default_source$", "default_tax_rates[]", "description$", "discounts[]=",
    "due_date#", "effective_at#", "footer$", "from_invoice{}", "issuer{}", "metadata{}=", "number$", "on_behalf_of$",
    "payment_settings{}", "pending_invoice_items_behavior=exclude|include", "rendering{}", "shipping_cost{}", "shipping_details{}",
    "statement_descriptor$", "subscription$", "transfer_data{}",
];

#[rustfmt::skip]
const INVOICE_UPDATE: &[&str] = &[
    "account_tax_ids[]=", "application_fee_amount#", "auto_advance?", "automatic_tax{}", "automatically_finalizes_at#",
    "collection_method=charge_automatically|send_invoice", "custom_fields[]=", "days_until_due#", "default_payment_method$",
    "default_source$", "default_tax_rates[]=", "description$", "discounts[]=", "due_date#", "effective_at#=", "footer$", "issuer{}",
    "metadata{}=", "number$", "on_behalf_of$", "payment_settings{}", "rendering{}", "shipping_cost{}=", "shipping_details{}=",
    "statement_descriptor$", "transfer_data{}=",
];

#[rustfmt::skip]
const INVOICE_LIST: &[&str] = &[
    "collection_method=charge_automatically|send_invoice", "created{}#", "customer$", "customer_account$", "due_date{}#",
    "ending_before$", "limit#", "starting_after$", "status=draft|open|paid|uncollectible|void", "subscription$",
];

#[rustfmt::skip]
const INVOICE_PAY: &[&str] = &[
    "forgive?", "mandate$", "off_session?", "paid_out_of_band?", "payment_method$", "source$",
];

/// What would need what is not modelled.
const NOT_MODELLED: [&str; 6] = [
    "application_fee_amount",
    "default_tax_rates",
    "from_invoice",
    "on_behalf_of",
    "shipping_cost",
    "transfer_data",
];

pub(super) const METHODS: [&str; 2] = ["charge_automatically", "send_invoice"];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    let customer = scene.customer(params.required("customer")?, "customer")?;
    let now = agenda::now(scene, customer.clock.as_ref());
    let subscription = match params.text("subscription")? {
        Some(id) => {
            let found = scene
                .tx
                .get::<Subscription>(id)
                .filter(|found| found.customer == customer.id);
            Some(found.ok_or_else(|| missing(Kind::Subscription, id, "subscription"))?)
        }
        None => None,
    };
    let own = |item: &InvoiceItem| match &subscription {
        Some(subscription) => item.subscription.as_ref() == Some(&subscription.id),
        None => item.subscription.is_none(),
    };
    let behavior = params.one_of("pending_invoice_items_behavior", &["exclude", "include"])?;
    let mut waiting = match behavior {
        Some("include") => draft::pending(scene, &customer.id, own),
        None if subscription.is_some() => draft::pending(scene, &customer.id, own),
        _ => Vec::new(),
    };
    let currency = match params.text("currency")? {
        Some(code) => Some(Currency::parse(code, "currency")?),
        None => subscription
            .as_ref()
            .map(|s| s.currency)
            .or_else(|| waiting.first().map(|item| item.currency)),
    };
    let currency = currency.or(customer.currency).unwrap_or(Currency::USD);
    waiting.retain(|item| item.currency == currency);
    let mut invoice = draft::blank(scene, &customer, currency, now);
    if let Some(subscription) = &subscription {
        if waiting.is_empty() {
            let message = "Nothing to invoice for subscription";
            return Err(Failure::invalid(message).code("invoice_no_subscription_line_items"));
        }
        invoice.subscription = Some(Arc::clone(&subscription.id));
        invoice.subscription_metadata = subscription.metadata.clone();
    }
    let chosen = merge(scene, &mut invoice, &params, now)?;
    if invoice.sent && invoice.due_date.is_none() {
        let message = "If invoices are set to `send_invoice`, you must provide either `due_date` or `days_until_due`.";
        return Err(Failure::invalid(message).param("days_until_due"));
    }
    redeem(scene, &mut invoice, chosen, now);
    for item in &waiting {
        draft::add_item(scene, &mut invoice, item);
    }
    draft::add_up(scene, &mut invoice, now);
    plan(scene, &mut invoice, now);
    let invoice = scene.tx.put(invoice);
    scene.tx.effect("invoice", &invoice.id);
    scene.event("invoice.created", Arc::clone(&invoice));
    Ok(Answer::One(Thing::Invoice(invoice)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Invoice(own(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    /// What can still be changed after an invoice was finalized.
    const LATER: [&str; 4] = ["auto_advance", "default_payment_method", "metadata", "expand"];
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    let before = own(scene)?;
    let now = agenda::now(scene, before.clock.as_ref());
    if before.status != InvoiceStatus::Draft
        && let Some(name) = params.names().find(|name| !LATER.contains(name))
    {
        let message = "Finalized invoices can't be updated in this way";
        return Err(Failure::invalid(message).code("invoice_not_editable").param(name));
    }
    let mut invoice = Invoice::clone(&before);
    let chosen = merge(scene, &mut invoice, &params, now)?;
    redeem(scene, &mut invoice, chosen, now);
    let invoice = if before.status == InvoiceStatus::Draft {
        plan(scene, &mut invoice, now);
        put_draft(scene, &before, invoice, now)
    } else {
        let invoice = scene.tx.put(invoice);
        scene.changed("invoice.updated", before, Arc::clone(&invoice));
        invoice
    };
    scene.tx.effect("invoice_update", &invoice.id);
    Ok(Answer::One(Thing::Invoice(invoice)))
}

/// Deletes a draft; what waited for an invoice before waits again.
pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let invoice = own(scene)?;
    if invoice.status != InvoiceStatus::Draft || invoice.subscription.is_some() {
        let message = "You can only delete draft invoices that are not of a subscription.";
        return Err(Failure::invalid(message).code("invoice_not_editable"));
    }
    let items: Vec<_> = scene
        .tx
        .list::<InvoiceItem>()
        .filter(|item| item.invoice.as_ref() == Some(&invoice.id))
        .collect();
    for item in items {
        if item.was_pending {
            let again = InvoiceItem {
                invoice: None,
                ..InvoiceItem::clone(&item)
            };
            draft::put_pending(scene, again);
        } else {
            scene.tx.remove::<InvoiceItem>(&item.id);
        }
    }
    for line in &invoice.lines {
        scene.tx.remove::<Line>(line);
    }
    agenda::forget(scene, invoice.clock.as_ref(), &Task::Finalize(Arc::clone(&invoice.id)));
    scene.tx.remove::<Invoice>(&invoice.id);
    scene.tx.effect("invoice_delete", &invoice.id);
    let id = Arc::clone(&invoice.id);
    scene.event("invoice.deleted", invoice);
    Ok(Answer::One(Deleted::of(id, "invoice")))
}

pub(crate) fn finalize(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let advances = scene.params.boolean("auto_advance")?;
    let before = own(scene)?;
    if before.status != InvoiceStatus::Draft {
        let message = "This invoice is already finalized, you can't re-finalize a non-draft invoice.";
        return Err(Failure::invalid(message).code("invoice_not_editable"));
    }
    let now = agenda::now(scene, before.clock.as_ref());
    let draft = Arc::new(Invoice {
        auto_advance: advances.unwrap_or(before.auto_advance),
        ..Invoice::clone(&before)
    });
    let invoice = collect::finalize(scene, &draft, now);
    scene.tx.effect("invoice_finalize", &invoice.id);
    Ok(Answer::One(Thing::Invoice(invoice)))
}

/// Pays an invoice; a draft is finalized first. A payment that fails leaves it open.
pub(crate) fn pay(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let elsewhere = params.boolean("paid_out_of_band")?.unwrap_or(false);
    params.boolean("forgive")?;
    let away = params.boolean("off_session")?.unwrap_or(true);
    let before = own(scene)?;
    let now = agenda::now(scene, before.clock.as_ref());
    match before.status {
        InvoiceStatus::Paid => return Err(Failure::invalid("Invoice is already paid")),
        InvoiceStatus::Void => return Err(Failure::invalid("This invoice is void, so it can no longer be paid.")),
        _ => {}
    }
    let given = match (params.text("payment_method")?, params.text("source")?) {
        (Some(id), _) => Some((id, "payment_method")),
        (None, Some(id)) => Some((id, "source")),
        (None, None) => None,
    };
    let method = match given {
        Some((id, param)) => Some(Arc::clone(&collect::owned(scene, id, &before.customer, param)?.id)),
        None => collect::method_of(scene, &before),
    };
    if method.is_none() && !elsewhere && before.sums.due > 0 {
        return Err(collect::no_method());
    }
    let open = match before.status {
        InvoiceStatus::Draft => collect::finalize(scene, &before, now),
        _ => Arc::clone(&before),
    };
    let invoice = if open.status == InvoiceStatus::Paid {
        open
    } else if elsewhere {
        collect::paid_elsewhere(scene, &open, now)
    } else {
        let presence = if away { Presence::AWAY } else { Presence::HERE };
        let method = method.ok_or_else(collect::no_method)?;
        collect::pay(scene, &open, &method, presence, now)?
    };
    scene.tx.effect("invoice_pay", &invoice.id);
    Ok(Answer::One(Thing::Invoice(invoice)))
}

pub(crate) fn void(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let open = [InvoiceStatus::Open, InvoiceStatus::Uncollectible];
    let (before, now) = in_one_of(scene, &open, "voided")?;
    let invoice = collect::void(scene, &before, now);
    scene.tx.effect("invoice_void", &invoice.id);
    Ok(Answer::One(Thing::Invoice(invoice)))
}

pub(crate) fn mark_uncollectible(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let (before, now) = in_one_of(scene, &[InvoiceStatus::Open], "marked as uncollectible")?;
    let invoice = collect::give_up(scene, &before, now);
    scene.tx.effect("invoice_mark_uncollectible", &invoice.id);
    Ok(Answer::One(Thing::Invoice(invoice)))
}

/// Sends an invoice, which no mail tells of here; a draft is finalized first.
pub(crate) fn send(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let (before, now) = in_one_of(scene, &[InvoiceStatus::Draft, InvoiceStatus::Open], "sent")?;
    if !before.sent {
        let message = "You can only manually send an invoice if its `collection_method` is `send_invoice`.";
        return Err(Failure::invalid(message));
    }
    let invoice = match before.status {
        InvoiceStatus::Draft => collect::finalize(scene, &before, now),
        _ => before,
    };
    scene.tx.effect("invoice_send", &invoice.id);
    scene.event("invoice.sent", Arc::clone(&invoice));
    Ok(Answer::One(Thing::Invoice(invoice)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    const STATUSES: [&str; 5] = ["draft", "open", "paid", "uncollectible", "void"];
    let params = &scene.params;
    let created = Created::read(params)?;
    let due = Created::read_as(params, "due_date")?;
    let customer = params.text("customer")?;
    let subscription = params.text("subscription")?;
    let status = params.one_of("status", &STATUSES)?;
    let sent = params
        .one_of("collection_method", &METHODS)?
        .map(|method| method == "send_invoice");
    let by_due = params.has("due_date");
    let keep = |i: &Invoice| {
        created.holds(i.created)
            && (!by_due || i.due_date.is_some_and(|date| due.holds(date)))
            && customer.is_none_or(|id| *i.customer == *id)
            && subscription.is_none_or(|id| i.subscription.as_deref() == Some(id))
            && status.is_none_or(|status| i.status.as_str() == status)
            && sent.is_none_or(|sent| i.sent == sent)
    };
    page(scene, Kind::Invoice, keep, Thing::Invoice)
}

pub(crate) fn lines(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let invoice = own(scene)?;
    members(scene, Kind::Line, &invoice.lines)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Invoice>> {
    scene.own(Kind::Invoice, "invoice")
}

/// Finds the invoice, which has to have one of these statuses.
fn in_one_of(scene: &Scene<'_, '_>, statuses: &[InvoiceStatus], what: &str) -> Outcome<(Arc<Invoice>, i64)> {
    let invoice = own(scene)?;
    if !statuses.contains(&invoice.status) {
        let status = invoice.status.as_str();
        let which: Vec<_> = statuses.iter().map(|status| status.as_str()).collect();
        let message = format!(
            "This invoice cannot be {what} because it is {status}; it has to be {}.",
            which.join(" or ")
        );
        return Err(Failure::invalid(message));
    }
    let now = agenda::now(scene, invoice.clock.as_ref());
    Ok((invoice, now))
}

/// Lets a draft be finalized in an hour if it goes its own way, and else not.
fn plan(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, now: i64) {
    let task = Task::Finalize(Arc::clone(&invoice.id));
    if invoice.auto_advance {
        let at = invoice.finalizes_at.unwrap_or(now + agenda::HOUR);
        invoice.finalizes_at = Some(at);
        agenda::plan(scene, invoice.clock.as_ref(), at, task);
    } else {
        invoice.finalizes_at = None;
        agenda::forget(scene, invoice.clock.as_ref(), &task);
    }
}
