//! HTTP as it is: trailers, HTTP/2, upgrades, leave to send, keep-alive, back-pressure.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ackdrop::net::tls::Authority;
use http_body_util::Full;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use wiremock::ResponseTemplate;

use super::support::{Raw, read_head, received, spec, upstream};
use crate::support::{App, Call, with};

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn trailers_pass_in_both_directions() {
    let raw = Raw::start(|mut stream| async move {
        let head = read_head(&mut stream).await;
        assert!(head.contains("te: trailers"), "{head}");
        let mut rest = Vec::new();
        while !rest.ends_with(b"x-sum: 17\r\n\r\n") {
            rest.push(stream.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-of-answer\r\n\r\n2\r\nok\r\n0\r\nx-of-answer: 18\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            let head = "POST / HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: te, close\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n";
            conn.send(format!("{head}5\r\nhello\r\n0\r\nx-sum: 17\r\n\r\n").as_bytes()).await;
            let answer = String::from_utf8(conn.rest().await.0).unwrap();
            assert!(answer.ends_with("0\r\nx-of-answer: 18\r\n\r\n"), "{answer}");
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.answered), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_http_2_upstream_is_spoken_to_in_http_2() {
    let authority = Authority::open(None).unwrap();
    let acceptor = TlsAcceptor::from(authority.server_config(&[b"h2"], [127, 0, 0, 1].into()));
    let raw = Raw::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let tls = acceptor.accept(stream).await.unwrap();
            let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
                let text = format!("{:?} {}", request.version(), request.uri().authority().unwrap());
                Ok::<_, Infallible>(hyper::Response::new(Full::new(bytes::Bytes::from(text))))
            });
            let serving = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tls), service);
            drop(serving.await);
        }
    })
    .await;
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), authority.pem()).unwrap();
    let url = raw.url().replace("http", "https");
    with(
        |b| {
            b.upstream_ca(ca.path())
                .relay(spec("pay", &url, ""))
                .relay(spec("kept", &url, ";host=keep"))
        },
        async |app: &App| {
            let said = app.through("pay", Call::post("/").body("x")).await.text();
            assert_eq!(said, format!("HTTP/2.0 {}", raw.addr));
            let said = app.through("kept", Call::post("/").body("x")).await.text();
            assert_eq!(said, "HTTP/2.0 ackdrop.test");
            assert_eq!(app.effects("request"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_the_upstreams_unless_it_is_to_be_kept_and_what_is_ours_stays_here() {
    let server = upstream(ResponseTemplate::new(200)).await;
    with(
        |b| {
            b.relay(spec("pay", &format!("{}/base/", server.uri()), "")).relay(spec(
                "kept",
                &server.uri(),
                ";host=keep",
            ))
        },
        async |app: &App| {
            let call = Call::get("/~alice/a%20b?c=d").header("x-ackdrop-other", "1");
            app.through("pay", call).await;
            app.through("kept", Call::get("/")).await;
            let requests = server.received_requests().await.unwrap();
            let host = |n: usize| requests[n].headers["host"].to_str().unwrap().to_owned();
            assert_eq!(
                (host(0), host(1)),
                (server.address().to_string(), "ackdrop.test".into())
            );
            assert_eq!(
                (requests[0].url.path(), requests[0].url.query()),
                ("/base/a%20b", Some("c=d"))
            );
            assert!(!requests[0].headers.contains_key("x-ackdrop-other"));
            assert_eq!((app.of("alice").read, app.of("default").read), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_joins_the_two_and_each_direction_ends_by_itself() {
    let raw = Raw::start(|mut stream| async move {
        let head = read_head(&mut stream).await;
        assert!(
            head.contains("connection: upgrade\r\n") && head.contains("upgrade: echo\r\n"),
            "{head}"
        );
        let answer = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello ";
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        stream.write_all(format!("you said {said}").as_bytes()).await.unwrap();
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            let call = Call::get("/").header("connection", "Upgrade").header("upgrade", "echo");
            conn.send(&call.bytes()).await;
            let answer = conn.answer_head().await;
            assert_eq!((answer.status, answer.header("upgrade")), (101, Some("echo")));
            conn.send(b"one ").await;
            conn.send(b"two").await;
            assert_eq!(conn.read_exact(6).await, b"hello ");
            conn.half_close().await;
            assert_eq!(conn.rest().await.0, b"you said one two");
            let counts = app.counts("pay").await;
            assert_eq!((counts.read, counts.answered), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leave_to_send_is_given_by_the_upstream() {
    let raw = Raw::start(|mut stream| async move {
        loop {
            let head = read_head(&mut stream).await;
            assert!(head.contains("expect: 100-continue"), "{head}");
            if head.contains("/no") {
                let no = b"HTTP/1.1 417 Expectation Failed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                return stream.write_all(no).await.unwrap();
            }
            if head.contains("/yes") {
                stream.write_all(CONTINUE).await.unwrap();
            }
            let mut body = [0; 5];
            stream.read_exact(&mut body).await.unwrap();
            stream
                .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
                .await
                .unwrap();
        }
    })
    .await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            let call = |path: &str| Call::post(path).header("expect", "100-continue").body("hello");
            let (mut silent, mut yes) = (app.to("pay").await, app.to("pay").await);
            silent.send(&call("/silent").head()).await;
            yes.send(&call("/yes").head()).await;
            assert_eq!(yes.read_exact(CONTINUE.len()).await, CONTINUE);
            // The upstream's own word came first: of one that says nothing it is not waited for as long as this.
            assert!(silent.is_silent(Duration::from_millis(100)).await);
            assert_eq!(silent.read_exact(CONTINUE.len()).await, CONTINUE);
            for mut conn in [yes, silent] {
                conn.send(b"hello").await;
                assert_eq!(conn.answer().await.status, 201);
            }
            let mut conn = app.to("pay").await;
            conn.send(&call("/no").head()).await;
            assert_eq!(conn.answer().await.status, 417, "no leave before it");
            assert_eq!(conn.rest().await.0, b"");
            let mut conn = app.to("pay").await;
            conn.send(&call("/yes").fault("fail-before-forward").head()).await;
            assert_eq!(conn.rest().await.0, b"");
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.refused, counts.failed), (2, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_on_one_connection() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            let mut conn = app.to("pay").await;
            // Each has its own time: how long a thousand take says only how busy the machine is.
            for n in 0..1_000 {
                conn.send(&Call::post("/").body(format!("{n}")).bytes()).await;
                assert_eq!(conn.answer().await.text(), "made");
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.answered, counts.duplicates), (1_000, 1_000, 0));
            assert_eq!(received(&server).await, 1_000);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_slowly_or_is_held_holds_the_upstream_back() {
    const LENGTH: usize = 64 << 20;
    let written = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&written);
    let raw = Raw::start(move |mut stream| {
        let count = Arc::clone(&count);
        async move {
            count.store(0, Ordering::SeqCst);
            read_head(&mut stream).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let chunk = vec![b'x'; 64 << 10];
            for _ in 0..LENGTH / chunk.len() {
                stream.write_all(&chunk).await.unwrap();
                count.fetch_add(chunk.len() as u64, Ordering::SeqCst);
            }
        }
    })
    .await;
    // Until nothing more is written for a while, which only a pause can show; what is under way is in the kernel's buffers.
    let stuck = async || loop {
        let before = written.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(300)).await;
        if before == written.load(Ordering::SeqCst) {
            return before;
        }
    };
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            for fault in ["pass", "hold-after-commit"] {
                let mut conn = app.to("pay").await;
                conn.send(&Call::post("/").fault(fault).bytes()).await;
                app.until("the accepted one", |app| app.suite.stats().total.accepted > 0)
                    .await;
                let held = match fault {
                    "pass" => None,
                    _ => Some(app.until_held(1).await.remove(0)),
                };
                let there = stuck().await;
                assert!(there < LENGTH as u64 / 2, "{fault}: {there} bytes went ahead");
                if let Some(id) = held {
                    app.release(&id, json!({})).await;
                }
                let answer = conn.answer_head().await;
                assert_eq!(answer.header("content-length"), Some(&*LENGTH.to_string()));
                let mut left = LENGTH;
                while left > 0 {
                    left -= conn.read_exact(left.min(1 << 20)).await.len();
                }
            }
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.answered), (2, 2));
        },
    )
    .await;
}
