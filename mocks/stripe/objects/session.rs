//! Checkout sessions, and what is bought in one.

use std::sync::Arc;

use serde::Serialize;

use super::{Coupon, Expanded, Kind, Link, Period, Promotion, Resource, SessionTax, Shipping, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a checkout session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) expires_at: i64,
    pub(crate) mode: Mode,
    pub(crate) status: SessionStatus,
    pub(crate) paid: bool,
    /// Where the customer completes it; none where it is shown inside the caller's own page.
    pub(crate) page: Option<Arc<str>>,
    pub(crate) ui_mode: &'static str,
    pub(crate) success_url: Option<Box<str>>,
    pub(crate) cancel_url: Option<Box<str>>,
    pub(crate) return_url: Option<Box<str>>,
    pub(crate) reference: Option<Box<str>>,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) creates_customer: bool,
    pub(crate) customer_email: Option<Box<str>>,
    /// Who completed it.
    pub(crate) buyer: Option<Box<Buyer>>,
    pub(crate) currency: Option<Currency>,
    pub(crate) lines: Vec<Arc<str>>,
    pub(crate) subtotal: i64,
    pub(crate) total: i64,
    pub(crate) discount: Option<(Arc<Coupon>, Option<Arc<Promotion>>)>,
    pub(crate) takes_codes: Option<bool>,
    pub(crate) locale: Option<Box<str>>,
    pub(crate) submit_type: Option<&'static str>,
    pub(crate) intent: Option<Arc<str>>,
    pub(crate) invoice: Option<Arc<str>>,
    pub(crate) setup: Option<Arc<str>>,
    pub(crate) subscription: Option<Arc<str>>,
    /// What the intent, set-up or subscription that comes of it is given.
    pub(crate) terms: Arc<SessionTerms>,
    pub(crate) metadata: Metadata,
}

/// Holds what is handed on to what comes of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionTerms {
    pub(crate) description: Option<Box<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) manual: bool,
    pub(crate) receipt_email: Option<Box<str>>,
    pub(crate) setup_future_usage: Option<&'static str>,
    pub(crate) shipping: Option<Box<Shipping>>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) statement_descriptor_suffix: Option<Box<str>>,
    pub(crate) transfer_group: Option<Box<str>>,
    /// The days of a trial, or its end.
    pub(crate) trial_days: Option<i64>,
    pub(crate) trial_end: Option<i64>,
    pub(crate) missing_method: Option<&'static str>,
}

impl SessionTerms {
    /// Returns the trial of a subscription that begins now.
    pub(crate) fn trial(&self, now: i64) -> Option<Period> {
        const DAY: i64 = 86_400;
        let end = self.trial_end.or_else(|| self.trial_days.map(|days| now + days * DAY));
        end.filter(|end| *end > now).map(|end| Period { start: now, end })
    }
}

/// Says who completed a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buyer {
    pub(crate) email: Option<Box<str>>,
    pub(crate) name: Option<Box<str>>,
}

/// Says what a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Payment,
    Setup,
    Subscription,
}

/// Says how far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStatus {
    Open,
    Complete,
    Expired,
}

impl SessionStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Expired => "expired",
        }
    }
}

impl Object for Session {
    const TABLE: &'static str = "stripe.checkout_sessions";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Session {
    pub(crate) fn payment_status(&self) -> &'static str {
        match self.mode {
            Mode::Setup => "no_payment_required",
            _ if self.paid && self.intent.is_none() && self.invoice.is_none() => "no_payment_required",
            _ if self.paid => "paid",
            _ => "unpaid",
        }
    }
}

impl Resource for Session {
    const WORD: &'static str = "checkout.session";
    const OBJECT: &'static str = "checkout.session";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("invoice", Target::One(Kind::Invoice)),
        ("line_items", Target::Many(Kind::SessionLine)),
        ("payment_intent", Target::One(Kind::Intent)),
        ("setup_intent", Target::One(Kind::Setup)),
        ("subscription", Target::One(Kind::Subscription)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "customer" => self.customer.clone(),
            "invoice" => self.invoice.clone(),
            "payment_intent" => self.intent.clone(),
            "setup_intent" => self.setup.clone(),
            _ => self.subscription.clone(),
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.lines.clone()
    }

