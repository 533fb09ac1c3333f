//! An RST is an RST and a FIN a FIN, as a raw socket sees them.

use serde_json::json;

use crate::support::{App, Call, Conn, End, with};

async fn http_and_https(app: &App) -> [Conn; 2] {
    [
        app.connect().await,
        app.connect_tls(app.suite.addresses().https().unwrap()).await,
    ]
}

/// Sends a call with more bytes behind it that nobody will read.
async fn send_with_unread(conn: &mut Conn, call: &Call) {
    let mut bytes = call.bytes();
    bytes.extend_from_slice(&Call::order("behind").bytes());
    bytes.extend_from_slice(&[b'x'; 100_000]);
    conn.send(&bytes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_how_ends_as_it_says_after_the_commit_with_unread_bytes_too() {
    with(
        |b| b,
        async |app: &App| {
            let mut n = 0;
            for (how, plain, tls) in [("close", End::Orderly, End::Orderly), ("reset", End::Reset, End::Reset)] {
                for unread in [false, true] {
                    for (mut conn, end) in http_and_https(app).await.into_iter().zip([plain, tls]) {
                        n += 1;
                        let call = Call::order(&format!("o{n}")).fault(&format!("drop-after-commit; how={how}"));
                        if unread {
                            send_with_unread(&mut conn, &call).await;
                        } else {
                            conn.send(&call.bytes()).await;
                        }
                        assert_eq!(conn.rest().await, (vec![], end), "{how} unread={unread}");
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
                for mut conn in http_and_https(app).await {
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
async fn a_cut_lets_exactly_so_many_bytes_through() {
    with(
        |b| b,
        async |app: &App| {
            let whole = {
                let mut conn = app.connect().await;
                conn.send(&Call::post("/hooks/t").header("connection", "close").bytes())
                    .await;
                conn.rest().await.0
            };
            let head = whole.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
            let all = whole.len();
            let mut answered = 1;
            for cut in [0, 1, 20, head - 1, head, head + 5, all - 1, all, all + 1, all + 5000] {
                for (secure, mut conn) in http_and_https(app).await.into_iter().enumerate() {
                    let call = Call::post("/hooks/t")
                        .header("connection", "close")
                        .fault(&format!("drop-after-commit; how=truncate; bytes={cut}"));
                    conn.send(&call.bytes()).await;
                    let (bytes, end) = conn.rest().await;
                    assert_eq!(bytes.len(), cut.min(all), "cut at {cut} of {all}");
                    assert_eq!(
                        end,
                        if secure == 1 { End::Truncated } else { End::Orderly },
                        "cut at {cut}"
                    );
                    answered += u64::from(cut >= all);
                }
            }
            let counts = app.counts("webhook").await;
            assert_eq!(
                (counts.accepted, counts.answered, counts.withheld),
                (21, answered, 21 - answered)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_hits_its_own_request_and_no_neighbour() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "how": "reset", "on": 2}))
                .await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("one").bytes()).await;
            assert_eq!(conn.answer().await.status, 201);
            conn.send(&Call::order("two").bytes()).await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
            assert_eq!(app.call(Call::order("three")).await.status, 201);
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.answered, counts.withheld), (3, 2, 1));
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
