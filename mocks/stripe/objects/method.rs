//! Payment methods.

use std::sync::Arc;

use serde::Serialize;

use super::charge_card::Checks;
use super::{Billing, Kind, Link, Resource, Shown, Source, Target};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is a card that can be charged; one whose id begins with `card_` is a customer's source of the older kind.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) card: Card,
    pub(crate) customer: Option<Arc<str>>,
    /// Whether it was charged without a customer, or detached: then it can never be used again.
    pub(crate) spent: bool,
    /// Whether it may be shown to the customer again; none is unspecified.
    pub(crate) allow_redisplay: Option<&'static str>,
    /// Whether it was set up to be charged while its holder is away.
    pub(crate) set_up: bool,
    pub(crate) billing: Option<Arc<Billing>>,
    pub(crate) metadata: Metadata,
}

impl Object for Method {
    const TABLE: &'static str = "stripe.payment_methods";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Method {
    const WORD: &'static str = "PaymentMethod";
    const OBJECT: &'static str = "payment_method";
    const LINKS: &'static [(&'static str, Target)] = &[("customer", Target::One(Kind::Customer))];

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn reference(&self, field: &str) -> Option<Arc<str>> {
        match field {
            "customer" => self.customer.clone(),
            _ => None,
        }
    }

    fn show<'s>(&'s self, shown: &'s Shown) -> impl Serialize + 's {
        let card = &self.card;
        let lines = self.billing.as_deref().map_or([None; 6], Billing::lines);
        Json {
            id: &self.id,
            object: "payment_method",
            allow_redisplay: self.allow_redisplay.unwrap_or("unspecified"),
            billing_details: self.billing.as_deref().map_or_else(Billing::default, Billing::clone),
            card: CardJson {
                brand: card.test.brand,
                checks: Checks {
                    address_line1_check: lines[2].map(|_| "pass"),
                    address_postal_code_check: card.zip_check(lines[5].is_some()),
                    cvc_check: card.cvc_check(),
                },
                country: "US",
                display_brand: card.test.brand,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
                fingerprint: card.fingerprint(),
                funding: card.test.funding,
                generated_from: (),
                last4: card.last4(),
                networks: Networks {
                    available: [card.test.brand],
                    preferred: (),
                },
                regulated_status: "unregulated",
                three_d_secure_usage: Supported { supported: true },
                wallet: (),
            },
            created: self.created,
            customer: shown.link("customer", &self.customer),
            customer_account: (),
            livemode: false,
            metadata: &self.metadata,
            kind: "card",
        }
    }
}

impl Method {
    pub(crate) fn as_source(&self) -> Source<'_> {
        let billing = self.billing.as_deref();
        let shown = Source::new(self.id.to_string(), &self.card, billing, self.customer.as_deref());
        shown.with_metadata(&self.metadata)
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    allow_redisplay: &'static str,
    billing_details: Billing,
    card: CardJson,
    created: i64,
    customer: Link<'s>,
    customer_account: (),
    livemode: bool,
    metadata: &'s Metadata,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct CardJson {
    brand: &'static str,
    checks: Checks,
    country: &'static str,
    display_brand: &'static str,
    exp_month: u8,
    exp_year: u16,
    fingerprint: String,
    funding: &'static str,
    generated_from: (),
    last4: &'static str,
    networks: Networks,
    regulated_status: &'static str,
    three_d_secure_usage: Supported,
    wallet: (),
}

#[derive(Serialize)]
struct Networks {
    available: [&'static str; 1],
    preferred: (),
}

#[derive(Serialize)]
struct Supported {
    supported: bool,
}
