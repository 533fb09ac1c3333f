//! Tests of the whole provider, driven over a store.

mod authentication;
mod balance;
mod billing;
mod cards;
mod catalog;
mod checkout;
mod declines;
mod decoder;
mod disputes;
mod events;
mod idempotency;
mod intents;
mod invoices;
mod lists;
mod meters;
mod money;
mod objects;
mod refunds;
mod requests;
mod shown;
mod sources;
mod subscriptions;
mod table;

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;

use super::Stripe;
use crate::attempt::{Conflict, HttpProvider as _, HttpRequest, Kind, Provider as _, Refusal, Scheduled as _};
use crate::idempotency::{Admission, admit, record};
use crate::ledger::{Arrival, Class, Correlation, Effect, Ledger, Limits, Peer, Reply};
use crate::mocks::stripe::objects::Event;
use crate::store::{Scope, Store};

/// Drives the provider as an attempt does, without its sockets.
pub(crate) struct Shop {
    stripe: Stripe,
    pub(crate) store: Store,
    /// Answers the next call by an injected refusal.
    refusal: std::cell::RefCell<Option<Refusal>>,
}

/// Is what came back.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) json: Value,
    pub(crate) effects: Vec<Effect>,
    pub(crate) replayed: bool,
    pub(crate) correlations: Vec<Correlation>,
    pub(crate) operation: &'static str,
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::of(Stripe::default())
    }

    pub(crate) fn of(stripe: Stripe) -> Self {
        Self {
            stripe,
            store: Store::new(Ledger::new(Limits::default())),
            refusal: std::cell::RefCell::default(),
        }
    }

    pub(crate) fn refuse_next(&self, status: Option<u16>, code: Option<&str>) {
        let code = code.map(str::to_owned);
        *self.refusal.borrow_mut() = Some(Refusal { status, code });
    }

    pub(crate) fn get(&self, path: &str) -> Said {
        self.send(&request(Method::GET, path, "", &[]))
    }

    pub(crate) fn delete(&self, path: &str) -> Said {
        self.send(&request(Method::DELETE, path, "", &[]))
    }

    pub(crate) fn post(&self, path: &str, form: &str) -> Said {
        self.send(&request(Method::POST, path, form, &[]))
    }

    pub(crate) fn keyed(&self, key: &str, path: &str, form: &str) -> Said {
        self.send(&request(Method::POST, path, form, &[("idempotency-key", key)]))
    }

    /// Posts JSON to API v2.
    pub(crate) fn post_v2(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> Said {
        let mut request = request(Method::POST, path, body, headers);
        request
            .headers
            .insert("content-type", HeaderValue::from_static("application/json"));
        let version = HeaderValue::from_static("2026-10-28.endive");
        request.headers.entry("stripe-version").or_insert(version);
        self.send(&request)
    }

    /// Advances the clock, and does what is due then, as the clockwork would.
    pub(crate) fn advance(&self, by: time::Duration) {
        let scope = Scope::default();
        self.store.advance(Some(&scope), by).expect("one scope");
        let run = |tx: &mut crate::store::Tx<'_>| {
            let due = self.stripe.has_due(tx);
            if due {
                self.stripe.run_due(tx);
            }
            due
        };
        while self.store.arrange(&scope, run).expect("one scope") {}
    }

    /// Lists the types of all events, oldest first.
    pub(crate) fn told(&self) -> Vec<&'static str> {
        let events = |tx: &mut crate::store::Tx<'_>| tx.list::<Event>().rev().map(|event| event.kind).collect();
        self.store.read(&Scope::default(), events)
    }

    /// Posts, expects it to be accepted, and returns the id.
    pub(crate) fn made(&self, path: &str, form: &str) -> String {
        let said = self.post(path, form);
        assert_eq!(said.status, 200, "{path} {form}: {}", said.body);
        said.text("/id")
    }

    /// Lists the types of the events that were told, oldest first.
    pub(crate) fn events(&self) -> Vec<String> {
        let told =
            |tx: &mut crate::store::Tx<'_>| tx.list::<Event>().rev().map(|event| event.kind.to_owned()).collect();
        self.store.read(&Scope::default(), told)
    }

    /// Lets time pass, runs what has fallen due, and returns the effects, sorted.
    pub(crate) fn pass(&self, duration: time::Duration) -> Vec<String> {
        let scope = Scope::default();
        self.store.advance(Some(&scope), duration).expect("one scope");
        let mut kinds = Vec::new();
        while self.store.read(&scope, |tx| self.stripe.has_due(tx)) {
            let arrival = arrival("schedule.run");
            let mut ticket = self.store.begin(&scope, arrival).expect("one scope");
            let seal = |(): &(), effects: &[Effect]| (None, effects.to_vec());
            let done = ticket.transact(|tx| self.stripe.run_due(tx), seal).now_or_never();
            let ((), effects) = done.expect("memory never suspends").expect("never reset");
            kinds.extend(effects.into_iter().map(|effect| effect.kind.into_owned()));
        }
        kinds.sort();
        kinds
    }

    pub(crate) fn send(&self, request: &HttpRequest) -> Said {
        let stripe = &self.stripe;
        let identified = stripe.identify(request);
        let call = &identified.call;
        if let Some(early) = identified.early {
            return said(&early, Vec::new(), false, request, identified.correlations);
        }
        let arrival = arrival(request.operation.name);
        let mut ticket = self.store.begin(&Scope::default(), arrival).expect("one scope");
        let id = ticket.id();
        let refusal = self.refusal.borrow_mut().take();
        let work = |tx: &mut crate::store::Tx<'_>| {
            let Some(key) = &identified.key else {
                return (self.answer(tx, request, call, refusal.as_ref()), false);
            };
            match admit(tx, key, id) {
                Admission::Replay(record) => (stripe.replay(request, call, &record), true),
                Admission::Mismatch(endpoint) => {
                    let conflict = Conflict::Mismatch(&endpoint);
                    (stripe.conflict(request, call, &conflict), false)
                }
                Admission::InFlight => (stripe.conflict(request, call, &Conflict::InFlight), false),
                Admission::Fresh => {
                    let reply = self.answer(tx, request, call, refusal.as_ref());
                    if stripe.keeps(call, reply.status) {
                        record(tx, key, &reply, stripe.reference(call));
                    }
                    (reply, false)
                }
            }
        };
        let seal = |_: &(Reply, bool), effects: &[Effect]| (None, effects.to_vec());
        let done = ticket.transact(work, seal).now_or_never();
        let ((reply, replayed), effects) = done.expect("memory never suspends").expect("never reset");
        let accepted = request.operation.kind == Kind::Write && (200..300).contains(&reply.status) && !replayed;
        assert_eq!(accepted, !effects.is_empty(), "{} {effects:?}", request.path);
        said(&reply, effects, replayed, request, identified.correlations)
    }

    fn answer(
        &self,
        tx: &mut crate::store::Tx<'_>,
        request: &HttpRequest,
        call: &super::Call,
        refusal: Option<&Refusal>,
    ) -> Reply {
        match refusal {
            Some(refusal) => self.stripe.refuse(request, call, refusal),
            None => self.stripe.handle(tx, request, call),
        }
    }
}

