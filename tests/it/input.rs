//! Bad input and too much of it: a clear error, no effect, and both sums hold.

use std::time::Duration;

use ackdrop::suite::{Builder, Limits};
use serde_json::json;

use crate::support::{Answer, App, Call, End, letter, with, within};

fn limited(change: impl FnOnce(&mut Limits)) -> impl FnOnce(Builder) -> Builder {
    let mut limits = Limits::default();
    change(&mut limits);
    move |builder| builder.limits(limits)
}

/// Sends bytes and reads all that comes back until the end.
async fn exchange(app: &App, bytes: &[u8]) -> (String, End) {
    let mut conn = app.connect().await;
    // The suite may have answered and closed before the last byte.
    drop(conn.send_lossy(bytes).await);
    let (answer, end) = conn.rest().await;
    (String::from_utf8_lossy(&answer).into_owned(), end)
}

/// Counts nothing and nothing exists.
async fn untouched(app: &App) {
    let stats = app.admin(Call::get("/_stats")).await;
    assert_eq!(
        (&stats["total"]["received"], &stats["effects"]),
        (&json!(0), &json!({}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_is_400_and_counts_nothing() {
    with(
        |b| b,
        async |app: &App| {
            for bytes in [
                &b"nonsense\r\n\r\n"[..],
                b"POST /orders HTTP/9.9\r\n\r\n",
                b"POST /orders HTTP/1.1\r\nbad header\r\n\r\n",
                b"POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
                b"POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            ] {
                let (answer, _) = exchange(app, bytes).await;
                assert!(
                    answer.starts_with("HTTP/1.1 400"),
                    "{:?}: {answer}",
                    String::from_utf8_lossy(bytes)
                );
            }
            untouched(app).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_and_too_long_headers_are_431() {
    with(
        limited(|limits| {
            limits.headers = 10;
            limits.head_size = 8 << 10;
        }),
        async |app: &App| {
            let many: String = (0..20).map(|n| format!("x-{n}: 1\r\n")).collect();
            let (answer, _) = exchange(app, format!("GET /orders HTTP/1.1\r\n{many}\r\n").as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
            let long = "x".repeat(1 << 20);
            for head in [
                format!("GET /orders HTTP/1.1\r\nx: {long}\r\n\r\n"),
                format!("GET /{long} HTTP/1.1\r\n\r\n"),
            ] {
                let (answer, _) = exchange(app, head.as_bytes()).await;
                let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
                assert!(matches!(status.as_str(), "431" | "414"), "{answer}");
            }
            untouched(app).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_past_its_limit_is_413_whether_announced_or_not() {
    with(limited(|limits| limits.http_body = 1000), async |app: &App| {
        let body = format!("{{\"reference\": \"{}\"}}", "x".repeat(1000));
        let announced = app.call(Call::post("/orders").body(body.clone())).await;
        assert_eq!(announced.status, 413);
        assert!(announced.text().contains("1000 bytes"), "{}", announced.text());
        let mut conn = app.connect().await;
        let head = "POST /orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
        conn.send(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes())
            .await;
        let chunked = conn.answer().await;
        assert_eq!(chunked.status, 413);
        let mut conn = app.connect().await;
        conn.send(
            format!(
                "POST /hooks/t HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
                u64::MAX / 2
            )
            .as_bytes(),
        )
        .await;
        assert_eq!(conn.answer().await.status, 413, "before any of it has come");
        assert_eq!(conn.rest().await.1, End::Orderly);
        assert_eq!(
            app.call(Call::post("/orders").body(vec![b' '; 1000])).await.status,
            400,
            "at the limit it is read"
        );
        let orders = app.counts("orders").await;
        assert_eq!(
            (orders.received, orders.refused, orders.answered, app.effects("order")),
            (3, 3, 3, 0)
        );
        assert_eq!((app.counts("webhook").await.refused, app.effects("delivery")), (1, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_api_has_a_limit_of_its_own() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            conn.send(b"POST /_faults HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999\r\n\r\n[")
                .await;
            let answer: Answer = conn.answer().await;
            assert_eq!(answer.status, 413, "{answer:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_arrive_share_a_budget_and_past_it_503() {
    with(
        |b| b.arriving(1000),
        async |app: &App| {
            let mut slow = app.connect().await;
            let call = Call::post("/hooks/slow").body(vec![b'a'; 900]);
            slow.send(&call.head()).await;
            slow.send(&[b'a'; 800]).await;
            // How much of it has been read shows only by what still fits.
            let crowded = async {
                loop {
                    app.admin(Call::post("/_reset?scope=probe")).await;
                    let probe = Call::post("/~probe/hooks/fast").body(vec![b'b'; 400]);
                    let answer = app.call(probe).await;
                    if answer.status == 503 {
                        break answer;
                    }
                }
            };
            let answer = within("the budget to be used up", crowded).await;
            assert!(answer.text().contains("at once"), "{}", answer.text());
            slow.send(&[b'a'; 100]).await;
            assert_eq!(slow.answer().await.status, 200);
            assert_eq!(
                app.call(Call::post("/hooks/fast").body(vec![b'b'; 400])).await.status,
                200,
                "its share was given back"
            );
            let probe = app.admin(Call::get("/_stats?scope=probe")).await;
            assert_eq!((&probe["total"]["refused"], &probe["effects"]), (&json!(1), &json!({})));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arriving_mails_share_the_same_budget_and_past_it_452() {
    with(
        |b| b.arriving(1000),
        async |app: &App| {
            let reply = app.post("a@b.test", &letter("m", &"x".repeat(2000))).await;
            assert!(reply.starts_with("452"), "{reply}");
            assert_eq!((app.counts("smtp").await.refused, app.effects("message")), (1, 0));
            assert!(app.post("a@b.test", &letter("m", "small")).await.starts_with("250"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_cap_a_connection_is_closed_and_a_free_place_is_taken_again() {
    with(limited(|limits| limits.connections = 2), async |app: &App| {
        let mut first = app.connect().await;
        first.send(&Call::get("/_health").bytes()).await;
        first.answer().await;
        let mut second = app.mailer().await;
        let mut third = app.connect().await;
        drop(third.send_lossy(&Call::order("a").bytes()).await);
        let (answer, _) = third.rest().await;
        assert_eq!(answer, b"");
        assert_eq!(app.now("orders").received, 0);
        assert!(second.say("QUIT").await.starts_with("221"));
        second.rest().await;
        let free = async {
            // Without `close` an answered connection would stay open, and so would we.
            let call = Call::order("a").header("connection", "close").bytes();
            while exchange(app, &call).await.0.is_empty() {}
        };
        within("a free place", free).await;
        drop(first);
        // The harness needs places to look at what came of it.
        assert_eq!(app.effects("order"), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_head_and_a_slow_body_end_with_the_idle_time() {
    const IDLE: Duration = Duration::from_millis(100);
    with(limited(|limits| limits.idle = IDLE), async |app: &App| {
        let mut head = app.connect().await;
        head.send(b"POST /orders HTTP/1.1\r\nhost:").await;
        head.rest().await;
        untouched(app).await;
        let mut silent = app.connect().await;
        assert_eq!(silent.rest().await.0, b"");
        let mut body = app.connect().await;
        body.send(b"POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{")
            .await;
        let answer = body.answer().await;
        assert_eq!(answer.status, 408);
        assert!(answer.text().contains("too slowly"), "{}", answer.text());
        let counts = app.counts("orders").await;
        assert_eq!((counts.incomplete, counts.answered, app.effects("order")), (1, 1, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_idle_time_never_ends_a_hang_a_hold_or_a_delay() {
    // Short enough to pass twice, and longer than a busy machine keeps a client between its connection and its request.
    const IDLE: Duration = Duration::from_millis(500);
    with(limited(|limits| limits.idle = IDLE), async |app: &App| {
        let mut hang = app.connect().await;
        hang.send(&Call::order("a").fault("drop-after-commit; how=hang").bytes())
            .await;
        let mut held = app.connect().await;
        held.send(&Call::order("b").fault("hold-after-commit").bytes()).await;
        let mut late = app.connect().await;
        late.send(&Call::order("c").fault("delay; delay=1500ms").bytes()).await;
        assert!(hang.is_silent(IDLE * 2).await);
        assert!(held.is_silent(IDLE / 4).await);
        app.admin(Call::post("/_holds/h1/release")).await;
        assert_eq!((held.answer().await.status, late.answer().await.status), (201, 201));
        drop(hang);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_body_gets_the_providers_own_error_and_no_half_effect() {
    with(
        |b| b,
        async |app: &App| {
            for body in [
                &b""[..],
                b"{",
                b"[]",
                b"null",
                b"{\"reference\": 7}",
                b"\xff\xfe",
                b"{\"reference\": \"\"}",
                b"{}",
            ] {
                let answer = app
                    .call(
                        Call::post("/orders")
                            .body(body)
                            .header("content-type", "application/json"),
                    )
                    .await;
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (400, Some("application/problem+json")),
                    "{body:?}"
                );
            }
            let deep = "[".repeat(100_000);
            assert_eq!(app.call(Call::post("/orders").body(deep)).await.status, 400);
            let key = Call::order("a").header("idempotency-key", "\"open");
            assert_eq!(app.call(key).await.status, 400);
            assert_eq!(app.effects("order"), 0);
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.refused), (10, 10));
        },
    )
    .await;
}
