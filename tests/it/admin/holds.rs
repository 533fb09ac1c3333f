//! `/_holds`: what is held, and its release.

use serde_json::{Value, json};

use crate::support::{App, Call, Conn, End, with};

async fn hold(app: &App, mode: &str, call: &Call) -> (Conn, Value) {
    app.admin(Call::post("/_reset")).await;
    app.fault(json!({"mode": mode, "on": 1})).await;
    let mut conn = app.connect().await;
    conn.send(&call.bytes()).await;
    app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
        .await;
    let list = app.admin(Call::get("/_holds")).await;
    (conn, list["holds"][0].clone())
}

async fn release(app: &App, held: &Value, how: Value) -> u16 {
    let path = format!("/_holds/{}/release", held["id"].as_str().unwrap());
    app.call(Call::post(&path).json(&how)).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_is_listed_with_all_that_tells_it_apart() {
    with(
        |b| b,
        async |app: &App| {
            let call = Call::order("a").key("k-1").header("x-ackdrop-scope", "alice");
            let (conn, mut held) = hold(app, "hold-before-commit", &call).await;
            assert!(held["since"].take().as_str().unwrap().ends_with('Z'));
            let id = held["attempt"].take();
            assert_eq!(app.entries().last().map(|e| json!(e.id)), Some(id));
            let rule = app.admin(Call::get("/_faults")).await["faults"][0]["id"].clone();
            let expected = json!({"id": "h1", "scope": "alice", "provider": "orders", "operation": "orders.create",
                "attempt": null, "key": "k-1", "point": "before", "rule": rule, "since": null});
            assert_eq!(held, expected);
            assert_eq!(app.admin(Call::get("/_holds?scope=bob")).await, json!({"holds": []}));
            assert_eq!(app.call(Call::post("/_holds/h1/release?scope=bob")).await.status, 404);
            assert_eq!(
                app.admin(Call::get("/~alice/_holds")).await["holds"]
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
            drop(conn);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_let_go_before_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            let call = Call::order("a").key("k");
            for how in [json!({}), json!({"then": "answer"})] {
                let (mut conn, held) = hold(app, "hold-before-commit", &call).await;
                assert_eq!(app.effects("order"), 0);
                assert_eq!(release(app, &held, how).await, 200);
                assert_eq!(conn.answer().await.status, 201);
                assert_eq!(app.effects("order"), 1);
            }
            for (how, end) in [
                (json!({"then": "drop"}), End::Orderly),
                (json!({"then": "drop", "how": "close"}), End::Orderly),
                (json!({"then": "drop", "how": "reset"}), End::Reset),
            ] {
                let (mut conn, held) = hold(app, "hold-before-commit", &call).await;
                assert_eq!(release(app, &held, how.clone()).await, 200);
                assert_eq!(conn.rest().await, (vec![], end), "{how}");
                let counts = app.counts("orders").await;
                assert_eq!(
                    (counts.failed, counts.withheld, app.effects("order")),
                    (1, 1, 0),
                    "{how}"
                );
                assert_eq!(app.call(call.clone()).await.status, 201, "the key is free");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_let_go_after_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            let call = Call::order("a").key("k");
            for (how, bytes, end) in [
                (json!({"then": "drop"}), 0, End::Orderly),
                (json!({"then": "drop", "how": "reset"}), 0, End::Reset),
                (
                    json!({"then": "drop", "how": "truncate", "bytes": 20}),
                    20,
                    End::Orderly,
                ),
            ] {
                let (mut conn, held) = hold(app, "hold-after-commit", &call).await;
                assert_eq!(release(app, &held, how.clone()).await, 200);
                let (got, ended) = conn.rest().await;
                assert_eq!((got.len(), ended), (bytes, end), "{how}");
                let counts = app.counts("orders").await;
                assert_eq!(
                    (counts.accepted, counts.withheld, app.effects("order")),
                    (1, 1, 1),
                    "{how}"
                );
                let retry = app.call(call.clone()).await;
                assert_eq!((retry.status, retry.header("idempotent-replayed")), (201, Some("true")));
            }
            let (conn, held) = hold(app, "hold-after-commit", &call).await;
            assert_eq!(release(app, &held, json!({"then": "drop", "how": "hang"})).await, 200);
            app.settled().await;
            assert_eq!(app.counts("orders").await.withheld, 1, "withheld the moment it hangs");
            drop(conn);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_release_is_refused_and_holds_on() {
    with(
        |b| b,
        async |app: &App| {
            let (mut conn, held) = hold(app, "hold-before-commit", &Call::order("a")).await;
            for how in [
                json!({"then": "explode"}),
                json!({"then": "drop", "how": "explode"}),
                json!({"then": "answer", "how": "reset"}),
                json!({"then": "drop", "how": "truncate"}),
                json!({"then": "drop", "how": "truncate", "bytes": 3}),
                json!({"then": "drop", "how": "reset", "bytes": 3}),
                json!({"than": "drop"}),
            ] {
                assert_eq!(release(app, &held, how.clone()).await, 400, "{how}");
            }
            for id in ["h99", "99", "hx"] {
                let answer = app.call(Call::post(&format!("/_holds/{id}/release"))).await;
                assert_eq!((answer.status, answer.text().contains(id)), (404, true));
            }
            assert_eq!(app.suite.holds().list(None).len(), 1);
            assert_eq!(release(app, &held, json!({"then": "answer"})).await, 200);
            assert_eq!(conn.answer().await.status, 201);
            assert_eq!(
                release(app, &held, json!({"then": "answer"})).await,
                404,
                "it is let go once"
            );
        },
    )
    .await;
}
