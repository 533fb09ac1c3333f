//! Webhook endpoints, made and refused.

use serde_json::{Value, json};

use super::{get, made};
use crate::support::{App, Call, with};

const GOOD: &str = "url=http://localhost:3000/hook&enabled_events[]=charge.succeeded";

fn call(method: &str, id: &str) -> Call {
    Call::new(method, &format!("/v1/webhook_endpoints/{id}")).header("authorization", "Bearer sk_test_123")
}

#[tokio::test]
async fn an_endpoint_shows_its_secret_once_and_is_changed_listed_and_deleted() {
    with(
        |b| b,
        async |app| {
            let form = format!("{GOOD}&description=d&metadata[a]=1&api_version=2026-08-26.dahlia");
            let create = Call::stripe("/v1/webhook_endpoints", &form).key("k");
            let first = app.call(create.clone()).await;
            assert_eq!(app.call(create).await.body, first.body, "a replay shows the secret too");
            let fresh = first.json();
            let secret = fresh["secret"].as_str().unwrap();
            assert!(secret.starts_with("whsec_") && secret.len() == 38, "{secret}");
            let id = fresh["id"].as_str().unwrap();
            let mut shown = made(app, call("GET", id)).await;
            assert_eq!(
                shown,
                json!({"id": id, "object": "webhook_endpoint", "api_version": "2026-08-26.dahlia", "application": null,
                    "created": fresh["created"], "description": "d", "enabled_events": ["charge.succeeded"],
                    "livemode": false, "metadata": {"a": "1"}, "status": "enabled", "url": "http://localhost:3000/hook"})
            );
            assert_eq!(made(app, get("/v1/webhook_endpoints")).await["data"], json!([shown]));
            let update = "disabled=true&enabled_events[]=*&url=http://n8n:5678/x&metadata[a]=&description=";
            let updated = made(app, Call::stripe(&format!("/v1/webhook_endpoints/{id}"), update)).await;
            for (name, value) in [
                ("status", json!("disabled")),
                ("enabled_events", json!(["*"])),
                ("url", json!("http://n8n:5678/x")),
                ("metadata", json!({})),
                ("description", Value::Null),
            ] {
                shown[name] = value;
            }
            assert_eq!(updated, shown);
            assert_eq!(
                made(app, call("DELETE", id)).await,
                json!({"id": id, "object": "webhook_endpoint", "deleted": true})
            );
            let gone = app.call(call("GET", id)).await;
            let error = &gone.json()["error"];
            assert_eq!((gone.status, &error["code"]), (404, &json!("resource_missing")));
            assert_eq!(error["message"], format!("No such webhook endpoint: '{id}'"));
        },
    )
    .await;
}

async fn refused(app: &App, form: &str) -> (u16, Value, String) {
    let answer = app.call(Call::stripe("/v1/webhook_endpoints", form)).await;
    let error = answer.json()["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    let words = format!(
        "{} {}",
        error["code"].as_str().unwrap_or_default(),
        error["message"].as_str().unwrap()
    );
    (answer.status, error["param"].clone(), words)
}

#[tokio::test]
async fn what_is_no_endpoint_is_refused_in_stripes_shape() {
    with(
        |b| b.deliver_hosts(&["hooks.example.com".to_owned()]),
        async |app| {
            let events = "enabled_events[]=charge.succeeded";
            for (form, param, words) in [
                (events.to_owned(), "url", "parameter_missing"),
                (
                    "url=http://localhost/".to_owned(),
                    "enabled_events",
                    "parameter_missing",
                ),
                (format!("url=localhost&{events}"), "url", "An explicit scheme"),
                (format!("url=ftp://localhost/&{events}"), "url", "url_invalid"),
                (
                    format!("url=https://example.com/hook&{events}"),
                    "url",
                    "--deliver-host example.com",
                ),
                (format!("url=http://8.8.8.8/&{events}"), "url", "a public address"),
                (format!("url=http://169.254.169.254/&{events}"), "url", "link-local"),
                (
                    "url=http://a/&enabled_events[]=charge.exploded".to_owned(),
                    "enabled_events[0]",
                    "charge.exploded",
                ),
                (
                    format!("url=http://a/&{events}&enabled_events[]=*"),
                    "enabled_events[1]",
                    "all events",
                ),
                (
                    format!("url=http://a/&{events}&api_version=new"),
                    "api_version",
                    "Invalid Stripe API version",
                ),
                (format!("url=http://a/&{events}&secret=x"), "secret", "unknown"),
            ] {
                let (status, named, said) = refused(app, &form).await;
                assert_eq!((status, named.as_str()), (400, Some(param)), "{form}: {said}");
                assert!(said.contains(words), "{form}: {said}");
            }
            made(
                app,
                Call::stripe(
                    "/v1/webhook_endpoints",
                    &format!("url=https://hooks.example.com/&{events}"),
                ),
            )
            .await;
        },
    )
    .await;
}

#[tokio::test]
async fn an_account_has_sixteen_at_most() {
    with(
        |b| b,
        async |app| {
            for _ in 0..16 {
                made(app, Call::stripe("/v1/webhook_endpoints", GOOD)).await;
            }
            let (status, _, words) = refused(app, GOOD).await;
            assert!(status == 400 && words.contains("maximum of 16"), "{words}");
            made(
                app,
                Call::stripe("/v1/webhook_endpoints", GOOD).header("stripe-account", "acct_1"),
            )
            .await;
        },
    )
    .await;
}
