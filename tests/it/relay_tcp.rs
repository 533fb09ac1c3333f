//! The TCP relay: bytes and ends in both directions, and each fault at each place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ackdrop::relay::Spec;
use ackdrop::suite::Builder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{App, Call, Conn, End, Leave, with, within};

/// Is an upstream that sends back what it gets, and counts.
#[derive(Clone)]
struct Echo {
    addr: SocketAddr,
    accepted: Arc<AtomicUsize>,
    received: Arc<AtomicUsize>,
    /// How many connections have said their last byte.
    ended: Arc<AtomicUsize>,
}

impl Echo {
    async fn start() -> Self {
        Self::serving(async |mut stream: TcpStream, echo: Echo| {
            let mut buffer = vec![0; 64 << 10];
            loop {
                match stream.read(&mut buffer).await {
                    Ok(0) => break,
                    Ok(n) => {
                        echo.received.fetch_add(n, Ordering::SeqCst);
                        if stream.write_all(&buffer[..n]).await.is_err() {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
            echo.ended.fetch_add(1, Ordering::SeqCst);
            // What is said after the client's end still goes down.
            let _ = stream.write_all(b".").await;
        })
        .await
    }

    async fn serving<F>(serve: impl Fn(TcpStream, Echo) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let echo = Self {
            addr: listener.local_addr().unwrap(),
            accepted: Arc::default(),
            received: Arc::default(),
            ended: Arc::default(),
        };
        let own = echo.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                own.accepted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, own.clone()));
            }
        });
        echo
    }

    fn relayed(&self, builder: Builder) -> Builder {
        builder.relay(Spec::parse(&format!("raw=127.0.0.1:0,tcp://{}", self.addr)).unwrap())
    }

    fn received(&self) -> usize {
        self.received.load(Ordering::SeqCst)
    }
}

async fn to_relay(app: &App) -> Conn {
    Conn::plain(app.suite.relays().get("raw").unwrap().addr).await
}

