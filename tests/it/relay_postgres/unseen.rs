//! What cannot be followed says so, and what breaks off is unknown.

use ackdrop::ledger::Outcome;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::{PLAIN, Table, message, relay, startup};
use crate::support::{App, Call, Conn, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_cannot_be_followed_is_relayed_and_says_so() {
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let near = app.fault(json!({"provider": "pg", "mode": "drop-after-commit"})).await;
            let far = app
                .fault(json!({"provider": "stripe", "mode": "drop-after-commit"}))
                .await;
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            conn.send(&message(b'y', "what is this")).await;
            let said = conn.up_to(b'E').await;
            assert!(String::from_utf8_lossy(&said.last().unwrap().1).contains("invalid frontend message type"));
            let _ = conn.rest().await;
            app.settled().await;
            let entry = &app.entries()[0];
            assert_eq!(entry.outcome, Some(Outcome::Unknown));
            assert!(entry.notes[0].contains("cannot be followed"), "{:?}", entry.notes);
            let rules = app.admin(Call::get("/_faults")).await.to_string();
            let rules: serde_json::Value = serde_json::from_str(&rules).unwrap();
            let rules = rules.as_array().or_else(|| rules["faults"].as_array()).unwrap();
            let blind = |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap()["blind"].clone();
            assert!(blind(&near).is_string() && blind(&far).is_null(), "{rules:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replication_is_relayed_and_not_followed() {
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let mut conn = Conn::plain(app.pg()).await;
            conn.send(&startup("user\0postgres\0replication\0database\0database\0postgres\0"))
                .await;
            conn.up_to(b'Z').await;
            conn.send(&message(b'Q', "IDENTIFY_SYSTEM\0")).await;
            let said = conn.up_to(b'Z').await;
            assert!(said.iter().any(|(tag, _)| *tag == b'D'));
            conn.send(&message(b'X', "")).await;
            conn.rest().await;
            app.settled().await;
            let counts = app.counts("pg").await;
            assert_eq!((counts.received, counts.unknown, counts.answered), (1, 1, 1));
        },
    )
    .await;
}

/// A server that takes a statement and says nothing any more.
async fn falling_silent() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                let _ = stream.read(&mut buffer).await;
                stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await.unwrap();
                let _ = stream.read(&mut buffer).await;
            });
        }
    });
    addr
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_breaks_off_leaves_the_attempt_unknown() {
    let addr = falling_silent().await;
    with(
        |b| b.relay(relay(&format!("postgres://{addr}"), "")),
        async |app: &App| {
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            conn.send(&message(b'Q', "INSERT INTO t VALUES (1)\0")).await;
            let said = conn.up_to(b'E').await;
            assert!(String::from_utf8_lossy(&said[0].1).contains("08006"));
            conn.rest().await;
            let counts = app.counts("pg").await;
            assert_eq!((counts.unknown, counts.answered), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_in_the_middle_has_committed_nothing() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            // A transaction that is open, a batch without Sync, a COPY without an end.
            for bytes in [
                [
                    message(b'Q', "BEGIN\0"),
                    message(b'Q', &table.sql("INSERT INTO T VALUES (1)\0")),
                ]
                .concat(),
                [
                    message(b'P', &table.sql("\0INSERT INTO T VALUES (2)\0\0\0")),
                    message(b'B', "\0\0\0\0\0\0\0\0"),
                    message(b'E', "\0\0\0\0\0"),
                ]
                .concat(),
                [message(b'Q', &table.sql("COPY T FROM STDIN\0"))].concat(),
            ] {
                let mut conn = app.raw_pg().await;
                conn.up_to(b'Z').await;
                let before = app.now("pg").received;
                conn.send(&bytes).await;
                app.until("the attempt", |app| app.now("pg").received > before).await;
                conn.leave(crate::support::Leave::Fin).await;
                app.settled().await;
            }
            let counts = app.counts("pg").await;
            assert_eq!((counts.incomplete, counts.lost), (3, 3), "{counts:?}");
            assert_eq!((table.rows().await, app.of_kind("row")), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_before_leaving_is_carried_out() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            let first = message(b'Q', &table.sql("INSERT INTO T SELECT 1 FROM pg_sleep(0.2)\0"));
            let second = message(b'Q', &table.sql("INSERT INTO T VALUES (2)\0"));
            conn.send(&[first, second].concat()).await;
            conn.leave(crate::support::Leave::Fin).await;
            app.until("both", |app| app.now("pg").accepted == 2).await;
            assert_eq!((table.rows().await, app.of_kind("row")), (2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_of_the_world_ends_what_began_before_and_a_stop_ends_all() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "hold-before-commit"})).await;
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            conn.send(&message(b'Q', &table.sql("INSERT INTO T VALUES (1)\0")))
                .await;
            app.until_held(1).await;
            app.admin(Call::post("/_reset")).await;
            assert!(within("the end", conn.rest()).await.0.is_empty());
            assert_eq!((app.now("pg").received, table.rows().await), (0, 0));
            let mut idle = app.raw_pg().await;
            idle.up_to(b'Z').await;
            std::mem::forget(idle);
        },
    )
    .await;
}
