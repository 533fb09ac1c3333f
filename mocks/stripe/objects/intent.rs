//! Payment intents.

use std::sync::Arc;

use serde::Serialize;

use super::{Charge, Kind, Link, Method, Resource, Shipping, Shown, Target, Thing};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::declines::Decline;
use crate::mocks::stripe::failure::doc_url;
use crate::mocks::stripe::ids::{letters, sibling};
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is an intent to take a payment.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) amount: i64,
    pub(crate) amount_received: i64,
    pub(crate) currency: Currency,
    pub(crate) status: Status,
    pub(crate) capture_method: CaptureMethod,
    pub(crate) confirmation_manual: bool,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) method: Option<Arc<str>>,
    /// The latest charge, a failed one too.
    pub(crate) charge: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
    pub(crate) failed: Option<Box<Failed>>,
    pub(crate) canceled: Option<Box<(i64, Option<&'static str>)>>,
    /// Whether the holder has authenticated for the method that is to be charged.
    pub(crate) authenticated: bool,
    /// Where the holder is to authenticate; boxed twice, for few intents ask.
    pub(crate) page: Option<Box<Box<str>>>,
    pub(crate) terms: Option<Arc<IntentTerms>>,
}

/// Is what was left by the last attempt that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) decline: &'static Decline,
    pub(crate) charge: Option<Arc<str>>,
    pub(crate) method: Arc<Method>,
}

/// Holds what few intents have.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntentTerms {
    pub(crate) receipt_email: Option<Box<str>>,
    pub(crate) shipping: Option<Box<Shipping>>,
    pub(crate) statement_descriptor: Option<Box<str>>,
    pub(crate) statement_descriptor_suffix: Option<Box<str>>,
    pub(crate) transfer_group: Option<Box<str>>,
    pub(crate) setup_future_usage: Option<&'static str>,
    pub(crate) return_url: Option<Box<str>>,
    /// Whether redirects are allowed, if methods are chosen automatically.
    pub(crate) automatic: Option<&'static str>,
}

/// Says how far an intent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    RequiresCapture,
    Canceled,
    Succeeded,
}

/// Says when the money of an authorised payment is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureMethod {
    Automatic,
    AutomaticAsync,
    Manual,
}

impl Object for Intent {
    const TABLE: &'static str = "stripe.payment_intents";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::RequiresAction => "requires_action",
            Self::RequiresCapture => "requires_capture",
            Self::Canceled => "canceled",
            Self::Succeeded => "succeeded",
        }
    }
}

impl CaptureMethod {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "automatic" => Self::Automatic,
            "manual" => Self::Manual,
            _ => Self::AutomaticAsync,
        }
    }
}

impl Resource for Intent {
    const WORD: &'static str = "payment_intent";
    const OBJECT: &'static str = "payment_intent";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("latest_charge", Target::One(Kind::Charge)),
        ("payment_method", Target::One(Kind::Method)),
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
            "latest_charge" => self.charge.clone(),
            "payment_method" => self.method.clone(),
            _ => None,
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let terms = self.terms.as_deref();
        let text = |get: fn(&IntentTerms) -> &Option<Box<str>>| terms.and_then(|t| get(t).as_deref());
        Json {
            id: &self.id,
            object: "payment_intent",
            allowed_payment_method_types: (),
            amount: self.amount,
            amount_capturable: self.capturable(),
            amount_details: AmountDetails { tip: Empty {} },
            amount_received: self.amount_received,
            application: (),
            application_fee_amount: (),
            automatic_payment_methods: terms.and_then(|t| t.automatic).map(|allow_redirects| Automatic {
                allow_redirects,
                enabled: true,
            }),
            canceled_at: self.canceled.as_deref().map(|(at, _)| *at),
            cancellation_reason: self.canceled.as_deref().and_then(|(_, reason)| *reason),
            capture_method: self.capture_method,
            client_secret: self.client_secret(),
            confirmation_method: if self.confirmation_manual {
                "manual"
            } else {
                "automatic"
            },
            created: self.created,
            currency: self.currency,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            description: self.description.as_deref(),
            excluded_payment_method_types: (),
            last_payment_error: self.failed.as_deref().map(Failed::show),
            latest_charge: shown.link("latest_charge", &self.charge),
            livemode: false,
            managed_payments: (),
            metadata: &self.metadata,
            next_action: match self.status {
                Status::RequiresAction => NextAction::of(
                    self.page.as_deref().map(|page| &**page),
                    text(|t| &t.return_url),
                    &self.id,
                ),
                _ => None,
            },
            on_behalf_of: (),
            payment_method: shown.link("payment_method", &self.method),
            payment_method_configuration_details: (),
            payment_method_options: Options {
                card: CardOptions {
                    installments: (),
                    mandate_options: (),
                    network: (),
                    request_three_d_secure: "automatic",
                },
            },
            payment_method_types: ["card"],
            payment_record: (),
            processing: (),
            receipt_email: text(|t| &t.receipt_email),
            review: (),
            setup_future_usage: terms.and_then(|t| t.setup_future_usage),
            shipping: terms.and_then(|t| t.shipping.as_deref()),
            source: (),
            statement_descriptor: text(|t| &t.statement_descriptor),
            statement_descriptor_suffix: text(|t| &t.statement_descriptor_suffix),
            status: self.status.as_str(),
            transfer_data: (),
            transfer_group: text(|t| &t.transfer_group),
        }
    }
}

