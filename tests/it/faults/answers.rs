//! What the client gets: refusals in the provider's words, gateways, delays.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_the_providers_own_unless_the_rule_says_more() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "refuse"})).await;
            let order = app.call(Call::order("a")).await;
            assert_eq!(
                (order.status, order.header("content-type")),
                (422, Some("application/problem+json"))
            );
            assert_eq!(order.json()["status"], 422);
            let hook = app.call(Call::post("/hooks/t")).await;
            assert_eq!((hook.status, hook.json()["error"].is_string()), (503, true));
            let mail = app.post("a@b.test", "\r\nhi\r\n").await;
            assert!(mail.starts_with("451 4."), "{mail}");
            app.admin(Call::new("DELETE", "/_faults")).await;

            app.fault(
                json!({"mode": "refuse", "provider": "orders", "status": 429, "code": "rate_limit",
                "headers": {"Retry-After": "1"}}),
            )
            .await;
            let order = app.call(Call::order("a")).await;
            assert_eq!((order.status, order.header("retry-after")), (429, Some("1")));
            assert_eq!(order.json()["code"], "rate_limit");
            app.fault(
                json!({"mode": "refuse", "provider": "webhook", "status": 500, "body": {"oh": "no"},
                "headers": {"content-type": "text/x-own"}}),
            )
            .await;
            let hook = app.call(Call::post("/hooks/t")).await;
            assert_eq!((hook.status, hook.text().as_str()), (500, r#"{"oh":"no"}"#));
            assert_eq!(hook.header("content-type"), Some("text/x-own"));
            app.fault(json!({"mode": "refuse", "provider": "smtp", "status": 552, "body": "not\nso big"}))
                .await;
            assert_eq!(app.post("a@b.test", "\r\nhi\r\n").await, "552-not\n552 so big");
            for kind in ["order", "delivery", "message"] {
                assert_eq!(app.effects(kind), 0);
            }
            for provider in ["orders", "webhook", "smtp"] {
                let counts = app.counts(provider).await;
                assert_eq!(
                    (counts.received, counts.refused, counts.answered),
                    (2, 2, 2),
                    "{provider}"
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_injected_refusal_is_kept_under_its_key_where_the_provider_keeps_such_a_status() {
    with(
        |b| b,
        async |app: &App| {
            for (status, then) in [(500, 500), (422, 422), (429, 201), (400, 201)] {
                let rule = json!({"mode": "refuse", "provider": "orders", "status": status, "on": 1, "headers": {"x-own": "1"}});
                app.fault(rule).await;
                let call = || Call::order(&format!("o{status}")).key(&format!("k{status}"));
                let first = app.call(call()).await;
                let second = app.call(call()).await;
                assert_eq!((first.status, second.status), (status, then));
                if then == status {
                    assert_eq!(first.body, second.body);
                    assert_eq!(second.header("idempotent-replayed"), Some("true"));
                    assert_eq!(second.header("x-own"), Some("1"));
                }
                app.admin(Call::new("DELETE", "/_faults")).await;
            }
            assert_eq!(app.effects("order"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_before_the_commit_is_never_kept() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(
                json!({"mode": "fail-before-commit", "provider": "orders", "status": 504, "on": 1,
                "headers": {"via": "1.1 gateway"}, "body": "timeout"}),
            )
            .await;
            let first = app.call(Call::order("a").key("k")).await;
            assert_eq!((first.status, first.text().as_str()), (504, "timeout"));
            assert_eq!(first.header("via"), Some("1.1 gateway"));
            let second = app.call(Call::order("a").key("k")).await;
            assert_eq!((second.status, second.header("idempotent-replayed")), (201, None));
            let counts = app.counts("orders").await;
            assert_eq!((counts.failed, counts.accepted, counts.answered), (1, 1, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_commit_is_a_gateways_page_or_what_the_rule_says() {
    with(
        |b| b,
        async |app: &App| {
            let page = app.call(Call::order("a").fault("error-after-commit; status=504")).await;
            assert_eq!((page.status, page.header("content-type")), (504, Some("text/html")));
            assert!(page.text().contains("504 Gateway Time"), "{}", page.text());
            let mail = app.post("error-after-commit@fault.test", "\r\nhi\r\n").await;
            assert!(mail.starts_with("451"), "{mail}");
            app.fault(json!({"mode": "error-after-commit", "provider": "orders", "status": 500, "body": "own"}))
                .await;
            let own = app.call(Call::order("b")).await;
            assert_eq!((own.status, own.text().as_str()), (500, "own"));
            assert_eq!((app.effects("order"), app.effects("message")), (2, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_is_where_it_should_be_and_as_long_as_it_should_be() {
    const DELAY: Duration = Duration::from_millis(300);
    with(
        |b| b,
        async |app: &App| {
            for (at, during) in [("before", 0), ("after", 1)] {
                app.admin(Call::post("/_reset")).await;
                app.fault(json!({"mode": "delay", "at": at, "delay": "300ms"})).await;
                let begun = Instant::now();
                let mut conn = app.connect().await;
                conn.send(&Call::order("a").bytes()).await;
                app.until("the delay", |app| app.entries().iter().any(|e| !e.fired.is_empty()))
                    .await;
                if begun.elapsed() < DELAY / 2 {
                    assert_eq!(app.effects("order"), during, "{at}");
                }
                assert_eq!(conn.answer().await.status, 201);
                assert!(begun.elapsed() >= DELAY, "{at}");
                assert_eq!(app.effects("order"), 1);
            }
            app.admin(Call::post("/_reset")).await;
            app.fault(json!({"mode": "delay", "delay": "1ms", "on": 1})).await;
            app.call(Call::get("/orders")).await;
            app.order("a").await;
            let accepted = app.entries().into_iter().find(|e| !e.fired.is_empty()).unwrap();
            assert_eq!(
                &*accepted.arrival.operation, "orders.create",
                "a delay acts after the commit unless told"
            );
        },
    )
    .await;
}
