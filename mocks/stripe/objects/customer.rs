//! Customers.

use std::sync::Arc;

use serde::Serialize;

use super::preferences::{CustomField, Rendering};
use super::{Address, Expanded, Kind, Link, Preferences, Resource, Shipping, Shown, Target};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::ids::letters;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a customer; a deleted one stays, so that its id still answers.
#[derive(Clone, Debug)]
pub(crate) struct Customer {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) deleted: bool,
    /// What it owes, or where negative what it is owed; the next invoice takes it up.
    pub(crate) balance: i64,
    /// The currency of its invoices.
    pub(crate) currency: Option<Currency>,
    pub(crate) next_invoice: i64,
    pub(crate) clock: Option<Arc<str>>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) email: Option<Box<str>>,
    pub(crate) phone: Option<Box<str>>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) default_source: Option<Arc<str>>,
    pub(crate) default_method: Option<Arc<str>>,
    pub(crate) address: Option<Box<Address>>,
    pub(crate) shipping: Option<Box<Shipping>>,
    /// The cards and sources of the older kinds, oldest first.
    pub(crate) sources: Option<Arc<[Arc<str>]>>,
    pub(crate) preferences: Option<Box<Preferences>>,
    pub(crate) metadata: Metadata,
}

impl Object for Customer {
    const TABLE: &'static str = "stripe.customers";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Customer {
    pub(crate) fn new(id: Arc<str>, created: i64) -> Self {
        Self {
            id,
            created,
            deleted: false,
            balance: 0,
            currency: None,
            next_invoice: 1,
            clock: None,
            name: None,
            email: None,
            phone: None,
            description: None,
            default_source: None,
            default_method: None,
            address: None,
            shipping: None,
            sources: None,
            preferences: None,
            metadata: Metadata::default(),
        }
    }

    /// Keeps a card or a source; the first becomes what is charged where nothing is named.
    pub(crate) fn keep(&mut self, source: &Arc<str>) {
        let known = self.sources.as_deref().unwrap_or_default();
        self.sources = Some(known.iter().chain([source]).cloned().collect());
        self.default_source.get_or_insert_with(|| Arc::clone(source));
    }

    /// Forgets a card or a source. Where it was what is charged, the one that was added last is it from now on.
    pub(crate) fn forget(&mut self, source: &str) {
        let known = self.sources.as_deref().unwrap_or_default();
        let left: Vec<_> = known.iter().filter(|id| ***id != *source).cloned().collect();
        if self.default_source.as_deref() == Some(source) {
            self.default_source = left.last().cloned();
        }
        self.sources = (!left.is_empty()).then(|| left.into());
    }

    /// Says whether a card or a source is its own.
    pub(crate) fn keeps(&self, source: &str) -> bool {
        let known = self.sources.as_deref().unwrap_or_default();
        known.iter().any(|id| **id == *source)
    }
}

impl Customer {
    /// Returns what its invoices' numbers begin with.
    pub(crate) fn prefix(&self) -> String {
        let made = || letters(&[b"invoice", self.id.as_bytes()], 8).to_ascii_uppercase();
        let chosen = self.preferences.as_deref().and_then(|p| p.invoice_prefix.as_deref());
        chosen.map_or_else(made, str::to_owned)
    }
}

impl Resource for Customer {
    const WORD: &'static str = "customer";
    const OBJECT: &'static str = "customer";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("default_source", Target::One(Kind::Card)),
        ("invoice_settings.default_payment_method", Target::One(Kind::Method)),
        ("test_clock", Target::One(Kind::TestClock)),
        ("sources", Target::Many(Kind::Card)),
    ];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "test_clock" => self.clock.clone(),
            "invoice_settings.default_payment_method" => self.default_method.clone(),
            _ => self.default_source.clone(),
        }
    }

    fn members(&self, _: &str) -> Vec<Arc<str>> {
        let sources = self.sources.as_deref().unwrap_or_default();
        sources.iter().rev().cloned().collect()
    }

    fn members_url(&self, _: &str) -> String {
        format!("/v1/customers/{}/sources", self.id)
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        if self.deleted {
            return View::Deleted(Deleted {
                id: &self.id,
                object: Self::OBJECT,
                deleted: true,
            });
        }
        let preferences = self.preferences.as_deref();
        let text = |get: fn(&Preferences) -> &Option<Box<str>>| preferences.and_then(|p| get(p).as_deref());
        View::Living(Box::new(Json {
            id: &self.id,
            object: "customer",
            address: self.address.as_deref(),
            balance: self.balance,
            business_name: text(|p| &p.business_name),
            created: self.created,
            currency: self.currency,
            customer_account: (),
            default_source: shown.link("default_source", &self.default_source),
            delinquent: false,
            description: self.description.as_deref(),
            discount: (),
            email: self.email.as_deref(),
            individual_name: text(|p| &p.individual_name),
            invoice_prefix: self.prefix(),
            invoice_settings: InvoiceSettings {
                custom_fields: preferences.and_then(|p| p.custom_fields.as_deref()),
                default_payment_method: shown.link("invoice_settings.default_payment_method", &self.default_method),
                footer: text(|p| &p.footer),
                rendering_options: preferences.and_then(|p| p.rendering.as_ref()),
            },
            livemode: false,
            metadata: &self.metadata,
            name: self.name.as_deref(),
            next_invoice_sequence: self.next_invoice,
            phone: self.phone.as_deref(),
            preferred_locales: preferences.map_or(&[], |p| &p.locales),
            shipping: self.shipping.as_deref(),
            sources: shown.expansion("sources"),
            tax_exempt: preferences.and_then(|p| p.tax_exempt).unwrap_or("none"),
            test_clock: shown.link("test_clock", &self.clock),
        }))
    }
}

/// Is what a customer shows.
#[derive(Serialize)]
#[serde(untagged)]
enum View<'s> {
    Living(Box<Json<'s>>),
    Deleted(Deleted<'s>),
}

#[derive(Serialize)]
struct Deleted<'s> {
    id: &'s str,
    object: &'static str,
    deleted: bool,
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    address: Option<&'s Address>,
    balance: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    business_name: Option<&'s str>,
    created: i64,
    currency: Option<Currency>,
    customer_account: (),
    default_source: Link<'s>,
    delinquent: bool,
    description: Option<&'s str>,
    discount: (),
    email: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    individual_name: Option<&'s str>,
    invoice_prefix: String,
    invoice_settings: InvoiceSettings<'s>,
    livemode: bool,
    metadata: &'s Metadata,
    name: Option<&'s str>,
    next_invoice_sequence: i64,
    phone: Option<&'s str>,
    preferred_locales: &'s [Box<str>],
    shipping: Option<&'s Shipping>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<&'s Expanded>,
    tax_exempt: &'static str,
    test_clock: Link<'s>,
}

#[derive(Serialize)]
struct InvoiceSettings<'s> {
    custom_fields: Option<&'s [CustomField]>,
    default_payment_method: Link<'s>,
    footer: Option<&'s str>,
    rendering_options: Option<&'s Rendering>,
}
