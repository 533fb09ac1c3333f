//! Finalizing invoices, and collecting them: the payment is an intent like any other, confirmed by the same code.

use std::sync::Arc;

use super::agenda::{self, HOUR};
use super::{cycle, draft, totals};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    CaptureMethod, Customer, Intent, IntentTerms, Invoice, InvoicePayment, InvoiceStatus, Method, Payer, Status,
    Subscription, Task, Thing,
};
use crate::mocks::stripe::operations::confirm::{Presence, confirm};
use crate::mocks::stripe::scene::Scene;

/// The index from an intent to its invoice.
const INVOICE_OF: &str = "stripe.invoice_of_intent";
/// After how many days a payment that failed is tried again, by the number of attempts.
const RETRIES: [i64; 3] = [3, 5, 7];
const DAY: i64 = 24 * HOUR;

/// Finalizes a draft: it gets its number, takes the customer's balance up, and cannot be changed any more. One over nothing is paid.
pub(crate) fn finalize(scene: &mut Scene<'_, '_>, before: &Arc<Invoice>, now: i64) -> Arc<Invoice> {
    let mut invoice = Invoice::clone(before);
    draft::add_up(scene, &mut invoice, now);
    if let Some(customer) = scene.tx.get::<Customer>(&invoice.customer) {
        enter(scene, &mut invoice, &customer);
    }
    invoice.status = InvoiceStatus::Open;
    invoice.finalizes_at = None;
    invoice.times.finalized_at = Some(now);
    invoice.effective_at = invoice.effective_at.or(Some(now));
    if let Some(days) = invoice.days_until_due {
        invoice.due_date = Some(now.saturating_add(days.saturating_mul(DAY)));
    }
    agenda::forget(scene, invoice.clock.as_ref(), &Task::Finalize(Arc::clone(&invoice.id)));
    if invoice.sums.due > 0 {
        ask(scene, &mut invoice, now);
        if invoice.auto_advance && !invoice.sent {
            plan_attempt(scene, &mut invoice, now + HOUR);
        }
    }
    let invoice = scene.tx.put(invoice);
    scene.event("invoice.finalized", Arc::clone(&invoice));
    if invoice.sums.due > 0 {
        return invoice;
    }
    paid(scene, &invoice, now)
}

/// Numbers an invoice, and moves the customer's balance by it.
fn enter(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, customer: &Arc<Customer>) {
    let sums = &mut invoice.sums;
    let (due, balance) = totals::settle(sums.total, customer.balance, invoice.currency.smallest());
    sums.starting_balance = customer.balance;
    sums.ending_balance = Some(balance);
    sums.due = due;
    if !customer.deleted {
        invoice.payer = Payer::of(customer);
    }
    if invoice.number.is_none() {
        invoice.number = Some(format!("{}-{:04}", customer.prefix(), customer.next_invoice).into());
    }
    let after = scene.tx.put(Customer {
        balance,
        next_invoice: customer.next_invoice + 1,
        currency: customer.currency.or(Some(invoice.currency)),
        ..Customer::clone(customer)
    });
    if after.balance != customer.balance {
        scene.changed("customer.updated", Arc::clone(customer), after);
    }
}

