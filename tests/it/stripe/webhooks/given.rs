//! Endpoints that every scope has from its begin.

use ackdrop::Suite;
use ackdrop::suite::{StartError, StripeWebhook};
use serde_json::json;

use super::{Receiver, customer, get, made};
use crate::support::{Call, with};

#[tokio::test]
async fn it_is_in_every_scope_with_its_secret_and_after_each_reset() {
    let receiver = Receiver::open().await;
    let url = receiver.url();
    let given = |text: String| StripeWebhook::parse(&text).unwrap();
    with(
        |b| {
            b.stripe_webhook(given(format!("{url};events=customer.created")))
                .stripe_webhook(given(
                    "http://localhost/none;secret=whsec_given;events=charge.failed".to_owned(),
                ))
        },
        async |app| {
            let [first, second] = app.suite.stripe_webhooks() else {
                panic!("two webhooks")
            };
            assert_eq!(second.secret.as_deref(), Some("whsec_given"));
            let secret = first.secret.as_deref().unwrap();
            for reset in [false, true] {
                if reset {
                    app.admin(Call::post("/_reset")).await;
                }
                for prefix in ["", "/~alice"] {
                    made(app, Call::stripe(&format!("{prefix}/v1/customers"), "name=Ada")).await;
                    let got = receiver.next().await;
                    assert!(got.signed(secret).is_some());
                    got.answer(200).await;
                }
            }
            let listed = made(app, get("/v1/webhook_endpoints")).await;
            assert_eq!(listed["data"][1]["enabled_events"], json!(["customer.created"]));
            assert!(!listed.to_string().contains("whsec_"));
            made(app, customer("Eve")).await;
            receiver.take().await;
        },
    )
    .await;
}

#[tokio::test]
async fn one_that_cannot_be_starts_nothing_and_says_why() {
    for (text, words) in [
        ("https://example.com/hook", "--deliver-host example.com"),
        ("http://localhost/;events=charge.exploded", "charge.exploded"),
    ] {
        let webhook = StripeWebhook::parse(text).unwrap();
        let Err(StartError::Seed(said)) = Suite::builder().stripe_webhook(webhook).start().await else {
            panic!("{text} is wrong");
        };
        assert!(said[0].contains(words), "{said:?}");
    }
}
