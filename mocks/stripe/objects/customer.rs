//! Customers.

use std::sync::Arc;

use serde::Serialize;

use super::{Address, Kind, Link, Resource, Shipping, Shown, Target};
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
    /// The chosen prefix of its invoices' numbers.
    pub(crate) invoice_prefix: Option<Box<str>>,
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
            invoice_prefix: None,
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
            metadata: Metadata::default(),
        }
    }
}

impl Customer {
    /// Returns what its invoices' numbers begin with.
    pub(crate) fn prefix(&self) -> String {
        let made = || letters(&[b"invoice", self.id.as_bytes()], 8).to_ascii_uppercase();
        self.invoice_prefix.as_deref().map_or_else(made, str::to_owned)
    }
}

impl Resource for Customer {
    const WORD: &'static str = "customer";
    const OBJECT: &'static str = "customer";
    const LINKS: &'static [(&'static str, Target)] = &[
        ("default_source", Target::One(Kind::Card)),
        ("test_clock", Target::One(Kind::TestClock)),
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
            _ => self.default_source.clone(),
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        if self.deleted {
            return View::Deleted(Deleted {
                id: &self.id,
                object: Self::OBJECT,
                deleted: true,
            });
        }
        View::Living(Box::new(Json {
            id: &self.id,
            object: "customer",
            address: self.address.as_deref(),
            balance: self.balance,
            created: self.created,
            currency: self.currency,
            customer_account: (),
            default_source: shown.link("default_source", &self.default_source),
            delinquent: false,
            description: self.description.as_deref(),
            discount: (),
            email: self.email.as_deref(),
            invoice_prefix: self.prefix(),
            invoice_settings: InvoiceSettings {
                custom_fields: (),
                default_payment_method: self.default_method.as_deref(),
                footer: (),
                rendering_options: (),
            },
            livemode: false,
            metadata: &self.metadata,
            name: self.name.as_deref(),
            next_invoice_sequence: self.next_invoice,
            phone: self.phone.as_deref(),
            preferred_locales: [],
            shipping: self.shipping.as_deref(),
            tax_exempt: "none",
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
    created: i64,
    currency: Option<Currency>,
    customer_account: (),
    default_source: Link<'s>,
    delinquent: bool,
    description: Option<&'s str>,
    discount: (),
    email: Option<&'s str>,
    invoice_prefix: String,
    invoice_settings: InvoiceSettings<'s>,
    livemode: bool,
    metadata: &'s Metadata,
    name: Option<&'s str>,
    next_invoice_sequence: i64,
    phone: Option<&'s str>,
    preferred_locales: [(); 0],
    shipping: Option<&'s Shipping>,
    tax_exempt: &'static str,
    test_clock: Link<'s>,
}

#[derive(Serialize)]
struct InvoiceSettings<'s> {
    custom_fields: (),
    default_payment_method: Option<&'s str>,
    footer: (),
    rendering_options: (),
}