/// Runs a test with an echo, a relay to it, and a rule.
async fn ruled(rule: Value, test: impl AsyncFnOnce(&App, &Echo, Conn)) {
    let echo = Echo::start().await;
    with(
        |b| echo.relayed(b),
        async |app: &App| {
            let mut rule = rule;
            rule["provider"] = json!("raw");
            app.fault(rule).await;
            let conn = to_relay(app).await;
            test(app, &echo, conn).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_accepted_at_the_first_answer_and_half_closed_both_ways() {
    let echo = Echo::start().await;
    with(
        |b| echo.relayed(b),
        async |app: &App| {
            let mut conn = to_relay(app).await;
            conn.send(b"hello").await;
            assert_eq!(conn.read_exact(5).await, b"hello");
            app.until("the first answer", |app| app.now("raw").accepted == 1).await;
            conn.half_close().await;
            assert_eq!(
                conn.rest().await,
                (b".".to_vec(), End::Orderly),
                "it was still there to be answered"
            );
            let counts = app.counts("raw").await;
            assert_eq!((counts.received, counts.answered, app.effects("connection")), (1, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_no_more_to_say_still_hears_its_client() {
    let heard = Arc::new(AtomicUsize::new(0));
    let hearing = Arc::clone(&heard);
    let server = Echo::serving(move |mut stream, _| {
        let heard = Arc::clone(&hearing);
        async move {
            stream.write_all(b"welcome").await.unwrap();
            stream.shutdown().await.unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            heard.store(rest.len(), Ordering::SeqCst);
        }
    })
    .await;
    with(
        |b| server.relayed(b),
        async |app: &App| {
            let mut conn = to_relay(app).await;
            assert_eq!(conn.rest().await, (b"welcome".to_vec(), End::Orderly));
            conn.send(b"goodbye").await;
            conn.half_close().await;
            app.settled().await;
            within("the last bytes", async {
                while heard.load(Ordering::SeqCst) != 7 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            let counts = app.counts("raw").await;
            assert_eq!(
                (counts.accepted, counts.unknown, counts.answered),
                (0, 1, 1),
                "what came first answered nothing"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_connect_the_upstream_is_never_reached() {
    ruled(json!({"mode": "fail-before-commit"}), async |app, echo, mut conn| {
        assert_eq!(conn.rest().await, (Vec::new(), End::Orderly));
        assert_eq!(echo.accepted.load(Ordering::SeqCst), 0);
        let counts = app.counts("raw").await;
        assert_eq!((counts.failed, counts.withheld), (1, 1));
    })
    .await;
    let echo = Echo::start().await;
    with(
        |b| echo.relayed(b),
        async |app: &App| {
            app.fault(json!({"provider": "raw", "mode": "fail-before-commit", "how": "reset"}))
                .await;
            // The RST may come before the client's own kernel has told it that it is connected.
            let addr = app.suite.relays().get("raw").unwrap().addr;
            let end = match TcpStream::connect(addr).await {
                Ok(stream) => Conn::of(stream).rest().await.1,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => End::Reset,
                Err(error) => panic!("{error}"),
            };
            assert_eq!((end, echo.accepted.load(Ordering::SeqCst)), (End::Reset, 0));
            app.settled().await;
            assert_eq!(app.counts("raw").await.failed, 1);
        },
    )
    .await;
    let stalled = json!({"mode": "fail-before-commit", "step": "connect", "how": "hang"});
    ruled(stalled, async |app, echo, mut conn| {
        let _ = conn.send_lossy(b"anybody?").await;
        assert!(conn.is_silent(Duration::from_millis(100)).await);
        conn.leave(Leave::Fin).await;
        app.settled().await;
        assert_eq!(
            (echo.accepted.load(Ordering::SeqCst), app.counts("raw").await.failed),
            (0, 1)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_n_bytes_of_the_request() {
    for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
        let rule = json!({"mode": "fail-before-commit", "step": "request", "bytes": 7, "how": how});
        ruled(rule, async |app, echo, mut conn| {
            conn.send(b"1234").await;
            assert_eq!(conn.read_exact(4).await, b"1234");
            conn.send(b"567890").await;
            assert_eq!(conn.rest().await.1, end);
            within("seven bytes", async {
                while echo.received() != 7 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            let counts = app.counts("raw").await;
            assert_eq!((counts.accepted, counts.withheld), (1, 1));
        })
        .await;
    }
    let cut = json!({"mode": "fail-before-commit", "step": "request", "bytes": 3, "how": "truncate"});
    ruled(cut, async |app, echo, mut conn| {
        conn.send(b"12345").await;
        assert_eq!(conn.rest().await.0, b"123.", "the answers go on");
        assert_eq!((echo.received(), echo.ended.load(Ordering::SeqCst)), (3, 1));
        assert_eq!(app.counts("raw").await.answered, 1);
    })
    .await;
    let stalled = json!({"mode": "fail-before-commit", "step": "request", "how": "hang"});
    ruled(stalled, async |app, _, mut conn| {
        conn.send(b"12345").await;
        assert!(conn.is_silent(Duration::from_millis(100)).await);
        assert_eq!((app.now("raw").unknown, app.now("raw").withheld), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_first_answer_that_follows_m_bytes() {
    for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
        ruled(
            json!({"mode": "drop-after-commit", "after": 6, "how": how}),
            async |app, echo, mut conn| {
                conn.send(b"1234").await;
                assert_eq!(conn.read_exact(4).await, b"1234", "that followed fewer");
                conn.send(b"56").await;
                assert_eq!(conn.rest().await, (Vec::new(), end));
                assert_eq!(echo.received(), 6);
                let counts = app.counts("raw").await;
                assert_eq!((counts.accepted, counts.withheld), (1, 1));
            },
        )
        .await;
    }
    ruled(
        json!({"mode": "drop-after-commit", "how": "hang"}),
        async |app, _, mut conn| {
            conn.send(b"1").await;
            app.until("the verdict", |app| app.now("raw").withheld == 1).await;
            assert!(conn.is_silent(Duration::from_millis(100)).await);
        },
    )
    .await;
    ruled(
        json!({"mode": "drop-after-commit", "how": "truncate", "bytes": 2}),
        async |app, echo, mut conn| {
            conn.send(b"12345").await;
            assert_eq!(conn.rest().await, (b"12".to_vec(), End::Orderly));
            conn.send(b"678").await;
            within("the other direction", async {
                while echo.received() != 8 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            let counts = app.counts("raw").await;
            assert_eq!((counts.accepted, counts.withheld), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_wait_for_their_release_and_a_half_closing_client_is_still_there() {
    ruled(json!({"mode": "hold-before-commit"}), async |app, echo, mut conn| {
        conn.send(b"12345").await;
        conn.half_close().await;
        let held = app.until_held(1).await;
        assert_eq!(echo.accepted.load(Ordering::SeqCst), 0);
        app.release(&held[0], json!({})).await;
        assert_eq!(conn.rest().await.0, b"12345.");
    })
    .await;
    ruled(json!({"mode": "hold-after-commit"}), async |app, _, mut conn| {
        conn.send(b"12345").await;
        let held = app.until_held(1).await;
        assert_eq!(app.now("raw").accepted, 1);
        app.release(&held[0], json!({"then": "drop", "how": "reset"})).await;
        assert_eq!(conn.rest().await.1, End::Reset);
    })
    .await;
    ruled(json!({"mode": "hold-after-commit"}), async |app, _, mut conn| {
        conn.send(b"12345").await;
        app.until_held(1).await;
        conn.leave(Leave::Rst).await;
        app.settled().await;
        assert_eq!((app.now("raw").accepted, app.now("raw").lost), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_has_seen_nothing() {
    let spec = Spec::parse("raw=127.0.0.1:0,tcp://127.0.0.1:1").unwrap();
    with(
        |b| b.relay(spec),
        async |app: &App| {
            let mut conn = to_relay(app).await;
            assert!(conn.rest().await.0.is_empty());
            assert_eq!(app.counts("raw").await.failed, 1);
            assert!(app.entries()[0].notes[0].contains("no connection to the upstream"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_other_protocols_are_refused() {
    let echo = Echo::start().await;
    with(
        |b| echo.relayed(b),
        async |app: &App| {
            for (rule, words) in [
                (json!({"mode": "refuse"}), "needs words"),
                (
                    json!({"mode": "fail-before-commit", "status": 503}),
                    "a connection over TCP has none",
                ),
                (
                    json!({"mode": "fail-before-commit", "step": "dot"}),
                    "is no step of what this rule names",
                ),
                (
                    json!({"mode": "fail-before-commit", "how": "truncate"}),
                    "before the commit there is none",
                ),
                (
                    json!({"mode": "drop-after-commit", "step": "request"}),
                    "does not go with mode",
                ),
                (json!({"mode": "drop-after-commit", "after": 0}), "must be at least 1"),
                (
                    json!({"mode": "fail-before-commit", "step": "request", "bytes": 0}),
                    "before any byte is step connect",
                ),
                (json!({"mode": "pass", "key": "x"}), "speaks TCP"),
            ] {
                let mut rule = rule;
                rule["provider"] = json!("raw");
                let answer = app.call(Call::post("/_faults").json(&rule)).await;
                assert!(
                    answer.status == 400 && answer.text().contains(words),
                    "{rule}: {}",
                    answer.text()
                );
            }
        },
    )
    .await;
}
