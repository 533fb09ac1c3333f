use std::net::{Ipv4Addr, SocketAddr};

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;
use crate::attempt::{HttpProvider as _, HttpRequest, Provider as _};
use crate::ledger::{Arrival, Class, Ledger, Limits, Outcome, Peer};
use crate::mocks::webhook::Webhook;
use crate::store::Decision;

struct Suite {
    store: Store,
    webhook: Webhook,
}

fn suite(bodies: u64) -> Suite {
    let ledger = Ledger::new(Limits {
        bodies,
        ..Limits::default()
    });
    Suite {
        store: Store::new(ledger.clone()),
        webhook: Webhook::new(ledger),
    }
}

impl Suite {
    async fn deliver(&self, path: &str, headers: &[(&'static str, &str)], body: &'static [u8]) -> u16 {
        let request = HttpRequest {
            operation: self.webhook.route(&Method::POST, path),
            method: Method::POST,
            path: path.to_owned(),
            query: String::new(),
            base: "http://localhost".into(),
            headers: headers
                .iter()
                .map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap()))
                .collect(),
            body: body.into(),
        };
        let arrival = Arrival {
            provider: "webhook".into(),
            class: Class::KeyAdvisory,
            operation: request.operation.name.into(),
            line: String::new(),
            peer: Peer {
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
                connection: 1,
            },
        };
        let mut ticket = self.store.begin(&Scope::default(), arrival).expect("room");
        let call = self.webhook.identify(&request).call;
        let decision = Decision {
            outcome: Outcome::Accepted,
            correlations: Vec::new(),
        };
        let work = |tx: &mut Tx<'_>| self.webhook.handle(tx, &request, &call);
        let done = ticket.transact(work, |_, _| (Some(decision), ())).await;
        done.expect("no reset").0.status
    }

    async fn call(&self, method: Method, path: &str, body: &str) -> (u16, Value) {
        let request = Request::builder()
            .header("host", "localhost")
            .method(method)
            .uri(path)
            .body(Body::from(body.to_owned()));
        let answer = crate::admin::router(Admin::over(self.store.clone()))
            .oneshot(request.expect("a request"))
            .await;
        let answer = answer.expect("infallible");
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).expect("JSON"))
    }

    async fn get(&self, path: &str) -> Value {
        let (status, value) = self.call(Method::GET, path, "").await;
        assert_eq!(status, 200, "{value}");
        value
    }
}

