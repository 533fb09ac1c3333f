//! A card as the older objects show it.

use std::sync::Arc;

use serde::Serialize;

use super::source::Json as SourceJson;
use super::{Billing, Kind, Link, Method, Resource, Shown, SourceObject, Target};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::Tx;

/// Is what a customer keeps to pay by, of the older kinds: a card, or a source.
#[derive(Clone, Debug)]
pub(crate) enum PaymentSource {
    Card(Arc<Method>),
    Source(Arc<SourceObject>),
}

impl Resource for PaymentSource {
    const WORD: &'static str = "source";
    const OBJECT: &'static str = "card";
    const LINKS: &'static [(&'static str, Target)] = &[("customer", Target::One(Kind::Customer))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        let card = tx.get(id).map(Self::Card);
        card.or_else(|| tx.get(id).map(Self::Source)).map(Arc::new)
    }

    fn id(&self) -> &str {
        match self {
            Self::Card(card) => &card.id,
            Self::Source(source) => &source.id,
        }
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        match self {
            Self::Card(card) => card.customer.clone(),
            Self::Source(_) => None,
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        match self {
            Self::Card(card) => View::Card(Box::new(Source {
                customer: shown.link("customer", &card.customer),
                ..card.as_source()
            })),
            Self::Source(source) => View::Source(Box::new(source.json())),
        }
    }
}

impl PaymentSource {
    /// Names the kind as its JSON does.
    pub(crate) fn object(&self) -> &'static str {
        match self {
            Self::Card(_) => "card",
            Self::Source(_) => "source",
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum View<'s> {
    Card(Box<Source<'s>>),
    Source(Box<SourceJson<'s>>),
}

/// Shows a card: a token's, a charge's source, a customer's default source.
#[derive(Debug, Serialize)]
pub(crate) struct Source<'s> {
    id: String,
    object: &'static str,
    address_city: Option<&'s str>,
    address_country: Option<&'s str>,
    address_line1: Option<&'s str>,
    address_line1_check: Option<&'static str>,
    address_line2: Option<&'s str>,
    address_state: Option<&'s str>,
    address_zip: Option<&'s str>,
    address_zip_check: Option<&'static str>,
    brand: &'static str,
    country: &'static str,
    customer: Link<'s>,
    cvc_check: Option<&'static str>,
    dynamic_last4: (),
    exp_month: u8,
    exp_year: u16,
    fingerprint: String,
    funding: &'static str,
    last4: &'static str,
    metadata: &'s Metadata,
    name: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    networks: Option<Networks>,
    regulated_status: &'static str,
    tokenization_method: (),
    wallet: (),
}

impl<'s> Source<'s> {
    pub(crate) fn new(id: String, card: &Card, billing: Option<&'s Billing>, customer: Option<&'s str>) -> Self {
        let [city, country, line1, line2, state, zip] = billing.map_or([None; 6], Billing::lines);
        Self {
            id,
            object: "card",
            address_city: city,
            address_country: country,
            address_line1: line1,
            address_line1_check: line1.map(|_| "pass"),
            address_line2: line2,
            address_state: state,
            address_zip: zip,
            address_zip_check: card.zip_check(zip.is_some()),
            brand: Self::brand(card),
            country: "US",
            customer: customer.map_or(Link::Null, Link::Id),
            cvc_check: card.cvc_check(),
            dynamic_last4: (),
            exp_month: card.exp_month,
            exp_year: card.exp_year,
            fingerprint: card.fingerprint(),
            funding: card.test.funding,
            last4: card.last4(),
            metadata: &NO_METADATA,
            name: billing.and_then(|b| b.name.as_deref()),
            networks: None,
            regulated_status: "unregulated",
            tokenization_method: (),
            wallet: (),
        }
    }

    /// Shows the networks by which it can be charged, as only a token does.
    pub(crate) fn with_networks(self) -> Self {
        let networks = Some(Networks { preferred: () });
        Self { networks, ..self }
    }

    pub(crate) fn with_metadata(self, metadata: &'s Metadata) -> Self {
        Self { metadata, ..self }
    }

    /// Names a card's brand as the older objects do.
    pub(crate) fn brand(card: &Card) -> &'static str {
        match card.test.brand {
            "mastercard" => "MasterCard",
            "amex" => "American Express",
            "discover" => "Discover",
            _ => "Visa",
        }
    }
}

#[derive(Debug, Serialize)]
struct Networks {
    preferred: (),
}

static NO_METADATA: Metadata = Metadata::NONE;
