//! Setup intents: a payment method made ready for later payments.

use std::sync::Arc;

use serde::Serialize;

use super::{Failed, Kind, LastError, Link, NextAction, Resource, Shown, Target};
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is an intent to keep a payment method.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) status: SetupStatus,
    pub(crate) usage: &'static str,
    pub(crate) customer: Option<Arc<str>>,
    pub(crate) method: Option<Arc<str>>,
    pub(crate) description: Option<Arc<str>>,
    pub(crate) return_url: Option<Box<str>>,
    /// Whether redirects are allowed, if methods are chosen automatically.
    pub(crate) automatic: Option<&'static str>,
    pub(crate) failed: Option<Box<Failed>>,
    pub(crate) cancellation: Option<&'static str>,
    /// Where the holder is to authenticate.
    pub(crate) page: Option<Box<str>>,
    pub(crate) metadata: Metadata,
}

/// Says how far a setup intent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetupStatus {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    Canceled,
    Succeeded,
}

impl SetupStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPaymentMethod => "requires_payment_method",
            Self::RequiresConfirmation => "requires_confirmation",
            Self::RequiresAction => "requires_action",
            Self::Canceled => "canceled",
            Self::Succeeded => "succeeded",
        }
    }
}

impl Setup {
    pub(crate) fn client_secret(&self) -> String {
        let secret = letters(&[b"client secret", self.id.as_bytes()], 25);
        format!("{}_secret_{secret}", self.id)
    }
}

impl Object for Setup {
    const TABLE: &'static str = "stripe.setup_intents";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Setup {
    const WORD: &'static str = "setupintent";
    const OBJECT: &'static str = "setup_intent";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
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
            "payment_method" => self.method.clone(),
            _ => None,
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let asks = self.status == SetupStatus::RequiresAction;
        Json {
            id: &self.id,
            object: Self::OBJECT,
            allowed_payment_method_types: (),
            application: (),
            automatic_payment_methods: self.automatic.map(|allow_redirects| Automatic {
                allow_redirects,
                enabled: true,
            }),
            cancellation_reason: self.cancellation,
            client_secret: self.client_secret(),
            created: self.created,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            description: self.description.as_deref(),
            excluded_payment_method_types: (),
            flow_directions: (),
            last_setup_error: self.failed.as_deref().map(Failed::show),
            latest_attempt: (),
            livemode: false,
            managed_payments: (),
            mandate: (),
            metadata: &self.metadata,
            next_action: asks
                .then(|| NextAction::of(self.page.as_deref(), self.return_url.as_deref(), &self.id))
                .flatten(),
            on_behalf_of: (),
            payment_method: shown.link("payment_method", &self.method),
            payment_method_configuration_details: (),
            payment_method_options: Options {
                card: CardOptions {
                    mandate_options: (),
                    network: (),
                    request_three_d_secure: "automatic",
                },
            },
            payment_method_types: ["card"],
            single_use_mandate: (),
            status: self.status.as_str(),
            usage: self.usage,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    allowed_payment_method_types: (),
    application: (),
    automatic_payment_methods: Option<Automatic>,
    cancellation_reason: Option<&'static str>,
    client_secret: String,
    created: i64,
    customer: Link<'s>,
    customer_account: (),
    description: Option<&'s str>,
    excluded_payment_method_types: (),
    flow_directions: (),
    last_setup_error: Option<LastError<'s>>,
    latest_attempt: (),
    livemode: bool,
    managed_payments: (),
    mandate: (),
    metadata: &'s Metadata,
    next_action: Option<NextAction<'s>>,
    on_behalf_of: (),
    payment_method: Link<'s>,
    payment_method_configuration_details: (),
    payment_method_options: Options,
    payment_method_types: [&'static str; 1],
    single_use_mandate: (),
    status: &'static str,
    usage: &'static str,
}

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
    mandate_options: (),
    network: (),
    request_three_d_secure: &'static str,
}