/// Makes the intent by which an invoice is to be paid.
fn ask(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, now: i64) -> Arc<Intent> {
    let description = match invoice.reason {
        "subscription_create" => "Subscription creation",
        "subscription_update" => "Subscription update",
        _ => "Payment for Invoice",
    };
    let again = invoice.subscription.is_some();
    let intent = Intent {
        id: scene.new_id("pi_"),
        created: scene.now(),
        amount: invoice.sums.due,
        amount_received: 0,
        currency: invoice.currency,
        status: Status::RequiresPaymentMethod,
        capture_method: CaptureMethod::Automatic,
        confirmation_manual: false,
        customer: Some(Arc::clone(&invoice.customer)),
        method: None,
        charge: None,
        description: Some(description.into()),
        metadata: Metadata::default(),
        failed: None,
        canceled: None,
        authenticated: false,
        page: None,
        terms: again.then(|| {
            Arc::new(IntentTerms {
                setup_future_usage: Some("off_session"),
                ..IntentTerms::default()
            })
        }),
    };
    let intent = scene.tx.put(intent);
    scene.event("payment_intent.created", Arc::clone(&intent));
    let payment = InvoicePayment {
        id: scene.new_id("inpay_"),
        created: now,
        invoice: Arc::clone(&invoice.id),
        intent: Arc::clone(&intent.id),
        amount: invoice.sums.due,
        currency: invoice.currency,
        canceled_at: None,
        paid_at: None,
    };
    invoice.payments.push(Arc::clone(&scene.tx.put(payment).id));
    invoice.intent = Some(Arc::clone(&intent.id));
    let claimed = scene.tx.claim(INVOICE_OF, &intent.id, &invoice.id);
    claimed.expect("the intent was just made");
    intent
}

/// Names the method by which an invoice is paid: its own, its subscription's, its customer's.
pub(crate) fn method_of(scene: &Scene<'_, '_>, invoice: &Invoice) -> Option<Arc<str>> {
    let subscription = || {
        scene
            .tx
            .get::<Subscription>(invoice.subscription.as_deref()?)?
            .default_method
            .clone()
    };
    let customer = || {
        let customer = scene.tx.get::<Customer>(&invoice.customer)?;
        customer
            .default_method
            .clone()
            .or_else(|| customer.default_source.clone())
    };
    invoice.default_method.clone().or_else(subscription).or_else(customer)
}

/// Says that there is nothing to pay with.
pub(crate) fn no_method() -> Box<Failure> {
    Failure::invalid(
        "This customer has no attached payment source or default payment method. Please consider adding a default payment \
         method. For more information, visit \
         https://stripe.com/docs/billing/subscriptions/payment-methods-setting#payment-method-priority.",
    )
    .code("resource_missing")
}

/// Finds a method that belongs to a customer.
pub(crate) fn owned(scene: &Scene<'_, '_>, id: &str, customer: &str, param: &str) -> Outcome<Arc<Method>> {
    let found = scene.tx.get::<Method>(id);
    let own = found.filter(|method| method.customer.as_deref() == Some(customer));
    own.ok_or_else(|| {
        let id: String = id.chars().take(200).collect();
        let message = format!(
            "The customer does not have a payment method with the ID {id}. The payment method must be attached to the customer."
        );
        Failure::invalid(message).code("resource_missing").param(param)
    })
}

/// Collects an open invoice. What fails leaves it open, with one attempt more; its new version is in the store.
pub(crate) fn pay(
    scene: &mut Scene<'_, '_>,
    open: &Arc<Invoice>,
    method: &str,
    presence: Presence,
    now: i64,
) -> Outcome<Arc<Invoice>> {
    pay_as(scene, open, method, presence, false, now)
}

/// Collects an open invoice from a holder who may have authenticated already.
pub(crate) fn pay_as(
    scene: &mut Scene<'_, '_>,
    open: &Arc<Invoice>,
    method: &str,
    presence: Presence,
    authenticated: bool,
    now: i64,
) -> Outcome<Arc<Invoice>> {
    let mut invoice = Invoice::clone(open);
    let asked = invoice.intent.as_deref().and_then(|id| scene.tx.get::<Intent>(id));
    let usable = asked.filter(|intent| {
        matches!(
            intent.status,
            Status::RequiresPaymentMethod | Status::RequiresConfirmation | Status::RequiresAction
        ) && intent.amount == invoice.sums.due
    });
    let intent = usable.unwrap_or_else(|| {
        cancel_payment(scene, &invoice, now);
        ask(scene, &mut invoice, now)
    });
    scene.tx.put(invoice);
    let intent = Intent {
        method: Some(method.into()),
        status: Status::RequiresConfirmation,
        authenticated,
        ..Intent::clone(&intent)
    };
    let confirmed = confirm(scene, intent, None, presence);
    let invoice = scene.tx.get::<Invoice>(&open.id).expect("it was just put");
    match confirmed {
        Ok(intent) if intent.status == Status::RequiresAction => {
            attempt_failed(scene, &invoice, true, now);
            let message = "This payment requires additional user action before it can be completed successfully. Payment can be \
                           completed using the PaymentIntent associated with the invoice.";
            let failure = Failure::new(402, "card_error", message).code("invoice_payment_intent_requires_action");
            Err(failure.intent(Thing::Intent(intent).plain()))
        }
        Ok(_) => Ok(invoice),
        Err(failure) => {
            if failure.charge.is_some() {
                attempt_failed(scene, &invoice, false, now);
            }
            Err(failure)
        }
    }
}

