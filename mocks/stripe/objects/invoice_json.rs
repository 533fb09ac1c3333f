//! How an invoice is shown.

use serde::Serialize;

use super::{Address, Expanded, Invoice, InvoiceStatus, Link, Links, Reduction, Shipping, Shown};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::metadata::Metadata;

use super::invoice::Times;

/// Shows an invoice.
pub(super) fn show<'s>(invoice: &'s Invoice, shown: &'s Shown) -> impl Serialize + 's {
    let (payer, sums) = (&*invoice.payer, &invoice.sums);
    let finalized = invoice.times.finalized_at.is_some();
    let page = finalized.then(|| letters(&[b"hosted", invoice.id.as_bytes()], 32));
    let remaining = sums.due - sums.paid;
    Json {
        id: &invoice.id,
        object: "invoice",
        account_country: "US",
        account_name: (),
        account_tax_ids: (),
        amount_due: sums.due,
        amount_overpaid: 0,
        amount_paid: sums.paid,
        amount_paid_off_stripe: sums.off_stripe,
        amount_remaining: remaining,
        amount_shipping: 0,
        application: (),
        attempt_count: invoice.attempt_count,
        attempted: invoice.attempted,
        auto_advance: invoice.auto_advance,
        automatic_tax: AutomaticTax::OFF,
        automatically_finalizes_at: invoice.finalizes_at.filter(|_| invoice.status == InvoiceStatus::Draft),
        billing_reason: invoice.reason,
        collection_method: if invoice.sent {
            "send_invoice"
        } else {
            "charge_automatically"
        },
        confirmation_secret: shown.expansion("confirmation_secret"),
        created: invoice.created,
        currency: invoice.currency,
        custom_fields: (),
        customer: shown.link_to("customer", &invoice.customer),
        customer_account: (),
        customer_address: payer.address.as_deref(),
        customer_email: payer.email.as_deref(),
        customer_name: payer.name.as_deref(),
        customer_phone: payer.phone.as_deref(),
        customer_shipping: payer.shipping.as_deref(),
        customer_tax_exempt: "none",
        customer_tax_ids: [],
        default_payment_method: shown.link("default_payment_method", &invoice.default_method),
        default_source: (),
        default_tax_rates: [],
        description: invoice.description.as_deref(),
        discounts: shown.links("discounts", &invoice.discounts),
        due_date: invoice.due_date,
        effective_at: invoice.effective_at,
        ending_balance: sums.ending_balance,
        footer: invoice.footer.as_deref(),
        from_invoice: (),
        hosted_invoice_url: page.as_ref().map(|page| format!("https://invoice.stripe.com/i/{page}")),
        invoice_pdf: page
            .as_ref()
            .map(|page| format!("https://pay.stripe.com/invoice/{page}/pdf")),
        issuer: Issuer { kind: "self" },
        last_finalization_error: (),
        latest_revision: (),
        lines: shown.expansion("lines"),
        livemode: false,
        metadata: &invoice.metadata,
        next_payment_attempt: invoice.next_attempt,
        number: invoice.number.as_deref(),
        on_behalf_of: (),
        parent: invoice.subscription.as_deref().map(|id| Parent {
            quote_details: (),
            subscription_details: Of {
                metadata: &invoice.subscription_metadata,
                subscription: shown.link_to("parent.subscription_details.subscription", id),
            },
            kind: "subscription_details",
        }),
        payment_settings: PaymentSettings {
            default_mandate: (),
            payment_method_options: (),
            payment_method_types: (),
        },
        payments: shown.expansion("payments"),
        period_end: invoice.period.end,
        period_start: invoice.period.start,
        post_payment_credit_notes_amount: 0,
        pre_payment_credit_notes_amount: 0,
        receipt_number: (),
        rendering: (),
        shipping_cost: (),
        shipping_details: (),
        starting_balance: sums.starting_balance,
        statement_descriptor: invoice.statement_descriptor.as_deref(),
        status: invoice.status,
        status_transitions: invoice.times,
        subtotal: sums.subtotal,
        subtotal_excluding_tax: sums.subtotal,
        test_clock: shown.link("test_clock", &invoice.clock),
        total: sums.total,
        total_discount_amounts: &sums.reductions,
        total_excluding_tax: sums.total,
        total_pretax_credit_amounts: [],
        total_taxes: [],
        webhooks_delivered_at: finalized.then_some(invoice.created),
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    account_country: &'static str,
    account_name: (),
    account_tax_ids: (),
    amount_due: i64,
    amount_overpaid: i64,
    amount_paid: i64,
    amount_paid_off_stripe: i64,
    amount_remaining: i64,
    amount_shipping: i64,
    application: (),
    attempt_count: u32,
    attempted: bool,
    auto_advance: bool,
    automatic_tax: AutomaticTax,
    automatically_finalizes_at: Option<i64>,
    billing_reason: &'static str,
    collection_method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation_secret: Option<&'s Expanded>,
    created: i64,
    currency: Currency,
    custom_fields: (),
    customer: Link<'s>,
    customer_account: (),
    customer_address: Option<&'s Address>,
    customer_email: Option<&'s str>,
    customer_name: Option<&'s str>,
    customer_phone: Option<&'s str>,
    customer_shipping: Option<&'s Shipping>,
    customer_tax_exempt: &'static str,
    customer_tax_ids: [(); 0],
    default_payment_method: Link<'s>,
    default_source: (),
    default_tax_rates: [(); 0],
    description: Option<&'s str>,
    discounts: Links<'s>,
    due_date: Option<i64>,
    effective_at: Option<i64>,
    ending_balance: Option<i64>,
    footer: Option<&'s str>,
    from_invoice: (),
    hosted_invoice_url: Option<String>,
    invoice_pdf: Option<String>,
    issuer: Issuer,
    last_finalization_error: (),
    latest_revision: (),
    lines: Option<&'s Expanded>,
    livemode: bool,
    metadata: &'s Metadata,
    next_payment_attempt: Option<i64>,
    number: Option<&'s str>,
    on_behalf_of: (),
    parent: Option<Parent<'s>>,
    payment_settings: PaymentSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    payments: Option<&'s Expanded>,
    period_end: i64,
    period_start: i64,
    post_payment_credit_notes_amount: i64,
    pre_payment_credit_notes_amount: i64,
    receipt_number: (),
    rendering: (),
    shipping_cost: (),
    shipping_details: (),
    starting_balance: i64,
    statement_descriptor: Option<&'s str>,
    status: InvoiceStatus,
    status_transitions: Times,
    subtotal: i64,
    subtotal_excluding_tax: i64,
    test_clock: Link<'s>,
    total: i64,
    total_discount_amounts: &'s [Reduction],
    total_excluding_tax: i64,
    total_pretax_credit_amounts: [(); 0],
    total_taxes: [(); 0],
    webhooks_delivered_at: Option<i64>,
}

/// Says that no tax is reckoned.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct AutomaticTax {
    disabled_reason: (),
    enabled: bool,
    liability: (),
    provider: (),
    status: (),
}

impl AutomaticTax {
    pub(crate) const OFF: Self = Self {
        disabled_reason: (),
        enabled: false,
        liability: (),
        provider: (),
        status: (),
    };
}

/// Says who issues an invoice.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Issuer {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

#[derive(Serialize)]
struct Parent<'s> {
    quote_details: (),
    subscription_details: Of<'s>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Of<'s> {
    metadata: &'s Metadata,
    subscription: Link<'s>,
}

#[derive(Serialize)]
struct PaymentSettings {
    default_mandate: (),
    payment_method_options: (),
    payment_method_types: (),
}
