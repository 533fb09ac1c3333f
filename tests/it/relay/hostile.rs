//! Clients and upstreams that do what HTTP allows and few expect: the ledger counts what the upstream did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackdrop::ledger::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{Raw, read_head, received, spec, upstream};
use crate::support::{App, Call, Leave, with};

/// Reads requests with a body of one byte as long as some come, and says these bytes to each; counts them.
async fn saying_to_each(bytes: &'static str) -> (Raw, Arc<AtomicUsize>) {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let raw = Raw::start(move |mut stream| {
        let count = Arc::clone(&count);
        async move {
            let mut said = Vec::new();
            while stream.read_buf(&mut said).await.is_ok_and(|n| n > 0) {
                if !said.ends_with(b"\r\n\r\nx") {
                    continue;
                }
                said.clear();
                count.fetch_add(1, Ordering::SeqCst);
                if stream.write_all(bytes.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    (raw, heard)
}

fn post() -> Call {
    Call::post("/").body("x")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pipelined_behind_a_lost_answer_is_never_begun() {
    let server = upstream(wiremock::ResponseTemplate::new(201)).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            let lost = post().fault("drop-after-commit");
            conn.send(&[post().bytes(), lost.bytes(), post().bytes(), post().bytes()].concat())
                .await;
            assert_eq!(conn.answer().await.status, 201);
            assert_eq!(conn.rest().await.0, b"");
            app.settled().await;
            let counts = app.counts("pay").await;
            assert_eq!((counts.received, counts.accepted), (2, 2));
            assert_eq!((counts.answered, counts.withheld, received(&server).await), (1, 1, 2));
            // All without a fault: each has its own answer, in order.
            let mut conn = app.to("pay").await;
            conn.send(&post().bytes().repeat(50)).await;
            for _ in 0..50 {
                assert_eq!(conn.answer().await.status, 201);
            }
            let counts = app.counts("pay").await;
            assert_eq!(
                (counts.accepted, counts.answered, received(&server).await),
                (52, 51, 52)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_answer_to_one_request_is_no_answer_to_the_next() {
    const TWICE: &str = "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    let (raw, heard) = saying_to_each(TWICE).await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            for _ in 0..50 {
                conn.send(&post().bytes()).await;
                assert_eq!(conn.answer().await.status, 201);
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.refused), (50, 0));
            assert_eq!(heard.load(Ordering::SeqCst), 50);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn informational_answers_decide_nothing() {
    const HINTS: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n\
        HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 402 No\r\ncontent-length: 2\r\n\r\nno";
    let (raw, heard) = saying_to_each(HINTS).await;
    // One that ends behind a hint has not answered.
    let cut = Raw::saying("HTTP/1.1 103 Early Hints\r\n\r\n").await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")).relay(spec("cut", &cut.url(), "")),
        async |app: &App| {
            let answer = app.through("pay", post()).await;
            assert_eq!((answer.status, answer.text()), (402, "no".into()));
            let counts = app.counts("pay").await;
            assert_eq!(
                (counts.refused, counts.accepted, heard.load(Ordering::SeqCst)),
                (1, 0, 1)
            );
            assert_eq!(app.through("cut", post()).await.status, 502);
            assert_eq!(app.entries().pop().unwrap().outcome, Some(Outcome::Unknown));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_a_body_end_with_their_head() {
    let raw = Raw::start(|mut stream| async move {
        loop {
            let head = read_head(&mut stream).await;
            let status = if head.starts_with("HEAD") {
                "200 OK"
            } else {
                "304 Not Modified"
            };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 1000000\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            for n in 1..=3 {
                for (method, status) in [("HEAD", 200), ("GET", 304)] {
                    conn.send(&Call::new(method, "/").bytes()).await;
                    let answer = conn.answer_head().await;
                    assert_eq!(answer.status, status, "{method}");
                }
                let counts = app.counts("pay").await;
                assert_eq!((counts.read, counts.answered), (2 * n, 2 * n));
            }
            let mut conn = app.to("pay").await;
            conn.send(&Call::new("HEAD", "/").fault("drop-after-commit; how=reset").bytes())
                .await;
            assert_eq!(
                conn.answer_head().await.status,
                200,
                "a look-up is not asked after its commit"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_leave_and_leaves_has_sent_nothing_whole() {
    let (raw, heard) = saying_to_each("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            for leave in Leave::BOTH {
                let mut conn = app.to("pay").await;
                conn.send(&post().header("expect", "100-continue").head()).await;
                app.until("the attempt", |app| app.now("pay").in_flight == 1).await;
                conn.leave(leave).await;
                app.settled().await;
                let entry = app.entries().pop().unwrap();
                assert_eq!(entry.outcome, Some(Outcome::Incomplete), "{leave:?}");
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.lost, heard.load(Ordering::SeqCst)), (0, 2, 0));
        },
    )
    .await;
}
