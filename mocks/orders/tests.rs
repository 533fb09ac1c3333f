use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::idempotency::{self, Admission};
use crate::ledger::{Arrival, Fate, Ledger, Limits, Outcome, Peer};
use crate::store::{Decision, Scope, Store};

struct Shop {
    store: Store,
    orders: Orders,
}

fn shop(require_key: bool) -> Shop {
    Shop {
        store: Store::new(Ledger::new(Limits::default())),
        orders: Orders { require_key },
    }
}

fn request(method: Method, target: &str, key: Option<&str>, body: &str) -> HttpRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = http::HeaderMap::new();
    if let Some(key) = key {
        headers.insert("idempotency-key", key.parse().expect("a header value"));
    }
    HttpRequest {
        operation: Orders::default().route(&method, path),
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        base: "http://localhost".into(),
        headers,
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn post(key: Option<&str>, body: &str) -> HttpRequest {
    request(Method::POST, "/orders", key, body)
}

fn get(target: &str) -> HttpRequest {
    request(Method::GET, target, None, "")
}

impl Shop {
    /// Carries a request out as an attempt without faults does.
    async fn send(&self, request: &HttpRequest) -> Reply {
        let arrival = Arrival {
            provider: ABOUT.name.into(),
            class: ABOUT.class,
            operation: request.operation.name.into(),
            line: String::new(),
            peer: Peer {
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
                connection: 1,
            },
        };
        let mut ticket = self.store.begin(&Scope::default(), arrival).expect("room for a world");
        let identified = self.orders.identify(request);
        if let Some(early) = identified.early {
            ticket.decide(Outcome::Refused);
            ticket.finish(Fate::Answered);
            return early;
        }
        let attempt = ticket.id();
        let work = |tx: &mut Tx<'_>| {
            let Some(key) = &identified.key else {
                return (self.orders.handle(tx, request, &identified.call), false);
            };
            match idempotency::admit(tx, key, attempt) {
                Admission::Fresh => {
                    let reply = self.orders.handle(tx, request, &identified.call);
                    if self.orders.keeps(&identified.call, reply.status) {
                        idempotency::record(tx, key, &reply, self.orders.reference(&identified.call));
                    }
                    (reply, false)
                }
                Admission::Replay(record) => (self.orders.replay(request, &identified.call, &record), true),
                Admission::InFlight => (self.conflict(request, &identified.call, &Conflict::InFlight), false),
                Admission::Mismatch(endpoint) => {
                    let conflict = Conflict::Mismatch(&endpoint);
                    (self.conflict(request, &identified.call, &conflict), false)
                }
            }
        };
        let correlations = identified.correlations.clone();
        let ((reply, _), ()) = ticket
            .transact(work, |(_, replayed), effects| {
                let outcome = match (request.operation.kind, replayed, effects.is_empty()) {
                    (Kind::Read, ..) => Outcome::Read,
                    (_, true, _) => Outcome::Replayed,
                    (_, _, true) => Outcome::Refused,
                    _ => Outcome::Accepted,
                };
                for effect in effects {
                    assert!(request.operation.effects.contains(&&*effect.kind), "{}", effect.kind);
                }
                (Some(Decision { outcome, correlations }), ())
            })
            .await
            .expect("no reset");
        ticket.finish(Fate::Answered);
        reply
    }

    fn conflict(&self, request: &HttpRequest, call: &Call, conflict: &Conflict<'_>) -> Reply {
        self.orders.conflict(request, call, conflict)
    }

    fn counts(&self) -> [u64; 4] {
        let snapshot = self.store.snapshot(&Scope::default());
        let counts = snapshot.providers["orders"].counts;
        assert!(counts.balanced());
        assert_eq!((counts.in_flight, counts.open), (0, 0));
        let orders = snapshot.providers["orders"].effects.get("order");
        assert_eq!(orders.copied().unwrap_or(0), counts.accepted);
        [counts.accepted, counts.replayed, counts.refused, counts.read]
    }
}

fn body(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.content.bytes()).expect("a JSON answer")
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    reply.all_headers().find(|(n, _)| *n == name).map(|(_, v)| v)
}

fn assert_problem(reply: &Reply, status: u16, says: &str) {
    assert_eq!(reply.status, status, "{:?}", reply.content.bytes());
    assert_eq!(header(reply, "content-type"), Some(MEDIA_TYPE));
    let body = body(reply);
    assert_eq!(body["status"], status);
    assert!(body["type"].is_string() && body["title"].is_string());
    let detail = body["detail"].as_str().expect("a detail");
    assert!(detail.contains(says), "{detail}");
}

