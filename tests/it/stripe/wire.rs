//! Requests as clients write them, well and badly.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::{charge, get, made, refusal};
use crate::support::{App, Call, with};

const FORM: &str = "amount=1099&currency=usd&source=tok_visa";

#[tokio::test(flavor = "multi_thread")]
async fn forms_nest_by_name_index_and_place() {
    with(
        |b| b,
        async |app: &App| {
            let forms = [
                "metadata[a]=x+y&metadata[b]=%26%3D&payment_method_types[0]=card&payment_method_types[1]=link&shipping[name]=N&\
                 shipping[address][line1]=L",
                "metadata%5Ba%5D=x%20y&metadata%5Bb%5D=%26%3D&payment_method_types%5B%5D=card&payment_method_types%5B%5D=link&\
                 shipping%5Bname%5D=N&shipping%5Baddress%5D%5Bline1%5D=L&",
            ];
            for form in forms {
                let form = format!("amount=1099&currency=usd&{form}");
                let intent = made(app, Call::stripe("/v1/payment_intents", &form)).await;
                assert_eq!(intent["metadata"], json!({"a": "x y", "b": "&="}));
                assert_eq!(
                    (&intent["shipping"]["name"], &intent["shipping"]["address"]["line1"]),
                    (&json!("N"), &json!("L"))
                );
            }
            let form = format!("{FORM}&metadata[ключ]=значение&description=%F0%9F%8E%89");
            let charge = made(app, Call::stripe("/v1/charges", &form)).await;
            assert_eq!(
                (&charge["metadata"], &charge["description"]),
                (&json!({"ключ": "значение"}), &json!("🎉"))
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_may_carry_an_empty_form() {
    with(
        |b| b,
        async |app: &App| {
            let answer = app.call(get("/v1/charges").form("")).await;
            assert_eq!((answer.status, &answer.json()["data"]), (200, &json!([])));
            let with_length = get("/v1/balance").form("").header("content-length", "0");
            assert_eq!(app.call(with_length).await.status, 200);
            let charset = Call::post("/v1/charges")
                .header("authorization", "Bearer sk_test_123")
                .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
                .body(FORM);
            assert_eq!(app.call(charset).await.status, 200);
            let bare = Call::post("/v1/charges")
                .header("authorization", "Bearer sk_test_123")
                .body(FORM);
            assert_eq!(app.call(bare).await.status, 200, "a body without a type is a form");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_basic_or_bearer_and_never_live() {
    with(
        |b| b,
        async |app: &App| {
            let basic = |user: &str| format!("Basic {}", STANDARD.encode(format!("{user}:")));
            for (value, status) in [
                ("Bearer sk_test_123".to_owned(), 200),
                ("bearer rk_test_123".into(), 200),
                (basic("sk_test_123"), 200),
                ("Bearer sk_live_123".into(), 401),
                (basic("rk_live_123"), 401),
                ("Bearer pk_test_123".into(), 401),
                ("Bearer whatever".into(), 401),
                ("Bearer ".into(), 401),
                ("Basic !!!".into(), 401),
                ("Digest sk_test_123".into(), 401),
            ] {
                let call = Call::post("/v1/charges").header("authorization", &value).form(FORM);
                let answer = app.call(call).await;
                assert_eq!(answer.status, status, "{value}: {}", answer.text());
                if status == 401 {
                    assert_eq!(refusal(&answer).1, "invalid_request_error");
                    assert!(!answer.text().contains("live_123"), "a key is not repeated");
                }
            }
            let none = app.call(Call::post("/v1/charges").form(FORM)).await;
            assert!(refusal(&none).3.starts_with("You did not provide an API key."));
            let other = app
                .call(Call::post("/v1/charges").header("authorization", "Bearer x").form(FORM))
                .await;
            assert!(refusal(&other).3.starts_with("Invalid API Key provided: "));
            assert_eq!((app.effects("charge"), app.counts("stripe").await.refused), (3, 9));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_can_name_the_scope() {
    with(
        |b| b,
        async |app: &App| {
            let basic = format!("Basic {}", STANDARD.encode("sk_test_~alice:"));
            for value in ["Bearer sk_test_~alice", &basic] {
                let call = Call::post("/v1/charges").header("authorization", value).form(FORM);
                assert_eq!(app.call(call.key("k")).await.status, 200);
            }
            let scopes: Vec<String> = app.entries().iter().map(|e| e.scope.to_string()).collect();
            assert_eq!(scopes, ["alice", "alice"]);
            assert_eq!(app.effects("charge"), 1, "one world, one key");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_says_so_and_is_counted() {
    with(
        |b| b,
        async |app: &App| {
            for (method, path) in [
                ("GET", "/v1/nothing"),
                ("POST", "/v1/charges/ch_1/nothing"),
                ("DELETE", "/v1/charges"),
            ] {
                let call = Call::new(method, path).header("authorization", "Bearer sk_test_123");
                let answer = app.call(call).await;
                let start = format!("Unrecognized request URL ({method}: {path}). ");
                let (status, kind, _, message) = refusal(&answer);
                assert_eq!((status, &*kind), (404, "invalid_request_error"));
                assert!(message.starts_with(&start), "{message}");
            }
            let missing = app.call(get("/v1/customers/cus_x")).await;
            let (status, _, code, message) = refusal(&missing);
            assert_eq!(
                (status, code.as_deref(), &*message),
                (404, Some("resource_missing"), "No such customer: 'cus_x'")
            );
            let counts = app.counts("stripe").await;
            assert_eq!((counts.received, counts.accepted), (4, 0));
        },
    )
    .await;
}

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
