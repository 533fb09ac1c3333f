//! An RST is an RST and a FIN a FIN, as a raw socket sees them.

use std::io::ErrorKind;
use std::time::Duration;

use ackdrop::store::Scope;
use ackdrop::suite::Limits;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::{App, Call, Conn, End, Leave, with, within};

/// Sends a call with more bytes behind it that nobody will read. Says so if an RST came while they were being sent: it is told only once.
async fn send_with_unread(conn: &mut Conn, call: &Call) -> Option<End> {
    let mut bytes = call.bytes();
    bytes.extend_from_slice(&Call::order("behind").bytes());
    bytes.extend_from_slice(&[b'x'; 100_000]);
    let sent = conn.send_lossy(&bytes).await;
    sent.err().map(|e| match e.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => End::Reset,
        _ => panic!("an unexpected end: {e}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_ends_as_it_says_after_the_commit_with_unread_bytes_too() {
    with(
        |b| b,
        async |app: &App| {
            let mut n = 0;
            for (how, plain, tls) in [("close", End::Orderly, End::Orderly), ("reset", End::Reset, End::Reset)] {
                for unread in [false, true] {
                    for (mut conn, end) in app.connect_both().await.into_iter().zip([plain, tls]) {
                        n += 1;
                        let call = Call::order(&format!("o{n}")).fault(&format!("drop-after-commit; how={how}"));
                        let early = if unread {
                            send_with_unread(&mut conn, &call).await
                        } else {
                            conn.send(&call.bytes()).await;
                            None
                        };
                        let seen = match early {
                            Some(end) => (vec![], end),
                            None => conn.rest().await,
                        };
                        assert_eq!(seen, (vec![], end), "{how} unread={unread}");
                    }
                }
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.accepted, counts.withheld), (n, n, n));
            assert_eq!(app.effects("order"), n);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_ends_as_it_says_before_the_commit() {
    with(
        |b| b,
        async |app: &App| {
            for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
                for mut conn in app.connect_both().await {
                    let call = Call::order("never").fault(&format!("fail-before-commit; how={how}"));
                    conn.send(&call.bytes()).await;
                    assert_eq!(conn.rest().await, (vec![], end), "{how}");
                }
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.failed, counts.accepted, counts.withheld), (4, 0, 4));
            assert_eq!(app.call(Call::order("never")).await.status, 201);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_hits_its_own_request_and_no_neighbour() {
    with(
        |b| b,
        async |app: &App| {
            for (scope, mut conn) in ["plain", "tls"].into_iter().zip(app.connect_both().await) {
                let order = |name: &str| Call::order(name).header("x-ackdrop-scope", scope);
                app.fault(json!({"mode": "drop-after-commit", "how": "reset", "on": 2, "scope": scope}))
                    .await;
                conn.send(&order("one").bytes()).await;
                assert_eq!(conn.answer().await.status, 201);
                conn.send(&order("two").bytes()).await;
                assert_eq!(conn.rest().await, (vec![], End::Reset));
                assert_eq!(app.call(order("three")).await.status, 201);
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.answered, counts.withheld), (6, 4, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pipelined_behind_a_fault_is_never_begun() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            let mut bytes = Call::order("first").bytes();
            bytes.extend(Call::order("second").fault("drop-after-commit").bytes());
            bytes.extend(Call::order("third").bytes());
            conn.send(&bytes).await;
            assert_eq!(conn.answer().await.status, 201);
            assert_eq!(conn.rest().await, (vec![], End::Orderly));
            assert_eq!(app.counts("orders").await.received, 2);
            assert_eq!(app.effects("order"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateways_error_after_the_commit_is_withheld_and_said_before_it_is_answered() {
    with(
        |b| b,
        async |app: &App| {
            let answer = app.call(Call::order("a").fault("error-after-commit")).await;
            assert_eq!((answer.status, answer.header("content-type")), (502, Some("text/html")));
            assert_eq!((app.effects("order"), app.counts("orders").await.withheld), (1, 1));
            let answer = app.call(Call::order("b").fault("fail-before-commit; status=503")).await;
            assert_eq!(answer.status, 503);
            let counts = app.counts("orders").await;
            assert_eq!((app.effects("order"), counts.failed, counts.answered), (1, 1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_is_silent_and_counted_the_moment_it_begins_and_no_idle_time_ends_it() {
    let idle = Duration::from_millis(500);
    let limits = Limits {
        idle,
        ..Limits::default()
    };
    with(
        |b| b.limits(limits),
        async |app: &App| {
            let mut hung = Vec::new();
            for mode in ["fail-before-commit", "drop-after-commit"] {
                for (mut conn, kind) in app.connect_both().await.into_iter().zip(["plain", "tls"]) {
                    let scope = format!("{mode}-{kind}");
                    let call = Call::order("a").header("x-ackdrop-scope", &scope);
                    let behind = Call::order("behind").header("x-ackdrop-scope", &scope);
                    let mut bytes = call.fault(&format!("{mode}; how=hang")).bytes();
                    bytes.extend(behind.bytes());
                    conn.send(&bytes).await;
                    app.until("the hang", |app| app.of(&scope).withheld == 1).await;
                    let counts = app.of(&scope);
                    assert_eq!((counts.received, counts.open, counts.in_flight), (1, 0, 0), "{scope}");
                    assert_eq!(counts.accepted, u64::from(mode == "drop-after-commit"), "{scope}");
                    hung.push((scope, conn));
                }
            }
            let silent = hung.iter_mut().map(|(_, conn)| conn.is_silent(3 * idle));
            assert_eq!(join_all(silent).await, [true; 4]);
            for (scope, conn) in hung {
                conn.leave(Leave::Rst).await;
                let counts = app.of(&scope);
                assert_eq!(
                    (counts.received, counts.withheld),
                    (1, 1),
                    "{scope}: nothing behind was begun"
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_ends_at_its_cap_and_by_a_reset_of_its_scope() {
    let ends = [End::Orderly, End::Truncated];
    let hang = |reference: &str| Call::order(reference).fault("drop-after-commit; how=hang");
    with(
        |b| b.hang_cap(Duration::from_millis(200)),
        async |app: &App| {
            for (mut conn, end) in app.connect_both().await.into_iter().zip(ends) {
                conn.send(&hang(&format!("{end:?}")).bytes()).await;
                assert_eq!(conn.rest().await, (vec![], end));
            }
        },
    )
    .await;
    with(
        |b| b,
        async |app: &App| {
            for (mut conn, end) in app.connect_both().await.into_iter().zip(ends) {
                conn.send(&hang("a").bytes()).await;
                app.until("the hang", |app| app.now("orders").withheld == 1).await;
                app.suite.reset(Some(&Scope::default()));
                assert_eq!(conn.rest().await, (vec![], end));
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_ends_when_its_client_leaves_whatever_waits_unread() {
    // One connection alone: the next is served only when the hang's is over.
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    with(
        |b| b.limits(limits),
        async |app: &App| {
            for (n, leave) in Leave::BOTH.into_iter().enumerate() {
                let mut conn = free_connection(app).await;
                let hang = Call::order(&format!("h{n}")).fault("drop-after-commit; how=hang");
                assert_eq!(send_with_unread(&mut conn, &hang).await, None);
                app.until("the hang", |app| app.now("orders").withheld == n as u64 + 1)
                    .await;
                conn.leave(leave).await;
                free_connection(app).await.leave(Leave::Rst).await;
            }
        },
    )
    .await;
}

/// Connects again and again until a connection is served.
async fn free_connection(app: &App) -> Conn {
    let free = async {
        loop {
            let mut conn = app.connect().await;
            if conn.send_lossy(&Call::get("/_health").bytes()).await.is_ok() && conn.try_answer().await.is_some() {
                return conn;
            }
        }
    };
    within("a free connection", free).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continue_is_no_part_of_the_answer() {
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    with(
        |b| b,
        async |app: &App| {
            let cases = [
                ("drop-after-commit; how=truncate; bytes=0", &b""[..], 1),
                ("drop-after-commit; how=truncate; bytes=12", b"HTTP/1.1 201", 1),
                ("fail-before-commit; how=close", b"", 0),
            ];
            for (n, (fault, left, accepted)) in cases.into_iter().enumerate() {
                for (mut conn, kind) in app.connect_both().await.into_iter().zip(["plain", "tls"]) {
                    let scope = format!("{kind}-{n}");
                    let call = Call::order("a").fault(fault).header("expect", "100-continue");
                    let call = call.header("x-ackdrop-scope", &scope);
                    conn.send(&call.head()).await;
                    assert_eq!(conn.read_exact(CONTINUE.len()).await, CONTINUE);
                    conn.send(&call.bytes()[call.head().len()..]).await;
                    assert_eq!(conn.rest().await.0, left, "{fault}");
                    let counts = app.of(&scope);
                    assert_eq!((counts.accepted, counts.withheld), (accepted, 1), "{fault}");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_by_a_whole_answer_and_a_fin() {
    with(
        |b| b,
        async |app: &App| {
            for mut conn in app.connect_both().await {
                let mut bytes = Call::post("/orders").body(vec![b'x'; 11 << 20]).bytes();
                bytes.truncate(1 << 20);
                // What is still under way must not turn the FIN into an RST that takes the answer back.
                conn.send(&bytes).await;
                let (answer, end) = conn.rest().await;
                assert!(
                    answer.starts_with(b"HTTP/1.1 413 "),
                    "{}",
                    String::from_utf8_lossy(&answer)
                );
                assert!(answer.ends_with(b"}\n"), "{}", String::from_utf8_lossy(&answer));
                assert_eq!(end, End::Orderly);
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.refused, counts.answered), (2, 2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_is_read_and_one_whose_framing_is_broken_is_told_so() {
    let head = "POST /orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    with(
        |b| b,
        async |app: &App| {
            for (n, mut conn) in app.connect_both().await.into_iter().enumerate() {
                let good = format!("{head}f\r\n{{\"reference\":\"r\r\n3\r\n{n}\"}}\r\n0\r\nx-trailer: 1\r\n\r\n");
                conn.send(good.as_bytes()).await;
                assert_eq!(conn.answer().await.status, 201);
                conn.send(format!("{head}zz\r\n").as_bytes()).await;
                assert_eq!(conn.answer().await.status, 400);
                assert_eq!(conn.rest().await, (vec![], End::Orderly));
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.incomplete, counts.answered), (2, 2, 4));
        },
    )
    .await;
}
