//! A card as the older objects show it.

use std::sync::Arc;

use serde::Serialize;

use super::{Billing, Kind, Method, Resource, Shown, Target};
use crate::mocks::stripe::cards::Card;
use crate::store::Tx;

/// Is a payment method of the older kind, shown as a card.
#[derive(Clone, Debug)]
pub(crate) struct CardSource(pub(crate) Arc<Method>);

impl Resource for CardSource {
    const WORD: &'static str = "source";
    const OBJECT: &'static str = "card";
    const LINKS: &'static [(&'static str, Target)] = &[("customer", Target::One(Kind::Customer))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id).map(|method| Arc::new(Self(method)))
    }

    fn id(&self) -> &str {
        &self.0.id
    }

    fn reference(&self, _: &str) -> Option<Arc<str>> {
        self.0.customer.clone()
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        self.0.as_source()
    }
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
    customer: Option<&'s str>,
    cvc_check: Option<&'static str>,
    dynamic_last4: (),
    exp_month: u8,
    exp_year: u16,
    fingerprint: String,
    funding: &'static str,
    last4: &'static str,
    metadata: std::collections::BTreeMap<(), ()>,
    name: Option<&'s str>,
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
            brand: brand_name(card.test.brand),
            country: "US",
            customer,
            cvc_check: card.cvc_check(),
            dynamic_last4: (),
            exp_month: card.exp_month,
            exp_year: card.exp_year,
            fingerprint: card.fingerprint(),
            funding: card.test.funding,
            last4: card.last4(),
            metadata: std::collections::BTreeMap::new(),
            name: billing.and_then(|b| b.name.as_deref()),
            regulated_status: "unregulated",
            tokenization_method: (),
            wallet: (),
        }
    }
}

/// Writes a brand as the older objects do.
pub(crate) fn brand_name(brand: &str) -> &'static str {
    match brand {
        "mastercard" => "MasterCard",
        "amex" => "American Express",
        "discover" => "Discover",
        _ => "Visa",
    }
}
