//! Requests as clients write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
async fn a_form_may_come_in_chunks() {
    with(
        |b| b,
        async |app: &App| {
            let head =
                "POST /v1/charges HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk_test_123\r\nidempotency-key: k\r\n";
            let mut conn = app.connect().await;
            conn.send(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes())
                .await;
            for part in ["amount=10", "99&curr", "ency=usd&source=tok_visa"] {
                conn.send(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).await;
            }
            conn.send(b"0\r\n\r\n").await;
            let first = conn.answer().await;
            assert_eq!((first.status, &first.json()["amount"]), (200, &json!(1099)));
            let again = app.call(charge(1099).key("k")).await;
            assert_eq!(again.body, first.body, "it is the same request");
            assert_eq!(app.effects("charge"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_reads_a_form_as_an_object_of_texts() {
    with(
        |b| b,
        async |app: &App| {
            let json = json!({"/amount": "1099", "/metadata[order]": "17"});
            app.fault(json!({"mode": "drop-after-commit", "json": json})).await;
            for (order, lost) in [("16", false), ("17", true)] {
                let call = Call::stripe("/v1/charges", &format!("{FORM}&metadata%5Border%5D={order}"));
                let mut conn = app.connect().await;
                conn.send(&call.bytes()).await;
                assert_eq!(conn.try_answer().await.is_none(), lost, "order {order}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_keeps_no_card_and_no_credential() {
    with(
        |b| b,
        async |app: &App| {
            let numbers = [
                "4242424242424242",
                "4242+4242+4242+4242",
                "4242%204242%204242%204242",
                "4242-4242-4242-4242",
                "%34242424242424242",
                "4242%34242424242%342",
            ];
            for number in numbers {
                for name in ["card[number]", "card%5Bnumber%5D"] {
                    let form = format!("{name}={number}&card[exp_month]=12&card[exp_year]=2040&card[cvc]=987");
                    let call = Call::post("/v1/tokens").header("authorization", "Bearer sk_test_secretsecret");
                    assert_eq!(app.call(call.form(&form)).await.status, 200, "{form}");
                    let call = Call::post(&format!("/v1/payment_methods?type=card&{form}"));
                    let call = call.header("authorization", "Bearer sk_test_secretsecret");
                    assert_eq!(app.call(call).await.status, 200, "{form}");
                }
            }
            let journal = app.call(Call::get("/_events?limit=1000")).await.text();
            assert_eq!(journal.matches("\"tokens.create\"").count(), 12);
            for secret in numbers.iter().chain(&["secretsecret", "]=987", "5D=987"]) {
                let line = journal.split("\"id\"").find(|line| line.contains(secret));
                assert!(line.is_none(), "{secret} is in {line:?}");
            }
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
