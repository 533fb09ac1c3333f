//! The answer is lost after the commit: the row is there, and the retry finds it.

use serde_json::json;
use tokio_postgres::NoTls;

use super::server::{PLAIN, Table, connect, psql, relay};
use crate::support::{App, Conn, with};

/// Inserts once, whoever asks how often.
const CLAIM: &str = "INSERT INTO T VALUES (1, 'x') ON CONFLICT DO NOTHING RETURNING id";

/// Checks what a lost answer and a retry have left behind.
async fn check(app: &App, table: &Table, retried: usize) {
    assert_eq!((table.rows().await, retried), (1, 0));
    assert_eq!(app.of_kind("row"), 1);
    let inserts = &app.suite.stats().providers["pg"].operations["insert"];
    assert_eq!((inserts.accepted, inserts.withheld), (2, 1));
    assert_eq!(app.rows_by_attempt().into_iter().flatten().collect::<Vec<_>>(), [1, 0]);
}

async fn lose_the_first(app: &App, how: &str) {
    app.fault(json!({"provider": "pg", "operation": "insert", "mode": "drop-after-commit", "how": how, "on": 1}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn psql_loses_the_answer_and_its_retry_returns_no_row() {
    let table = Table::new().await;
    let claim = table.sql(CLAIM);
    for tls in ["sslmode=disable", "sslmode=require"] {
        with(
            |b| b.relay(relay(PLAIN, "")),
            async |app: &App| {
                table.direct.batch_execute(&table.sql("TRUNCATE T")).await.unwrap();
                lose_the_first(app, "close").await;
                let lost = psql(app.pg(), tls, &[&claim]).await;
                assert!(
                    !lost.ok && lost.out.is_empty() && lost.err.contains("connection"),
                    "{lost:?}"
                );
                assert_eq!(table.rows().await, 1, "the row is there");
                let again = psql(app.pg(), tls, &[&claim]).await;
                assert!(again.ok, "{again:?}");
                check(app, &table, again.out.lines().count()).await;
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn psql_trusts_the_suites_authority() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), app.suite.ca_pem()).unwrap();
            let more = format!("sslmode=verify-full sslrootcert={}", file.path().display());
            let said = psql(app.pg(), &more, &[&table.sql(CLAIM), "SELECT 7"]).await;
            assert_eq!((said.ok, &*said.out), (true, "1\n7"), "{said:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokio_postgres_loses_the_answer_and_its_retry_returns_no_row() {
    let table = Table::new().await;
    let claim = table.sql(CLAIM);
    for how in ["close", "reset"] {
        with(
            |b| b.relay(relay(PLAIN, "")),
            async |app: &App| {
                table.direct.batch_execute(&table.sql("TRUNCATE T")).await.unwrap();
                lose_the_first(app, how).await;
                let client = connect(app.pg(), "").await;
                let lost = client.query(&claim, &[]).await.unwrap_err();
                assert!(lost.as_db_error().is_none(), "{lost}");
                let client = connect(app.pg(), "").await;
                let again = client.query(&claim, &[]).await.unwrap();
                check(app, &table, again.len()).await;
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokio_postgres_inside_tls_loses_the_answer() {
    let table = Table::new().await;
    let claim = table.sql(CLAIM);
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            lose_the_first(app, "reset").await;
            let secured = async || {
                let mut conn = Conn::plain(app.pg()).await;
                conn.send(&[0, 0, 0, 8, 4, 210, 22, 47]).await;
                assert_eq!(conn.read_exact(1).await, b"S");
                let stream = conn.secure(app.suite.ca_pem(), "localhost").await.into_stream();
                let mut config = tokio_postgres::Config::new();
                config.user("postgres").dbname("postgres");
                let (client, connection) = config.connect_raw(stream, NoTls).await.unwrap();
                tokio::spawn(async move { drop(connection.await) });
                client
            };
            let lost = secured().await.query(&claim, &[]).await.unwrap_err();
            assert!(lost.as_db_error().is_none(), "{lost}");
            let again = secured().await.query(&claim, &[]).await.unwrap();
            check(app, &table, again.len()).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explicit_transaction_is_one_attempt_and_loses_the_answer_to_its_commit() {
    let table = Table::new().await;
    let claim = table.sql(CLAIM);
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "sql": "insert into *", "mode": "forward-then-drop-response", "on": 1}))
                .await;
            let mut client = connect(app.pg(), "").await;
            let transaction = client.transaction().await.unwrap();
            assert_eq!(
                transaction.query(&claim, &[]).await.unwrap().len(),
                1,
                "nothing is lost before the commit"
            );
            assert_eq!((table.rows().await, app.of_kind("row")), (0, 0), "nor counted");
            let lost = transaction.commit().await.unwrap_err();
            assert!(lost.as_db_error().is_none(), "{lost}");
            let mut client = connect(app.pg(), "").await;
            let transaction = client.transaction().await.unwrap();
            let again = transaction.query(&claim, &[]).await.unwrap();
            transaction.commit().await.unwrap();
            check(app, &table, again.len()).await;
            assert_eq!(app.counts("pg").await.received, 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_the_answer_leaves_before_the_verdict() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "drop-after-commit", "how": "truncate", "bytes": 3}))
                .await;
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            let sql =
                table.sql("INSERT INTO T SELECT n, repeat('x', 1000) FROM generate_series(1, 100) n RETURNING *\0");
            conn.send(&super::server::message(b'Q', &sql)).await;
            let (bytes, _) = conn.rest().await;
            assert_eq!((bytes.len(), bytes[0]), (3, b'T'));
            assert_eq!((table.rows().await, app.of_kind("row")), (100, 100));
            assert_eq!(app.counts("pg").await.withheld, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_too_large_to_hold_leaves_in_part_and_says_so() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "drop-after-commit"})).await;
            let mut conn = app.raw_pg().await;
            conn.up_to(b'Z').await;
            let sql =
                table.sql("INSERT INTO T SELECT n, repeat('x', 1000) FROM generate_series(1, 2000) n RETURNING *\0");
            conn.send(&super::server::message(b'Q', &sql)).await;
            let (bytes, _) = conn.rest().await;
            assert!(
                bytes.len() > 256 << 10 && !bytes.windows(10).any(|w| w == b"INSERT 0 2"),
                "{}",
                bytes.len()
            );
            assert_eq!((table.rows().await, app.of_kind("row")), (2000, 2000));
            assert!(app.entries()[0].notes[0].contains("left before the commit"));
        },
    )
    .await;
}
