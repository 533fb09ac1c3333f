//! The rules of the key, by the strings on the wire.

use serde_json::json;

use super::{charge, get, id, made, refusal};
use crate::support::{Answer, App, Call, with};

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Checks that an answer is of no kept kind: it echoes the key, and names no original.
fn assert_unkept(answer: &Answer, key: Option<&str>) {
    assert!(answer.header("request-id").is_some_and(|id| id.starts_with("req_")));
    assert_eq!(
        (
            answer.header("original-request"),
            answer.header("idempotent-replayed"),
            answer.header("idempotency-key")
        ),
        (None, None, key)
    );
}

async fn until_held(app: &App) {
    app.until("the hold", |app| !app.suite.holds().list(None).is_empty())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_tell_a_first_answer_from_its_replay() {
    with(
        |b| b,
        async |app: &App| {
            let call = || charge(1099).key("k").header("stripe-version", "2022-11-15");
            let (first, again) = (app.call(call()).await, app.call(call()).await);
            let id = first.header("request-id").unwrap().to_owned();
            assert!(id.starts_with("req_") && id.len() == 18, "{id}");
            assert_eq!(first.header("original-request"), Some(&*id));
            assert_eq!(first.header("idempotent-replayed"), None);
            assert_eq!(first.header("stripe-should-retry"), Some("false"));
            assert_eq!(again.header("original-request"), Some(&*id));
            assert_ne!(again.header("request-id"), Some(&*id));
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
            for answer in [&first, &again] {
                let shown = |name: &str| answer.header(name);
                assert_eq!(shown("idempotency-key"), Some("k"));
                assert_eq!(shown("stripe-version"), Some("2022-11-15"));
                assert_eq!(shown("stripe-account"), None);
                assert_eq!(shown("content-type"), Some("application/json"));
                assert_eq!(shown("cache-control"), Some("no-cache, no-store"));
                assert_eq!(shown("vary"), Some("Origin"));
                assert!(shown("access-control-expose-headers").is_some_and(|h| h.starts_with("Request-Id, ")));
                assert!(shown("strict-transport-security").is_some());
                assert_eq!(shown("x-stripe-routing-context-priority-tier"), Some("api-testmode"));
            }
            let plain = app.call(charge(1099)).await;
            assert_unkept(&plain, None);
            assert_eq!(plain.header("stripe-should-retry"), None);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_parameters_are_a_mismatch_before_they_are_a_replay() {
    with(
        |b| b,
        async |app: &App| {
            let first = app.call(charge(1099).key("order-17")).await;
            let others = [
                "amount=1098&currency=usd&source=tok_visa",
                "amount=1099&currency=eur&source=tok_visa",
                "amount=1099&currency=usd&source=tok_mastercard",
                "amount=1099&currency=usd",
                "amount=1099&currency=usd&source=tok_visa&description=d",
                "amount=1099&currency=usd&source=tok_visa&metadata[a]=b",
            ];
            for other in others {
                let answer = app.call(Call::stripe("/v1/charges", other).key("order-17")).await;
                let message = "Keys for idempotent requests can only be used with the same parameters they were first used \
                               with. Try using a key other than 'order-17' if you meant to execute a different request.";
                assert_eq!(
                    refusal(&answer),
                    (400, "idempotency_error".into(), None, message.into()),
                    "{other}"
                );
                assert_unkept(&answer, Some("order-17"));
            }
            let again = app.call(charge(1099).key("order-17")).await;
            assert!(is_replay(&again) && again.body == first.body);
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.replayed, counts.refused), (1, 1, 6));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_parameters_in_another_spelling_are_the_same() {
    with(
        |b| b,
        async |app: &App| {
            let first = "amount=1099&currency=usd&source=tok_visa&metadata[a]=x+y&metadata[b]=2&expand[]=customer";
            let first = app.call(Call::stripe("/v1/charges", first).key("k")).await;
            assert_eq!(first.status, 200);
            for same in [
                "expand[0]=customer&metadata[b]=2&metadata[a]=x%20y&source=tok_visa&currency=usd&amount=1099",
                "amount=1099&currency=usd&source=tok%5Fvisa&metadata%5Ba%5D=x+y&metadata%5Bb%5D=2&expand%5B%5D=customer&",
            ] {
                let again = app.call(Call::stripe("/v1/charges", same).key("k")).await;
                assert!(is_replay(&again), "{same}: {}", again.text());
                assert_eq!(again.body, first.body);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_endpoint_is_named_with_the_first() {
    with(
        |b| b,
        async |app: &App| {
            let charge_id = id(app, charge(1099).key("k")).await;
            for path in [
                "/v1/customers".to_owned(),
                format!("/v1/charges/{charge_id}"),
                "/v1/payment_intents".into(),
            ] {
                let form = "amount=1099&currency=usd&source=tok_visa";
                let answer = app.call(Call::stripe(&path, form).key("k")).await;
                let message = format!(
                    "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{path}' vs \
                     '/v1/charges'). Try using a key other than 'k' if you meant to execute a different request."
                );
                assert_eq!(refusal(&answer), (400, "idempotency_error".into(), None, message));
                assert_unkept(&answer, Some("k"));
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.refused), (1, 3));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_use_is_a_conflict_until_it_is_done() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1})).await;
            let mut held = app.connect().await;
            held.send(&charge(1099).key("order-17").bytes()).await;
            until_held(app).await;
            let answer = app.call(charge(1099).key("order-17")).await;
            let message = "There is currently another in-progress request using this Idempotent Key (that probably means you \
                           submitted twice, and the other request is still going through): order-17. Please try again later.";
            assert_eq!(
                refusal(&answer),
                (
                    409,
                    "invalid_request_error".into(),
                    Some("idempotency_key_in_use".into()),
                    message.into()
                )
            );
            assert_eq!(
                answer.json()["error"]["doc_url"],
                "https://stripe.com/docs/error-codes/idempotency-key-in-use"
            );
            assert_unkept(&answer, Some("order-17"));
            let mismatch = app.call(charge(1).key("order-17")).await;
            assert_eq!((mismatch.status, &*refusal(&mismatch).1), (400, "idempotency_error"));
            let elsewhere = app.call(Call::stripe("/v1/customers", "").key("order-17")).await;
            let message = refusal(&elsewhere).3;
            assert!(
                message.contains("('/v1/customers' vs '/v1/charges')"),
                "the first endpoint is known while it is in progress: {message}"
            );
            assert_eq!(app.effects("charge"), 0);
            app.admin(Call::post("/_holds/h1/release")).await;
            let first = held.answer().await;
            assert_eq!((first.status, is_replay(&first)), (200, false));
            let again = app.call(charge(1099).key("order-17")).await;
            assert!(is_replay(&again) && again.body == first.body);
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.replayed, counts.refused), (1, 1, 3));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_let_go_before_the_commit_is_free() {
    with(
        |b| b,
        async |app: &App| {
            for (n, how) in ["close", "reset", "leave"].into_iter().enumerate() {
                let key = format!("k{n}");
                app.fault(json!({"mode": "hold-before-commit", "key": &key, "on": 1}))
                    .await;
                let mut held = app.connect().await;
                held.send(&charge(1099).key(&key).bytes()).await;
                until_held(app).await;
                let hold = app.suite.holds().list(None)[0].id.clone();
                if how == "leave" {
                    drop(held);
                } else {
                    let release = Call::post(&format!("/_holds/{hold}/release"));
                    app.admin(release.json(&json!({"then": "drop", "how": how}))).await;
                    assert_eq!(held.rest().await.0, b"");
                }
                app.settled().await;
                let again = app.call(charge(2000 + n as u64).key(&key)).await;
                assert_eq!(
                    (again.status, is_replay(&again)),
                    (200, false),
                    "{how}: nothing was kept"
                );
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.failed, counts.incomplete), (3, 2, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_1_to_255_characters() {
    with(
        |b| b,
        async |app: &App| {
            for length in [0, 256, 272, 1000] {
                let key = "k".repeat(length);
                let answer = app.call(charge(1099).key(&key)).await;
                let message = format!(
                    "Idempotent key length is {length} characters long, which is outside accepted lengths. Idempotent Keys must \
                     be 1-255 characters long. If you're looking for a decent generator, try using a UUID defined by IETF RFC \
                     4122."
                );
                assert_eq!(refusal(&answer), (400, "idempotency_error".into(), None, message));
                assert_unkept(&answer, Some(&key));
            }
            for key in ["k".to_owned(), "k".repeat(255), "ä".repeat(255), "a b'c\"d,e;f".into()] {
                let (first, again) = (app.call(charge(1099).key(&key)).await, app.call(charge(1099).key(&key)).await);
                assert_eq!((first.status, is_replay(&first)), (200, false), "{key}");
                assert!(is_replay(&again) && again.body == first.body, "{key}");
                assert_eq!(first.header("idempotency-key"), Some(&*key), "it is echoed");
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.replayed, counts.refused), (4, 4, 4));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_no_utf8_are_told_apart() {
    with(
        |b| b,
        async |app: &App| {
            for byte in [0xfe, 0xff] {
                let mut bytes = charge(1099).key("k-?").bytes();
                let at = bytes.windows(3).position(|w| w == b"k-?").unwrap() + 2;
                bytes[at] = byte;
                let mut conn = app.connect().await;
                conn.send(&bytes).await;
                conn.line().await;
            }
            assert_eq!(app.effects("charge"), 2, "two keys are two charges");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_get_and_delete_a_key_has_no_effect() {
    with(
        |b| b,
        async |app: &App| {
            let customer = id(app, Call::stripe("/v1/customers", "name=N")).await;
            let path = format!("/v1/customers/{customer}");
            let first = made(app, get(&path).key("k")).await;
            made(app, Call::stripe(&path, "name=M")).await;
            let answer = app.call(get(&path).key("k")).await;
            assert_unkept(&answer, Some("k"));
            assert_ne!(answer.json()["name"], first["name"], "a look-up is never replayed");
            assert_eq!(app.call(get(&path).key(&"k".repeat(300))).await.status, 200);
            let delete = || {
                Call::new("DELETE", &path)
                    .header("authorization", "Bearer sk_test_123")
                    .key("k")
            };
            let gone = app.call(delete()).await;
            assert_eq!((gone.status, &gone.json()["deleted"]), (200, &json!(true)));
            assert_unkept(&gone, Some("k"));
            assert_eq!(app.call(delete()).await.status, 404, "it is executed, not replayed");
            let answer = app.call(charge(1099).key("k")).await;
            assert_eq!(
                (answer.status, is_replay(&answer)),
                (200, false),
                "the key is still free"
            );
            let counts = app.counts("stripe").await;
            assert_eq!((counts.replayed, app.effects("customer_delete")), (0, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_forgotten_after_a_day_on_the_worlds_clock() {
    with(
        |b| b,
        async |app: &App| {
            let advance = |by: &str| Call::post("/_clock").json(&json!({ "advance": by }));
            let first = app.call(charge(1099).key("k")).await;
            app.admin(advance("23h")).await;
            app.admin(advance("59m")).await;
            assert!(is_replay(&app.call(charge(1099).key("k")).await), "kept for a day");
            app.admin(advance("61s")).await;
            let anew = app.call(charge(1099).key("k")).await;
            assert_eq!((anew.status, is_replay(&anew)), (200, false));
            assert_ne!(anew.json()["id"], first.json()["id"]);
            assert_eq!(anew.header("original-request"), anew.header("request-id"));
            let again = app.call(charge(1099).key("k")).await;
            assert!(is_replay(&again) && again.body == anew.body, "the new answer is kept");
            app.admin(advance("25h")).await;
            let other = app.call(charge(2000).key("k")).await;
            assert_eq!((other.status, is_replay(&other)), (200, false), "other parameters, too");
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.replayed, counts.duplicates), (3, 2, 1));
            assert_eq!(app.effects("charge"), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_one_scope_is_no_others() {
    with(
        |b| b,
        async |app: &App| {
            let call = |scope: &str| charge(1099).key("k").header("x-ackdrop-scope", scope);
            for scope in ["alice", "bob"] {
                assert!(!is_replay(&app.call(call(scope)).await));
            }
            app.admin(Call::post("/_clock?scope=alice").json(&json!({"advance": "25h"})))
                .await;
            assert!(!is_replay(&app.call(call("alice")).await));
            assert!(is_replay(&app.call(call("bob")).await));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_and_scopes_have_keys_and_objects_of_their_own() {
    with(
        |b| b,
        async |app: &App| {
            let places: [&[(&str, &str)]; 6] = [
                &[],
                &[("stripe-account", "acct_1")],
                &[("stripe-account", "acct_2")],
                &[("x-ackdrop-scope", "alice")],
                &[("x-ackdrop-scope", "alice"), ("stripe-account", "acct_1")],
                &[("x-ackdrop-scope", "bob")],
            ];
            let at = |call: Call, place: &[(&str, &str)]| place.iter().fold(call, |c, (n, v)| c.header(n, v));
            let mut bodies = Vec::new();
            for place in places {
                let first = app.call(at(charge(1099).key("k"), place)).await;
                assert_eq!((first.status, is_replay(&first)), (200, false), "{place:?}");
                let account = place.iter().find(|(n, _)| *n == "stripe-account").map(|(_, v)| *v);
                assert_eq!(first.header("stripe-account"), account);
                bodies.push(first.body);
            }
            for (place, body) in places.into_iter().zip(&bodies) {
                let again = app.call(at(charge(1099).key("k"), place)).await;
                assert!(is_replay(&again) && again.body == *body, "{place:?}");
                let listed = app.call(at(get("/v1/charges"), place)).await.json();
                assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{place:?}");
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.replayed, counts.duplicates), (6, 6, 0));
        },
    )
    .await;
}