fn arrival(operation: &'static str) -> Arrival {
    Arrival {
        provider: "stripe".into(),
        class: Class::KeyEnforced,
        operation: operation.into(),
        line: String::new(),
        peer: Peer {
            address: ([127, 0, 0, 1], 1).into(),
            connection: 1,
        },
    }
}

pub(crate) fn request(method: Method, path: &str, form: &str, headers: &[(&str, &str)]) -> HttpRequest {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut map = HeaderMap::new();
    map.insert("authorization", HeaderValue::from_static("Bearer sk_test_123"));
    map.insert(
        "content-type",
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
        map.insert(name, value.parse().expect("a header's value"));
    }
    HttpRequest {
        operation: Stripe::default().route(&method, path),
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        base: "http://localhost".into(),
        headers: map,
        body: form.to_owned().into(),
    }
}

fn said(
    reply: &Reply,
    effects: Vec<Effect>,
    replayed: bool,
    request: &HttpRequest,
    correlations: Vec<Correlation>,
) -> Said {
    let body = String::from_utf8(reply.content.bytes().to_vec()).expect("UTF-8");
    let headers = reply.all_headers().map(|(n, v)| (n.to_owned(), v.to_owned()));
    Said {
        status: reply.status,
        headers: headers.collect(),
        json: serde_json::from_str(&body).expect("JSON"),
        body,
        effects,
        replayed,
        correlations,
        operation: request.operation.name,
    }
}

impl Said {
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.json
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{pointer} in {}", self.body))
    }

    pub(crate) fn text(&self, pointer: &str) -> String {
        self.at(pointer)
            .as_str()
            .unwrap_or_else(|| panic!("{pointer} in {}", self.body))
            .to_owned()
    }

    pub(crate) fn number(&self, pointer: &str) -> i64 {
        self.at(pointer)
            .as_i64()
            .unwrap_or_else(|| panic!("{pointer} in {}", self.body))
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.effects.iter().map(|e| &*e.kind).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns status, type, code and message of a refusal.
    pub(crate) fn refusal(&self) -> (u16, &str, &str, &str) {
        let error = |name: &str| self.json["error"][name].as_str().unwrap_or_default();
        (self.status, error("type"), error("code"), error("message"))
    }
}

pub(crate) const CHARGE: &str = "amount=2000&currency=usd&source=tok_visa";
