//! Subscriptions, and what they are of.

use std::sync::Arc;

use serde::Serialize;

use super::{Expanded, Issuer, Kind, Link, Links, Period, Plan, Price, Resource, Shown, Target, TrialSettings};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a subscription.
#[derive(Clone, Debug)]
pub(crate) struct Subscription {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) customer: Arc<str>,
    pub(crate) status: SubscriptionStatus,
    pub(crate) currency: Currency,
    pub(crate) items: Vec<Arc<str>>,
    /// The moment from which its periods are counted.
    pub(crate) anchor: i64,
    pub(crate) period: Period,
    pub(crate) flexible: bool,
    pub(crate) cancel_at: Option<i64>,
    pub(crate) cancel_at_period_end: bool,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) ended_at: Option<i64>,
    pub(crate) cancellation: Cancellation,
    pub(crate) sent: bool,
    pub(crate) days_until_due: Option<i64>,
    pub(crate) default_method: Option<Arc<str>>,
    pub(crate) saves_method: bool,
    pub(crate) description: Option<Box<str>>,
    pub(crate) discounts: Vec<Arc<str>>,
    pub(crate) latest_invoice: Option<Arc<str>>,
    pub(crate) pause: Option<Pause>,
    pub(crate) trial: Option<Period>,
    /// What is done when a trial ends without a payment method.
    pub(crate) missing_method: &'static str,
    pub(crate) clock: Option<Arc<str>>,
    pub(crate) metadata: Metadata,
}

/// Says why a subscription was cancelled.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Cancellation {
    pub(crate) comment: Option<Box<str>>,
    pub(crate) feedback: Option<&'static str>,
    pub(crate) feedback_option: (),
    pub(crate) reason: Option<&'static str>,
}

/// Says what becomes of its invoices while nothing is collected.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Pause {
    pub(crate) behavior: &'static str,
    pub(crate) resumes_at: Option<i64>,
}

/// Says how far a subscription is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubscriptionStatus {
    Incomplete,
    IncompleteExpired,
    Trialing,
    Active,
    PastDue,
    Canceled,
    Paused,
}

/// Is a price in a subscription, and how many of it.
#[derive(Clone, Debug)]
pub(crate) struct SubscriptionItem {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) subscription: Arc<str>,
    pub(crate) price: Arc<Price>,
    pub(crate) quantity: i64,
    pub(crate) discounts: Vec<Arc<str>>,
    pub(crate) period: Period,
    pub(crate) metadata: Metadata,
}

impl SubscriptionStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::IncompleteExpired => "incomplete_expired",
            Self::Trialing => "trialing",
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Canceled => "canceled",
            Self::Paused => "paused",
        }
    }

    /// Says that nothing comes of it any more.
    pub(crate) fn over(self) -> bool {
        matches!(self, Self::Canceled | Self::IncompleteExpired)
    }
}

impl Object for Subscription {
    const TABLE: &'static str = "stripe.subscriptions";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Object for SubscriptionItem {
    const TABLE: &'static str = "stripe.subscription_items";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Subscription {
    const WORD: &'static str = "subscription";
    const OBJECT: &'static str = "subscription";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("customer", Target::One(Kind::Customer)),
        ("default_payment_method", Target::One(Kind::Method)),
        ("discounts", Target::Each(Kind::Discount)),
        ("items", Target::Many(Kind::SubscriptionItem)),
        ("latest_invoice", Target::One(Kind::Invoice)),
        ("test_clock", Target::One(Kind::TestClock)),
    ];
    const INSIDE: &'static [&'static str] = &["items"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "customer" => Some(Arc::clone(&self.customer)),
            "default_payment_method" => self.default_method.clone(),
            "latest_invoice" => self.latest_invoice.clone(),
            _ => self.clock.clone(),
        }
    }

    fn members(&self, field: &str) -> Vec<Arc<str>> {
        match field {
            "items" => self.items.clone(),
            _ => self.discounts.clone(),
        }
    }

    fn members_url(&self, _: &str) -> String {
        format!("/v1/subscription_items?subscription={}", self.id)
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            application: (),
            application_fee_percent: (),
            automatic_tax: Tax {
                disabled_reason: (),
                enabled: false,
                liability: (),
            },
            billing_cycle_anchor: self.anchor,
            billing_cycle_anchor_config: (),
            billing_mode: Mode {
                flexible: self.flexible.then_some(Flexible {
                    proration_discounts: "included",
                }),
                kind: if self.flexible { "flexible" } else { "classic" },
            },
            billing_schedules: [],
            billing_thresholds: (),
            cancel_at: self.cancel_at,
            cancel_at_period_end: self.cancel_at_period_end,
            canceled_at: self.canceled_at,
            cancellation_details: &self.cancellation,
            collection_method: if self.sent {
                "send_invoice"
            } else {
                "charge_automatically"
            },
            created: self.created,
            currency: self.currency,
            customer: shown.link_to("customer", &self.customer),
            customer_account: (),
            days_until_due: self.days_until_due,
            default_payment_method: shown.link("default_payment_method", &self.default_method),
            default_source: (),
            default_tax_rates: [],
            description: self.description.as_deref(),
            discounts: shown.links("discounts", &self.discounts),
            ended_at: self.ended_at,
            invoice_settings: InvoiceSettings {
                account_tax_ids: (),
                custom_fields: (),
                description: (),
                footer: (),
                issuer: Issuer { kind: "self" },
            },
            items: shown.expansion("items"),
            latest_invoice: shown.link("latest_invoice", &self.latest_invoice),
            livemode: false,
            managed_payments: (),
            metadata: &self.metadata,
            next_pending_invoice_item_invoice: (),
            on_behalf_of: (),
            pause_collection: self.pause,
            payment_settings: PaymentSettings {
                payment_method_options: (),
                payment_method_types: (),
                save_default_payment_method: if self.saves_method { "on_subscription" } else { "off" },
            },
            pending_invoice_item_interval: (),
            pending_setup_intent: (),
            pending_update: (),
            schedule: (),
            start_date: self.created,
            status: self.status,
            test_clock: shown.link("test_clock", &self.clock),
            transfer_data: (),
            trial_end: self.trial.map(|trial| trial.end),
            trial_settings: TrialSettings::new(self.missing_method),
            trial_start: self.trial.map(|trial| trial.start),
        }
    }
}

