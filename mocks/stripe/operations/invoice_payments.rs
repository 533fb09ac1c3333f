//! Payments of invoices.

use crate::mocks::stripe::failure::Outcome;
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::objects::{InvoicePayment, Kind, Thing};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/invoice_payments", "invoice_payments.list", Kind::InvoicePayment, &[], PAYMENT_LIST, list).listing(),
    row(Get, "/v1/invoice_payments/{id}", "invoice_payments.retrieve", Kind::InvoicePayment, &[], &[], retrieve),
];

#[rustfmt::skip]
const PAYMENT_LIST: &[&str] = &[
    "created{}#", "ending_before$", "invoice$", "limit#", "payment{}", "starting_after$", "status=canceled|open|paid",
];

const RECORD: &str = "payment_record";

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let found = scene.own::<InvoicePayment>(Kind::InvoicePayment, "invoice_payment")?;
    Ok(Answer::One(Thing::InvoicePayment(found)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = &scene.params;
    let created = Created::read(params)?;
    let invoice = params.text("invoice")?;
    let status = params.one_of("status", &["canceled", "open", "paid"])?;
    let (intent, record) = match params.nested("payment")? {
        Some(payment) => {
            payment.only(&["payment_intent", "payment_record", "type"])?;
            let kind = payment.one_of("type", &["payment_intent", RECORD])?;
            // Nothing is paid by a record here.
            let record = kind == Some(RECORD) || payment.text(RECORD)?.is_some();
            (payment.text("payment_intent")?, record)
        }
        None => (None, false),
    };
    let keep = |p: &InvoicePayment| {
        !record
            && created.holds(p.created)
            && invoice.is_none_or(|id| *p.invoice == *id)
            && intent.is_none_or(|id| *p.intent == *id)
            && status.is_none_or(|status| p.status() == status)
    };
    page(scene, Kind::InvoicePayment, keep, Thing::InvoicePayment)
}