fn bodies(answer: &Value) -> Vec<&str> {
    let deliveries = answer["deliveries"].as_array().expect("a list");
    deliveries.iter().map(|d| d["body"].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn deliveries_are_listed_newest_last_and_found_by_their_headers() {
    let suite = suite(1 << 20);
    suite
        .deliver("/hooks/a%20b/c/", &[("webhook-id", "m1"), ("x-tenant", "acme")], b"one")
        .await;
    suite
        .deliver("/hooks/a%20b/c", &[("webhook-id", "m2"), ("x-tenant", "acme")], b"two")
        .await;
    suite
        .deliver(
            "/hooks/a%20b/c",
            &[("authorization", "Bearer sk_test_secret1")],
            b"three",
        )
        .await;
    suite.deliver("/hooks/z", &[("webhook-id", "m1")], b"\xff\x00").await;

    let all = suite.get("/_hooks/a%20b/c").await;
    assert_eq!(
        (&all["target"], &all["count"], &all["has_more"]),
        (&json!("a b/c"), &json!(3), &json!(false))
    );
    assert_eq!(bodies(&all), ["one", "two", "three"]);
    assert!(!all.to_string().contains("sk_test_secret1"));
    let first = &all["deliveries"][0];
    assert_eq!(
        (&first["method"], &first["path"]),
        (&json!("POST"), &json!("/hooks/a%20b/c/"))
    );
    assert_eq!(
        (&first["headers"]["x-tenant"], &first["size"]),
        (&json!("acme"), &json!(3))
    );
    assert_eq!(
        (&first["body_let_go"], &first["signature"]),
        (&json!(false), &Value::Null)
    );

    let id = first["id"].as_str().expect("an id");
    for (query, found, more) in [
        ("webhook-id=m2", vec!["two"], false),
        ("header=X-Tenant:%20acme", vec!["one", "two"], false),
        ("header=x-tenant:acme&webhook-id=m1", vec!["one"], false),
        ("header=authorization:Bearer%20sk_test_secret1", vec!["three"], false),
        ("header=x-tenant:other", vec![], false),
        ("limit=2", vec!["two", "three"], true),
        (&format!("since={id}"), vec!["two", "three"], false),
        (&format!("since={id}&limit=1"), vec!["two"], true),
        ("since=2000-01-01T00:00:00Z&limit=2", vec!["one", "two"], true),
        ("since=2000-01-01T00:00:00Z&limit=3", vec!["one", "two", "three"], false),
        ("since=9000-01-01T00:00:00Z", vec![], false),
    ] {
        let answer = suite.get(&format!("/_hooks/a%20b/c?{query}")).await;
        assert_eq!((bodies(&answer), &answer["has_more"]), (found, &json!(more)), "{query}");
    }

    let binary = suite.get("/_hooks/z").await;
    assert_eq!(
        (bodies(&binary), &binary["deliveries"][0]["encoding"]),
        (vec!["/wA="], &json!("base64"))
    );
    let targets = suite.get("/_hooks").await;
    let counts: Vec<_> = targets["targets"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|t| &t["deliveries"])
        .collect();
    assert_eq!(counts, [3, 1]);
}

#[tokio::test]
async fn a_body_that_was_let_go_says_so() {
    let suite = suite(5);
    suite.deliver("/hooks/a", &[("x-a", "1")], b"12345").await;
    suite.deliver("/hooks/a", &[], b"67890").await;
    let answer = suite.get("/_hooks/a").await;
    let [old, new] = [&answer["deliveries"][0], &answer["deliveries"][1]];
    assert_eq!(
        (&old["body"], &old["body_let_go"], &old["size"]),
        (&Value::Null, &json!(true), &json!(5))
    );
    let hash = "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5";
    assert_eq!((&old["sha256"], &old["headers"]["x-a"]), (&json!(hash), &json!("1")));
    assert_eq!((&new["body"], &new["body_let_go"]), (&json!("67890"), &json!(false)));
}

#[tokio::test]
async fn a_target_is_told_and_told_nothing_again() {
    let suite = suite(1 << 20);
    let told = r#"{"status": 503, "headers": {"X-A": "1"}, "delay": "2s", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#;
    let (status, shown) = suite.call(Method::PUT, "/_hooks/a/b", told).await;
    assert_eq!((status, &shown["answer"]["status"]), (200, &json!(503)));
    assert_eq!(
        (&shown["answer"]["delay"], &shown["scheme"]),
        (&json!("2000ms"), &json!("standard"))
    );
    assert!(
        shown["secret"].as_str().is_some_and(|s| s.starts_with("[secret:")),
        "{shown}"
    );
    assert_eq!(suite.deliver("/hooks/a/b", &[], b"x").await, 503);

    for (body, field) in [
        (r#"{"status": 500, "delay": "soon"}"#, "delay"),
        (r#"{"status": 500, "color": "red"}"#, "color"),
        (r#"{"status": 500, "secret": "nonsense-secret"}"#, "secret"),
    ] {
        let (status, error) = suite.call(Method::PUT, "/_hooks/a/b", body).await;
        assert_eq!(
            (status, error["error"]["problems"][0]["field"].as_str()),
            (400, Some(field)),
            "{error}"
        );
        assert!(
            error["error"]["problems"][0]["allowed"][0].is_string() && !error.to_string().contains("nonsense-secret"),
            "{error}"
        );
    }
    assert_eq!(
        suite.deliver("/hooks/a/b", &[], b"x").await,
        503,
        "nothing was half done"
    );

    let all = format!("{}{}", suite.get("/_hooks").await, suite.get("/_hooks/a/b").await);
    assert!(!all.contains("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "{all}");
    let (status, shown) = suite.call(Method::DELETE, "/_hooks/a/b", "").await;
    assert_eq!(
        (status, &shown["answer"], &shown["secret"]),
        (200, &Value::Null, &Value::Null)
    );
    assert_eq!(suite.deliver("/hooks/a/b", &[], b"x").await, 200);
    assert_eq!(suite.get("/_hooks/a/b").await["count"], 3);
}

#[tokio::test]
async fn a_wrong_query_is_named_and_an_unknown_world_is_empty() {
    let suite = suite(1 << 20);
    for (query, field) in [
        ("limit=0", "limit"),
        ("header=x", "header"),
        ("since=whd_none", "since"),
        ("colour=red", "colour"),
    ] {
        let (status, error) = suite.call(Method::GET, &format!("/_hooks/a?{query}"), "").await;
        assert_eq!(
            (status, error["error"]["problems"][0]["field"].as_str()),
            (400, Some(field)),
            "{error}"
        );
    }
    let (status, error) = suite
        .call(Method::PUT, &format!("/_hooks/{}", "x".repeat(201)), "{}")
        .await;
    assert_eq!(
        (status, error["error"]["problems"][0]["field"].as_str()),
        (400, Some("target"))
    );
    let none = suite.get("/_hooks/a?scope=nobody").await;
    assert_eq!((&none["count"], bodies(&none).len()), (&json!(0), 0));
    assert_eq!(suite.get("/_hooks?scope=nobody").await["targets"], json!([]));
    assert!(suite.store.scopes().is_empty(), "reading makes no world");

    suite
        .call(Method::PUT, "/_hooks/a?scope=alice", r#"{"status": 500}"#)
        .await;
    assert_eq!(suite.deliver("/hooks/a", &[], b"x").await, 200, "another world");
}
