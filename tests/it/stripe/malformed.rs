//! Requests that are wrong, or no requests at all.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::{charge, get, refusal};
use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn refusals_say_what_is_wrong() {
    with(
        |b| b,
        async |app: &App| {
            for (form, code, message) in [
                (
                    "amount=1099&currency=usd&source=tok_visa&x=1",
                    "parameter_unknown",
                    "Received unknown parameter: x",
                ),
                (
                    "currency=usd&source=tok_visa",
                    "parameter_missing",
                    "Missing required param: amount.",
                ),
                (
                    "amount=ten&currency=usd&source=tok_visa",
                    "parameter_invalid_integer",
                    "Invalid integer: ten",
                ),
                (
                    "amount=9223372036854775808&currency=usd&source=tok_visa",
                    "parameter_invalid_integer",
                    "Invalid integer: 9223372036854775808",
                ),
                (
                    "amount=&currency=usd&source=tok_visa",
                    "parameter_invalid_empty",
                    "You passed an empty string for 'amount'.",
                ),
                (
                    "amount=1&currency=usd&source=tok_visa",
                    "amount_too_small",
                    "Amount must be at least",
                ),
                (
                    "amount=100000000&currency=usd&source=tok_visa",
                    "amount_too_large",
                    "Amount must be no more than $999,999.99",
                ),
            ] {
                let answer = app.call(Call::stripe("/v1/charges", form)).await;
                let (status, kind, got, text) = refusal(&answer);
                assert_eq!(
                    (status, &*kind, got.as_deref()),
                    (400, "invalid_request_error", Some(code)),
                    "{form}: {text}"
                );
                assert!(text.starts_with(message), "{form}: {text}");
            }
            assert_eq!(app.counts("stripe").await.accepted, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_malformed_is_refused_and_has_no_effect() {
    with(
        |b| b,
        async |app: &App| {
            let bodies: [&[u8]; 14] = [
                b"amount=%zz&currency=usd",
                b"amount=1099&currency=usd&source=tok_visa&description=\xff\xfe",
                b"amount[=1099",
                b"[amount]=1099",
                b"amount=1099&amount[a]=1",
                b"=1",
                b"a[b][c][d][e][f][g][h][i][j]=1",
                b"amount=-5&currency=usd&source=tok_visa",
                b"amount[]=1099&currency=usd&source=tok_visa",
                b"amount=1099&currency[a]=usd&source=tok_visa",
                b"amount=1099&currency=usd&source[a][b]=tok_visa",
                b"amount=1099&currency=usd&source=tok_visa&metadata=x",
                b"amount=1099&currency=usd&source=tok_visa&expand=customer",
                b"\0\0\0",
            ];
            for body in bodies {
                let call = Call::stripe("/v1/charges", "").body(body).key("k");
                let answer = app.call(call).await;
                let shown = String::from_utf8_lossy(body);
                assert_eq!(answer.status, 400, "{shown}: {}", answer.text());
                assert_eq!(refusal(&answer).1, "invalid_request_error", "{shown}");
            }
            let json = Call::post("/v1/charges")
                .header("authorization", "Bearer sk_test_123")
                .json(&json!({"amount": 1099}));
            assert_eq!(app.call(json).await.status, 400, "JSON is no form");
            let many = "a=1&".repeat(5000);
            assert_eq!(app.call(Call::stripe("/v1/charges", &many)).await.status, 400);
            let counts = app.counts("stripe").await;
            assert_eq!((counts.refused, counts.accepted), (16, 0));
            assert_eq!(app.call(charge(1099).key("k")).await.status, 200, "the key is free");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bytes_make_a_server_error() {
    with(
        |b| b,
        async |app: &App| {
            let field = prop_oneof![
                Just("amount"),
                Just("currency"),
                Just("source"),
                Just("card"),
                Just("customer"),
                Just("metadata"),
                Just("expand"),
                Just("capture"),
                Just("shipping"),
                Just("payment_method"),
                Just("confirm"),
                Just("card[number]"),
                Just("limit"),
            ];
            let value = prop_oneof![
                "[ -~]{0,12}",
                Just("1099".to_owned()),
                Just("usd".into()),
                Just("tok_visa".into()),
                Just("true".into()),
                Just("pm_card_visa".into()),
                Just("-9223372036854775808".into()),
                Just("9223372036854775807".into()),
                Just("%00".into()),
                Just("%F0%9F%8E%89".into()),
            ];
            let pair = (field, "(\\[[a-z0-9]{0,4}\\]){0,2}", value).prop_map(|(f, b, v)| format!("{f}{b}={v}"));
            let form = proptest::collection::vec(pair, 0..8).prop_map(|pairs| pairs.join("&").into_bytes());
            let body = prop_oneof![form, proptest::collection::vec(any::<u8>(), 0..60)];
            let path = prop_oneof![
                Just("/v1/charges"),
                Just("/v1/payment_intents"),
                Just("/v1/customers"),
                Just("/v1/refunds"),
                Just("/v1/tokens"),
                Just("/v1/payment_methods"),
                Just("/v1/charges/ch_%00/capture"),
                Just("/v1/payment_intents/%ff/confirm"),
            ];
            let mut runner = TestRunner::new_with_rng(
                Config::with_cases(1),
                proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
            );
            let mut conn = app.connect().await;
            for query in [
                "limit=0",
                "limit=-1",
                "limit=x",
                "limit=99999999999999999999",
                "limit[a]=1",
                "starting_after=ch_%00",
                "created=x",
                "created[gte]=99999999999999999999",
                "created[x]=1",
                "created[gt]=-1&created[lt]=1",
                "expand=1",
                "expand[]=data.x",
                "expand[]=data.customer.default_source",
                "%ff",
                "a[b",
                "customer[]=1",
                "starting_after=a&ending_before=b",
            ] {
                conn.send(&get(&format!("/v1/charges?{query}")).bytes()).await;
                let answer = conn.answer().await;
                assert!([200, 400, 404].contains(&answer.status), "{query}: {}", answer.text());
            }
            for _ in 0..400 {
                let tree = (path.clone(), body.clone()).new_tree(&mut runner).unwrap();
                let (path, body) = proptest::strategy::ValueTree::current(&tree);
                conn.send(&Call::stripe(path, "").body(&*body).bytes()).await;
                let answer = conn.answer().await;
                assert!(
                    [200, 400, 402, 404].contains(&answer.status),
                    "{path} {}: {}",
                    String::from_utf8_lossy(&body),
                    answer.text()
                );
            }
        },
    )
    .await;
}
