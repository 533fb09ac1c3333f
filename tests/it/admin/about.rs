//! What the suite says of itself.

use serde_json::json;

use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn providers_are_listed_with_operations_and_effects() {
    with(
        |b| b,
        async |app: &App| {
            let list = app.admin(Call::get("/_providers")).await;
            let providers = list["providers"].as_array().unwrap();
            let names: Vec<_> = providers
                .iter()
                .map(|p| (p["name"].as_str().unwrap(), p["class"].as_str().unwrap()))
                .collect();
            for expected in [
                ("orders", "key-enforced"),
                ("webhook", "key-advisory"),
                ("smtp", "key-advisory"),
                ("stripe", "key-enforced"),
            ] {
                assert!(names.contains(&expected), "{names:?}");
            }
            let orders = providers.iter().find(|p| p["name"] == "orders").unwrap();
            let create = json!({"name": "orders.create", "kind": "write", "effects": ["order"]});
            assert!(orders["operations"].as_array().unwrap().contains(&create), "{orders}");
            // Whatever is listed and can be asked for can be named in a rule.
            for provider in providers {
                for operation in provider["operations"].as_array().unwrap() {
                    let rule = json!({"mode": "pass", "provider": provider["name"], "operation": operation["name"]});
                    let expected = if operation["name"] == "schedule.run" { 400 } else { 201 };
                    let answer = app.call(Call::post("/_faults").json(&rule)).await;
                    assert_eq!(answer.status, expected, "{rule}");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_health_readiness_and_the_certificate() {
    with(
        |b| b,
        async |app: &App| {
            let addresses = app.admin(Call::get("/_addresses")).await;
            assert_eq!(addresses["http"], json!(app.http().to_string()));
            assert_eq!(addresses.as_object().unwrap().len(), 4);
            let health = app.admin(Call::get("/_health")).await;
            assert_eq!(health, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}));
            assert_eq!(app.admin(Call::get("/_ready")).await, json!({"ready": true}));
            let pem = app.call(Call::get("/_ca.pem")).await;
            assert_eq!(pem.text(), app.suite.ca_pem());
            let index = app.call(Call::get("/")).await;
            assert!(index.status == 200 && index.text().contains("/_stats"), "{index:?}");
            let head = app.call_head("/_health").await;
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        },
    )
    .await;
}

impl App {
    async fn call_head(&self, path: &str) -> String {
        let mut conn = self.connect().await;
        conn.send(&Call::new("HEAD", path).bytes()).await;
        conn.line().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_moves_forward_for_all_or_for_one() {
    with(
        |b| b,
        async |app: &App| {
            let now = async |query: &str| {
                app.admin(Call::get(&format!("/_clock{query}"))).await["unix"]
                    .as_i64()
                    .unwrap()
            };
            let begun = now("").await;
            let advanced = app
                .admin(Call::post("/_clock?scope=alice").json(&json!({"advance": "25h"})))
                .await;
            assert_eq!(advanced["scope"], "alice");
            assert!((90_000..90_100).contains(&(now("?scope=alice").await - begun)));
            assert!(
                (0..100).contains(&(now("?scope=bob").await - begun)),
                "another scope's stands"
            );
            app.admin(Call::post("/_clock").json(&json!({"advance": "1h"}))).await;
            assert!((3_600..3_700).contains(&(now("?scope=bob").await - begun)));
            assert!(
                (93_600..93_700).contains(&(now("?scope=alice").await - begun)),
                "both add up"
            );
            app.admin(Call::post("/_reset?scope=alice")).await;
            assert!((3_600..3_700).contains(&(now("?scope=alice").await - begun)));
            app.admin(Call::post("/_reset")).await;
            assert!((0..100).contains(&(now("").await - begun)));
            for wrong in [
                json!({"advance": "tomorrow"}),
                json!({"advance": 3}),
                json!({"back": "1h"}),
                json!({"advance": "9000h", "x": 1}),
            ] {
                let answer = app.call(Call::post("/_clock").json(&wrong)).await;
                assert_eq!(answer.status, 400, "{wrong}");
                assert!(answer.text().contains("advance"), "{}", answer.text());
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_expire_on_that_clock() {
    with(
        |b| b,
        async |app: &App| {
            let call = || Call::order("a").key("k");
            assert_eq!(app.call(call()).await.status, 201);
            app.admin(Call::post("/_clock").json(&json!({"advance": "23h"}))).await;
            assert_eq!(app.call(call()).await.header("idempotent-replayed"), Some("true"));
            app.admin(Call::post("/_clock").json(&json!({"advance": "2h"}))).await;
            assert_eq!(
                app.call(call()).await.status,
                409,
                "the key is forgotten, the reference is not"
            );
            assert_eq!(app.effects("order"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unknown_is_said_to_be() {
    with(
        |b| b,
        async |app: &App| {
            let unknown = app.call(Call::get("/_stat")).await;
            assert_eq!(unknown.status, 404);
            assert!(
                unknown.text().contains("/_stat`") && unknown.text().contains("/_stats"),
                "{}",
                unknown.text()
            );
            for (method, path) in [
                ("POST", "/_stats"),
                ("GET", "/_reset"),
                ("PUT", "/_faults"),
                ("DELETE", "/_clock"),
                ("POST", "/_events"),
            ] {
                let answer = app.call(Call::new(method, path).body("{}")).await;
                assert_eq!(answer.status, 405, "{method} {path}");
                assert!(answer.header("allow").is_some(), "{method} {path}");
                assert!(answer.text().contains(method), "{}", answer.text());
            }
            for (method, path) in [
                ("GET", "/_stats"),
                ("GET", "/_events"),
                ("GET", "/_faults"),
                ("POST", "/_faults"),
                ("DELETE", "/_faults"),
                ("DELETE", "/_faults/f1"),
                ("GET", "/_holds"),
                ("POST", "/_holds/h1/release"),
                ("POST", "/_reset"),
                ("GET", "/_scopes"),
                ("GET", "/_clock"),
                ("POST", "/_clock"),
                ("GET", "/_mail"),
                ("GET", "/_hooks"),
                ("GET", "/_providers"),
            ] {
                let answer = app.call(Call::new(method, &format!("{path}?scpe=alice"))).await;
                assert_eq!(
                    answer.status, 400,
                    "{method} {path}: a misspelt `scope` must not answer for all"
                );
                assert!(answer.text().contains("`scpe`"), "{}", answer.text());
            }
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(
                (&stats["unmatched"], &stats["total"]["received"]),
                (&json!(0), &json!(0)),
                "none of it is counted"
            );
        },
    )
    .await;
}
