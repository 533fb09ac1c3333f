//! What accepts and what discards: in each case the ledger has the rows that the database has.

use ackdrop::ledger::Outcome;
use futures_util::{SinkExt, future};
use tokio_postgres::SimpleQueryMessage;

use super::server::{PLAIN, Table, connect, message, psql, relay};
use crate::support::{App, with};

/// Runs SQL as one simple query each, by psql, and checks rows, uncounted writes, and the outcome of each attempt.
async fn check(commands: &[&str], rows: i64, writes: u64, outcomes: &[Outcome]) {
    let table = Table::new().await;
    let commands: Vec<String> = commands.iter().map(|sql| table.sql(sql)).collect();
    let texts: Vec<&str> = commands.iter().map(String::as_str).collect();
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            psql(app.pg(), "", &texts).await;
            app.settled().await;
            let mut entries = app.entries();
            entries.sort_by_key(|e| e.id);
            let seen: Vec<Outcome> = entries.iter().map(|e| e.outcome.unwrap()).collect();
            assert_eq!(seen, outcomes, "{commands:?}");
            assert_eq!(table.rows().await, rows, "{commands:?}");
            let counted = i64::try_from(app.of_kind("row")).unwrap();
            assert_eq!(
                (counted, app.of_kind("write")),
                (if writes > 0 { counted } else { rows }, writes),
                "{commands:?}"
            );
        },
    )
    .await;
}

use Outcome::{Accepted, Incomplete, Read, Refused};

