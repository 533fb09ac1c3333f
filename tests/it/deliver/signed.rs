//! Signatures: the suite's own webhook target judges what the suite signs, and a known vector judges both.

use serde_json::{Value, json};

use super::{Receiver, deliver};
use crate::support::{App, Call, with};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Delivers to a target of the suite itself, and returns the verdict on the signature.
async fn verdict(app: &App, target: &str, sign: Value) -> Value {
    let scheme = sign["scheme"].clone();
    let settings = Call::new("PUT", &format!("/_hooks/{target}")).json(&json!({"secret": SECRET, "scheme": scheme}));
    app.admin(settings).await;
    let url = format!("http://{}/hooks/{target}", app.http());
    let told = deliver(app, json!({"url": url, "body": {"amount": 1099}, "sign": sign})).await;
    assert_eq!(told["copies"][0]["status"], 200, "{told}");
    let list = app.admin(Call::get(&format!("/_hooks/{target}"))).await;
    list["deliveries"].as_array().unwrap().last().unwrap()["signature"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_target_finds_both_signatures_valid_and_others_not() {
    with(
        |b| b,
        async |app: &App| {
            let sign = |scheme: &str, secret: &str| json!({"scheme": scheme, "secret": secret});
            for scheme in ["stripe", "standard"] {
                assert_eq!(verdict(app, scheme, sign(scheme, SECRET)).await, "valid", "{scheme}");
                let other = sign(scheme, "whsec_b3RoZXI=");
                assert_eq!(
                    verdict(app, scheme, other).await,
                    "invalid: no signature matches",
                    "{scheme}"
                );
                let mut old = sign(scheme, SECRET);
                old["timestamp"] = 1_614_265_330.into();
                assert_eq!(verdict(app, scheme, old).await, "stale", "{scheme}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vector_of_standard_webhooks_goes_over_the_wire() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("204 No Content").await;
            let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
            let sign = json!({"scheme": "standard", "secret": SECRET, "timestamp": 1_614_265_330, "id": id});
            let body = r#"{"test": 2432232314}"#;
            deliver(
                app,
                json!({"url": receiver.url, "body": body, "sign": sign, "copies": 2}),
            )
            .await;
            let heard = receiver.heard();
            assert_eq!((heard.len(), heard[0].body.as_str()), (2, body));
            for heard in heard {
                assert_eq!(heard.header("webhook-id"), Some(id));
                assert_eq!(heard.header("webhook-timestamp"), Some("1614265330"));
                let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
                assert_eq!(heard.header("webhook-signature"), Some(signature));
                assert_eq!(heard.header("content-type"), Some("application/json"));
            }
            // Made with `openssl dgst -sha256 -hmac`.
            let sign = json!({"scheme": "stripe", "secret": "whsec_test_secret", "timestamp": 1_614_265_330});
            deliver(app, json!({"url": receiver.url, "body": body, "sign": sign})).await;
            let hex = "10c96c6fd3f320fcfc264cdc4f476c15060ede8e8a08404cea2ddf3b72544a9c";
            let wanted = format!("t=1614265330,v1={hex}");
            assert_eq!(receiver.heard()[2].header("stripe-signature"), Some(wanted.as_str()));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_enters_the_journal_or_the_answer() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::start(async |heard: super::Heard, mut stream| {
                let echo = format!(
                    "HTTP/1.1 200 OK\r\nset-cookie: a=sk_test_51abc\r\ncontent-length: {}\r\n\r\n{}",
                    heard.head.len(),
                    heard.head
                );
                drop(tokio::io::AsyncWriteExt::write_all(&mut stream, echo.as_bytes()).await);
                drop(tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 16]).await);
            })
            .await;
            let asked = json!({
                "url": format!("{}?key=sk_test_51abc", receiver.url), "body": {"password": "hunter2", "card": "4242424242424242"},
                "headers": {"authorization": "Bearer sk_test_51abc"}, "sign": {"scheme": "stripe", "secret": SECRET},
            });
            let told = deliver(app, asked).await;
            assert_eq!(told["copies"][0]["status"], 200);
            let heard = &receiver.heard()[0];
            assert!(heard.head.contains("sk_test_51abc") && heard.body.contains("hunter2"), "it is sent as it is");
            let signature = heard.header("stripe-signature").unwrap().split_once("v1=").unwrap().1.to_owned();
            let events = app.admin(Call::get("/_events")).await.to_string();
            for secret in ["51abc", "hunter2", "4242424242424242", "MfKQ"] {
                assert!(!events.contains(secret), "{secret} in {events}");
                assert!(!told.to_string().contains(secret), "{secret} in {told}");
            }
            let request = app.admin(Call::get("/_events")).await["events"][0]["request"].to_string();
            assert!(!request.contains(&signature), "{request}");
        },
    )
    .await;
}