#[tokio::test]
async fn a_reference_is_one_order_whatever_the_key() {
    let shop = shop(false);
    let wish = r#"{"reference": "order/17 ü", "amount": 1099, "items": [{"sku": "a"}]}"#;
    let made = shop.send(&post(None, wish)).await;
    assert_eq!(made.status, 201);
    let place = header(&made, "location").expect("a location").to_owned();
    assert_eq!(place, "/orders/order%2F17%20%C3%BC");
    let order = body(&made);
    assert_eq!(order["reference"], "order/17 ü");
    assert_eq!(
        (&order["amount"], &order["items"]),
        (&json!(1099), &json!([{"sku": "a"}]))
    );

    for key in [None, Some("other")] {
        let taken = shop.send(&post(key, wish)).await;
        assert_problem(&taken, 409, "nothing was done");
        assert_eq!(body(&taken)["order"], order);
    }
    let found = shop.send(&get(&place)).await;
    assert_eq!((found.status, body(&found)), (200, order));
    assert_problem(&shop.send(&get("/orders/none")).await, 404, "`none`");
    assert_eq!(shop.counts(), [1, 0, 2, 2]);
}

#[tokio::test]
async fn the_first_result_is_replayed_byte_for_byte() {
    let shop = shop(false);
    let first = shop
        .send(&post(Some("\"k-1\""), r#"{"reference": "a", "amount": 1}"#))
        .await;
    let again = shop.send(&post(Some("k-1"), r#" {"amount":1, "reference":"a"}"#)).await;
    assert_eq!(again.status, 201);
    assert_eq!(again.content.bytes(), first.content.bytes());
    assert_eq!(header(&again, "location"), header(&first, "location"));
    assert_eq!(header(&again, "content-type"), Some("application/json"));
    assert_eq!(header(&first, "idempotent-replayed"), None);
    assert_eq!(header(&again, "idempotent-replayed"), Some("true"));

    let taken = shop.send(&post(Some("k-2"), r#"{"reference": "a"}"#)).await;
    let again = shop.send(&post(Some("k-2"), r#"{"reference": "a"}"#)).await;
    assert_eq!((taken.status, again.status), (409, 409));
    assert_eq!(again.content.bytes(), taken.content.bytes());
    assert_eq!(header(&again, "content-type"), Some(MEDIA_TYPE));
    assert_eq!(header(&again, "idempotent-replayed"), Some("true"));
    assert_eq!(shop.counts(), [1, 2, 1, 0]);
}

#[tokio::test]
async fn a_key_is_for_one_payload_and_for_a_day() {
    let shop = shop(false);
    shop.send(&post(Some("k"), r#"{"reference": "a"}"#)).await;
    let other = shop.send(&post(Some("k"), r#"{"reference": "b"}"#)).await;
    assert_problem(&other, 422, "another request");
    shop.store.advance(None, Duration::hours(24)).expect("no world is made");
    assert_eq!(shop.send(&post(Some("k"), r#"{"reference": "b"}"#)).await.status, 201);
    assert_eq!(shop.counts(), [2, 0, 1, 0]);
}

#[tokio::test]
async fn a_key_in_progress_is_a_conflict_that_is_not_kept() {
    let shop = shop(false);
    let request = post(Some("k"), r#"{"reference": "a"}"#);
    let key = shop.orders.identify(&request).key.expect("a key");
    let scope = Scope::default();
    let reserve = |tx: &mut Tx<'_>| idempotency::reserve(tx, &key, u64::MAX);
    shop.store.arrange(&scope, reserve).expect("room");
    let busy = shop.send(&request).await;
    assert_problem(&busy, 409, "being carried out");
    assert_eq!(header(&busy, "retry-after"), Some("1"));
    assert_problem(
        &shop.send(&post(Some("k"), r#"{"reference": "b"}"#)).await,
        422,
        "another request",
    );
    let give_up = |tx: &mut Tx<'_>| idempotency::give_up(tx, &key, u64::MAX);
    shop.store.arrange(&scope, give_up).expect("room");
    assert_eq!(shop.send(&request).await.status, 201);
    assert_eq!(shop.counts(), [1, 0, 2, 0]);
}

#[tokio::test]
async fn what_is_malformed_is_refused_and_eats_no_key() {
    let shop = shop(false);
    let long = format!(r#"{{"reference": "{}"}}"#, "r".repeat(256));
    for (text, says) in [
        ("{", "no JSON"),
        ("", "no JSON"),
        ("reference=a", "no JSON"),
        ("[1]", "no object"),
        ("{}", "is missing"),
        (r#"{"reference": 17}"#, "is the number 17"),
        (r#"{"reference": ""}"#, "0 characters"),
        (r#"{"reference": ".."}"#, "2 characters"),
        (&long, "256 characters"),
        (r#"{"reference": "a", "id": "x"}"#, "`id`"),
    ] {
        assert_problem(&shop.send(&post(Some("k"), text)).await, 400, says);
    }
    assert_problem(
        &shop.send(&post(Some("\"open"), r#"{"reference": "a"}"#)).await,
        400,
        "no closing quote",
    );
    let widest = format!(r#"{{"reference": "{}"}}"#, "ü".repeat(255));
    assert_eq!(shop.send(&post(Some("k"), &widest)).await.status, 201);
    assert_eq!(shop.counts(), [1, 0, 11, 0]);
    let call = shop.orders.identify(&post(Some("k"), &widest)).call;
    for status in [400, 413, 415, 429] {
        assert!(!shop.orders.keeps(&call, status), "{status}");
    }
    for status in [201, 409, 422, 500, 503] {
        assert!(shop.orders.keeps(&call, status), "{status}");
    }
}

#[tokio::test]
async fn a_missing_key_is_refused_where_it_is_required() {
    let shop = shop(true);
    assert_problem(
        &shop.send(&post(None, r#"{"reference": "a"}"#)).await,
        400,
        "needs an Idempotency-Key",
    );
    assert_eq!(shop.send(&post(Some("k"), r#"{"reference": "a"}"#)).await.status, 201);
    assert_eq!(shop.send(&get("/orders/a")).await.status, 200);
}

#[tokio::test]
async fn the_list_is_newest_first_and_paged() {
    let shop = shop(false);
    for n in 1..=5 {
        shop.send(&post(None, &format!(r#"{{"reference": "o{n}"}}"#))).await;
    }
    let references = |page: &Value| -> Vec<String> {
        let orders = page["data"].as_array().expect("a list");
        orders
            .iter()
            .map(|o| o["reference"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let first = body(&shop.send(&get("/orders?limit=3")).await);
    assert_eq!(
        (references(&first), &first["has_more"]),
        (vec!["o5".into(), "o4".into(), "o3".into()], &json!(true))
    );
    let last = first["data"][2]["id"].as_str().expect("an id");
    let second = body(&shop.send(&get(&format!("/orders?limit=3&starting_after={last}"))).await);
    assert_eq!(
        (references(&second), &second["has_more"]),
        (vec!["o2".into(), "o1".into()], &json!(false))
    );
    for (query, says) in [
        ("limit=0", "1 to 100"),
        ("limit=x", "`x`"),
        ("starting_after=nobody", "`nobody`"),
    ] {
        assert_problem(&shop.send(&get(&format!("/orders?{query}"))).await, 400, says);
    }
}

#[tokio::test]
async fn what_is_not_recognized_says_what_there_is() {
    let shop = shop(false);
    let reply = shop.send(&request(Method::DELETE, "/orders", None, "")).await;
    assert_problem(&reply, 405, "DELETE cannot be done");
    assert_eq!(header(&reply, "allow"), Some("GET, HEAD, POST"));
    let reply = shop.send(&request(Method::PUT, "/orders/a", None, "")).await;
    assert_eq!(header(&reply, "allow"), Some("GET, HEAD"));
    for path in ["/orders/", "/orders/a/b", "/ordersx"] {
        assert_problem(&shop.send(&get(path)).await, 404, "There are POST /orders");
    }
    assert_eq!(shop.counts(), [0, 0, 5, 0]);
}

#[test]
fn correlations_are_equal_where_the_parameters_are() {
    let value = |body: &str| Orders::default().identify(&post(None, body)).correlations;
    assert_eq!(
        value(r#"{"reference":"a","n":{"x":1,"y":2}}"#),
        value("{ \"n\": {\"y\":2, \"x\":1},\n \"reference\": \"a\"}")
    );
    assert_ne!(value(r#"{"reference":"a","n":1}"#), value(r#"{"reference":"a","n":2}"#));
    assert_eq!(value(r#"{"reference":"a"}"#).len(), 1);
}

#[test]
fn a_request_is_named_by_its_key_or_else_by_its_reference() {
    let name = |request: &HttpRequest| Orders::default().identify(request).name;
    assert_eq!(
        name(&post(Some("\"k\""), r#"{"reference": "a"}"#)).as_deref(),
        Some("k")
    );
    assert_eq!(name(&post(None, r#"{"reference": "a"}"#)).as_deref(), Some("a"));
    assert_eq!(name(&get("/orders/a%2Fb")).as_deref(), Some("a/b"));
}

#[test]
fn a_refusal_is_spoken_as_a_problem() {
    let request = post(None, r#"{"reference": "a"}"#);
    let refusal = Refusal {
        status: Some(429),
        code: Some("slow_down".to_owned()),
    };
    let reply = Orders::default().refuse(&request, &Call::Nothing, &refusal);
    assert_problem(&reply, 429, "refused");
    assert_eq!(body(&reply)["code"], "slow_down");
    assert_eq!(
        Orders::default()
            .refuse(&request, &Call::Nothing, &Refusal::default())
            .status,
        422
    );
}
