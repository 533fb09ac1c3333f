//! A host that is a running relay's upstream: whoever asks the proxy for it goes through the relay.

use serde_json::json;
use wiremock::ResponseTemplate;

use super::{ask, opened};
use crate::relay::support::{received, spec, upstream};
use crate::support::{App, Call, Conn, End, with};

fn call() -> Call {
    Call::post("/v1/things").body("x=1")
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ways_lead_through_the_relay_with_its_counts_and_faults() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    let host = server.address().to_string();
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            let secure = async || {
                let tunnel = opened(app.connect().await, &ask(&host)).await;
                tunnel.secure(app.suite.ca_pem(), "127.0.0.1").await
            };
            let by_absolute = Call::post(&format!("http://{host}/v1/things")).body("x=1");
            let mut conns: [(Conn, Call); 3] = [
                (secure().await, call()),
                (opened(app.connect().await, &ask(&host)).await, call()),
                (app.connect().await, by_absolute),
            ];
            for (n, (conn, call)) in conns.iter_mut().enumerate() {
                // Two on one connection, then one whose answer is lost after the upstream has made it, and one that never got there.
                for _ in 0..2 {
                    conn.send(&call.bytes()).await;
                    let answer = conn.answer().await;
                    assert_eq!((answer.status, &*answer.text()), (201, "made"), "{n}");
                }
                let lost = call.clone().fault("forward-then-drop-response; how=reset");
                conn.send(&lost.bytes()).await;
                assert_eq!(conn.rest().await, (vec![], End::Reset), "{n}");
                let counts = app.counts("pay").await;
                let so_far = n as u64 + 1;
                assert_eq!((counts.accepted, counts.withheld), (3 * so_far, so_far), "{n}");
            }
            app.fault(json!({"provider": "pay", "operation": "post", "path": "/v1/*", "mode": "fail-before-forward"}))
                .await;
            let mut kept_back = secure().await;
            kept_back.send(&call().bytes()).await;
            assert_eq!(kept_back.rest().await, (vec![], End::Orderly));
            assert_eq!(app.counts("pay").await.failed, 1);
            assert_eq!((received(&server).await, app.effects("request")), (9, 9));
            let stats = app.suite.stats();
            assert_eq!((stats.unmatched, stats.refused_hosts.is_empty()), (0, true));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_is_named_inside_or_at_the_proxy_and_the_path_is_the_upstreams() {
    let server = upstream(ResponseTemplate::new(200)).await;
    let host = server.address().to_string();
    with(
        |b| b.relay(spec("pay", &server.uri(), ";scope=own")),
        async |app: &App| {
            let login = ("proxy-authorization", "Basic fmFsaWNlOg==");
            for named in [Some(login), None] {
                let mut tunnel = ask(&host);
                let mut absolute = Call::post(&format!("http://{host}/~a/_stats"));
                if let Some((name, value)) = named {
                    tunnel = tunnel.header(name, value);
                    absolute = absolute.header(name, value);
                }
                let mut conn = opened(app.connect().await, &tunnel).await;
                conn.send(&Call::post("/~a/_stats").bytes()).await;
                conn.send(&call().header("x-ackdrop-scope", "bob").bytes()).await;
                assert_eq!((conn.answer().await.status, conn.answer().await.status), (200, 200));
                assert_eq!(app.call(absolute).await.status, 200);
            }
            let accepted = ["alice", "own", "bob", "a"].map(|scope| app.of(scope).accepted);
            assert_eq!(accepted, [2, 2, 2, 0]);
            let requests = server.received_requests().await.unwrap();
            let of_path = requests.iter().filter(|request| request.url.path() == "/~a/_stats");
            assert_eq!(of_path.count(), 4, "no prefix was taken off");
            let told = |request: &wiremock::Request, name: &str| request.headers.contains_key(name);
            assert!(
                !requests
                    .iter()
                    .any(|r| told(r, "proxy-authorization") || told(r, "x-ackdrop-scope"))
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_is_seen_while_it_runs_and_another_port_is_another_host() {
    let server = upstream(ResponseTemplate::new(200)).await;
    let host = server.address().to_string();
    with(
        |b| b,
        async |app: &App| {
            let asked = async |target: &str| {
                let mut conn = app.connect().await;
                conn.send(&ask(target).bytes()).await;
                conn.answer_head().await.status
            };
            assert_eq!(asked(&host).await, 403);
            app.suite.relays().start(spec("pay", &server.uri(), "")).await.unwrap();
            assert_eq!(asked(&host).await, 200);
            assert_eq!((asked("127.0.0.1:1").await, asked("127.0.0.1:443").await), (403, 403));
            let mut open = opened(app.connect().await, &ask(&host)).await;
            open.send(&call().bytes()).await;
            assert_eq!(open.answer().await.status, 200);
            app.suite.relays().stop("pay").await.unwrap();
            assert_eq!(asked(&host).await, 403);
            assert_eq!(open.rest().await.0, b"", "a relay's connections end with it");
            assert_eq!(received(&server).await, 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_ports_that_urls_leave_out_are_one_hosts_and_the_very_port_comes_first() {
    with(
        |b| {
            b.relay(spec("tls", "https://api.relayed.test", ";timeout=1ms"))
                .relay(spec("plain", "http://both.relayed.test", ";timeout=1ms"))
                .relay(spec("a-tls", "https://both.relayed.test", ";timeout=1ms"))
                .relay(spec("stripe-sandbox", "https://api.stripe.com", ";timeout=1ms"))
        },
        async |app: &App| {
            for (target, relay) in [
                ("api.relayed.test:443", "tls"),
                ("API.relayed.test.:80", "tls"),
                ("both.relayed.test:80", "plain"),
                ("both.relayed.test:443", "a-tls"),
                ("api.stripe.com:443", "stripe-sandbox"),
            ] {
                let before = app.now(relay).received;
                let mut conn = opened(app.connect().await, &ask(target)).await;
                conn.send(&call().fault("fail-before-forward; status=503").bytes())
                    .await;
                let answer = conn.answer().await;
                assert_eq!((answer.status, app.now(relay).received), (503, before + 1), "{target}");
            }
            assert_eq!(app.now("stripe").received, 0);
            let mut other = app.connect().await;
            other.send(&ask("api.relayed.test:8443").bytes()).await;
            assert_eq!(other.answer_head().await.status, 403);
        },
    )
    .await;
}