/// Notes that an attempt to collect failed, and plans the next.
pub(crate) fn attempt_failed(scene: &mut Scene<'_, '_>, before: &Arc<Invoice>, action: bool, now: i64) {
    let mut invoice = Invoice::clone(before);
    invoice.attempted = true;
    invoice.attempt_count += 1;
    invoice.next_attempt = None;
    let days = usize::try_from(invoice.attempt_count)
        .ok()
        .and_then(|count| RETRIES.get(count - 1));
    match days {
        Some(days) if invoice.auto_advance && !invoice.sent => plan_attempt(scene, &mut invoice, now + days * DAY),
        _ => agenda::forget(scene, invoice.clock.as_ref(), &Task::Collect(Arc::clone(&invoice.id))),
    }
    let invoice = scene.tx.put(invoice);
    scene.changed("invoice.updated", Arc::clone(before), Arc::clone(&invoice));
    if action {
        scene.event("invoice.payment_action_required", Arc::clone(&invoice));
    }
    scene.event("invoice.payment_failed", Arc::clone(&invoice));
    cycle::not_paid(scene, &invoice);
}

fn plan_attempt(scene: &mut Scene<'_, '_>, invoice: &mut Invoice, at: i64) {
    invoice.next_attempt = Some(at);
    agenda::plan(
        scene,
        invoice.clock.as_ref(),
        at,
        Task::Collect(Arc::clone(&invoice.id)),
    );
}

/// Lets an invoice be paid by its intent, whoever confirmed that.
pub(crate) fn settled(scene: &mut Scene<'_, '_>, intent: &Intent) {
    if intent.status != Status::Succeeded {
        return;
    }
    let Some(id) = scene.tx.holder(INVOICE_OF, &intent.id) else {
        return;
    };
    let collectable =
        |invoice: &Arc<Invoice>| matches!(invoice.status, InvoiceStatus::Open | InvoiceStatus::Uncollectible);
    let Some(invoice) = scene.tx.get::<Invoice>(&id).filter(collectable) else {
        return;
    };
    let now = agenda::now(scene, invoice.clock.as_ref());
    let invoice = scene.tx.put(Invoice {
        attempt_count: invoice.attempt_count + 1,
        ..Invoice::clone(&invoice)
    });
    paid(scene, &invoice, now);
    cycle::keep_method(scene, &invoice, intent);
}

/// Says whether an intent is an invoice's.
pub(crate) fn is_of_invoice(scene: &Scene<'_, '_>, intent: &str) -> bool {
    scene.tx.holder(INVOICE_OF, intent).is_some()
}

/// Makes an invoice paid.
pub(crate) fn paid(scene: &mut Scene<'_, '_>, before: &Arc<Invoice>, now: i64) -> Arc<Invoice> {
    let mut invoice = Invoice::clone(before);
    invoice.status = InvoiceStatus::Paid;
    invoice.sums.paid = invoice.sums.due;
    invoice.attempted = true;
    invoice.next_attempt = None;
    invoice.times.paid_at = Some(now);
    agenda::forget(scene, invoice.clock.as_ref(), &Task::Collect(Arc::clone(&invoice.id)));
    if let Some(payment) = payment_of(scene, &invoice) {
        scene.tx.put(InvoicePayment {
            paid_at: Some(now),
            ..InvoicePayment::clone(&payment)
        });
        scene.event(
            "invoice_payment.paid",
            Thing::from(scene.tx.get::<InvoicePayment>(&payment.id).expect("it was just put")),
        );
    }
    let invoice = scene.tx.put(invoice);
    scene.changed("invoice.updated", Arc::clone(before), Arc::clone(&invoice));
    scene.event("invoice.paid", Arc::clone(&invoice));
    scene.event("invoice.payment_succeeded", Arc::clone(&invoice));
    cycle::paid(scene, &invoice);
    invoice
}

