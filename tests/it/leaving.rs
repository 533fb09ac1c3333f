//! A client that leaves: what the provider did and what became of the answer are two facts.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{App, Call, Conn, Leave, with};

#[tokio::test(flavor = "multi_thread")]
async fn mid_body_is_incomplete_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            for leave in Leave::BOTH {
                for mut conn in app.connect_both().await {
                    conn.send(&Call::order("never").head()).await;
                    conn.send(b"{\"refer").await;
                    app.until("the arrival", |app| app.now("orders").in_flight == 1).await;
                    conn.leave(leave).await;
                    app.settled().await;
                }
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.incomplete, counts.lost), (4, 4, 4));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn as_soon_as_the_request_is_whole_is_accepted() {
    with(
        |b| b,
        async |app: &App| {
            let small = [Call::post("/hooks/none"), Call::post("/hooks/small").body("x")];
            // A reset would take back what has not arrived yet.
            let large = Call::post("/hooks/large").body(vec![b'x'; 300_000]);
            let small = small.iter().flat_map(|call| Leave::BOTH.map(|leave| (call, leave)));
            for (call, leave) in small.chain([(&large, Leave::Fin)]) {
                for _ in 0..10 {
                    let mut conn = app.connect().await;
                    conn.send(&call.bytes()).await;
                    conn.leave(leave).await;
                }
            }
            app.until("all of them", |app| app.now("webhook").received == 50).await;
            app.settled().await;
            let counts = app.counts("webhook").await;
            assert_eq!((counts.received, counts.accepted), (50, 50));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_continue_is_incomplete_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            for mut conn in app.connect_both().await {
                conn.send(&Call::order("never").header("expect", "100-continue").head())
                    .await;
                assert_eq!(conn.answer_head().await.status, 100);
                conn.leave(Leave::Fin).await;
                app.until("the end", |app| app.now("orders").open == 0).await;
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.received, counts.incomplete, counts.lost), (2, 2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn during_the_delay_that_a_target_was_told_is_accepted_and_lost() {
    with(
        |b| b,
        async |app: &App| {
            app.admin(Call::new("PUT", "/_hooks/slow").json(&json!({"delay": "1s"})))
                .await;
            for mut conn in app.connect_both().await {
                conn.send(&Call::post("/hooks/slow").bytes()).await;
                app.until("the commit", |app| {
                    app.now("webhook").open == 1 && app.now("webhook").in_flight == 0
                })
                .await;
                conn.leave(Leave::Rst).await;
                app.settled().await;
            }
            let counts = app.counts("webhook").await;
            assert_eq!((counts.accepted, counts.lost), (2, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_head_is_whole_is_no_attempt() {
    with(
        |b| b,
        async |app: &App| {
            for leave in Leave::BOTH {
                for mut conn in app.connect_both().await {
                    conn.send(b"POST /orders HTTP/1.1\r\nhost: x\r\n").await;
                    conn.leave(leave).await;
                }
            }
            assert_eq!(app.call(Call::order("a")).await.status, 201);
            assert_eq!(app.counts("orders").await.received, 1);
        },
    )
    .await;
}

/// Is one way to leave while the attempt waits.
struct Case {
    fault: &'static str,
    leave: Leave,
    behind: bool,
    scope: String,
}

impl Case {
    fn all(kind: &str) -> Vec<Self> {
        let mut cases = Vec::new();
        for fault in [
            "hold-before-commit",
            "hold-after-commit",
            "delay; at=before; delay=2s",
            "delay; at=after; delay=2s",
        ] {
            for leave in Leave::BOTH {
                for behind in [false, true] {
                    let scope = format!("{kind}-{}", cases.len());
                    cases.push(Self {
                        fault,
                        leave,
                        behind,
                        scope,
                    });
                }
            }
        }
        cases
    }

    async fn run(&self, app: &App, mut conn: Conn) {
        let scoped = |call: Call| call.header("x-ackdrop-scope", &self.scope);
        let mut bytes = scoped(Call::order("o").key("k").fault(self.fault)).bytes();
        if self.behind {
            bytes.extend(scoped(Call::order("behind")).bytes());
            bytes.extend_from_slice(b"GE");
        }
        conn.send(&bytes).await;
        let waits = |app: &App| {
            let fired = |e: &ackdrop::ledger::Entry| *e.scope == *self.scope && !e.fired.is_empty();
            let held = self.fault.starts_with("delay") || !app.held(Some(&self.scope)).is_empty();
            held && app.entries().iter().any(fired)
        };
        app.until("the wait", waits).await;
        let counts = app.of(&self.scope);
        let after = self.fault.contains("after");
        assert_eq!(
            (counts.open, counts.in_flight),
            (1, u64::from(!after)),
            "{}",
            self.fault
        );
        conn.leave(self.leave).await;
        app.until("the end", |app| app.of(&self.scope).open == 0).await;
        let counts = app.of(&self.scope);
        let name = format!("{} {:?} behind={} {}", self.fault, self.leave, self.behind, self.scope);
        let incomplete = u64::from(self.fault == "hold-before-commit");
        assert_eq!((counts.received, counts.lost), (1, 1), "{name}");
        assert_eq!(
            (counts.incomplete, counts.accepted),
            (incomplete, 1 - incomplete),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_hold_or_a_delay_is_lost_and_only_a_hold_before_the_commit_ends_with_it() {
    with(
        |b| b,
        async |app: &App| {
            let [plain, tls] = ["plain", "tls"].map(Case::all);
            let https = app.suite.addresses().https().unwrap();
            let plain = plain.iter().map(async |case| case.run(app, app.connect().await).await);
            let tls = tls
                .iter()
                .map(async |case| case.run(app, app.connect_tls(https).await).await);
            tokio::join!(join_all(plain), join_all(tls));
            assert_eq!(app.effects("order"), 24);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn urgent_data_is_no_leaving_and_hides_none() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            conn.send(&Call::order("held").fault("hold-before-commit").bytes())
                .await;
            let id = app.until_held(1).await;
            conn.send_urgent();
            // Whatever the urgent byte does has been done when another's call has had its answer.
            assert_eq!(app.call(Call::order("other")).await.status, 201);
            assert_eq!(app.held(None), id);
            conn.leave(Leave::Fin).await;
            app.settled().await;
            let counts = app.counts("orders").await;
            assert_eq!((counts.incomplete, counts.lost), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_closing_client_counts_as_gone_and_gets_no_byte_more() {
    with(
        |b| b,
        async |app: &App| {
            for mut conn in app.connect_both().await {
                app.fault(json!({"mode": "hold-after-commit", "on": 1})).await;
                conn.send(&Call::order("held").bytes()).await;
                app.until_held(1).await;
                conn.half_close().await;
                app.settled().await;
                assert_eq!(conn.rest().await.0, b"");
                assert_eq!(app.counts("orders").await.lost, 1);
                app.admin(Call::post("/_reset")).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_all_was_read_is_answered() {
    with(
        |b| b,
        async |app: &App| {
            let mut n = 0;
            for leave in Leave::BOTH {
                for mut conn in app.connect_both().await {
                    n += 1;
                    conn.send(&Call::order(&format!("o{n}")).bytes()).await;
                    assert_eq!(conn.answer().await.status, 201);
                    conn.leave(leave).await;
                }
            }
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.answered, counts.open), (n, n, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_read_is_counted_when_the_counts_are_asked_for() {
    with(
        |b| b,
        async |app: &App| {
            let mut stats = app.connect().await;
            let mut clients = app.connect_both().await;
            for round in 1..=500_usize {
                let client = &mut clients[round % 2];
                client.send(&Call::order(&format!("o{round}")).bytes()).await;
                assert_eq!(client.answer().await.status, 201);
                stats.send(&Call::get("/_stats").bytes()).await;
                let orders = stats.answer().await.json()["providers"]["orders"].take();
                assert_eq!((&orders["answered"], &orders["open"]), (&json!(round), &json!(0)));
            }
        },
    )
    .await;
}
