//! What is read of an invoice, whoever makes or changes it.

use std::sync::Arc;

use crate::mocks::stripe::billing::collect;
use crate::mocks::stripe::billing::discounts::{self, Chosen, For};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{Invoice, On};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::Scene;

use super::invoices::METHODS;

const DAY: i64 = 86_400;

/// Reads what create and update have in common, and the discounts, which are not redeemed yet.
pub(super) fn merge(
    scene: &Scene<'_, '_>,
    invoice: &mut Invoice,
    params: &Params<'_>,
    now: i64,
) -> Outcome<Change<Vec<Chosen>>> {
    if let Some(tax) = params.nested("automatic_tax")? {
        tax.only(&["enabled", "liability"])?;
        if tax.boolean("enabled")? == Some(true) {
            return Err(tax.unmodelled("enabled"));
        }
    }
    if let Some(advances) = params.boolean("auto_advance")? {
        invoice.auto_advance = advances;
    }
    if let Some(at) = params.integer("automatically_finalizes_at")? {
        if at <= now {
            let message = "Invalid timestamp: it has to be in the future.";
            return Err(Failure::invalid(message).param("automatically_finalizes_at"));
        }
        invoice.finalizes_at = Some(at);
    }
    if let Some(method) = params.one_of("collection_method", &METHODS)? {
        invoice.sent = method == "send_invoice";
    }
    for name in ["default_payment_method", "default_source"] {
        match params.change(name)? {
            Change::Keep => {}
            Change::Clear => invoice.default_method = None,
            Change::Set(id) => {
                invoice.default_method = Some(Arc::clone(&collect::owned(scene, id, &invoice.customer, name)?.id));
            }
        }
    }
    params.change("description")?.apply(&mut invoice.description);
    params.change("footer")?.apply(&mut invoice.footer);
    params
        .change("statement_descriptor")?
        .apply(&mut invoice.statement_descriptor);
    params.change("number")?.apply(&mut invoice.number);
    if params.has("effective_at") {
        invoice.effective_at = match params.change("effective_at")? {
            Change::Clear => None,
            _ => params.integer("effective_at")?,
        };
    }
    due(invoice, params, now)?;
    invoice.metadata.merge(params)?;
    let what = For {
        customer: Some(&invoice.customer),
        currency: invoice.currency,
        amount: None,
        now,
    };
    discounts::read(scene, params, what)
}

/// Reads when an invoice that is sent is due.
fn due(invoice: &mut Invoice, params: &Params<'_>, now: i64) -> Outcome<()> {
    let (days, date) = (params.natural("days_until_due")?, params.integer("due_date")?);
    for name in ["days_until_due", "due_date"] {
        if params.has(name) && !invoice.sent {
            let message = format!("`{name}` can only be set if `collection_method` is `send_invoice`.");
            return Err(Failure::invalid(message).param(name));
        }
    }
    match (days, date) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: days_until_due, due_date.";
            return Err(Failure::invalid(message).param("due_date"));
        }
        (Some(days), None) => {
            invoice.days_until_due = Some(days);
            invoice.due_date = Some(now.saturating_add(days.saturating_mul(DAY)));
        }
        (None, Some(date)) if date < now => {
            return Err(Failure::invalid("Invalid timestamp: it has to be in the future.").param("due_date"));
        }
        (None, Some(date)) => {
            invoice.days_until_due = None;
            invoice.due_date = Some(date);
        }
        (None, None) => {}
    }
    Ok(())
}

/// Redeems the discounts that were read.
pub(super) fn redeem(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, chosen: Change<Vec<Chosen>>, now: i64) {
    match chosen {
        Change::Keep => {}
        Change::Clear => invoice.discounts.clear(),
        Change::Set(chosen) => {
            let on = On::Invoice(Arc::clone(&invoice.id));
            invoice.discounts = discounts::redeem(scene, chosen, &on, Some(&invoice.customer), now);
        }
    }
}
