//! What is malformed is refused, and what never begins does not stay.

use std::time::Duration;

use ackdrop::suite::Limits;

use super::{STRIPE, ask, opened, plain, secure};
use crate::support::{App, Call, Conn, End, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_target_is_a_400_and_opens_no_tunnel() {
    with(
        |b| b,
        async |app: &App| {
            for line in [
                "CONNECT api.stripe.com HTTP/1.1",
                "CONNECT api.stripe.com: HTTP/1.1",
                "CONNECT api.stripe.com:0 HTTP/1.1",
                "CONNECT api.stripe.com:65536 HTTP/1.1",
                "CONNECT :443 HTTP/1.1",
                "CONNECT me@api.stripe.com:443 HTTP/1.1",
                "CONNECT http://api.stripe.com:443/ HTTP/1.1",
                "CONNECT /v1/charges HTTP/1.1",
                "CONNECT [::1:443 HTTP/1.1",
                "GET http://me:secret@api.stripe.com/v1/charges HTTP/1.1",
                "GET ftp://api.stripe.com/ HTTP/1.1",
                "CONNECT api.stripe.com:443 HTTP/1.1\r\ncontent-length: 3",
                "CONNECT api.stripe.com:443 HTTP/1.1\r\ntransfer-encoding: chunked",
            ] {
                let mut conn = app.connect().await;
                conn.send(format!("{line}\r\nhost: x\r\n\r\n").as_bytes()).await;
                let answer = conn.answer_head().await;
                assert_eq!(answer.status, 400, "{line}");
            }
            assert_eq!(app.suite.stats().total.received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_begin_is_let_go() {
    let limits = Limits {
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    with(
        |b| b.limits(limits),
        async |app: &App| {
            let mut silent = opened(app.connect().await, &ask(STRIPE)).await;
            assert_ne!(silent.rest().await.1, End::Truncated);
            // A handshake that breaks off after its first bytes.
            let mut half = opened(app.connect().await, &ask(STRIPE)).await;
            half.send(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
            half.rest().await;
            let mut gone = opened(app.connect().await, &ask(STRIPE)).await;
            gone.half_close().await;
            assert_eq!(gone.rest().await, (vec![], End::Orderly));
            // Inside the tunnel a connection may be silent as long as any other.
            let mut served = plain(app).await;
            served.send(&Call::charge().bytes()).await;
            assert_eq!(served.answer().await.status, 200);
            served.rest().await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_a_tunnel_harms_nobody() {
    with(
        |b| b,
        async |app: &App| {
            for garbage in [
                &b"\x16\x03\x01\x00\x05hello"[..],
                b"\x00\x01\x02\r\n\r\n",
                b"GET\r\n\r\n",
            ] {
                let mut conn = opened(app.connect().await, &ask(STRIPE)).await;
                conn.send(garbage).await;
                conn.rest().await;
            }
            let mut conn = secure(app).await;
            conn.send(b"GET / HTTP/1.1\r\nx-long: ").await;
            let sent = conn.send_lossy(&vec![b'a'; 200_000]).await;
            assert!(sent.is_err() || conn.answer_head().await.status == 431);
            assert_eq!(app.suite.stats().total.received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_is_one_of_the_connections_that_there_may_be() {
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    with(
        |b| b.limits(limits),
        async |app: &App| {
            let tunnel = secure(app).await;
            let mut second = Conn::plain(app.http()).await;
            second.rest().await;
            drop(tunnel);
            let served = async {
                loop {
                    let mut conn = Conn::plain(app.http()).await;
                    if conn.send_lossy(&ask(STRIPE).bytes()).await.is_ok() && conn.try_head().await.is_some() {
                        break;
                    }
                }
            };
            within("the end of the tunnel", served).await;
        },
    )
    .await;
}