impl Resource for SubscriptionItem {
    const WORD: &'static str = "subscription_item";
    const OBJECT: &'static str = "subscription_item";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("discounts", Target::Each(Kind::Discount)),
        ("price", Target::One(Kind::Price)),
    ];
    const INSIDE: &'static [&'static str] = &["price"];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        Some(Arc::clone(&self.price.id))
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        self.discounts.clone()
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        ItemJson {
            id: &self.id,
            object: Self::OBJECT,
            billing_thresholds: (),
            created: self.created,
            current_period_end: self.period.end,
            current_period_start: self.period.start,
            current_trial: (),
            discounts: shown.links("discounts", &self.discounts),
            metadata: &self.metadata,
            plan: self.price.plan(),
            price: shown.link_to("price", &self.price.id),
            quantity: self.quantity,
            subscription: &self.subscription,
            tax_rates: [],
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    application: (),
    application_fee_percent: (),
    automatic_tax: Tax,
    billing_cycle_anchor: i64,
    billing_cycle_anchor_config: (),
    billing_mode: Mode,
    billing_schedules: [(); 0],
    billing_thresholds: (),
    cancel_at: Option<i64>,
    cancel_at_period_end: bool,
    canceled_at: Option<i64>,
    cancellation_details: &'s Cancellation,
    collection_method: &'static str,
    created: i64,
    currency: Currency,
    customer: Link<'s>,
    customer_account: (),
    days_until_due: Option<i64>,
    default_payment_method: Link<'s>,
    default_source: (),
    default_tax_rates: [(); 0],
    description: Option<&'s str>,
    discounts: Links<'s>,
    ended_at: Option<i64>,
    invoice_settings: InvoiceSettings,
    items: Option<&'s Expanded>,
    latest_invoice: Link<'s>,
    livemode: bool,
    managed_payments: (),
    metadata: &'s Metadata,
    next_pending_invoice_item_invoice: (),
    on_behalf_of: (),
    pause_collection: Option<Pause>,
    payment_settings: PaymentSettings,
    pending_invoice_item_interval: (),
    pending_setup_intent: (),
    pending_update: (),
    schedule: (),
    start_date: i64,
    status: SubscriptionStatus,
    test_clock: Link<'s>,
    transfer_data: (),
    trial_end: Option<i64>,
    trial_settings: TrialSettings,
    trial_start: Option<i64>,
}

#[derive(Serialize)]
struct Tax {
    disabled_reason: (),
    enabled: bool,
    liability: (),
}

#[derive(Serialize)]
struct Mode {
    flexible: Option<Flexible>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Flexible {
    proration_discounts: &'static str,
}

#[derive(Serialize)]
struct InvoiceSettings {
    account_tax_ids: (),
    custom_fields: (),
    description: (),
    footer: (),
    issuer: Issuer,
}

#[derive(Serialize)]
struct PaymentSettings {
    payment_method_options: (),
    payment_method_types: (),
    save_default_payment_method: &'static str,
}

#[derive(Serialize)]
struct ItemJson<'s> {
    id: &'s str,
    object: &'static str,
    billing_thresholds: (),
    created: i64,
    current_period_end: i64,
    current_period_start: i64,
    current_trial: (),
    discounts: Links<'s>,
    metadata: &'s Metadata,
    plan: Plan<'s>,
    price: Link<'s>,
    quantity: i64,
    subscription: &'s str,
    tax_rates: [(); 0],
}