    fn members_url(&self, _: &str) -> String {
        format!("/v1/checkout/sessions/{}/line_items", self.id)
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let buys = self.mode != Mode::Setup;
        let secret = || {
            format!(
                "{}_secret_{}",
                self.id,
                letters(&[b"client secret", self.id.as_bytes()], 40)
            )
        };
        let (email, name) = match self.buyer.as_deref() {
            Some(buyer) => (buyer.email.as_deref(), buyer.name.as_deref()),
            None => (self.customer_email.as_deref(), None),
        };
        Json {
            id: &self.id,
            object: Self::OBJECT,
            adaptive_pricing: (),
            after_expiration: (),
            allow_promotion_codes: self.takes_codes,
            allowed_payment_method_types: (),
            amount_subtotal: buys.then_some(self.subtotal),
            amount_total: buys.then_some(self.total),
            automatic_tax: SessionTax::OFF,
            billing_address_collection: (),
            cancel_url: self.cancel_url.as_deref(),
            client_reference_id: self.reference.as_deref(),
            client_secret: (self.ui_mode != "hosted_page").then(secret),
            collected_information: (),
            consent: (),
            consent_collection: (),
            created: self.created,
            currency: self.currency,
            currency_conversion: (),
            custom_fields: [],
            custom_text: CustomText {
                after_submit: (),
                shipping_address: (),
                submit: (),
                terms_of_service_acceptance: (),
            },
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            customer_creation: (self.mode == Mode::Payment).then_some(if self.creates_customer {
                "always"
            } else {
                "if_required"
            }),
            customer_details: (email.is_some() || self.buyer.is_some()).then_some(Details {
                address: (),
                business_name: (),
                email,
                individual_name: (),
                name,
                phone: (),
                tax_exempt: "none",
                tax_ids: (),
            }),
            customer_email: self.customer_email.as_deref(),
            discounts: self
                .discount
                .iter()
                .map(|(coupon, promotion)| Discounted {
                    coupon: promotion.is_none().then_some(&coupon.id),
                    promotion_code: promotion.as_ref().map(|promotion| &*promotion.id),
                })
                .collect(),
            expires_at: self.expires_at,
            integration_identifier: (),
            invoice: shown.link("invoice", &self.invoice),
            invoice_creation: (),
            line_items: shown.expansion("line_items"),
            livemode: false,
            locale: self.locale.as_deref(),
            managed_payments: (),
            metadata: &self.metadata,
            mode: self.mode,
            origin_context: (),
            payment_intent: shown.link("payment_intent", &self.intent),
            payment_link: (),
            payment_method_collection: (self.mode == Mode::Subscription).then_some("always"),
            payment_method_configuration_details: (),
            payment_method_options: Options {},
            payment_method_types: ["card"],
            payment_status: self.payment_status(),
            permissions: (),
            phone_number_collection: Phone { enabled: false },
            recovered_from: (),
            return_url: self.return_url.as_deref(),
            saved_payment_method_options: (),
            setup_intent: shown.link("setup_intent", &self.setup),
            shipping_address_collection: (),
            shipping_cost: (),
            shipping_options: [],
            status: self.status,
            submit_type: self.submit_type,
            subscription: shown.link("subscription", &self.subscription),
            success_url: self.success_url.as_deref(),
            total_details: buys.then_some(Totals {
                amount_discount: self.subtotal - self.total,
                amount_shipping: 0,
                amount_tax: 0,
            }),
            ui_mode: self.ui_mode,
            url: self.page.as_deref().filter(|_| self.status == SessionStatus::Open),
            wallet_options: (),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    adaptive_pricing: (),
    after_expiration: (),
    allow_promotion_codes: Option<bool>,
    allowed_payment_method_types: (),
    amount_subtotal: Option<i64>,
    amount_total: Option<i64>,
    automatic_tax: SessionTax,
    billing_address_collection: (),
    cancel_url: Option<&'s str>,
    client_reference_id: Option<&'s str>,
    client_secret: Option<String>,
    collected_information: (),
    consent: (),
    consent_collection: (),
    created: i64,
    currency: Option<Currency>,
    currency_conversion: (),
    custom_fields: [(); 0],
    custom_text: CustomText,
    customer: Link<'s>,
    customer_account: (),
    customer_creation: Option<&'static str>,
    customer_details: Option<Details<'s>>,
    customer_email: Option<&'s str>,
    discounts: Vec<Discounted<'s>>,
    expires_at: i64,
    integration_identifier: (),
    invoice: Link<'s>,
    invoice_creation: (),
    #[serde(skip_serializing_if = "Option::is_none")]
    line_items: Option<&'s Expanded>,
    livemode: bool,
    locale: Option<&'s str>,
    managed_payments: (),
    metadata: &'s Metadata,
    mode: Mode,
    origin_context: (),
    payment_intent: Link<'s>,
    payment_link: (),
    payment_method_collection: Option<&'static str>,
    payment_method_configuration_details: (),
    payment_method_options: Options,
    payment_method_types: [&'static str; 1],
    payment_status: &'static str,
    permissions: (),
    phone_number_collection: Phone,
    recovered_from: (),
    #[serde(skip_serializing_if = "Option::is_none")]
    return_url: Option<&'s str>,
    saved_payment_method_options: (),
    setup_intent: Link<'s>,
    shipping_address_collection: (),
    shipping_cost: (),
    shipping_options: [(); 0],
    status: SessionStatus,
    submit_type: Option<&'static str>,
    subscription: Link<'s>,
    success_url: Option<&'s str>,
    total_details: Option<Totals>,
    ui_mode: &'static str,
    url: Option<&'s str>,
    wallet_options: (),
}

#[derive(Serialize)]
struct CustomText {
    after_submit: (),
    shipping_address: (),
    submit: (),
    terms_of_service_acceptance: (),
}

#[derive(Serialize)]
struct Details<'s> {
    address: (),
    business_name: (),
    email: Option<&'s str>,
    individual_name: (),
    name: Option<&'s str>,
    phone: (),
    tax_exempt: &'static str,
    tax_ids: (),
}

#[derive(Serialize)]
struct Discounted<'s> {
    coupon: Option<&'s Arc<str>>,
    promotion_code: Option<&'s str>,
}

#[derive(Serialize)]
struct Options {}

#[derive(Serialize)]
struct Phone {
    enabled: bool,
}

#[derive(Serialize)]
struct Totals {
    amount_discount: i64,
    amount_shipping: i64,
    amount_tax: i64,
}
