//! Endings reach through the tunnel to the outer socket, and leaving is seen through it.

use std::time::Duration;

use serde_json::json;

use super::both;
use crate::support::{App, Call, End, Leave, with};

fn charge(key: &str, fault: &str) -> Vec<u8> {
    Call::charge().key(key).fault(fault).bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_ends_as_it_says_before_and_after_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            let truncate = "drop-after-commit; how=truncate; bytes=12";
            for (fault, bytes, ends, committed) in [
                ("drop-after-commit; how=close", 0, [End::Orderly, End::Orderly], 1),
                ("drop-after-commit; how=reset", 0, [End::Reset, End::Reset], 1),
                (truncate, 12, [End::Orderly, End::Truncated], 1),
                ("fail-before-commit; how=close", 0, [End::Orderly, End::Orderly], 0),
                ("fail-before-commit; how=reset", 0, [End::Reset, End::Reset], 0),
            ] {
                for (mut conn, end) in both(app).await.into_iter().zip(ends) {
                    app.admin(Call::post("/_reset")).await;
                    conn.send(&Call::charge().key("first").bytes()).await;
                    assert_eq!(conn.answer().await.status, 200);
                    conn.send(&charge("k", fault)).await;
                    let (got, ended) = conn.rest().await;
                    assert_eq!((got.len(), ended), (bytes, end), "{fault}");
                    let counts = app.counts("stripe").await;
                    assert_eq!((counts.accepted, counts.withheld), (1 + committed, 1), "{fault}");
                    let retry = app.call(Call::charge().key("k")).await;
                    let replayed = retry.header("idempotent-replayed") == Some("true");
                    assert_eq!((retry.status, replayed), (200, committed == 1), "{fault}");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_silent_until_its_client_leaves() {
    with(
        |b| b,
        async |app: &App| {
            for (n, mut conn) in both(app).await.into_iter().enumerate() {
                conn.send(&charge(&format!("k{n}"), "drop-after-commit; how=hang"))
                    .await;
                app.until("the hang", |app| app.now("stripe").withheld == n as u64 + 1)
                    .await;
                assert!(conn.is_silent(Duration::from_millis(50)).await);
                conn.half_close().await;
                conn.rest().await;
            }
            assert_eq!(app.effects("charge"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_released_through_the_tunnel() {
    with(
        |b| b,
        async |app: &App| {
            for point in ["before", "after"] {
                for (then, end) in [
                    (json!({}), None),
                    (json!({"then": "drop", "how": "reset"}), Some(End::Reset)),
                ] {
                    for mut conn in both(app).await {
                        conn.send(&Call::charge().fault(&format!("hold-{point}-commit")).bytes())
                            .await;
                        let id = app.until_held(1).await.remove(0);
                        assert!(conn.is_silent(Duration::from_millis(20)).await);
                        app.release(&id, then.clone()).await;
                        match end {
                            None => assert_eq!(conn.answer().await.status, 200),
                            Some(end) => assert_eq!(conn.rest().await, (vec![], end)),
                        }
                    }
                }
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.failed, counts.withheld), (6, 2, 4));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_is_seen_through_the_tunnel() {
    with(
        |b| b,
        async |app: &App| {
            for (fault, accepted, incomplete) in [
                ("hold-before-commit", 0, 1),
                ("hold-after-commit", 1, 0),
                ("delay; delay=300ms; at=before", 1, 0),
            ] {
                for leave in Leave::BOTH {
                    for mut conn in both(app).await {
                        app.admin(Call::post("/_reset")).await;
                        conn.send(&charge("k", fault)).await;
                        app.until("the fault", |app| app.entries().iter().any(|e| !e.fired.is_empty()))
                            .await;
                        conn.leave(leave).await;
                        app.settled().await;
                        let counts = app.now("stripe");
                        assert_eq!(
                            (counts.accepted, counts.incomplete),
                            (accepted, incomplete),
                            "{fault} {leave:?}"
                        );
                        assert_eq!((counts.lost, counts.answered), (1, 0), "{fault} {leave:?}");
                    }
                }
            }
        },
    )
    .await;
}
