//! The life of n8n's Stripe Trigger, as n8n 2.x sends it.

use serde_json::{Value, json};

use super::{Receiver, made};
use crate::support::{Answer, App, Call, with};

/// Sends a request as n8n does, byte for byte.
async fn n8n(app: &App, method: &str, path: &str, body: &str) -> Answer {
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nAccept: application/json\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Authorization: Bearer sk_test_good\r\nUser-Agent: n8n\r\n"
    );
    if method == "POST" {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    request += &format!("Host: api.stripe.com\r\nConnection: close\r\n\r\n{body}");
    let mut conn = app.connect().await;
    conn.send(request.as_bytes()).await;
    conn.answer().await
}

#[tokio::test]
async fn the_stripe_trigger_is_activated_triggered_checked_and_deactivated() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            let url = receiver.url();
            let encoded = url.replace(':', "%3A").replace('/', "%2F");
            let body = format!(
                "url={encoded}&description=Created%20by%20n8n%20for%20workflow%20ID%3A%2017&enabled_events%5B0%5D=customer.created&enabled_events%5B1%5D=charge.succeeded"
            );
            let created = n8n(app, "POST", "/v1/webhook_endpoints", &body).await;
            assert_eq!(created.status, 200, "{}", created.text());
            let endpoint = created.json();
            let text = |name: &str| endpoint[name].as_str().unwrap().to_owned();
            let (id, secret) = (text("id"), text("secret"));
            assert_eq!((text("status"), text("url")), ("enabled".into(), url));
            assert_eq!(endpoint["description"], "Created by n8n for workflow ID: 17");
            assert_eq!(endpoint["enabled_events"], json!(["customer.created", "charge.succeeded"]));

            made(app, Call::stripe("/v1/customers", "name=Ada")).await;
            let got = receiver.next().await;
            assert!(got.signed(&secret).is_some());
            got.answer(200).await;

            let path = format!("/v1/webhook_endpoints/{id}");
            let checked = n8n(app, "GET", &path, "").await;
            assert_eq!((checked.status, &checked.json()["id"]), (200, &json!(id)));
            let removed = n8n(app, "DELETE", &path, "").await;
            assert_eq!((removed.status, &removed.json()["deleted"]), (200, &Value::Bool(true)));
            let gone = n8n(app, "GET", &path, "").await;
            assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!("resource_missing")));
        },
    )
    .await;
}
