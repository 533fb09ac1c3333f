//! An upstream that is down, slow, broken or not to be trusted; and clients that leave.

use std::sync::Arc;
use std::time::Duration;

use ackdrop::Suite;
use ackdrop::ledger::{Fate, Outcome};
use ackdrop::suite::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use wiremock::ResponseTemplate;

use super::support::{Raw, read_head, received, spec, upstream};
use crate::support::{App, Call, Leave, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_does_not_answer_is_told_of_with_the_reason() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let deaf = Raw::start(|mut stream| async move {
        read_head(&mut stream).await;
        std::future::pending().await
    })
    .await;
    let rude = Raw::start(|mut stream| async move {
        read_head(&mut stream).await;
    })
    .await;
    let foreign = Raw::saying("SSH-2.0-OpenSSH\r\n").await;
    let untrusted = Suite::builder().start().await.unwrap();
    let https = format!("https://{}", untrusted.addresses().https().unwrap());
    with(
        |b| {
            b.relay(spec("down", &format!("http://{free}"), ""))
                .relay(spec("deaf", &deaf.url(), ";timeout=200ms"))
                .relay(spec("rude", &rude.url(), ""))
                .relay(spec("foreign", &foreign.url(), ""))
                .relay(spec("untrusted", &https, ""))
                .relay(spec("plain", &rude.url().replace("http", "https"), ";timeout=1s"))
        },
        async |app: &App| {
            for (name, status, words, outcome) in [
                ("down", 502, "refused", Outcome::Failed),
                ("deaf", 504, "has not answered for 200ms", Outcome::Unknown),
                ("rude", 502, "did not answer", Outcome::Unknown),
                ("foreign", 502, "did not answer", Outcome::Unknown),
                ("untrusted", 502, "certificate", Outcome::Failed),
                ("plain", 504, "in time", Outcome::Failed),
            ] {
                let answer = app.through(name, Call::post("/").body("x")).await;
                let said = answer.json()["error"]["message"].to_string();
                assert!(
                    answer.status == status && said.contains(words),
                    "{name}: {} {said}",
                    answer.status
                );
                assert!(said.contains(&format!("relay `{name}`")), "{said}");
                let entry = app.entries().pop().unwrap();
                assert_eq!(entry.outcome, Some(outcome), "{name}");
            }
            assert_eq!(app.effects("request"), 0);
        },
    )
    .await;
    assert_eq!(untrusted.stats().total.received, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_on_a_slow_upstream_has_had_its_effect() {
    // So slow that it answers only when it is told to.
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let slow = Raw::start(move |mut stream| {
        let told = Arc::clone(&told);
        async move {
            read_head(&mut stream).await;
            told.notified().await;
            let made = b"HTTP/1.1 201 Created\r\ncontent-length: 4\r\nconnection: close\r\n\r\nmade";
            stream.write_all(made).await.unwrap();
        }
    })
    .await;
    with(
        |b| b.relay(spec("pay", &slow.url(), "")),
        async |app: &App| {
            for (n, leave) in Leave::BOTH.into_iter().enumerate() {
                let mut conn = app.to("pay").await;
                conn.send(&Call::post("/").body("x").bytes()).await;
                app.until("the whole request", |app| {
                    let relayed = app.entries().into_iter().filter_map(|entry| entry.relayed);
                    relayed.filter(|relayed| relayed.request_end.is_some()).count() == n + 1
                })
                .await;
                conn.leave(leave).await;
                app.until("the leaving", |app| {
                    let relayed = app.entries().into_iter().filter_map(|entry| entry.relayed);
                    relayed.filter(|relayed| relayed.client_left.is_some()).count() == n + 1
                })
                .await;
                tell.notify_one();
                app.settled().await;
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.lost), (2, 2));
            assert_eq!((app.effects("request"), slow.accepted()), (2, 2));
            for entry in app.entries() {
                let relayed = entry.relayed.unwrap();
                assert!(relayed.client_left.unwrap() < relayed.first_byte.unwrap());
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_all_and_leaves_at_once_has_sent_it() {
    let server = upstream(ResponseTemplate::new(201)).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            for n in 1..=20 {
                let mut conn = app.to("pay").await;
                conn.send(&Call::post("/").body(vec![b'x'; 200_000]).bytes()).await;
                conn.half_close().await;
                app.until("the end", |app| {
                    app.now("pay").received == n && app.now("pay").open == 0
                })
                .await;
            }
            let counts = app.counts("pay").await;
            // Both fates are right here, each for its own client: the end may be seen before the first byte of the answer, and then it is
            // lost to a client that is gone; or the upstream was quicker, and then it was answered while the client still counted as there.
            // What may never be is a request that was whole and is not counted so.
            assert_eq!(
                (counts.accepted, counts.incomplete, counts.lost + counts.answered),
                (20, 0, 20)
            );
            for entry in app.entries() {
                let relayed = entry.relayed.unwrap();
                let (left, first) = (relayed.client_left, relayed.first_byte.unwrap());
                if left.is_some_and(|left| left < first) {
                    assert_eq!(entry.fate, Some(Fate::Lost), "it was gone before there was an answer");
                }
            }
            assert_eq!(received(&server).await, 20);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_too_slowly_is_incomplete() {
    let server = upstream(ResponseTemplate::new(201)).await;
    let limits = Limits {
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    with(
        |b| b.limits(limits).relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            for (framing, body) in [
                ("content-length: 10", "hello"),
                ("transfer-encoding: chunked", "5\r\nhello\r\n"),
            ] {
                let mut slow = app.to("pay").await;
                slow.send(format!("POST / HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n{body}").as_bytes())
                    .await;
                let answer = slow.answer().await;
                let entry = app.entries().pop().unwrap();
                assert_eq!((answer.status, entry.outcome), (408, Some(Outcome::Incomplete)));
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.incomplete, counts.answered), (2, 2));
            assert_eq!((counts.accepted, received(&server).await), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_passed_on_as_broken() {
    let raw = Raw::start(|mut stream| async move {
        read_head(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello")
            .await
            .unwrap();
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            conn.send(&Call::post("/").bytes()).await;
            let (bytes, _) = conn.rest().await;
            assert!(bytes.ends_with(b"\r\n\r\nhello"), "{}", String::from_utf8_lossy(&bytes));
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.lost), (1, 1));
            assert!(
                app.entries()[0].notes[0].contains("broke off"),
                "{:?}",
                app.entries()[0].notes
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_of_an_answer_is_taken_in_to_its_end() {
    let (done, mut was_done) = tokio::sync::mpsc::channel(1);
    let raw = Raw::start(move |mut stream| {
        let done = done.clone();
        async move {
            read_head(&mut stream).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 32 << 20);
            stream.write_all(head.as_bytes()).await.unwrap();
            for _ in 0..32 {
                stream.write_all(&vec![b'x'; 1 << 20]).await.unwrap();
            }
            done.send(stream.read_u8().await.is_err()).await.unwrap();
        }
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            for fault in [
                "pass",
                "drop-after-commit",
                "drop-after-commit; how=truncate; bytes=100",
                "error-after-commit",
            ] {
                let mut conn = app.to("pay").await;
                conn.send(&Call::post("/").fault(fault).bytes()).await;
                if fault == "pass" {
                    conn.answer_head().await;
                    conn.leave(Leave::Rst).await;
                } else if fault == "error-after-commit" {
                    conn.answer().await;
                } else {
                    conn.rest().await;
                }
                assert_eq!(was_done.recv().await, Some(true), "{fault}");
                app.until("the evidence", |app| {
                    let relayed = app.entries().pop().and_then(|entry| entry.relayed);
                    relayed.is_some_and(|relayed| relayed.down == 32 << 20)
                })
                .await;
                let recorded = app.entries().pop().unwrap().answer.unwrap().content.bytes().unwrap();
                assert_eq!(recorded.len(), 64 << 10, "{fault}");
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.withheld, counts.lost), (4, 3, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_evidence_is_in_order() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            let call = Call::post("/?card=4242424242424242").body("number=4242424242424242");
            let mut conn = app.to("pay").await;
            conn.send(&call.fault("drop-after-commit").bytes()).await;
            conn.rest().await;
            let entry = app.entries().pop().unwrap();
            let relayed = entry.relayed.clone().unwrap();
            assert_eq!((relayed.up, relayed.down), (23, 4));
            let times = [
                relayed.request_end,
                relayed.first_byte,
                relayed.fault,
                relayed.last_byte,
            ];
            let times: Vec<_> = [Some(entry.arrived)]
                .into_iter()
                .chain(times)
                .chain([entry.ended])
                .collect();
            assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
            let shown = app.admin(Call::get("/_events")).await;
            let shown = &shown["events"][0];
            assert_eq!(shown["relay"]["bytes"], json!({"up": 23, "down": 4}));
            assert_eq!(shown["request"]["size"], 23);
            assert!(!shown.to_string().contains("4242424242424242"), "{shown}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_what_is_under_way_and_a_reset_counts_none_of_it() {
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let deaf = Raw::start(move |mut stream| {
        let told = Arc::clone(&told);
        async move {
            read_head(&mut stream).await;
            told.notified().await;
            let made = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
            drop(stream.write_all(made).await);
        }
    })
    .await;
    let under_way = |app: &App| app.suite.stats().total.in_flight == 1;
    with(
        |b| b.relay(spec("pay", &deaf.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            conn.send(&Call::post("/").bytes()).await;
            app.until("the forward", under_way).await;
            app.suite.reset(None);
            tell.notify_one();
            assert_eq!(conn.rest().await.0, b"");
            assert_eq!((app.effects("request"), app.suite.stats().total.received), (0, 0));
        },
    )
    .await;
    let suite = Suite::builder()
        .relay(spec("pay", &deaf.url(), ""))
        .start()
        .await
        .unwrap();
    let ledger = suite.ledger().clone();
    let app = App { suite };
    let mut conn = app.to("pay").await;
    conn.send(&Call::post("/").body("x").bytes()).await;
    app.until("the forward", under_way).await;
    assert!(app.suite.stop().await, "it ended in time");
    let entry = ledger.entry(1).unwrap();
    assert_eq!(entry.outcome, Some(Outcome::Unknown));
    assert!(entry.fate.is_some());
}