/// Takes note that an invoice was paid some other way.
pub(crate) fn paid_elsewhere(scene: &mut Scene<'_, '_>, open: &Arc<Invoice>, now: i64) -> Arc<Invoice> {
    cancel_payment(scene, open, now);
    let mut invoice = Invoice::clone(open);
    invoice.sums.off_stripe = invoice.sums.due;
    let invoice = scene.tx.put(invoice);
    paid(scene, &invoice, now)
}

/// Voids an open invoice, and gives back what it took of the customer's balance.
pub(crate) fn void(scene: &mut Scene<'_, '_>, before: &Arc<Invoice>, now: i64) -> Arc<Invoice> {
    cancel_payment(scene, before, now);
    let sums = &before.sums;
    let moved = sums.ending_balance.unwrap_or(sums.starting_balance) - sums.starting_balance;
    if moved != 0
        && let Some(customer) = scene.tx.get::<Customer>(&before.customer)
    {
        let after = scene.tx.put(Customer {
            balance: customer.balance - moved,
            ..Customer::clone(&customer)
        });
        scene.changed("customer.updated", customer, after);
    }
    let mut invoice = Invoice::clone(before);
    invoice.status = InvoiceStatus::Void;
    invoice.times.voided_at = Some(now);
    invoice.next_attempt = None;
    invoice.auto_advance = false;
    let invoice = scene.tx.put(invoice);
    scene.changed("invoice.updated", Arc::clone(before), Arc::clone(&invoice));
    scene.event("invoice.voided", Arc::clone(&invoice));
    invoice
}

/// Gives an open invoice up.
pub(crate) fn give_up(scene: &mut Scene<'_, '_>, before: &Arc<Invoice>, now: i64) -> Arc<Invoice> {
    agenda::forget(scene, before.clock.as_ref(), &Task::Collect(Arc::clone(&before.id)));
    let mut invoice = Invoice::clone(before);
    invoice.status = InvoiceStatus::Uncollectible;
    invoice.times.marked_uncollectible_at = Some(now);
    invoice.next_attempt = None;
    let invoice = scene.tx.put(invoice);
    scene.changed("invoice.updated", Arc::clone(before), Arc::clone(&invoice));
    scene.event("invoice.marked_uncollectible", Arc::clone(&invoice));
    invoice
}

/// Cancels the payment that is open.
fn cancel_payment(scene: &mut Scene<'_, '_>, invoice: &Invoice, now: i64) {
    agenda::forget(scene, invoice.clock.as_ref(), &Task::Collect(Arc::clone(&invoice.id)));
    let Some(payment) = payment_of(scene, invoice) else {
        return;
    };
    if let Some(intent) = scene
        .tx
        .get::<Intent>(&payment.intent)
        .filter(|intent| intent.status != Status::Canceled)
    {
        let intent = scene.tx.put(Intent {
            status: Status::Canceled,
            page: None,
            canceled: Some(Box::new((scene.now(), Some("void_invoice")))),
            ..Intent::clone(&intent)
        });
        scene.event("payment_intent.canceled", intent);
    }
    scene.tx.put(InvoicePayment {
        canceled_at: Some(now),
        ..InvoicePayment::clone(&payment)
    });
}

/// Finds the payment that is open.
fn payment_of(scene: &Scene<'_, '_>, invoice: &Invoice) -> Option<Arc<InvoicePayment>> {
    let latest = scene.tx.get::<InvoicePayment>(invoice.payments.last()?)?;
    (latest.paid_at.is_none() && latest.canceled_at.is_none()).then_some(latest)
}
