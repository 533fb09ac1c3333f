//! Tokens.

use std::sync::Arc;

use serde::Serialize;

use super::{Billing, Resource, Shown, Source};
use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::ids::sibling;
use crate::store::{Object, Tx};

/// Is a card token; it can be used once.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) card: Card,
    pub(crate) used: bool,
    pub(crate) billing: Option<Arc<Billing>>,
}

impl Object for Token {
    const TABLE: &'static str = "stripe.tokens";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Token {
    const WORD: &'static str = "token";
    const OBJECT: &'static str = "token";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: "token",
            card: Source::new(sibling("card_", &self.id), &self.card, self.billing.as_deref(), None).with_networks(),
            client_ip: (),
            created: self.created,
            livemode: false,
            kind: "card",
            used: self.used,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    card: Source<'s>,
    client_ip: (),
    created: i64,
    livemode: bool,
    #[serde(rename = "type")]
    kind: &'static str,
    used: bool,
}
