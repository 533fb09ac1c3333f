//! One name is one world across all providers, and worlds do not meet.

use serde_json::{Value, json};

use crate::support::{App, Call, letter, with};

/// Lives in one world: its own fault, its own clock, objects under names that every other world uses too.
async fn live(app: &App, name: &str, orders: u64) {
    let scoped = |path: &str| format!("/~{name}{path}");
    app.admin(
        Call::post(&scoped("/_faults")).json(&json!({"mode": "error-after-commit", "provider": "orders", "on": 1})),
    )
    .await;
    app.admin(Call::post(&scoped("/_clock")).json(&json!({"advance": format!("{orders}h")})))
        .await;
    for n in 0..orders {
        let order = Call::post(&scoped("/orders"))
            .json(&json!({"reference": format!("o{n}")}))
            .key(&format!("k{n}"));
        let expected = if n == 0 { 502 } else { 201 };
        assert_eq!(app.call(order.clone()).await.status, expected, "{name} o{n}");
        assert_eq!(app.call(order).await.header("idempotent-replayed"), Some("true"));
    }
    app.call(
        Call::post("/hooks/t")
            .header("x-ackdrop-scope", name)
            .body("same everywhere"),
    )
    .await;
    let charge = Call::post("/v1/charges")
        .header("authorization", &format!("Bearer sk_test_~{name}"))
        .key("charge-1");
    assert_eq!(
        app.call(charge.form("amount=1099&currency=usd&source=tok_visa"))
            .await
            .status,
        200
    );
    let mut mailer = app.mailer().await;
    assert!(mailer.log_in(&format!("~{name}"), "secret").await.starts_with("235"));
    mailer.post("a@b.test", &letter("m-1", "same everywhere")).await;
}

