//! Every mode, where it belongs.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_postgres::error::SqlState;

use super::server::{PLAIN, Table, connect, message, relay};
use crate::support::{App, Call, End, Leave, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn fail_before_forward_keeps_the_statement_back() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(
                json!({"provider": "pg", "sql": table.sql("INSERT  into T *"), "mode": "fail-before-forward", "on": 1}),
            )
            .await;
            let client = connect(app.pg(), "").await;
            let prepared = client.prepare(&table.sql("insert INTO\n T VALUES ($1)")).await.unwrap();
            let lost = client.execute(&prepared, &[&1]).await.unwrap_err();
            assert!(lost.as_db_error().is_none(), "{lost}");
            let counts = app.counts("pg").await;
            assert_eq!((counts.failed, counts.withheld, table.rows().await), (1, 1, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_in_the_middle_of_a_transaction_is_kept_back_and_the_rest_rolled_back() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "operation": "commit", "mode": "fail-before-forward"}))
                .await;
            let mut client = connect(app.pg(), "").await;
            let transaction = client.transaction().await.unwrap();
            transaction
                .execute(&table.sql("INSERT INTO T VALUES (1)"), &[])
                .await
                .unwrap();
            assert!(transaction.commit().await.is_err());
            assert_eq!(
                (app.counts("pg").await.failed, table.rows().await, app.of_kind("row")),
                (1, 0, 0)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_aborts_the_transaction_as_the_servers_own_would() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(
                json!({"provider": "pg", "sql": "insert*(2)*", "mode": "refuse", "code": "40001", "body": "try again"}),
            )
            .await;
            let mut client = connect(app.pg(), "").await;
            for simple in [true, false] {
                let transaction = client.transaction().await.unwrap();
                transaction
                    .execute(&table.sql("INSERT INTO T VALUES (1)"), &[])
                    .await
                    .unwrap();
                let second = table.sql("INSERT INTO T VALUES (2)");
                let refused = match simple {
                    true => transaction.batch_execute(&second).await.unwrap_err(),
                    false => transaction.execute(&second, &[]).await.unwrap_err(),
                };
                let said = refused.as_db_error().unwrap();
                assert_eq!(
                    (said.code(), said.message()),
                    (&SqlState::T_R_SERIALIZATION_FAILURE, "try again")
                );
                let aborted = transaction.execute("SELECT 1", &[]).await.unwrap_err();
                assert_eq!(aborted.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
                transaction.rollback().await.unwrap();
            }
            client
                .batch_execute(&table.sql("INSERT INTO T VALUES (3)"))
                .await
                .unwrap();
            let counts = app.counts("pg").await;
            assert_eq!((counts.refused, counts.accepted), (2, 1));
            assert_eq!((table.rows().await, app.of_kind("row")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_commit_ends_the_connection() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "error-after-commit"})).await;
            let client = connect(app.pg(), "").await;
            let said = client
                .execute(&table.sql("INSERT INTO T VALUES (1)"), &[])
                .await
                .unwrap_err();
            assert_eq!(said.code(), Some(&SqlState::CONNECTION_FAILURE), "{said}");
            let counts = app.counts("pg").await;
            assert_eq!((counts.accepted, counts.withheld, table.rows().await), (1, 1, 1));
            within("the end", async {
                while !client.is_closed() {
                    tokio::task::yield_now().await
                }
            })
            .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_before_and_after_hold_what_they_say() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for (mode, rows) in [("hold-before-commit", 0), ("hold-after-commit", 1)] {
                table.direct.batch_execute(&table.sql("TRUNCATE T")).await.unwrap();
                app.fault(json!({"provider": "pg", "operation": "insert", "mode": mode, "on": 1}))
                    .await;
                let client = connect(app.pg(), "").await;
                let sql = table.sql("INSERT INTO T VALUES (1)");
                let inserting = tokio::spawn(async move { client.execute(&sql, &[]).await });
                let held = app.until_held(1).await;
                assert_eq!(table.rows().await, rows, "{mode}");
                assert_eq!(app.release(&held[0], json!({})).await.status, 200);
                assert_eq!(inserting.await.unwrap().unwrap(), 1);
                assert_eq!(table.rows().await, 1);
                app.admin(Call::new("DELETE", "/_faults")).await;
            }
            assert_eq!(app.counts("pg").await.answered, 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_a_hold_has_not_asked_before_the_commit_and_has_lost_after_it() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for (mode, leave) in [("hold-before-commit", Leave::Fin), ("hold-after-commit", Leave::Rst)] {
                app.fault(json!({"provider": "pg", "operation": "insert", "mode": mode, "on": 1}))
                    .await;
                let mut conn = app.raw_pg().await;
                conn.up_to(b'Z').await;
                conn.send(&message(b'Q', &table.sql("INSERT INTO T VALUES (1)\0")))
                    .await;
                app.until_held(1).await;
                conn.leave(leave).await;
                app.settled().await;
                app.admin(Call::new("DELETE", "/_faults")).await;
            }
            let counts = app.counts("pg").await;
            assert_eq!((counts.incomplete, counts.accepted, counts.lost), (1, 1, 2));
            assert_eq!((table.rows().await, app.of_kind("row")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_on_a_slow_server_cancels_nothing() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for leave in Leave::BOTH {
                let mut conn = app.raw_pg().await;
                conn.up_to(b'Z').await;
                let sql = table.sql("INSERT INTO T SELECT coalesce(max(id), 0) + 1 FROM T, pg_sleep(0.3)\0");
                conn.send(&message(b'Q', &sql)).await;
                app.until("the statement", |app| app.now("pg").in_flight == 1).await;
                conn.leave(leave).await;
                app.settled().await;
            }
            let counts = app.counts("pg").await;
            assert_eq!((counts.accepted, counts.lost, table.rows().await), (2, 2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_and_passes() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "sql": "*(1)", "mode": "delay", "delay": "300ms"}))
                .await;
            app.fault(json!({"provider": "pg", "sql": "*(2)", "mode": "forward-and-respond"}))
                .await;
            app.fault(json!({"provider": "pg", "mode": "drop-after-commit"})).await;
            let client = connect(app.pg(), "").await;
            let begun = Instant::now();
            client
                .execute(&table.sql("INSERT INTO T VALUES (1)"), &[])
                .await
                .unwrap();
            assert!(begun.elapsed() >= Duration::from_millis(300));
            client
                .execute(&table.sql("INSERT INTO T VALUES (2)"), &[])
                .await
                .unwrap();
            assert!(
                client
                    .execute(&table.sql("INSERT INTO T VALUES (3)"), &[])
                    .await
                    .is_err()
            );
            assert_eq!(table.rows().await, 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_withheld_at_once_and_ends_with_its_client() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "drop-after-commit", "how": "hang"}))
                .await;
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            conn.send(&message(b'Q', &table.sql("INSERT INTO T VALUES (1)\0")))
                .await;
            app.until("the verdict", |app| app.now("pg").withheld == 1).await;
            assert!(conn.is_silent(Duration::from_millis(100)).await);
            conn.leave(Leave::Fin).await;
            assert_eq!((table.rows().await, app.of_kind("row")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_counts_an_attempt_once_however_many_statements_match() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "operation": "insert", "mode": "fail-before-forward", "how": "reset", "on": 2})).await;
            for id in [1, 2] {
                let mut conn = app.raw_pg().await;
                conn.up_to(b'Z').await;
                let insert = table.sql(&format!("INSERT INTO T VALUES ({id})\0"));
                let again = table.sql(&format!("INSERT INTO T VALUES ({id}0)\0"));
                for sql in ["BEGIN\0", &insert, &again, "COMMIT\0"] {
                    conn.send(&message(b'Q', sql)).await;
                    if id == 1 {
                        conn.up_to(b'Z').await;
                    } else if sql.starts_with("INSERT") {
                        let end = conn.rest().await.1;
                        assert_eq!(end, End::Reset);
                        break;
                    }
                }
            }
            let counts = app.counts("pg").await;
            assert_eq!((counts.accepted, counts.failed, table.rows().await), (1, 1, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_for_relays_of_this_protocol_alone() {
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            for (rule, words) in [
                (
                    json!({"mode": "pass", "provider": "stripe", "sql": "INSERT*"}),
                    "only behind a PostgreSQL relay",
                ),
                (
                    json!({"mode": "pass", "provider": "pg", "path": "/x"}),
                    "what this rule names speaks PostgreSQL",
                ),
                (
                    json!({"mode": "refuse", "provider": "pg", "status": 503}),
                    "its errors have a code",
                ),
                (
                    json!({"mode": "refuse", "provider": "pg", "code": "nope"}),
                    "is no SQLSTATE",
                ),
                (
                    json!({"mode": "pass", "provider": "pg", "operation": "inserts"}),
                    "did you mean",
                ),
            ] {
                let answer = app.call(Call::post("/_faults").json(&rule)).await;
                assert!(
                    answer.status == 400 && answer.text().contains(words),
                    "{rule}: {}",
                    answer.text()
                );
            }
            app.fault(json!({"mode": "pass", "sql": "INSERT*"})).await;
        },
    )
    .await;
}
