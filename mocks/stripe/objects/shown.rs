//! An object as an answer shows it: its version, and the versions of what was expanded in it.

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{Charge, Customer, Holdings, Intent, Method, Refund, Token};
use crate::ledger::View;
use crate::mocks::stripe::failure::pretty;

/// Names the objects that can be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Charge,
    Customer,
    Intent,
    Method,
    Refund,
    Token,
    Card,
    Balance,
}

/// Is a version of an object.
#[derive(Clone, Debug)]
pub(crate) enum Thing {
    Charge(Arc<Charge>),
    Customer(Arc<Customer>),
    Intent(Arc<Intent>),
    Method(Arc<Method>),
    Refund(Arc<Refund>),
    Token(Arc<Token>),
    /// A payment method of the older kind, shown as a card.
    Card(Arc<Method>),
    Balance(Arc<Holdings>),
}

/// Says where a field leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    One(Kind),
    /// A charge's refunds.
    Refunds,
}

/// Is a version with what was expanded in it; renders to the same bytes for ever.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) thing: Thing,
    pub(crate) expanded: Option<Box<[(&'static str, Expanded)]>>,
}

/// Is what stands in place of an id.
#[derive(Clone, Debug)]
pub(crate) enum Expanded {
    One(Shown),
    Many(Page),
}

/// Is a page of a list.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) url: Box<str>,
    pub(crate) has_more: bool,
    pub(crate) data: Vec<Shown>,
}

/// Is a reference as it is shown.
#[derive(Debug)]
pub(crate) enum Link<'s> {
    Null,
    Id(&'s str),
    Expanded(&'s Expanded),
}

impl Kind {
    /// Names the kind as Stripe's messages do.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Customer => "customer",
            Self::Intent => "payment_intent",
            Self::Method => "PaymentMethod",
            Self::Refund => "refund",
            Self::Token => "token",
            Self::Card => "source",
            Self::Balance => "balance",
        }
    }

    /// Says where a field leads; the name that comes back is the table's own.
    pub(crate) fn link(self, field: &str) -> Option<(&'static str, Target)> {
        let links: &[(&'static str, Target)] = match self {
            Self::Charge => &[
                ("customer", Target::One(Self::Customer)),
                ("payment_intent", Target::One(Self::Intent)),
                ("refunds", Target::Refunds),
            ],
            Self::Intent => &[
                ("customer", Target::One(Self::Customer)),
                ("latest_charge", Target::One(Self::Charge)),
                ("payment_method", Target::One(Self::Method)),
            ],
            Self::Refund => &[
                ("charge", Target::One(Self::Charge)),
                ("customer", Target::One(Self::Customer)),
                ("payment_intent", Target::One(Self::Intent)),
            ],
            Self::Method | Self::Card => &[("customer", Target::One(Self::Customer))],
            Self::Customer => &[("default_source", Target::One(Self::Card))],
            Self::Token | Self::Balance => &[],
        };
        links.iter().find(|(name, _)| *name == field).copied()
    }
}

impl Thing {
    /// Returns the id that a link's field holds.
    pub(crate) fn reference(&self, field: &str) -> Option<Arc<str>> {
        let id = match (self, field) {
            (Self::Charge(c), "customer") => &c.customer,
            (Self::Charge(c), "payment_intent") => &c.intent,
            (Self::Intent(i), "customer") => &i.customer,
            (Self::Intent(i), "latest_charge") => &i.charge,
            (Self::Intent(i), "payment_method") => &i.method,
            (Self::Refund(r), "charge") => return Some(Arc::clone(&r.charge)),
            (Self::Refund(r), "customer") => &r.customer,
            (Self::Refund(r), "payment_intent") => &r.intent,
            (Self::Method(m) | Self::Card(m), "customer") => &m.customer,
            (Self::Customer(c), "default_source") => &c.default_source,
            _ => return None,
        };
        id.clone()
    }

    /// Shows it with nothing expanded.
    pub(crate) fn plain(self) -> Shown {
        Shown {
            thing: self,
            expanded: None,
        }
    }
}

impl Shown {
    /// Returns a reference as it is shown here.
    pub(crate) fn link<'s>(&'s self, field: &str, id: &'s Option<Arc<str>>) -> Link<'s> {
        match (self.expansion(field), id) {
            (Some(expanded), _) => Link::Expanded(expanded),
            (None, Some(id)) => Link::Id(id),
            (None, None) => Link::Null,
        }
    }

    pub(crate) fn expansion(&self, field: &str) -> Option<&Expanded> {
        let expanded = self.expanded.as_deref().unwrap_or_default();
        expanded.iter().find(|(name, _)| *name == field).map(|(_, e)| e)
    }
}

impl View for Shown {
    fn render(&self) -> Bytes {
        pretty(self).into()
    }
}

impl View for Page {
    fn render(&self) -> Bytes {
        pretty(self).into()
    }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.thing {
            Thing::Charge(charge) => charge.show(self).serialize(serializer),
            Thing::Customer(customer) => customer.serialize_shown(self, serializer),
            Thing::Intent(intent) => intent.show(self).serialize(serializer),
            Thing::Method(method) => method.show(self).serialize(serializer),
            Thing::Refund(refund) => refund.show(self).serialize(serializer),
            Thing::Token(token) => token.show().serialize(serializer),
            Thing::Card(method) => method.as_source().serialize(serializer),
            Thing::Balance(holdings) => holdings.show().serialize(serializer),
        }
    }
}

impl Serialize for Page {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut page = serializer.serialize_struct("Page", 4)?;
        page.serialize_field("object", "list")?;
        page.serialize_field("data", &self.data)?;
        page.serialize_field("has_more", &self.has_more)?;
        page.serialize_field("url", &self.url)?;
        page.end()
    }
}

impl Serialize for Expanded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(shown) => shown.serialize(serializer),
            Self::Many(page) => page.serialize(serializer),
        }
    }
}

impl Serialize for Link<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Id(id) => serializer.serialize_str(id),
            Self::Expanded(expanded) => expanded.serialize(serializer),
        }
    }
}
