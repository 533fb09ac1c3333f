//! A slow provider commits although its client gave up: the commonest real double charge.

use serde_json::json;

use ackdrop::ledger::{Fate, Outcome};

use super::{assert_replays_first, charge, entry};
use crate::support::{App, Call, Conn, with};

/// Sends a call that the provider delays before its commit, and leaves once the delay has begun.
async fn give_up(app: &App, call: &Call) {
    app.fault(json!({"mode": "delay", "at": "before", "delay": "2s", "on": 1}))
        .await;
    let mut conn = app.connect().await;
    conn.send(&call.bytes()).await;
    app.until("the delay", |app| app.entries().iter().any(|e| !e.fired.is_empty()))
        .await;
    drop(conn);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_the_retry_conflicts_and_then_gets_the_saved_answer() {
    with(
        |b| b,
        async |app: &App| {
            give_up(app, &charge(1099).key("k")).await;
            let early = app.call(charge(1099).key("k")).await;
            app.settled().await;
            assert_replays_first(app, "k", &app.call(charge(1099).key("k")).await);
            // The rule fires a moment before the key is reserved; a retry in that moment comes first, and is the one that charges.
            let outcome = match early.status {
                409 => Outcome::Accepted,
                _ => Outcome::Replayed,
            };
            let lost = app.entries().into_iter().find(|e| e.fate == Some(Fate::Lost)).unwrap();
            assert_eq!(lost.outcome, Some(outcome), "{}", early.text());
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.lost, counts.duplicates), (1, 1, 0));
            assert_eq!(app.effects("charge"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_retry_charges_twice() {
    with(
        |b| b,
        async |app: &App| {
            give_up(app, &charge(1099)).await;
            assert_eq!(app.call(charge(1099)).await.status, 200);
            app.until("the commit", |app| app.now("stripe").accepted == 2).await;
            app.settled().await;
            let counts = app.counts("stripe").await;
            assert_eq!((counts.lost, counts.answered, counts.duplicates), (1, 1, 1));
            assert_eq!(app.effects("charge"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_after_the_commit_lets_the_retry_overtake() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "delay", "delay": "2s", "on": 1})).await;
            let mut first = app.connect().await;
            first.send(&charge(1099).key("k").bytes()).await;
            app.until("the commit", |app| app.now("stripe").accepted == 1).await;
            let again = app.call(charge(1099).key("k")).await;
            assert_replays_first(app, "k", &again);
            let first_entry = entry(app, "k", Outcome::Accepted);
            assert_eq!(first_entry.fate, None, "the first answer is still on its way");
            assert_eq!(first.answer().await.body, again.body);
            assert_eq!(app.counts("stripe").await.answered, 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_frees_the_key_of_a_call_that_hangs_or_is_held() {
    with(
        |b| b,
        async |app: &App| {
            let hang = json!({"mode": "drop-after-commit", "how": "hang", "key": "hung", "on": 1});
            let hold = json!({"mode": "hold-before-commit", "key": "held", "on": 1});
            let mut conns: Vec<Conn> = Vec::new();
            for (rule, key) in [(hang, "hung"), (hold, "held")] {
                app.fault(rule).await;
                let mut conn = app.connect().await;
                conn.send(&charge(1099).key(key).bytes()).await;
                conns.push(conn);
            }
            app.until("both", |app| {
                app.now("stripe").withheld == 1 && !app.suite.holds().list(None).is_empty()
            })
            .await;
            app.admin(Call::post("/_reset")).await;
            for mut conn in conns {
                assert_eq!(conn.rest().await.0, b"", "let go, and not answered");
            }
            for key in ["hung", "held"] {
                let anew = app.call(charge(2000).key(key)).await;
                assert_eq!((anew.status, anew.header("idempotent-replayed")), (200, None), "{key}");
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.received, counts.accepted, app.effects("charge")), (2, 2, 2));
        },
    )
    .await;
}
