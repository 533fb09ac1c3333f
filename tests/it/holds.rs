//! What is held is let go as it is told to, or not at all.

use std::time::Duration;

use ackdrop::suite::Limits;
use serde_json::json;

use crate::support::{App, Call, End, with};

/// Returns a call that is held at a point, with one more behind it.
fn held_call(scope: &str, point: &str) -> Vec<u8> {
    let scoped = |call: Call| call.header("x-ackdrop-scope", scope);
    let mut bytes = scoped(Call::order("held").fault(&format!("hold-{point}-commit"))).bytes();
    bytes.extend(scoped(Call::order("behind")).bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_of_a_release_with_drop_ends_as_it_says() {
    with(
        |b| b,
        async |app: &App| {
            for (then, ends) in [
                (json!({"then": "drop"}), [End::Orderly, End::Orderly]),
                (json!({"then": "drop", "how": "close"}), [End::Orderly, End::Orderly]),
                (json!({"then": "drop", "how": "reset"}), [End::Reset, End::Reset]),
            ] {
                for point in ["before", "after"] {
                    for (kind, mut conn) in app.connect_both().await.into_iter().enumerate() {
                        let scope = format!("s{}", app.suite.stats().total.received);
                        conn.send(&held_call(&scope, point)).await;
                        let id = app.until_held(1).await.remove(0);
                        let answer = app.release(&id, then.clone()).await;
                        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(id)));
                        assert_eq!(conn.rest().await, (vec![], ends[kind]), "{then} {point}");
                        let counts = app.of(&scope);
                        let committed = u64::from(point == "after");
                        assert_eq!((counts.received, counts.withheld), (1, 1), "{then} {point}");
                        assert_eq!((counts.accepted, counts.failed), (committed, 1 - committed));
                    }
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_can_hang_or_truncate_and_there_is_nothing_to_truncate_before_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            for point in ["before", "after"] {
                for mut conn in app.connect_both().await {
                    let withheld = app.now("orders").withheld;
                    conn.send(&held_call("hang", point)).await;
                    let id = app.until_held(1).await.remove(0);
                    app.release(&id, json!({"then": "drop", "how": "hang"})).await;
                    app.until("the hang", |app| app.now("orders").withheld == withheld + 1)
                        .await;
                    assert!(conn.is_silent(Duration::from_millis(50)).await);
                    app.admin(Call::post("/_reset?scope=hang")).await;
                    assert_eq!(conn.rest().await.0, b"", "a reset lets it go");
                }
            }
            let truncate = json!({"then": "drop", "how": "truncate", "bytes": 12});
            for (mut conn, end) in app.connect_both().await.into_iter().zip([End::Orderly, End::Truncated]) {
                conn.send(&held_call(&format!("{end:?}"), "after")).await;
                let id = app.until_held(1).await.remove(0);
                assert_eq!(app.release(&id, truncate.clone()).await.status, 200);
                assert_eq!(conn.rest().await, (b"HTTP/1.1 201".to_vec(), end));
                let counts = app.of(&format!("{end:?}"));
                assert_eq!((counts.received, counts.accepted, counts.withheld), (1, 1, 1));
            }
            let mut conn = app.connect().await;
            conn.send(&held_call("before", "before")).await;
            let id = app.until_held(1).await.remove(0);
            assert_eq!(app.release(&id, truncate).await.status, 400);
            assert_eq!(
                app.held(None),
                std::slice::from_ref(&id),
                "a wrong release lets nothing go"
            );
            assert_eq!(app.release(&id, json!({"then": "answer"})).await.status, 200);
            assert_eq!((conn.answer().await.status, conn.answer().await.status), (201, 201));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_with_answer_goes_on_and_what_is_pipelined_behind_is_served() {
    with(
        |b| b,
        async |app: &App| {
            for point in ["before", "after"] {
                for (kind, mut conn) in app.connect_both().await.into_iter().enumerate() {
                    let scope = format!("{point}-{kind}");
                    conn.send(&held_call(&scope, point)).await;
                    let id = app.until_held(1).await.remove(0);
                    assert!(conn.is_silent(Duration::from_millis(50)).await);
                    let counts = app.of(&scope);
                    assert_eq!((counts.received, counts.open), (1, 1));
                    assert_eq!(
                        (counts.accepted, counts.in_flight),
                        if point == "after" { (1, 0) } else { (0, 1) }
                    );
                    app.release(&id, json!({})).await;
                    assert_eq!((conn.answer().await.status, conn.answer().await.status), (201, 201));
                    app.until("the answers", |app| app.of(&scope).answered == 2).await;
                    assert_eq!(app.release(&id, json!({})).await.status, 404, "it is let go once");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_idle_time_ends_a_hold_and_its_cap_does() {
    let limits = Limits {
        idle: Duration::from_millis(400),
        ..Limits::default()
    };
    with(
        |b| b.limits(limits).hang_cap(Duration::from_millis(1200)),
        async |app: &App| {
            let mut before = app.connect().await;
            before.send(&held_call("before", "before")).await;
            let mut after = app.connect().await;
            after.send(&held_call("after", "after")).await;
            app.until_held(2).await;
            let silent = Duration::from_millis(900);
            assert!(before.is_silent(silent).await, "longer than a connection may idle");
            for mut conn in [before, after] {
                assert_eq!(conn.rest().await, (vec![], End::Orderly));
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.failed, counts.accepted, counts.withheld), (1, 1, 2));
            assert!(app.held(None).is_empty());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_whose_client_left_is_over_and_cannot_be_released() {
    with(
        |b| b,
        async |app: &App| {
            for point in ["before", "after"] {
                let mut conn = app.connect().await;
                conn.send(&held_call(point, point)).await;
                let id = app.until_held(1).await.remove(0);
                drop(conn);
                app.until("the end of the hold", |app| app.held(None).is_empty()).await;
                assert_eq!(app.release(&id, json!({"then": "answer"})).await.status, 404);
            }
        },
    )
    .await;
}
