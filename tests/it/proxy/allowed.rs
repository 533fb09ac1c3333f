//! An allowed host: bytes go both ways, and either side may end its half first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ackdrop::suite::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{Recorder, allowing, ask, opened};
use crate::support::{Answer, App, Call, End, with, within};

/// Listens as the allowed host, and hands its first connection to a function.
async fn host<F, R>(serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> (Arc<Recorder>, oneshot::Receiver<R>)
where
    F: Future<Output = R> + Send + 'static,
    R: Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let recorder = Arc::new(Recorder::to(listener.local_addr().unwrap()));
    let (to, result) = oneshot::channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        drop(to.send(serve(stream).await));
    });
    (recorder, result)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_carries_bytes_both_ways_and_each_half_ends_by_itself() {
    let (recorder, seen) = host(async |mut stream: TcpStream| {
        stream.write_all(b"hello").await.unwrap();
        let mut seen = Vec::new();
        // The client's half ends first, and what comes back comes after it.
        stream.read_to_end(&mut seen).await.unwrap();
        stream.write_all(&vec![b'x'; 300_000]).await.unwrap();
        seen
    })
    .await;
    with(
        |b| allowing(b.connector(Arc::clone(&recorder) as _), &["allowed.test"]),
        async |app: &App| {
            let mut bytes = ask("allowed.test:7").bytes();
            bytes.extend(b"at once,");
            let mut conn = app.connect().await;
            conn.send(&bytes).await;
            assert_eq!(conn.answer_head().await.status, 200);
            assert_eq!(conn.read_exact(5).await, b"hello");
            conn.send(b" and later").await;
            conn.half_close().await;
            assert_eq!(within("what was sent", seen).await.unwrap(), b"at once, and later");
            let (rest, end) = conn.rest().await;
            assert_eq!((rest.len(), end), (300_000, End::Orderly));
            assert_eq!(recorder.asked(), ["allowed.test:7"]);
            assert!(app.suite.stats().refused_hosts.is_empty());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_of_the_host_is_one_of_the_tunnel() {
    let (recorder, _) = host(async |mut stream: TcpStream| {
        // A reset takes back what its reader has not read: the tunnel's own head must have arrived.
        stream.read_u8().await.unwrap();
        stream.set_zero_linger().unwrap();
        drop(stream);
    })
    .await;
    with(
        |b| allowing(b.connector(Arc::clone(&recorder) as _), &["allowed.test"]),
        async |app: &App| {
            let mut conn = opened(app.connect().await, &ask("allowed.test:7")).await;
            conn.send(b"x").await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_in_absolute_form_is_forwarded_without_what_is_the_proxys() {
    let (recorder, seen) = host(async |mut stream: TcpStream| {
        let mut seen = Vec::new();
        while !seen.ends_with(b"body") {
            seen.push(stream.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 207 Fine\r\nconnection: close, x-hop\r\nx-hop: 1\r\nx-kept: yes\r\n\r\nuntil the end";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(seen).unwrap().to_ascii_lowercase()
    })
    .await;
    with(
        |b| allowing(b.connector(Arc::clone(&recorder) as _), &["*.allowed.test"]),
        async |app: &App| {
            let call = Call::post("http://www.allowed.test/a?b=c")
                .header("proxy-authorization", "Basic fmFsaWNlOg==")
                .header("proxy-connection", "keep-alive")
                .header("x-ackdrop-scope", "alice")
                .header("x-mine", "1")
                .body("body");
            let mut conn = app.connect().await;
            conn.send(&call.bytes()).await;
            let head: Answer = conn.answer_head().await;
            assert_eq!(
                (head.status, head.header("x-kept"), head.header("x-hop")),
                (207, Some("yes"), None)
            );
            assert_eq!(head.header("transfer-encoding"), Some("chunked"));
            let mut body = Vec::new();
            while !body.ends_with(b"\r\n0\r\n\r\n") {
                body.extend(conn.read_exact(1).await);
            }
            assert!(String::from_utf8(body).unwrap().contains("until the end"));
            let seen = within("the request", seen).await.unwrap();
            assert!(seen.starts_with("post /a?b=c http/1.1\r\n"), "{seen}");
            assert!(
                seen.contains("host: www.allowed.test\r\n") && seen.contains("x-mine: 1"),
                "{seen}"
            );
            assert!(!seen.contains("proxy-") && !seen.contains("x-ackdrop"), "{seen}");
            conn.send(&Call::order("o").bytes()).await;
            assert_eq!(conn.answer().await.status, 201, "the client's connection goes on");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_a_gateways_error_with_its_reason() {
    let recorder = Arc::new(Recorder::default());
    with(
        |b| allowing(b.connector(Arc::clone(&recorder) as _), &["allowed.test"]),
        async |app: &App| {
            for call in [ask("allowed.test:443"), Call::get("http://allowed.test/")] {
                let answer = app.call(call).await;
                assert_eq!(answer.status, 502);
                assert!(
                    answer.text().contains("cannot reach allowed.test:"),
                    "{}",
                    answer.text()
                );
            }
            let https = app.call(Call::get("https://allowed.test/")).await;
            assert_eq!(
                (https.status, https.text().contains("CONNECT allowed.test:443")),
                (400, true)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_in_which_nothing_moves_is_ended_and_one_that_is_used_is_not() {
    let (recorder, _) = host(async |mut stream: TcpStream| {
        let (mut reader, mut writer) = stream.split();
        tokio::io::copy(&mut reader, &mut writer).await
    })
    .await;
    let limits = Limits {
        idle: Duration::from_millis(400),
        ..Limits::default()
    };
    with(
        |b| {
            allowing(
                b.limits(limits).connector(Arc::clone(&recorder) as _),
                &["allowed.test"],
            )
        },
        async |app: &App| {
            let mut conn = opened(app.connect().await, &ask("allowed.test:7")).await;
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(1_000) {
                conn.send(b"x").await;
                assert_eq!(conn.read_exact(1).await, b"x");
                // The user's own slowness, well below what counts as idle.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let (rest, _) = within("the end of the tunnel", conn.rest()).await;
            assert_eq!(rest, b"");
        },
    )
    .await;
}
