//! Every mode, at its exact point, before an upstream that counts for itself.

use std::time::Duration;

use ackdrop::ledger::Entry;
use futures_util::future::join_all;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::support::{Raw, received, spec, upstream};
use crate::support::{App, Call, End, with};

fn call(fault: &str) -> Call {
    Call::post("/v1/things").fault(fault).body("x=1")
}

#[tokio::test(flavor = "multi_thread")]
async fn after_modes_lose_the_answer_of_what_the_upstream_has_done() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            let cases = [
                ("forward-then-drop-response", &b""[..], End::Orderly),
                ("forward-then-drop-response; how=reset", b"", End::Reset),
                (
                    "forward-then-drop-response; how=truncate; bytes=12",
                    b"HTTP/1.1 201",
                    End::Orderly,
                ),
            ];
            for (fault, left, end) in cases {
                let mut conn = app.to("pay").await;
                conn.send(&call(fault).bytes()).await;
                assert_eq!(conn.rest().await, (left.to_vec(), end), "{fault}");
            }
            let mut hung = app.to("pay").await;
            hung.send(&call("forward-then-drop-response; how=hang").bytes()).await;
            app.until("the hang", |app| app.now("pay").withheld == 4).await;
            assert!(hung.is_silent(Duration::from_millis(200)).await);
            let answer = app.through("pay", call("error-after-commit; status=503")).await;
            assert_eq!(answer.status, 503);
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.withheld, counts.open), (5, 5, 0));
            assert_eq!((app.effects("request"), received(&server).await), (5, 5));
            // What was cut off is taken in behind the client's back.
            app.until("the evidence", |app| {
                let recorded = |entry: Entry| {
                    entry
                        .answer
                        .is_some_and(|answer| answer.content.bytes() == Some("made".into()))
                };
                app.entries().into_iter().all(recorded)
            })
            .await;
            assert!(
                app.entries()
                    .into_iter()
                    .all(|entry| entry.answer.unwrap().status == 201)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_modes_never_connect() {
    let raw = Raw::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    with(
        |b| b.relay(spec("pay", &raw.url(), "")),
        async |app: &App| {
            for (fault, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                let mut conn = app.to("pay").await;
                conn.send(&call(&format!("fail-before-forward; how={fault}")).bytes())
                    .await;
                assert_eq!(conn.rest().await, (vec![], end), "{fault}");
            }
            let mut hung = app.to("pay").await;
            hung.send(&call("fail-before-forward; how=hang").bytes()).await;
            app.until("the hang", |app| app.now("pay").withheld == 3).await;
            let answer = app.through("pay", call("fail-before-forward; status=503")).await;
            assert!(
                answer.status == 503 && answer.text().contains("relay `pay`"),
                "{}",
                answer.text()
            );
            let answer = app.through("pay", call("refuse; status=409")).await;
            assert_eq!(answer.status, 409);
            let mut held = app.to("pay").await;
            held.send(&call("hold-before-commit").bytes()).await;
            let id = app.until_held(1).await.remove(0);
            assert_eq!(raw.accepted(), 0, "nothing has connected");
            app.release(&id, json!({"then": "drop"})).await;
            assert_eq!(held.rest().await.0, b"");
            let mut gone = app.to("pay").await;
            gone.send(&call("hold-before-commit").bytes()).await;
            app.until_held(1).await;
            gone.half_close().await;
            app.settled().await;
            let counts = app.counts("pay").await;
            assert_eq!(
                (counts.failed, counts.refused, counts.incomplete, counts.accepted),
                (5, 1, 1, 0)
            );
            assert_eq!((counts.withheld, counts.answered, counts.lost), (4, 2, 1));
            assert_eq!((raw.accepted(), app.effects("request")), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_and_delays_wait_at_their_point() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            for (n, mode) in ["hold-before-commit", "hold-after-commit"].into_iter().enumerate() {
                let mut conn = app.to("pay").await;
                conn.send(&call(mode).bytes()).await;
                let id = app.until_held(1).await.remove(0);
                assert_eq!(received(&server).await, n + n, "{mode}");
                assert_eq!(app.now("pay").accepted as usize, n + n, "{mode}");
                app.release(&id, json!({})).await;
                assert_eq!(conn.answer().await.text(), "made", "{mode}");
            }
            for at in ["before", "after"] {
                let answer = app.through("pay", call(&format!("delay; at={at}; delay=50ms"))).await;
                assert_eq!(answer.text(), "made");
            }
            let mut dropped = app.to("pay").await;
            dropped.send(&call("hold-after-commit").bytes()).await;
            let id = app.until_held(1).await.remove(0);
            app.release(&id, json!({"then": "drop", "how": "reset"})).await;
            assert_eq!(dropped.rest().await, (vec![], End::Reset));
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.answered, counts.withheld), (5, 4, 1));
            assert_eq!(received(&server).await, 5);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_may_look_at_key_header_body_and_outcome() {
    let server = upstream(ResponseTemplate::new(402).set_body_string("no")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            for rule in [
                json!({"provider": "pay", "json": {"/order/id": "17"}, "mode": "refuse", "status": 418}),
                json!({"provider": "pay", "key": "k-*", "mode": "refuse", "status": 419}),
                json!({"provider": "pay", "header": {"x-tenant": "a*"}, "path": "/v1/*", "mode": "refuse", "status": 420}),
                json!({"provider": "pay", "outcome": "refused", "mode": "error-after-commit", "status": 503, "on": 1}),
            ] {
                app.fault(rule).await;
            }
            let order = |id: &str| Call::post("/v1/orders").json(&json!({"order": {"id": id}}));
            for (call, status) in [
                (order("17"), 418),
                (order("18").key("k-1"), 419),
                (order("18").header("x-tenant", "ab"), 420),
                (order("18"), 503),
                (order("18"), 402),
            ] {
                assert_eq!(app.through("pay", call).await.status, status);
            }
            let large = Call::post("/v1/orders").body(vec![b' '; 3 << 20]);
            assert_eq!(app.through("pay", large).await.status, 402);
            let requests = server.received_requests().await.unwrap();
            let sizes: Vec<usize> = requests.iter().map(|request| request.body.len()).collect();
            assert_eq!(sizes, [21, 21, 3 << 20], "what was looked into is forwarded whole");
            assert!(app.entries().last().unwrap().notes[0].contains("larger than 1 MiB"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_dropped_answers_are_a_thousand_accepted_and_withheld() {
    let server = upstream(ResponseTemplate::new(201).set_body_string("made")).await;
    with(
        |b| b.relay(spec("pay", &server.uri(), "")),
        async |app: &App| {
            app.fault(json!({"provider": "pay", "mode": "forward-then-drop-response"}))
                .await;
            let clients = (0..20).map(|client| async move {
                for n in 0..50 {
                    let mut conn = app.to("pay").await;
                    conn.send(&Call::post("/").key(&format!("{client}-{n}")).bytes()).await;
                    assert_eq!(conn.rest().await.0, b"");
                }
            });
            // Each has its own time: how long a thousand take says only how busy the machine is.
            join_all(clients).await;
            let counts = app.counts("pay").await;
            assert_eq!((counts.accepted, counts.withheld, counts.duplicates), (1_000, 1_000, 0));
            assert_eq!((app.effects("request"), received(&server).await), (1_000, 1_000));
        },
    )
    .await;
}