async fn stats(app: &App, query: &str) -> Value {
    app.admin(Call::get(&format!("/_stats{query}"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_worlds_at_once_and_none_leaks_into_another() {
    with(
        |b| b,
        async |app: &App| {
            let names: Vec<String> = (1..=8).map(|n| format!("w{n}")).collect();
            let lives = names.iter().zip(1..).map(|(name, orders)| live(app, name, orders));
            futures_util::future::join_all(lives).await;
            app.settled().await;
            for (name, orders) in names.iter().zip(1_u64..) {
                let own = stats(app, &format!("?scope={name}")).await;
                assert_eq!(
                    own["effects"],
                    json!({"charge": 1, "delivery": 1, "message": 1, "order": orders, "recipient": 1}),
                    "{name}"
                );
                assert_eq!(
                    (&own["faults"], &own["total"]["duplicates"]),
                    (&json!({"armed": 0, "fired": 1}), &json!(0)),
                    "{name}"
                );
                let counts = &own["providers"]["orders"];
                assert_eq!(
                    (&counts["accepted"], &counts["replayed"], &counts["withheld"]),
                    (&json!(orders), &json!(orders), &json!(1))
                );
                let events = app.admin(Call::get(&format!("/_events?scope={name}&limit=1000"))).await;
                assert_eq!(
                    events["events"].as_array().unwrap().len() as u64,
                    2 * orders + 3,
                    "{name}"
                );
                assert_eq!(app.mails(&format!("?scope={name}")).await.len(), 1);
            }
            let sum = stats(app, "").await;
            assert_eq!(
                sum["effects"],
                json!({"charge": 8, "delivery": 8, "message": 8, "order": 36, "recipient": 8})
            );
            assert_eq!(
                (&sum["total"]["received"], &sum["faults"]["fired"]),
                (&json!(96), &json!(8))
            );
            assert_eq!(sum["total"]["duplicates"], 0, "the same in two worlds is no duplicate");

            app.admin(Call::post("/_reset?scope=w3")).await;
            let reset = stats(app, "?scope=w3").await;
            assert_eq!((&reset["generation"], &reset["effects"]), (&json!(2), &json!({})));
            assert!(app.mails("?scope=w3").await.is_empty());
            assert_eq!(stats(app, "?scope=w4").await["effects"]["order"], 4);
            assert_eq!(stats(app, "").await["effects"]["order"], 33);
            let again = Call::post("/~w3/orders").json(&json!({"reference": "o0"})).key("k0");
            assert_eq!(
                app.call(again).await.header("idempotent-replayed"),
                None,
                "keys and references are free again"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_is_named_in_four_ways_and_the_first_of_them_holds() {
    with(
        |b| b,
        async |app: &App| {
            let basic = |user: &str| {
                format!(
                    "Basic {}",
                    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{user}:"))
                )
            };
            let hook = |path: &str| Call::post(path).body("x");
            for (call, scope) in [
                (hook("/hooks/t"), "default"),
                (hook("/hooks/t").header("x-ackdrop-scope", "h"), "h"),
                (hook("/~p/hooks/t"), "p"),
                (hook("/hooks/t").header("authorization", "Bearer sk_test_~c"), "c"),
                (hook("/hooks/t").header("authorization", "Bearer ~c"), "c"),
                (hook("/hooks/t").header("authorization", &basic("sk_test_~c")), "c"),
                (hook("/hooks/t").header("authorization", &basic("~c")), "c"),
                (
                    hook("/hooks/t").header("authorization", "Bearer sk_test_51Habc"),
                    "default",
                ),
                (hook("/~p/hooks/t").header("x-ackdrop-scope", "h"), "h"),
                (hook("/~p/hooks/t").header("authorization", "Bearer ~c"), "p"),
            ] {
                app.call(call.clone()).await;
                let entry = app.entries().into_iter().max_by_key(|entry| entry.id).unwrap();
                assert_eq!(&*entry.scope, scope, "{call:?}");
                assert_eq!(
                    entry.arrival.line,
                    if call.bytes().starts_with(b"POST /~") {
                        "POST /~p/hooks/t"
                    } else {
                        "POST /hooks/t"
                    }
                );
            }
            for (user, scope) in [("~m", "m"), ("shop@x.test", "default")] {
                let mut mailer = app.mailer().await;
                assert!(mailer.log_in(user, "any").await.starts_with("235"));
                mailer.post("a@b.test", &letter("m", "x")).await;
                let entry = app.entries().into_iter().max_by_key(|entry| entry.id).unwrap();
                assert_eq!(&*entry.scope, scope, "{user}");
            }
            let list = app.admin(Call::get("/_scopes")).await;
            let mut names: Vec<_> = list["scopes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s["scope"].as_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, ["c", "default", "h", "m", "p"]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_an_unknown_scope_answers_zeros_and_creates_nothing() {
    with(
        |b| b,
        async |app: &App| {
            for path in [
                "/_stats",
                "/_events",
                "/_faults",
                "/_holds",
                "/_mail",
                "/_hooks",
                "/_clock",
                "/_hooks/t",
            ] {
                let answer = app.call(Call::get(&format!("{path}?scope=nobody"))).await;
                assert!(matches!(answer.status, 200 | 404), "{path}: {answer:?}");
                app.call(Call::get(&format!("/~nobody{path}"))).await;
            }
            app.call(Call::post("/_reset?scope=nobody")).await;
            assert_eq!(stats(app, "?scope=nobody").await["total"]["received"], 0);
            assert_eq!(app.admin(Call::get("/_scopes")).await, json!({"scopes": []}));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_none_can_have_is_400_and_no_attempt() {
    with(
        |b| b,
        async |app: &App| {
            let long = "x".repeat(65);
            for call in [
                Call::order("a").header("x-ackdrop-scope", "a b"),
                Call::order("a").header("x-ackdrop-scope", ""),
                Call::order("a").header("x-ackdrop-scope", &long),
                Call::post("/~a%20b/orders").json(&json!({"reference": "a"})),
                Call::post("/~/orders").json(&json!({"reference": "a"})),
                Call::order("a").header("authorization", "Bearer sk_test_~a/b"),
                Call::get("/_stats?scope=a/b"),
                Call::get("/~a!b/_stats"),
                Call::post("/_reset?scope="),
            ] {
                let answer = app.call(call.clone()).await;
                assert_eq!(answer.status, 400, "{call:?}");
                assert!(
                    answer.text().contains("is no scope name: 1 to 64 characters"),
                    "{}",
                    answer.text()
                );
            }
            let mut mailer = app.mailer().await;
            let said = mailer.log_in("~a b", "x").await;
            assert!(said.starts_with("535") && said.contains("no scope name"), "{said}");
            assert_eq!(stats(app, "").await["total"]["received"], 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_scope_too_many_is_refused_and_those_there_are_go_on() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            // One write and one read a batch keeps it quick.
            for batch in 0..100 {
                let mut bytes = Vec::new();
                for n in 0..100 {
                    bytes.extend(Call::new("OPTIONS", &format!("/~s{batch}-{n}/hooks/t")).bytes());
                }
                conn.send(&bytes).await;
                for _ in 0..100 {
                    conn.answer().await;
                }
            }
            let full = app.call(Call::order("a").header("x-ackdrop-scope", "one-more")).await;
            assert_eq!(full.status, 503);
            assert!(full.text().contains("10000 scopes"), "{}", full.text());
            assert_eq!(app.call(Call::post("/~s1-1/hooks/t")).await.status, 200);
            let stats = stats(app, "").await;
            assert_eq!(
                (&stats["total"]["received"], &stats["effects"]),
                (&json!(10_001), &json!({"delivery": 1}))
            );
            app.admin(Call::post("/_reset")).await;
        },
    )
    .await;
}
