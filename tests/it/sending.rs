//! Large answers on their way: they are answered when all has left, and lost when the client leaves before.

use serde_json::json;

use crate::support::{App, Call, Conn, Leave, with};

/// How large an order is of which the kernel cannot take the whole answer while nobody reads.
const LARGE: usize = 8 << 20;

/// Asks for more than 20 MiB.
fn list() -> Call {
    Call::get("/orders?limit=100")
}

fn large_order(reference: &str, length: usize) -> Call {
    Call::post("/orders").json(&json!({"reference": reference, "text": "x".repeat(length)}))
}

/// Makes the orders that the list is of.
async fn fill(app: &App) {
    for n in 0..5 {
        let made = app.call(large_order(&format!("o{n}"), LARGE / 2)).await;
        assert_eq!(made.status, 201, "{}", &made.text()[..200]);
    }
}

/// Calls, reads the head alone, and so knows that the answer is being sent.
async fn begin(conn: &mut Conn, call: &Call) -> usize {
    conn.send(&call.bytes()).await;
    let answer = conn.answer_head().await;
    answer.header("content-length").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_nothing_and_leaves_has_lost_it() {
    with(
        |b| b,
        async |app: &App| {
            fill(app).await;
            let before = app.counts("orders").await;
            for leave in Leave::BOTH {
                for mut conn in app.connect_both().await {
                    assert!(begin(&mut conn, &list()).await > 20 << 20);
                    assert_eq!(app.now("orders").open, 1);
                    conn.leave(leave).await;
                    app.settled().await;
                }
            }
            let mut conn = app.connect().await;
            begin(&mut conn, &large_order("one more", LARGE)).await;
            let counts = app.now("orders");
            assert_eq!(
                (counts.accepted, counts.open, counts.in_flight),
                (before.accepted + 1, 1, 0)
            );
            conn.leave(Leave::Rst).await;
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.read, counts.lost, counts.answered), (4, 5, before.answered));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_slowly_to_the_end_is_answered_once_all_has_left() {
    with(
        |b| b,
        async |app: &App| {
            fill(app).await;
            let before = app.counts("orders").await.answered;
            for mut conn in app.connect_both().await {
                conn.keep_little();
                let mut left = begin(&mut conn, &list()).await;
                // What both ends of the connection can hold of it is less than that.
                while left > 12 << 20 {
                    conn.read_exact(1 << 20).await;
                    left -= 1 << 20;
                    assert_eq!(app.now("orders").open, 1, "{left} bytes are still to come");
                }
                conn.read_exact(left).await;
                app.settled().await;
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.answered, counts.lost), (before + 2, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_during_one_answer_is_gone_for_what_is_pipelined_behind_it() {
    with(
        |b| b,
        async |app: &App| {
            fill(app).await;
            let before = app.counts("orders").await;
            let mut conn = app.connect().await;
            let mut bytes = list().bytes();
            bytes.extend(Call::order("behind").fault("hold-before-commit").bytes());
            bytes.extend(Call::order("further").bytes());
            conn.send(&bytes).await;
            let length: usize = conn
                .answer_head()
                .await
                .header("content-length")
                .unwrap()
                .parse()
                .unwrap();
            conn.half_close().await;
            conn.read_exact(length).await;
            assert_eq!(conn.rest().await.0, b"", "no byte for a client that is gone");
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.read, counts.answered), (1, before.answered + 1));
            assert_eq!((counts.incomplete, counts.lost), (1, 1));
            assert_eq!(counts.received, before.received + 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_holds_up_nobody_who_asks_for_counts() {
    with(
        |b| b,
        async |app: &App| {
            fill(app).await;
            let mut conn = app.connect().await;
            begin(&mut conn, &list()).await;
            let mut stats = app.connect().await;
            let began = std::time::Instant::now();
            for _ in 0..20 {
                stats.send(&Call::get("/_stats").bytes()).await;
                assert_eq!(stats.answer().await.json()["total"]["open"], 1);
            }
            // A wait for each of these counts would be 20 times a quarter of a second.
            assert!(
                began.elapsed() < std::time::Duration::from_secs(4),
                "{:?}",
                began.elapsed()
            );
        },
    )
    .await;
}
