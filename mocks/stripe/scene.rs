//! What an operation sees: the world, its parameters, the id in its path.

use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use super::cards::Card;
use super::due::{self, Work};
use super::events;
use super::failure::{Failure, Outcome};
use super::ids::Ids;
use super::objects::{Billing, Customer, Kind, Method, Request, Shown, Thing, Token};
use super::params::Params;
use crate::deliver::Allowed;
use crate::store::Tx;

/// Is one call being carried out.
pub(crate) struct Scene<'s, 't> {
    pub(crate) tx: &'s mut Tx<'t>,
    pub(crate) params: Params<'s>,
    /// The id in the path; empty where there is none.
    pub(crate) id: &'s str,
    /// The id before it in the path, of what it belongs to; empty where there is none.
    pub(crate) parent: &'s str,
    /// What stands before a path where the caller reaches this world; empty where nobody called.
    pub(crate) base: &'s str,
    /// Whence it came, as events tell it.
    pub(crate) origin: Origin,
    /// By how much a search lags.
    pub(crate) search_lag: Duration,
    /// How what is made is called.
    pub(crate) ids: Ids<'s>,
    /// Where webhooks may go.
    pub(crate) allowed: &'s Allowed,
}

/// Says whence what is done comes.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A request.
    Request(Request),
    /// The provider itself, in its own time.
    Schedule,
    /// An object put under a chosen id: no event tells of it.
    Seed,
}

/// Is what an operation answers with, before anything is expanded.
#[derive(Debug)]
pub(crate) enum Answer {
    One(Thing),
    Page {
        data: Vec<Thing>,
        has_more: bool,
    },
    /// A page for a browser.
    Html(String),
    /// The way to another page.
    Redirect(String),
    /// What a search found.
    Found {
        data: Vec<Thing>,
        next_page: Option<String>,
    },
}

/// Carries an operation out.
pub(crate) type Handler = fn(&mut Scene<'_, '_>) -> Outcome<Answer>;

/// Is a card as a charge takes it.
#[derive(Debug)]
pub(crate) struct Payer {
    pub(crate) card: Card,
    pub(crate) billing: Option<Arc<Billing>>,
}

impl Scene<'_, '_> {
    /// Makes the id of what is made now.
    pub(crate) fn new_id(&mut self, prefix: &str) -> Arc<str> {
        self.ids.made(prefix).unwrap_or_else(|| self.tx.new_id(prefix))
    }

    /// Makes the id of what is made now, or takes the one that the caller chose by the parameter `id`.
    pub(crate) fn own_id(&mut self, params: &Params<'_>, kind: Kind, prefix: &str) -> Outcome<Arc<str>> {
        const LONGEST: usize = 255;
        let Some(id) = params.text("id")? else {
            return Ok(self.new_id(prefix));
        };
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if id.len() > LONGEST || !id.bytes().all(fits) {
            let message = "Invalid id: an id may have up to 255 of the characters A-Z, a-z, 0-9, _ and -.";
            return Err(Failure::invalid(message).param(&params.name("id")));
        }
        let put = self.ids.chosen(prefix);
        if put.is_some_and(|put| put != id) {
            return Err(Failure::invalid("This id is not the one under which it is put.").param(&params.name("id")));
        }
        if put.is_none() && kind.find(self.tx, id).is_some() {
            let mut word = kind.word().to_owned();
            word[..1].make_ascii_uppercase();
            let failure = Failure::invalid(format!("{word} already exists."));
            return Err(failure.code("resource_already_exists").param(&params.name("id")));
        }
        Ok(id.into())
    }

    /// Tells of something that happened to an object, by an event.
    pub(crate) fn event(&mut self, kind: &'static str, thing: impl Into<Thing>) {
        events::tell(self.tx, &self.origin, kind, thing.into(), None);
    }

    /// Tells of a change of an object, by an event that shows what it was before.
    pub(crate) fn changed(&mut self, kind: &'static str, before: impl Into<Thing>, thing: impl Into<Thing>) {
        events::tell(self.tx, &self.origin, kind, thing.into(), Some(before.into()));
    }

    /// Plans work for later; what was planned of the same kind for the same object is forgotten.
    pub(crate) fn later(&mut self, at: OffsetDateTime, work: Work) {
        due::later(self.tx, at, work);
    }

    pub(crate) fn now(&self) -> i64 {
        self.tx.now().unix_timestamp()
    }

    /// Finds a customer that a parameter names.
    pub(crate) fn customer(&self, id: &str, param: &str) -> Outcome<Arc<Customer>> {
        let found = self.tx.get::<Customer>(id).filter(|c| !c.deleted);
        found.ok_or_else(|| missing(Kind::Customer, id, param))
    }

    /// Finds a payment method that a parameter names; a name like `pm_card_visa` makes a new one, which is not put yet.
    pub(crate) fn method(&mut self, id: &str, param: &str) -> Outcome<Method> {
        if let Some(card) = Card::named(id, "pm_card_", self.tx.now().year()) {
            return Ok(Method {
                id: self.new_id("pm_"),
                created: self.now(),
                card,
                customer: None,
                spent: false,
                allow_redisplay: None,
                set_up: false,
                billing: None,
                metadata: super::metadata::Metadata::default(),
            });
        }
        let found = self.tx.get::<Method>(id);
        found
            .map(|m| Method::clone(&m))
            .ok_or_else(|| missing(Kind::Method, id, param))
    }

    /// Uses a token up, and returns its card.
    pub(crate) fn spend_token(&mut self, id: &str, param: &str) -> Outcome<Payer> {
        if let Some(card) = Card::named(id, "tok_", self.tx.now().year()) {
            return Ok(Payer { card, billing: None });
        }
        let token = self
            .tx
            .get::<Token>(id)
            .ok_or_else(|| missing(Kind::Token, id, param))?;
        if token.used {
            let message = format!("You cannot use a Stripe token more than once: {id}.");
            return Err(Failure::invalid(message).code("token_already_used").param(param));
        }
        let used = self.tx.put(Token {
            used: true,
            ..Token::clone(&token)
        });
        Ok(Payer {
            card: used.card,
            billing: used.billing.clone(),
        })
    }

    /// Reads a card's hash.
    pub(crate) fn card(&self, params: &Params<'_>) -> Outcome<Payer> {
        const ALLOWED: [&str; 15] = [
            "object",
            "number",
            "exp_month",
            "exp_year",
            "cvc",
            "name",
            "currency",
            "networks",
            "address_line1",
            "address_line2",
            "address_city",
            "address_state",
            "address_zip",
            "address_country",
            "metadata",
        ];
        params.only(&ALLOWED)?;
        let billing = Billing::of_card(params)?.unless_empty();
        let card = Card::read(params, self.tx.now().date())?;
        Ok(Payer { card, billing })
    }

    /// Finds the object that the path names.
    pub(crate) fn own<T: crate::store::Object>(&self, kind: Kind, param: &str) -> Outcome<Arc<T>> {
        let found = self.tx.get::<T>(self.id);
        found.ok_or_else(|| Failure::no_such(kind.word(), self.id, param))
    }
}

/// Says that a parameter names nothing: 400, where a path that names nothing is 404.
pub(crate) fn missing(kind: Kind, id: &str, param: &str) -> Box<Failure> {
    let mut failure = Failure::no_such(kind.word(), id, param);
    failure.status = 400;
    failure
}

/// Says that an intent's status forbids this.
pub(crate) fn unexpected_state(message: String, intent: Shown) -> Box<Failure> {
    Failure::invalid(message)
        .code("payment_intent_unexpected_state")
        .intent(intent)
}
