//! A reset begins anew: nothing from before counts or stays.

use std::sync::atomic::{AtomicBool, Ordering};

use ackdrop::faults::Source;
use ackdrop::store::Scope;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::{App, Call, Conn, with};

/// Scopes a call.
fn scoped(call: Call, scope: &str) -> Call {
    call.header("x-ackdrop-scope", scope)
}

/// Begins attempts of one scope that are at every point of their way; the last is in the middle of its body.
async fn begin_all(app: &App, scope: &str) -> Vec<Conn> {
    let mut conns = Vec::new();
    for fault in [
        "hold-before-commit",
        "hold-after-commit",
        "delay; at=before; delay=10m",
        "delay; at=after; delay=10m",
        "fail-before-commit; how=hang",
        "drop-after-commit; how=hang",
    ] {
        let mut conn = app.connect().await;
        let call = scoped(Call::order(fault), scope)
            .key(&format!("\"{fault}\""))
            .fault(fault);
        conn.send(&call.bytes()).await;
        conns.push(conn);
    }
    let mut conn = app.connect().await;
    let call = scoped(Call::order("mid-body"), scope);
    conn.send(&call.bytes()[..call.bytes().len() - 3]).await;
    conns.push(conn);
    let reached = |app: &App| {
        let counts = app.of(scope);
        let entries = app.entries();
        let fired = entries.iter().filter(|e| &*e.scope == scope && !e.fired.is_empty());
        (fired.count(), app.held(Some(scope)).len()) == (6, 2)
            && (counts.received, counts.accepted, counts.failed, counts.in_flight) == (7, 3, 1, 3)
            && (counts.withheld, counts.open) == (2, 5)
    };
    app.until("all points", reached).await;
    conns
}