#[tokio::test(flavor = "multi_thread")]
async fn several_statements_in_one_query() {
    check(
        &["INSERT INTO T VALUES (1); INSERT INTO T VALUES (2), (3)"],
        3,
        0,
        &[Accepted],
    )
    .await;
    check(&["INSERT INTO T VALUES (1); ROLLBACK"], 0, 0, &[Incomplete]).await;
    check(
        &["INSERT INTO T VALUES (1); COMMIT; INSERT INTO T VALUES (1)"],
        1,
        0,
        &[Accepted, Refused],
    )
    .await;
    check(&["INSERT INTO T VALUES (1); SELECT 1/0"], 0, 0, &[Refused]).await;
    check(
        &["BEGIN; INSERT INTO T VALUES (1); COMMIT; SELECT 1/0"],
        1,
        0,
        &[Accepted, Read],
    )
    .await;
    check(
        &["BEGIN; INSERT INTO T VALUES (1); COMMIT; INSERT INTO T VALUES (2)"],
        2,
        0,
        &[Accepted, Accepted],
    )
    .await;
    check(
        &["INSERT INTO T VALUES (1); BEGIN; INSERT INTO T VALUES (2); ROLLBACK"],
        0,
        0,
        &[Incomplete],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_and_savepoints() {
    check(
        &["BEGIN", "INSERT INTO T VALUES (1)", "SELECT 1/0", "COMMIT"],
        0,
        0,
        &[Refused],
    )
    .await;
    check(&["BEGIN", "INSERT INTO T VALUES (1)", "ROLLBACK"], 0, 0, &[Incomplete]).await;
    check(&["BEGIN", "SELECT 1", "COMMIT"], 0, 0, &[Read]).await;
    check(&["BEGIN", "COMMIT"], 0, 0, &[Read]).await;
    check(&["COMMIT"], 0, 0, &[Read]).await;
    check(
        &[
            "BEGIN",
            "INSERT INTO T VALUES (1)",
            "COMMIT AND CHAIN",
            "INSERT INTO T VALUES (2)",
            "ROLLBACK",
        ],
        1,
        0,
        &[Accepted, Incomplete],
    )
    .await;
    check(
        &[
            "BEGIN",
            "INSERT INTO T VALUES (1)",
            "SAVEPOINT a",
            "INSERT INTO T VALUES (2)",
            "INSERT INTO T VALUES (2)",
            "ROLLBACK TO a",
            "INSERT INTO T VALUES (3)",
            "RELEASE a",
            "COMMIT",
        ],
        2,
        0,
        &[Accepted],
    )
    .await;
    check(&["BEGIN", "INSERT INTO T VALUES (1)"], 0, 0, &[Incomplete]).await;
    check(
        &[
            "PREPARE p AS INSERT INTO T VALUES ($1)",
            "EXECUTE p (1)",
            "EXECUTE p (2)",
        ],
        2,
        0,
        &[Read, Accepted, Accepted],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_constraint_fails_after_its_statement_was_complete() {
    let constrained = "CREATE TABLE T_2 (id int REFERENCES T DEFERRABLE INITIALLY DEFERRED)";
    check(&[constrained, "INSERT INTO T_2 VALUES (1)"], 0, 1, &[Accepted, Refused]).await;
    check(
        &[constrained, "BEGIN", "INSERT INTO T_2 VALUES (1)", "COMMIT"],
        0,
        1,
        &[Accepted, Refused],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_without_a_count_on_the_wire() {
    check(
        &["WITH a AS (INSERT INTO T VALUES (1) RETURNING *) SELECT * FROM a"],
        1,
        1,
        &[Accepted],
    )
    .await;
    check(&["EXPLAIN ANALYZE INSERT INTO T VALUES (1)"], 1, 1, &[Accepted]).await;
    check(&["EXPLAIN INSERT INTO T VALUES (1)"], 0, 0, &[Read]).await;
    check(&["CREATE TABLE T_2 AS SELECT 1"], 0, 1, &[Accepted]).await;
    check(&["TRUNCATE T"], 0, 1, &[Accepted]).await;
    check(
        &["SET work_mem = '1MB'", "SHOW work_mem", "VALUES (1)"],
        0,
        0,
        &[Read, Read, Read],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_in_two_phases_counts_when_it_is_committed() {
    check(
        &[
            "BEGIN",
            "INSERT INTO T VALUES (1)",
            "PREPARE TRANSACTION 'T'",
            "COMMIT PREPARED 'T'",
        ],
        1,
        1,
        &[Outcome::Unknown, Accepted],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_changed_and_removed_count_as_the_server_counts_them() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let client = connect(app.pg(), "").await;
            for (sql, rows) in [
                ("INSERT INTO T SELECT generate_series(1, 10)", 10),
                ("UPDATE T SET word = 'x' WHERE id > 3", 7),
                ("DELETE FROM T WHERE id > 8", 2),
                (
                    "MERGE INTO T USING (VALUES (1)) v(i) ON id = i WHEN MATCHED THEN UPDATE SET word = 'y'",
                    1,
                ),
                ("INSERT INTO T VALUES (1) ON CONFLICT DO NOTHING", 0),
            ] {
                assert_eq!(client.execute(&table.sql(sql), &[]).await.unwrap(), rows);
            }
            let counted: Vec<u64> = app.rows_by_attempt().into_iter().flatten().collect();
            assert_eq!(counted, [10, 7, 2, 1, 0]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_in_and_out() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let client = connect(app.pg(), "").await;
            let sink = client.copy_in(&table.sql("COPY T (id) FROM STDIN")).await.unwrap();
            let mut sink = std::pin::pin!(sink);
            for n in 0..1000 {
                sink.send(bytes::Bytes::from(format!("{n}\n"))).await.unwrap();
            }
            assert_eq!(sink.finish().await.unwrap(), 1000);
            assert_eq!((table.rows().await, app.of_kind("row")), (1000, 1000));
            let failed = client.copy_in(&table.sql("COPY T (id) FROM STDIN")).await.unwrap();
            let mut failed = std::pin::pin!(failed);
            failed.send(bytes::Bytes::from_static(b"5\n")).await.unwrap();
            assert!(failed.finish().await.is_err());
            let out = client.copy_out(&table.sql("COPY T TO STDOUT")).await.unwrap();
            let out: Vec<_> = futures_util::StreamExt::collect(out).await;
            assert_eq!(out.len(), 1000);
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), "2000\tx\n2001\ty\n").unwrap();
            let copy = table.sql(&format!("\\copy T from '{}'", file.path().display()));
            assert!(psql(app.pg(), "", &[&copy]).await.ok);
            assert_eq!((table.rows().await, app.of_kind("row")), (1002, 1002));
            assert_eq!(app.counts("pg").await.refused, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_statements_are_an_attempt_each() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let client = connect(app.pg(), "").await;
            let insert = client.prepare(&table.sql("INSERT INTO T VALUES ($1)")).await.unwrap();
            let inserts = (0..100).map(|n| {
                let (client, insert) = (&client, &insert);
                async move { client.execute(insert, &[&(n / 2)]).await }
            });
            let done = future::join_all(inserts).await;
            assert_eq!(done.iter().filter(|d| d.is_ok()).count(), 50);
            let counts = app.counts("pg").await;
            assert_eq!((counts.accepted, counts.refused), (50, 50));
            assert_eq!((table.rows().await, app.of_kind("row")), (50, 50));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_ends_in_the_middle_of_a_pipeline_is_one_attempt() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            let mut bytes = Vec::new();
            for sql in [
                "BEGIN",
                "INSERT INTO T VALUES (1)",
                "COMMIT",
                "INSERT INTO T VALUES (2)",
            ] {
                bytes.extend(message(b'P', &format!("\0{}\0\0\0", table.sql(sql))));
                bytes.extend(message(b'B', "\0\0\0\0\0\0\0\0"));
                bytes.extend(message(b'E', "\0\0\0\0\0"));
            }
            bytes.extend(message(b'S', ""));
            conn.send(&bytes).await;
            let said = conn.up_to(b'Z').await;
            assert_eq!(said.iter().filter(|(tag, _)| *tag == b'C').count(), 4);
            assert_eq!(app.counts("pg").await.accepted, 2);
            assert_eq!((table.rows().await, app.of_kind("row")), (2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_notifications_and_cursors_pass() {
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let mut client = connect(app.pg(), "").await;
            let rows = client.simple_query("SELECT 1; SELECT 2").await.unwrap();
            let rows = rows.iter().filter(|m| matches!(m, SimpleQueryMessage::Row(_)));
            assert_eq!(rows.count(), 2);
            client
                .batch_execute("DO $$ BEGIN RAISE NOTICE 'x;y'; END $$")
                .await
                .unwrap();
            let transaction = client.transaction().await.unwrap();
            let portal = transaction.bind("SELECT generate_series(1, 10)", &[]).await.unwrap();
            let mut seen = 0;
            while seen < 10 {
                seen += transaction.query_portal(&portal, 3).await.unwrap().len();
            }
            transaction.commit().await.unwrap();
            let counts = app.counts("pg").await;
            assert_eq!((counts.received, counts.read, counts.accepted), (3, 2, 1));
        },
    )
    .await;
}