impl Intent {
    pub(crate) fn capturable(&self) -> i64 {
        if self.status == Status::RequiresCapture {
            self.amount
        } else {
            0
        }
    }

    pub(crate) fn client_secret(&self) -> String {
        let secret = letters(&[b"client secret", self.id.as_bytes()], 25);
        format!("{}_secret_{secret}", self.id)
    }

    /// Takes over what a charge of it has become.
    pub(crate) fn took(&mut self, charge: &Charge) {
        self.charge = Some(Arc::clone(&charge.id));
        self.failed = None;
        if charge.captured {
            self.status = Status::Succeeded;
            self.amount_received = charge.amount_captured;
        } else {
            self.status = Status::RequiresCapture;
        }
    }
}

impl<'s> NextAction<'s> {
    /// Sends the holder to a page, or lets Stripe.js do so where nobody said where to come back.
    pub(crate) fn of(page: Option<&'s str>, return_url: Option<&'s str>, id: &str) -> Option<Self> {
        let url = page?;
        Some(match return_url {
            Some(return_url) => Self {
                redirect_to_url: Some(Redirect { return_url, url }),
                kind: "redirect_to_url",
                use_stripe_sdk: None,
            },
            None => Self {
                redirect_to_url: None,
                kind: "use_stripe_sdk",
                use_stripe_sdk: Some(Sdk {
                    source: sibling("src_", id),
                    stripe_js: url,
                    kind: "three_d_secure_redirect",
                }),
            },
        })
    }
}

impl Failed {
    pub(crate) fn show(&self) -> LastError<'_> {
        let decline = self.decline;
        LastError {
            advice_code: decline.advice_code,
            charge: self.charge.as_deref(),
            code: decline.code,
            decline_code: decline.decline_code,
            doc_url: doc_url(decline.code),
            message: decline.message,
            network_decline_code: decline.network_decline_code,
            param: decline.param,
            payment_method: Thing::Method(Arc::clone(&self.method)).plain(),
            kind: decline.kind(),
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    allowed_payment_method_types: (),
    amount: i64,
    amount_capturable: i64,
    amount_details: AmountDetails,
    amount_received: i64,
    application: (),
    application_fee_amount: (),
    automatic_payment_methods: Option<Automatic>,
    canceled_at: Option<i64>,
    cancellation_reason: Option<&'static str>,
    capture_method: CaptureMethod,
    client_secret: String,
    confirmation_method: &'static str,
    created: i64,
    currency: Currency,
    customer: Link<'s>,
    customer_account: (),
    description: Option<&'s str>,
    excluded_payment_method_types: (),
    last_payment_error: Option<LastError<'s>>,
    latest_charge: Link<'s>,
    livemode: bool,
    managed_payments: (),
    metadata: &'s Metadata,
    next_action: Option<NextAction<'s>>,
    on_behalf_of: (),
    payment_method: Link<'s>,
    payment_method_configuration_details: (),
    payment_method_options: Options,
    payment_method_types: [&'static str; 1],
    payment_record: (),
    processing: (),
    receipt_email: Option<&'s str>,
    review: (),
    setup_future_usage: Option<&'static str>,
    shipping: Option<&'s Shipping>,
    source: (),
    statement_descriptor: Option<&'s str>,
    statement_descriptor_suffix: Option<&'s str>,
    status: &'static str,
    transfer_data: (),
    transfer_group: Option<&'s str>,
}

#[derive(Serialize)]
struct AmountDetails {
    tip: Empty,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Automatic {
    allow_redirects: &'static str,
    enabled: bool,
}

#[derive(Serialize)]
struct Options {
    card: CardOptions,
}

#[derive(Serialize)]
struct CardOptions {
    installments: (),
    mandate_options: (),
    network: (),
    request_three_d_secure: &'static str,
}

#[derive(Serialize)]
pub(crate) struct NextAction<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_to_url: Option<Redirect<'s>>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_stripe_sdk: Option<Sdk<'s>>,
}

#[derive(Serialize)]
struct Redirect<'s> {
    return_url: &'s str,
    url: &'s str,
}

#[derive(Serialize)]
struct Sdk<'s> {
    source: String,
    stripe_js: &'s str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
pub(crate) struct LastError<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    advice_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<&'s str>,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<&'static str>,
    doc_url: String,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_decline_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'static str>,
    payment_method: Shown,
    #[serde(rename = "type")]
    kind: &'static str,
}