/// Checks that all of them end without an answer, the last one after the rest of its body.
async fn end_all(mut conns: Vec<Conn>) {
    conns.last_mut().unwrap().send(b"7\"}").await;
    for conn in &mut conns {
        assert_eq!(conn.rest().await.0, b"");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_from_before_counts_or_stays_in_its_scope_and_no_other_is_touched() {
    with(
        |b| b,
        async |app: &App| {
            let alice = begin_all(app, "alice").await;
            let bob = begin_all(app, "bob").await;
            let of_bob = app.of("bob");
            let reset = app.admin(Call::post("/_reset?scope=alice")).await;
            assert_eq!(reset["generation"], 2);
            end_all(alice).await;
            let counts = app.of("alice");
            assert_eq!((counts.received, counts.open, counts.accepted), (0, 0, 0));
            assert!(app.entries().iter().all(|entry| &*entry.scope == "bob"));
            let orders = app.admin(scoped(Call::get("/orders"), "alice")).await;
            assert_eq!(orders["data"], json!([]), "{orders}");
            assert_eq!((app.of("bob"), app.held(None).len()), (of_bob, 2));
            // Every key is free again.
            for key in [
                "hold-before-commit",
                "delay; at=before; delay=10m",
                "drop-after-commit; how=hang",
            ] {
                let call = scoped(Call::order("new"), "alice").key(&format!("\"{key}\""));
                assert_eq!(app.call(call).await.header("idempotent-replayed"), None, "{key}");
            }

            let reset = app.admin(Call::post("/_reset")).await;
            assert_eq!(reset["generation"], 2);
            end_all(bob).await;
            assert_eq!(app.suite.stats().total.received, 0);
            assert!(app.entries().is_empty() && app.held(None).is_empty());
            let generation = |scope: &str| app.suite.stats_of(&Scope::parse(scope).unwrap()).generation;
            assert_eq!((generation("alice"), generation("bob")), (3, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_the_api_go_given_ones_are_armed_again_and_the_clock_and_hooks_are_as_at_first() {
    let given = r#"{"mode": "error-after-commit", "status": 599, "provider": "orders", "on": 1}"#;
    let alices = r#"{"mode": "error-after-commit", "status": 598, "provider": "orders", "scope": "alice", "on": 1}"#;
    with(
        |b| {
            b.fault(Source::Flag, "--fault", given)
                .fault(Source::File, "file", alices)
        },
        async |app: &App| {
            for scope in [None, Some("alice")] {
                let name = scope.unwrap_or("bob");
                let query = scope.map(|scope| format!("?scope={scope}")).unwrap_or_default();
                let status = async |reference: &str| app.call(scoped(Call::order(reference), name)).await.status;
                let hook = async || app.call(scoped(Call::post("/hooks/t"), name)).await.status;
                app.fault(json!({"mode": "refuse", "status": 597, "scope": name, "path": "/hooks/*"}))
                    .await;
                let hooks = format!("/_hooks/t?scope={name}");
                app.admin(Call::new("PUT", &hooks).json(&json!({"status": 204}))).await;
                app.admin(Call::post(&format!("/_clock?scope={name}")).json(&json!({"advance": "48h"})))
                    .await;
                app.admin(Call::post(&format!("/_clock{query}")).json(&json!({"advance": "48h"})))
                    .await;
                assert_eq!(hook().await, 597);
                let first = status("a").await;
                assert_eq!(first, if scope.is_some() { 598 } else { 599 });
                assert_eq!(status("b").await, 201, "spent");

                app.admin(Call::post(&format!("/_reset{query}"))).await;
                let clock = app.admin(Call::get(&format!("/_clock?scope={name}"))).await;
                let real = time::OffsetDateTime::now_utc().unix_timestamp();
                assert!((clock["unix"].as_i64().unwrap() - real).abs() < 60, "{clock}");
                assert_eq!(hook().await, 200, "neither the rule nor the answer is left");
                assert_eq!(status("a").await, first, "armed again at zero");
                assert_eq!(
                    status("b").await,
                    201,
                    "an unscoped rule is not touched by a scoped reset"
                );
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_began_before_does_not_use_up_a_rule_that_was_armed_again() {
    for mode in ["fail-before-commit", "drop-after-commit"] {
        let given = format!("{mode}; provider=orders; on=1");
        with(
            |b| b.fault(Source::Flag, "--fault", given),
            async |app: &App| {
                let mut early = app.connect().await;
                let bytes = Call::order("early").bytes();
                let (most, last) = bytes.split_at(bytes.len() - 1);
                early.send(most).await;
                app.until("the arrival", |app| app.now("orders").received == 1).await;
                app.admin(Call::post("/_reset")).await;
                early.send(last).await;
                assert_eq!(early.rest().await.0, b"");
                let mut hit = app.connect().await;
                hit.send(&Call::order("early").bytes()).await;
                assert_eq!(
                    hit.rest().await.0,
                    b"",
                    "{mode} waited for the first of the new generation"
                );
                let counts = app.counts("orders").await;
                assert_eq!((counts.received, counts.withheld), (1, 1), "{mode}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_was_armed_again_hits_the_first_of_each_generation_whatever_races() {
    let given = "drop-after-commit; provider=orders; on=1";
    with(
        |b| b.fault(Source::Flag, "--fault", given),
        async |app: &App| {
            let stop = AtomicBool::new(false);
            let calls = async |client: usize| {
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut conn = app.connect().await;
                    let call = Call::order(&format!("o{client}-{n}")).header("connection", "close");
                    conn.send(&call.bytes()).await;
                    conn.rest().await;
                }
            };
            let resets = async {
                for n in 0..200 {
                    app.suite.reset(None);
                    let hit = |app: &App| app.entries().into_iter().find(|entry| !entry.fired.is_empty());
                    app.until("the hit", |app| hit(app).is_some()).await;
                    let entries = app.entries();
                    let hits: Vec<_> = entries.iter().filter(|entry| !entry.fired.is_empty()).collect();
                    let first = entries.iter().filter_map(|entry| entry.committed).min();
                    assert_eq!(
                        (hits.len(), hits[0].committed),
                        (1, first),
                        "round {n}: the first, and it alone"
                    );
                }
                stop.store(true, Ordering::Relaxed);
            };
            tokio::join!(join_all((0..8).map(calls)), resets);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_two_hundred_calls_leaves_counts_of_the_last_generation_alone() {
    with(
        |b| b,
        async |app: &App| {
            let call = async |n: usize| {
                let mut conn = app.connect().await;
                let call = Call::order(&format!("o{n}")).key(&format!("k{n}"));
                let call = match n % 4 {
                    0 => call.fault("delay; at=before; delay=5ms"),
                    1 => call.fault("drop-after-commit; how=reset"),
                    _ => call,
                };
                conn.send(&call.header("connection", "close").bytes()).await;
                conn.rest().await;
            };
            let resets = async {
                for n in 0..20 {
                    app.admin(Call::post(if n % 2 == 0 { "/_reset" } else { "/_reset?scope=default" }))
                        .await;
                    app.check();
                }
            };
            tokio::join!(join_all((0..200).map(call)), resets);
            app.settled().await;
            let stats = app.suite.stats_of(&Scope::default());
            assert!(stats.generation > 10, "{}", stats.generation);
            let entries = app.entries();
            assert!(entries.iter().all(|entry| entry.generation == stats.generation));
            assert_eq!(entries.len() as u64, stats.total.received);
            let orders = app.call(Call::get("/orders?limit=100")).await.json();
            let (made, more) = (orders["data"].as_array().unwrap().len() as u64, &orders["has_more"]);
            assert!(
                *more == json!(true) || made == stats.total.accepted,
                "{made} of {}",
                stats.total.accepted
            );
            assert_eq!(app.effects("order"), stats.total.accepted);
        },
    )
    .await;
}
