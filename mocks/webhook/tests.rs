use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::*;
use crate::ledger::{Arrival, Fate, Limits, Outcome, Peer};
use crate::store::{Decision, Scope, Store};

struct Hooks {
    store: Store,
    webhook: Webhook,
}

fn hooks() -> Hooks {
    let ledger = Ledger::new(Limits::default());
    Hooks {
        store: Store::new(ledger.clone()),
        webhook: Webhook::new(ledger),
    }
}

impl Hooks {
    fn request(&self, method: Method, target: &str, headers: &[(&'static str, &str)], body: &[u8]) -> HttpRequest {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        HttpRequest {
            operation: self.webhook.route(&method, path),
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            base: "http://localhost".into(),
            headers: headers
                .iter()
                .map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap()))
                .collect(),
            body: Bytes::copy_from_slice(body),
        }
    }

    fn post(&self, target: &str, headers: &[(&'static str, &str)], body: &str) -> HttpRequest {
        self.request(Method::POST, target, headers, body.as_bytes())
    }

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
        let identified = self.webhook.identify(request);
        assert!(identified.key.is_none(), "no key is enforced");
        if let Some(early) = identified.early {
            ticket.decide(Outcome::Refused);
            ticket.finish(Fate::Answered);
            return early;
        }
        let correlations = identified.correlations;
        let work = |tx: &mut Tx<'_>| self.webhook.handle(tx, request, &identified.call);
        let (reply, ()) = ticket
            .transact(work, |_, effects| {
                let outcome = match (request.operation.kind, effects.is_empty()) {
                    (Kind::Read, _) => Outcome::Read,
                    (Kind::Write, true) => Outcome::Refused,
                    (Kind::Write, false) => Outcome::Accepted,
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

    fn tell(&self, name: &str, settings: &str) {
        let change = Change::parse(settings.as_bytes()).expect("good settings");
        let name = target::name(name).expect("a name");
        let work = |tx: &mut Tx<'_>| target::change(tx, &name, &change);
        self.store.arrange(&Scope::default(), work).expect("room");
    }

    fn deliveries(&self, name: &str) -> Vec<Arc<Delivery>> {
        self.store.read(&Scope::default(), |tx| {
            target::enter(tx, name);
            tx.list::<Delivery>().collect()
        })
    }

    /// Returns accepted, refused, read, duplicates.
    fn counts(&self) -> [u64; 4] {
        let snapshot = self.store.snapshot(&Scope::default());
        let webhook = &snapshot.providers["webhook"];
        assert!(webhook.counts.balanced());
        let deliveries = webhook.effects.get("delivery").copied().unwrap_or(0);
        assert_eq!(deliveries, webhook.counts.accepted);
        let counts = webhook.counts;
        [counts.accepted, counts.refused, counts.read, counts.duplicates]
    }
}

fn header<'r>(reply: &'r Reply, name: &str) -> Option<&'r str> {
    reply.all_headers().find(|(n, _)| *n == name).map(|(_, v)| v)
}

#[tokio::test]
async fn every_method_but_two_appends() {
    let hooks = hooks();
    for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let reply = hooks
            .send(&hooks.request(method.clone(), "/hooks/a/b/?x=1", &[], b"hi"))
            .await;
        let body: Value = serde_json::from_slice(&reply.content.bytes()).expect("JSON");
        let newest = Arc::clone(&hooks.deliveries("a/b")[0]);
        assert_eq!((reply.status, body["id"].as_str()), (200, Some(&*newest.id)));
        assert!(newest.id.starts_with("whd_"));
        assert_eq!((&newest.sent.method, &*newest.sent.query), (&method, "x=1"));
        assert_eq!(newest.sent.body.content().as_deref(), Some(b"hi".as_slice()));
        assert_eq!(newest.signature, None);
    }
    for (method, status) in [(Method::HEAD, 200), (Method::OPTIONS, 204)] {
        let reply = hooks.send(&hooks.request(method, "/hooks/a/b", &[], b"")).await;
        assert_eq!((reply.status, header(&reply, "allow")), (status, Some(ALLOW)));
    }
    assert_eq!(hooks.counts(), [5, 0, 2, 0]);
}

#[tokio::test]
async fn a_path_without_a_good_target_is_refused_in_words() {
    let hooks = hooks();
    let long = format!("/hooks/{}", "x".repeat(201));
    for (path, status) in [("/hooks", 404), ("/hooks/", 404), ("/hooks//", 404), (&*long, 400)] {
        let reply = hooks.send(&hooks.post(path, &[], "x")).await;
        assert_eq!(reply.status, status, "{path}");
        let body: Value = serde_json::from_slice(&reply.content.bytes()).expect("JSON");
        assert!(body["error"].as_str().is_some_and(|e| e.contains("target")), "{body}");
    }
    assert_eq!(hooks.webhook.route(&Method::HEAD, "/hooks").name, "unrecognized");
    assert_eq!(hooks.send(&hooks.post(&long[..207], &[], "x")).await.status, 200);
    assert_eq!(hooks.counts(), [1, 4, 0, 0]);
}

#[tokio::test]
async fn duplicates_land_and_are_counted_by_id_or_else_by_content() {
    let hooks = hooks();
    for (headers, body) in [
        (&[("webhook-id", "m1")][..], "a"),
        (&[("webhook-id", "m1")], "other"),
        (&[("webhook-id", "m2"), ("idempotency-key", "k")], "a"),
        (&[("idempotency-key", "m1")], "a"),
        (&[("idempotency-key", "m1")], "b"),
        (&[], "a"),
        (&[], "a"),
        (&[], "b"),
    ] {
        hooks.send(&hooks.post("/hooks/t", headers, body)).await;
    }
    assert_eq!(hooks.counts(), [8, 0, 0, 3]);
}

#[test]
fn one_correlation_of_the_strongest_kind_there_is() {
    let hooks = hooks();
    let one = |method: Method, target: &str, headers: &[(&'static str, &str)], body: &[u8]| {
        let identified = hooks.webhook.identify(&hooks.request(method, target, headers, body));
        let [correlation] = identified.correlations[..] else {
            panic!("one correlation");
        };
        (identified.name, correlation)
    };
    let post = |target: &str, headers: &[(&'static str, &str)], body: &[u8]| one(Method::POST, target, headers, body);
    let (name, id) = post("/hooks/t", &[("webhook-id", "x"), ("idempotency-key", "y")], b"1");
    assert_eq!((name.as_deref(), id.by), (Some("x"), "webhook-id"));
    assert_eq!(post("/hooks/t/", &[("webhook-id", "x")], b"2").1, id);
    assert_ne!(post("/hooks/u", &[("webhook-id", "x")], b"1").1.hash, id.hash);
    let (name, key) = post("/hooks/t", &[("webhook-id", " "), ("idempotency-key", "x")], b"1");
    assert_eq!((name.as_deref(), key.by), (Some("x"), "idempotency-key"));
    assert_ne!(key.hash, id.hash);
    let (name, content) = post("/hooks/t", &[], b"x");
    assert_eq!((name, content.by), (None, "content"));
    assert_eq!(post("/hooks/t/", &[("x-other", "1")], b"x").1, content);
    for other in [
        post("/hooks/u", &[], b"x"),
        post("/hooks/t", &[], b"y"),
        post("/hooks/t?page=2", &[], b"x"),
        one(Method::PUT, "/hooks/t", &[], b"x"),
    ] {
        assert_ne!(other.1.hash, content.hash);
    }
}

#[tokio::test]
async fn a_target_answers_as_it_is_told_and_the_delivery_is_appended_all_the_same() {
    let hooks = hooks();
    hooks.tell(
        "t",
        r#"{"status": 503, "headers": {"Retry-After": "7"}, "body": {"busy": true}, "delay": "250ms"}"#,
    );
    let reply = hooks.send(&hooks.post("/hooks/t", &[], "1")).await;
    assert_eq!((reply.status, reply.delay), (503, Duration::from_millis(250)));
    assert_eq!(
        (header(&reply, "retry-after"), header(&reply, "content-type")),
        (Some("7"), Some("application/json"))
    );
    assert_eq!(reply.content.bytes(), r#"{"busy":true}"#);
    assert_eq!(hooks.send(&hooks.post("/hooks/other", &[], "1")).await.status, 200);

    hooks.tell("t", r#"{"body": "thanks", "headers": {"content-type": "text/html"}}"#);
    let reply = hooks.send(&hooks.post("/hooks/t", &[], "2")).await;
    assert_eq!((reply.status, reply.delay), (200, Duration::ZERO));
    assert_eq!(header(&reply, "content-type"), Some("text/html"));
    assert_eq!(reply.content.bytes(), "thanks");

    hooks.tell("t", r#"{"status": 204}"#);
    let reply = hooks.send(&hooks.post("/hooks/t", &[], "3")).await;
    assert_eq!((reply.status, reply.content.bytes().len()), (204, 0));
    assert_eq!(hooks.deliveries("t").len(), 3);
    assert_eq!(hooks.counts(), [4, 0, 0, 0]);

    hooks.store.reset(Some(&Scope::default()), || ());
    assert_eq!(hooks.send(&hooks.post("/hooks/t", &[], "4")).await.status, 200);
    assert_eq!(hooks.deliveries("t").len(), 1);
}

#[tokio::test]
async fn a_verdict_is_recorded_and_changes_nothing() {
    let hooks = hooks();
    hooks.tell("t", r#"{"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#);
    // The vector is of 2021, and so stale today.
    let signed = [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ];
    for (headers, body, verdict) in [
        (&signed[..], r#"{"test": 2432232314}"#, "stale"),
        (&signed, r#"{"test": 0}"#, "invalid: no signature matches"),
        (&[], "{}", "missing"),
    ] {
        assert_eq!(hooks.send(&hooks.post("/hooks/t", headers, body)).await.status, 200);
        assert_eq!(hooks.deliveries("t")[0].signature.as_deref(), Some(verdict));
    }
    hooks.tell("t", r#"{"status": 500}"#);
    hooks.send(&hooks.post("/hooks/t", &[], "1")).await;
    assert_eq!(
        hooks.deliveries("t")[0].signature.as_deref(),
        Some("missing"),
        "the secret stays"
    );
    hooks.tell("t", r#"{"secret": null}"#);
    assert_eq!(
        hooks.send(&hooks.post("/hooks/t", &[], "2")).await.status,
        500,
        "the answer stays"
    );
    assert_eq!(hooks.deliveries("t")[0].signature, None);
    assert_eq!(hooks.counts(), [5, 0, 0, 1]);
}

#[tokio::test]
async fn secrets_do_not_enter_and_bodies_without_any_are_shared() {
    let hooks = hooks();
    let authorization = [
        ("authorization", "Bearer sk_test_abcdef123"),
        ("x-card", "4242424242424242"),
    ];
    let request = hooks.post("/hooks/t?key=sk_live_abc123", &authorization, "card=4000000000000002");
    hooks.send(&request).await;
    let kept = format!("{:?}", hooks.deliveries("t"));
    for secret in [
        "sk_test_abcdef123",
        "4242424242424242",
        "4000000000000002",
        "sk_live_abc123",
    ] {
        assert!(!kept.contains(secret), "{kept}");
    }
    let sent = &hooks.deliveries("t")[0].sent;
    assert!(sent.has_header("Authorization", "Bearer sk_test_abcdef123"));
    assert!(!sent.has_header("Authorization", "Bearer sk_test_other"));
    for body in [b"plain text".as_slice(), b"\xff\xfe\x00"] {
        let request = hooks.request(Method::POST, "/hooks/t", &[], body);
        hooks.send(&request).await;
        let content = hooks.deliveries("t")[0].sent.body.content().expect("kept");
        assert_eq!(content.as_ptr(), request.body.as_ptr());
    }
}

#[test]
fn a_refusal_is_its_own_and_nothing_is_kept() {
    let hooks = hooks();
    let request = hooks.post("/hooks/t", &[], "x");
    let reply = hooks.webhook.refuse(&request, &Call::Nothing, &Refusal::default());
    assert_eq!(
        (reply.status, header(&reply, "content-type")),
        (503, Some("application/json"))
    );
    assert!((100..=599).all(|status| !hooks.webhook.keeps(&Call::Nothing, status)));
}
