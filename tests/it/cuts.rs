//! A truncated answer: exactly so many bytes, then a FIN.

use serde_json::json;

use crate::support::{App, Call, End, with};

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
                for (secure, mut conn) in app.connect_both().await.into_iter().enumerate() {
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

/// Returns the bytes of a whole answer on a connection that ends with it.
async fn whole(app: &App, call: &Call) -> Vec<u8> {
    let mut conn = app.connect().await;
    conn.send(&call.clone().header("connection", "close").bytes()).await;
    let (bytes, end) = conn.rest().await;
    assert_eq!(end, End::Orderly);
    bytes
}

/// Cuts the answers to a call at each of these places, plain and inside TLS, and checks bytes, end and fate.
async fn cut_at(app: &App, call: &Call, (provider, outcome): (&str, &str), cuts: &[usize], all: usize) {
    let before = app.counts(provider).await;
    let (mut answered, mut withheld) = (0, 0);
    for cut in cuts {
        app.fault(
            json!({"mode": "drop-after-commit", "how": "truncate", "bytes": cut, "outcome": outcome, "on": [1, 2]}),
        )
        .await;
        for (mut conn, orderly) in app.connect_both().await.into_iter().zip([End::Orderly, End::Truncated]) {
            conn.send(&call.clone().header("connection", "close").bytes()).await;
            let (bytes, end) = conn.rest().await;
            assert_eq!((bytes.len(), end), ((*cut).min(all), orderly), "cut at {cut} of {all}");
            let fate = if *cut >= all { &mut answered } else { &mut withheld };
            *fate += 1;
        }
        app.admin(Call::new("DELETE", "/_faults")).await;
    }
    let after = app.counts(provider).await;
    let grown = (after.answered - before.answered, after.withheld - before.withheld);
    assert_eq!(grown, (answered, withheld), "{cuts:?} of {all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_a_body_and_large_ones_are_cut_as_exactly() {
    with(
        |b| b,
        async |app: &App| {
            app.admin(Call::new("PUT", "/_hooks/quiet").json(&json!({"status": 204})))
                .await;
            let large = json!({"reference": "large", "text": "x".repeat(5 << 20)});
            assert_eq!(app.call(Call::post("/orders").json(&large)).await.status, 201);
            for (call, of) in [
                (Call::post("/hooks/quiet"), ("webhook", "accepted")),
                (Call::new("HEAD", "/orders/large"), ("orders", "read")),
                (Call::new("OPTIONS", "/hooks/quiet"), ("webhook", "read")),
            ] {
                let bytes = whole(app, &call).await;
                let all = bytes.len();
                assert!(all < 1000 && bytes.ends_with(b"\r\n\r\n"), "a head alone");
                cut_at(app, &call, of, &[0, 1, all - 1, all, all + 1], all).await;
            }
            let call = Call::get("/orders/large");
            let all = whole(app, &call).await.len();
            assert!(all > 5 << 20);
            cut_at(app, &call, ("orders", "read"), &[100, 3 << 20, all - 1, all], all).await;
        },
    )
    .await;
}
