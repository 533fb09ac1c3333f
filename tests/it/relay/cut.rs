//! Requests that are cut off: the upstream never gets a whole one, and nothing is accepted.

use std::time::Duration;

use ackdrop::ledger::{Fate, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::support::{Raw, read_head, spec};
use crate::support::{App, Conn, Leave, with, within};

/// How much of each body is sent.
const SENT: usize = 40;

/// Says how a request is framed.
#[derive(Clone, Copy, Debug)]
enum Framed {
    ByLength,
    InChunks,
}

impl Framed {
    const BOTH: [Self; 2] = [Self::ByLength, Self::InChunks];

    /// Sends a head, and the first part of the body that it announces.
    async fn begin(self, conn: &mut Conn) {
        let (field, body) = match self {
            Self::ByLength => ("content-length: 100", "x".repeat(SENT)),
            Self::InChunks => ("transfer-encoding: chunked", format!("28\r\n{}\r\n", "x".repeat(SENT))),
        };
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{field}\r\n\r\n");
        conn.send(format!("{head}{body}").as_bytes()).await;
    }
}

/// An upstream that says when it has the first part, and then how much it has had at the end of its connection: of a whole body none, for
/// then it answers.
async fn strict() -> (Raw, mpsc::UnboundedReceiver<Option<usize>>) {
    let (says, said) = mpsc::unbounded_channel();
    let raw = Raw::start(move |mut stream| {
        let says = says.clone();
        async move {
            let chunked = read_head(&mut stream).await.contains("transfer-encoding: chunked");
            let (mut body, mut told) = (Vec::new(), false);
            let data = |body: &[u8]| body.iter().filter(|byte| **byte == b'x').count();
            while stream.read_buf(&mut body).await.is_ok_and(|n| n > 0) {
                if data(&body) == SENT && !told {
                    told = true;
                    let _ = says.send(Some(SENT));
                }
                if (chunked && body.ends_with(b"0\r\n\r\n")) || (!chunked && body.len() == 100) {
                    let _ = stream
                        .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
                        .await;
                    let _ = says.send(None);
                    return;
                }
            }
            let _ = says.send(Some(data(&body)));
        }
    })
    .await;
    (raw, said)
}

/// Checks the one attempt that was cut off, from its both sides.
async fn check(app: &App, said: &mut mpsc::UnboundedReceiver<Option<usize>>, what: &str) {
    app.settled().await;
    let end = within("the upstream's end", said.recv()).await;
    assert_eq!(end, Some(Some(SENT)), "{what}: the upstream has a part, and never all");
    let entry = app.entries().pop().unwrap();
    let outcome = (entry.outcome, entry.fate);
    assert_eq!(outcome, (Some(Outcome::Incomplete), Some(Fate::Lost)), "{what}");
    let relayed = entry.relayed.unwrap();
    assert_eq!((relayed.up, relayed.request_end), (SENT as u64, None), "{what}");
    assert_eq!((app.now("pay").accepted, app.effects("request")), (0, 0), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn by_a_client_that_leaves() {
    let (raw, mut said) = strict().await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            // Several times: the end of the body and that of the connection are seen by two, in whichever order.
            for framed in [Framed::BOTH; 10].concat() {
                for leave in Leave::BOTH {
                    let mut conn = app.to("pay").await;
                    framed.begin(&mut conn).await;
                    assert_eq!(within("the first part", said.recv()).await, Some(Some(SENT)));
                    conn.leave(leave).await;
                    check(app, &mut said, &format!("{framed:?} {leave:?}")).await;
                    let relayed = app.entries().pop().unwrap().relayed.unwrap();
                    assert!(relayed.client_left.is_some(), "{framed:?} {leave:?}");
                }
            }
        },
    )
    .await;
}

/// Here it is not the client that ends the connection.
#[tokio::test(flavor = "multi_thread")]
async fn by_a_relay_that_is_stopped() {
    for framed in Framed::BOTH {
        let (raw, mut said) = strict().await;
        with(
            |b| b.relay(spec("pay", &raw.url(), "")),
            async |app: &App| {
                let mut conn = app.to("pay").await;
                framed.begin(&mut conn).await;
                assert_eq!(within("the first part", said.recv()).await, Some(Some(SENT)));
                app.suite.relays().stop("pay").await.unwrap();
                assert_eq!(conn.rest().await.0, b"");
                check(app, &mut said, &format!("{framed:?}")).await;
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_an_upstream_that_says_no_before_it_has_all() {
    let raw = Raw::start(|mut stream| async move {
        read_head(&mut stream).await;
        let no = b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(no).await.unwrap();
        stream.shutdown().await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            for framed in Framed::BOTH {
                let mut conn = app.to("pay").await;
                framed.begin(&mut conn).await;
                assert_eq!(conn.answer().await.status, 413, "{framed:?}");
                let (rest, _) = conn.rest().await;
                assert_eq!(rest, b"", "{framed:?}: what is left of a body is no request");
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.refused, counts.answered, counts.received), (2, 2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_an_upstream_that_resets_in_the_middle_of_its_answer() {
    for framing in ["content-length: 10", "transfer-encoding: chunked"] {
        let raw = Raw::start(move |mut stream| async move {
            read_head(&mut stream).await;
            let part = if framing.contains("length") {
                "hello"
            } else {
                "5\r\nhello\r\n"
            };
            let head = format!("HTTP/1.1 201 Created\r\n{framing}\r\n\r\n{part}");
            stream.write_all(head.as_bytes()).await.unwrap();
            // So that the part is read before the RST takes back what was not.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger().unwrap();
        })
        .await;
        with(
            |b| b.relay(spec("pay", &raw.url(), "")),
            async |app: &App| {
                let mut conn = app.to("pay").await;
                conn.send(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx")
                    .await;
                let (bytes, _) = conn.rest().await;
                let text = String::from_utf8_lossy(&bytes);
                assert!(
                    text.starts_with("HTTP/1.1 201") && !text.ends_with("0\r\n\r\n"),
                    "{text}"
                );
                app.settled().await;
                let counts = app.now("pay");
                assert_eq!(
                    (counts.accepted, counts.lost, app.effects("request")),
                    (1, 1, 1),
                    "{framing}"
                );
            },
        )
        .await;
    }
}
