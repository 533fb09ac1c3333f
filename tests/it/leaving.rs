//! A client that leaves: what the provider did and what became of the answer are two facts.

use serde_json::json;

use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn mid_body_is_incomplete_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            for leave in ["fin", "drop"] {
                let mut conn = app.connect().await;
                let call = Call::order("never");
                conn.send(&call.head()).await;
                conn.send(b"{\"refer").await;
                app.until("the arrival", |app| app.now("orders").in_flight == 1).await;
                if leave == "fin" {
                    conn.half_close().await;
                }
                drop(conn);
                app.settled().await;
            }
            let counts = app.counts("orders").await;
            assert_eq!(
                (counts.received, counts.incomplete, counts.lost, counts.accepted),
                (2, 2, 2, 0)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_delay_before_the_commit_is_accepted_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            let call = Call::order("slow").fault("delay; at=before; delay=300ms");
            conn.send(&call.bytes()).await;
            app.until("the delay", |app| app.entries().iter().any(|e| !e.fired.is_empty()))
                .await;
            drop(conn);
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.lost, app.effects("order")), (1, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_hold_before_the_commit_is_incomplete_and_the_key_is_free() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1})).await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("held").key("k").bytes()).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            assert_eq!(
                app.call(Call::order("held").key("k")).await.status,
                409,
                "the key is reserved while held"
            );
            drop(conn);
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.incomplete, counts.lost, counts.accepted), (1, 1, 0));
            assert!(app.suite.holds().list(None).is_empty());
            assert_eq!(app.call(Call::order("held").key("k")).await.status, 201);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_hold_after_the_commit_is_accepted_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-after-commit", "on": 1})).await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("held").bytes()).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            let counts = app.counts("orders").await;
            assert_eq!(
                (counts.accepted, counts.in_flight, counts.open),
                (1, 0, 1),
                "held after its commit: open, not in flight"
            );
            drop(conn);
            app.settled().await;
            assert_eq!(app.counts("orders").await.lost, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_pipelined_bytes_behind_is_seen_all_the_same() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-after-commit", "on": 1})).await;
            let mut conn = app.connect().await;
            let mut bytes = Call::order("held").bytes();
            bytes.extend(Call::order("behind").bytes());
            bytes.extend_from_slice(b"GE");
            conn.send(&bytes).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            drop(conn);
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.accepted, counts.lost), (1, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_closing_client_counts_as_gone_and_gets_no_byte_more() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-after-commit", "on": 1})).await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("held").bytes()).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            conn.half_close().await;
            app.settled().await;
            assert_eq!(app.counts("orders").await.lost, 1);
            assert_eq!(conn.rest().await.0, b"");
        },
    )
    .await;
}
