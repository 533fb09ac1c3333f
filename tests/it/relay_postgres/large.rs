//! Answers that are too large to be held back: rows leave early, and never what tells of the commit.

use serde_json::json;

use super::server::{PLAIN, Table, message, relay};
use crate::support::{App, Conn, with};

/// How much of an answer the relay holds back.
const HELD: usize = 256 << 10;

/// Cuts what came into its whole messages: their types, and the text of those that complete a statement.
fn messages(mut bytes: &[u8]) -> Vec<(char, String)> {
    let mut messages = Vec::new();
    while let [tag, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let Some(body) = rest.get(..length) else { break };
        let text = if *tag == b'C' {
            String::from_utf8_lossy(body).into_owned()
        } else {
            String::new()
        };
        messages.push((char::from(*tag), text));
        bytes = &rest[length..];
    }
    messages
}

/// Asks on a connection of its own, whose answer is lost; returns what came of it all the same.
async fn lost(app: &App, sql: &str) -> Vec<(char, String)> {
    let mut conn = ready(app).await;
    conn.send(&message(b'Q', &format!("{sql}\0"))).await;
    messages(&conn.rest().await.0)
}

async fn ready(app: &App) -> Conn {
    let mut conn = app.raw_pg().await;
    conn.up_to(b'Z').await;
    conn
}

#[tokio::test(flavor = "multi_thread")]
async fn wherever_the_bound_falls_no_end_of_the_transaction_leaves_before_the_verdict() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            app.fault(json!({"provider": "pg", "mode": "drop-after-commit"})).await;
            // Around the bound, message by message, and far behind it.
            let sizes = (HELD - 120..HELD - 30).step_by(3).chain([1 << 20, (1 << 20) + 7]);
            let mut asked = 0;
            for (n, size) in sizes.enumerate() {
                let explicit = format!("BEGIN; INSERT INTO T VALUES ({n}); SELECT repeat('x', {size}); COMMIT");
                let came = lost(app, &table.sql(&explicit)).await;
                let told = came.iter().any(|(tag, text)| *tag == 'Z' || text.starts_with("COMMIT"));
                assert!(!told, "{size}: {came:?}");
                let implicit = format!("INSERT INTO T VALUES (-{n} - 1, repeat('x', {size})) RETURNING word");
                let came = lost(app, &table.sql(&implicit)).await;
                let told = came.iter().any(|(tag, _)| matches!(tag, 'Z' | 'C'));
                assert!(!told, "{size}: {came:?}");
                asked += 2;
            }
            let counts = app.counts("pg").await;
            assert_eq!((counts.accepted, counts.withheld), (asked, asked));
            assert_eq!((table.rows().await, app.of_kind("row")), (asked.cast_signed(), asked));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_notified_after_the_commit_does_not_push_it_out() {
    let table = Table::new().await;
    with(
        |b| b.relay(relay(PLAIN, "")),
        async |app: &App| {
            let rule = json!({"provider": "pg", "operation": "insert", "mode": "drop-after-commit"});
            app.fault(rule).await;
            let mut conn = ready(app).await;
            conn.send(&message(b'Q', &table.sql("LISTEN T\0"))).await;
            conn.up_to(b'Z').await;
            let insert = "BEGIN; INSERT INTO T VALUES (1); \
                SELECT count(pg_notify('T', n || repeat('x', 7900))) FROM generate_series(1, 60) n; COMMIT\0";
            conn.send(&message(b'Q', &table.sql(insert))).await;
            assert_eq!(messages(&conn.rest().await.0), []);
            assert_eq!((table.rows().await, app.of_kind("row")), (1, 1));
            // The same, and nothing is lost: all of it comes, in its order.
            let mut conn = ready(app).await;
            conn.send(&message(b'Q', &table.sql("LISTEN T\0"))).await;
            conn.up_to(b'Z').await;
            let select = insert.replace("INSERT INTO T VALUES (1)", "UPDATE T SET id = 2");
            conn.send(&message(b'Q', &table.sql(&select))).await;
            let tags: String = conn.up_to(b'Z').await.iter().map(|(tag, _)| char::from(*tag)).collect();
            assert_eq!(tags.matches('A').count(), 60, "{tags}");
            assert_eq!(tags.replace('A', ""), "CCTDCCZ");
            let answered = app.counts("pg").await.answered;
            assert_eq!(answered, 3, "each LISTEN is one as well");
        },
    )
    .await;
}
