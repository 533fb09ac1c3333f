//! Which relays run: from the start, and at run time.

use ackdrop::suite::{Kind, Listen};
use serde_json::json;

use super::support::{Raw, spec};
use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn relays_are_started_listed_and_stopped_at_run_time() {
    let upstream = Raw::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let url = upstream.url();
    with(
        |b| b.relay(spec("first", &url, ";class=enforced")),
        async |app: &App| {
            let second = json!({"name": "second", "listen": "127.0.0.1:0", "upstream": url, "scope": "alice"});
            let started = app.admin(Call::post("/_relays").json(&second)).await;
            let addresses = app.admin(Call::get("/_addresses")).await;
            assert_eq!(addresses["relays"]["second"], started["address"]);
            assert_eq!(addresses["relays"]["first"], json!(app.relay("first")));
            let rule = json!({"provider": "second", "operation": "post", "mode": "drop-after-commit"});
            app.fault(rule).await;
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(stats["providers"]["first"]["class"], "key-enforced");
            assert_eq!(stats["providers"]["second"]["received"], 0);
            let mut conn = app.to("second").await;
            conn.send(&Call::post("/").bytes()).await;
            assert_eq!(conn.rest().await.0, b"");
            assert_eq!(app.of("alice").accepted, 1);
            let addr = app.relay("second");
            app.admin(Call::new("DELETE", "/_relays/second")).await;
            let again = json!(format!("second={addr},{url}"));
            app.admin(Call::post("/_relays").json(&again)).await;
            let listed = app.admin(Call::get("/_relays")).await;
            assert_eq!(listed["relays"].as_array().unwrap().len(), 2);
            for (wrong, status, words) in [
                (json!("stripe=127.0.0.1:0,http://x"), 409, "a mock's name"),
                (json!("first=127.0.0.1:0,http://x"), 409, "runs already"),
                (json!(format!("third={addr},http://x")), 409, "cannot take"),
                (json!("third=127.0.0.1:0,ftp://x;key="), 400, "is no scheme"),
            ] {
                let answer = app.call(Call::post("/_relays").json(&wrong)).await;
                assert_eq!(answer.status, status, "{}", answer.text());
                assert!(answer.text().contains(words), "{}", answer.text());
            }
            app.admin(Call::new("DELETE", "/_relays/second")).await;
            let answer = app.call(Call::new("DELETE", "/_relays/second")).await;
            assert_eq!(answer.status, 404);
            let other = json!(format!("second=127.0.0.1:0,{url};class=enforced"));
            let answer = app.call(Call::post("/_relays").json(&other)).await;
            assert!(
                answer.status == 409 && answer.text().contains("another class"),
                "{}",
                answer.text()
            );
            assert_eq!(app.counts("second").await.accepted, 1, "counts outlive their relay");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_other_machines_can_call_a_relay_at_run_time_needs_a_token() {
    let open = Listen {
        addr: "0.0.0.0:0".parse().unwrap(),
        both_loopbacks: false,
        all_interfaces: false,
    };
    let start = |call: Call| call.json(&json!("a=127.0.0.1:0,http://127.0.0.1:1"));
    with(
        |b| b.listen(Kind::Http, open),
        async |app: &App| {
            let answer = app.call(start(Call::post("/_relays"))).await;
            assert!(
                answer.status == 401 && answer.text().contains("--admin-token"),
                "{}",
                answer.text()
            );
            let answer = app.call(Call::new("DELETE", "/_relays/a")).await;
            assert_eq!(answer.status, 401);
            assert!(app.suite.relays().list().is_empty());
        },
    )
    .await;
    with(
        |b| b.listen(Kind::Http, open).admin(Some("t0ken"), &[]),
        async |app: &App| {
            let call = |call: Call| call.header("authorization", "Bearer t0ken");
            assert_eq!(app.call(start(call(Call::post("/_relays")))).await.status, 201);
        },
    )
    .await;
}
