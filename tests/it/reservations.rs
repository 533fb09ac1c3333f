//! A key is reserved while its call is in progress, and no longer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, App, Call, Conn, Leave, with};

/// Calls under the key `k`.
fn keyed(reference: &str) -> Call {
    Call::order(reference).key("k")
}

/// Begins a call under the key that a fault keeps in progress before its commit.
async fn begin(app: &App, fault: &str) -> Conn {
    let mut conn = app.connect().await;
    conn.send(&keyed("a").fault(fault).bytes()).await;
    let reserved = |app: &App| {
        let held = fault.starts_with("delay") || !app.held(None).is_empty();
        held && app.entries().iter().any(|e| !e.fired.is_empty() && e.outcome.is_none())
    };
    app.until("the reservation", reserved).await;
    conn
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Checks that the key is in progress: the same call is a 409, another one a mismatch.
async fn assert_reserved(app: &App) {
    for (reference, status) in [("a", 409), ("b", 422)] {
        let answer = app.call(keyed(reference)).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(!is_replay(&answer));
    }
}

/// Checks that nothing was done under the key, and that the next call with it, whatever it asks for, executes.
async fn assert_free(app: &App, why: &str) {
    assert_eq!(app.effects("order"), 0, "{why}");
    let answer = app.call(keyed("another")).await;
    assert_eq!(
        (answer.status, is_replay(&answer)),
        (201, false),
        "{why}: {}",
        answer.text()
    );
    app.admin(Call::post("/_reset")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_given_up_by_every_ending_but_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            for leave in Leave::BOTH {
                let conn = begin(app, "hold-before-commit").await;
                assert_reserved(app).await;
                conn.leave(leave).await;
                app.settled().await;
                assert_free(app, "the client left").await;
            }
            for how in ["close", "reset", "hang"] {
                let _conn = begin(app, "hold-before-commit").await;
                assert_reserved(app).await;
                let id = app.until_held(1).await.remove(0);
                app.release(&id, json!({"then": "drop", "how": how})).await;
                app.until("the drop", |app| app.now("orders").withheld == 1).await;
                // The ticket ends a moment after the reservation, never before it.
                assert_free(app, how).await;
            }
            for fault in ["hold-before-commit", "delay; at=before; delay=10m"] {
                let mut conn = begin(app, fault).await;
                assert_reserved(app).await;
                app.admin(Call::post("/_reset?scope=default")).await;
                assert_free(app, "a reset").await;
                assert_eq!(conn.rest().await.0, b"");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_given_up_when_the_hold_reaches_its_cap() {
    with(
        |b| b.hang_cap(Duration::from_millis(100)),
        async |app: &App| {
            let mut conn = begin(app, "hold-before-commit").await;
            assert_eq!(conn.rest().await.0, b"");
            assert_free(app, "the cap").await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commit_turns_it_into_a_record() {
    with(
        |b| b,
        async |app: &App| {
            let mut held = begin(app, "hold-before-commit").await;
            assert_reserved(app).await;
            let id = app.until_held(1).await.remove(0);
            app.release(&id, json!({"then": "answer"})).await;
            let first = held.answer().await;
            let second = app.call(keyed("a")).await;
            assert_eq!((first.status, second.status), (201, 201));
            assert_eq!(
                (first.body == second.body, is_replay(&first), is_replay(&second)),
                (true, false, true)
            );
            assert_eq!(app.call(keyed("b")).await.status, 422);
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.replayed, counts.refused), (1, 1, 3));
            app.admin(Call::post("/_reset")).await;

            let mut delayed = begin(app, "delay; at=before; delay=3s").await;
            assert_reserved(app).await;
            assert_eq!(delayed.answer().await.status, 201);
            assert!(is_replay(&app.call(keyed("a")).await));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_and_a_hold_after_the_commit_leave_the_record_to_the_retry() {
    with(
        |b| b,
        async |app: &App| {
            for fault in [
                "drop-after-commit; how=close",
                "drop-after-commit; how=reset",
                "drop-after-commit; how=hang",
                "drop-after-commit; how=truncate; bytes=30",
                "error-after-commit",
                "hold-after-commit",
                "delay; at=after; delay=10m",
            ] {
                let mut conn = app.connect().await;
                conn.send(&keyed("a").fault(fault).bytes()).await;
                app.until("the commit", |app| app.now("orders").accepted == 1).await;
                let answer = app.call(keyed("a")).await;
                assert_eq!((answer.status, is_replay(&answer)), (201, true), "{fault}");
                assert_eq!(app.effects("order"), 1, "{fault}");
                conn.leave(Leave::Rst).await;
                app.admin(Call::post("/_reset")).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_saved_if_its_provider_saves_it_and_else_the_key_stays_free() {
    with(
        |b| b,
        async |app: &App| {
            let refused = app.call(keyed("a").fault("refuse; status=503")).await;
            let again = app.call(keyed("a")).await;
            assert_eq!((refused.status, again.status), (503, 503));
            assert_eq!(
                (refused.body == again.body, is_replay(&refused), is_replay(&again)),
                (true, false, true)
            );
            let counts = app.counts("orders").await;
            assert_eq!((counts.refused, counts.replayed, counts.accepted), (1, 1, 0));
            app.admin(Call::post("/_reset")).await;
            for fault in [
                "refuse; status=429",
                "fail-before-commit; status=503",
                "fail-before-commit; how=close",
                "fail-before-commit; how=reset",
                "fail-before-commit; how=hang",
            ] {
                let mut conn = app.connect().await;
                conn.send(&keyed("a").fault(fault).bytes()).await;
                app.until("its end", |app| {
                    app.now("orders").received == 1 && app.now("orders").open == 0
                })
                .await;
                assert_free(app, fault).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_expires_on_the_clock_that_is_advanced() {
    with(
        |b| b,
        async |app: &App| {
            let advance = async |path: &str, by: &str| app.admin(Call::post(path).json(&json!({"advance": by}))).await;
            assert_eq!(app.call(keyed("a")).await.status, 201);
            advance("/_clock", "23h").await;
            assert!(is_replay(&app.call(keyed("a")).await));
            assert_eq!(app.call(keyed("b")).await.status, 422);
            advance("/_clock?scope=other", "2h").await;
            assert_eq!(app.call(keyed("b")).await.status, 422, "another world's clock");
            let now: Value = advance("/_clock?scope=default", "2h").await;
            assert!(now["now"].is_string());
            let executed = app.call(keyed("b")).await;
            assert_eq!((executed.status, is_replay(&executed)), (201, false));
            assert!(is_replay(&app.call(keyed("b")).await), "a new record");
            assert_eq!(app.effects("order"), 2);
        },
    )
    .await;
}
