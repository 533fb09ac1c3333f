//! One key twice, in every mode: before an upstream that enforces keys there is one effect, before one that does not there are two.

use ackdrop::Suite;
use ackdrop::store::Scope;
use serde_json::json;

use super::support::{Raw, spec};
use crate::support::{App, Call, with};

/// The modes; and how many of the first calls never reach the upstream.
const MODES: [(&str, u64); 9] = [
    ("pass", 0),
    ("fail-before-forward", 1),
    ("forward-then-drop-response", 0),
    ("error-after-commit", 0),
    ("hold-before-commit", 0),
    ("hold-after-commit", 0),
    ("delay; at=before; delay=20ms", 0),
    ("delay; at=after; delay=20ms", 0),
    ("refuse", 1),
];

/// Calls until two have reached the upstream, the first of all with a fault.
async fn twice(app: &App, scope: &str, call: &Call, mode: &str, kept_back: u64) {
    for n in 0..2 + kept_back {
        let call = call.clone().header("x-ackdrop-scope", scope);
        let mut conn = app.to("pay").await;
        let call = if n == 0 { call.fault(mode) } else { call };
        conn.send(&call.bytes()).await;
        if n == 0 && mode.starts_with("hold") {
            let id = app.until_held(1).await.remove(0);
            app.release(&id, json!({})).await;
        }
        conn.try_answer().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enforcing_upstream_does_it_once() {
    let stripe = Suite::builder().start().await.unwrap();
    let url = format!("http://{}", stripe.addresses().http().unwrap());
    with(
        |b| b.relay(spec("pay", &url, ";class=enforced")),
        async |app: &App| {
            for (n, (mode, kept_back)) in MODES.into_iter().enumerate() {
                let scope = format!("s{n}");
                twice(app, &scope, &Call::charge().key(&scope), mode, kept_back).await;
                let counts = app.of(&scope);
                assert_eq!((counts.accepted, counts.replayed), (1, 1), "{mode}");
                assert_eq!(
                    (counts.failed + counts.refused, counts.duplicates),
                    (kept_back, 0),
                    "{mode}"
                );
                assert_eq!(stripe.stats().effects["charge"], n as u64 + 1, "{mode}");
                assert_eq!(app.effects("request"), n as u64 + 1, "{mode}");
            }
            let before = stripe.stats().effects.clone();
            let look = Call::get("/v1/charges").header("authorization", "Bearer sk_test_123");
            let answer = app.through("pay", look.header("x-ackdrop-scope", "sweeper")).await;
            assert_eq!(answer.status, 200);
            let sweeper = app.of("sweeper");
            assert_eq!((sweeper.received, sweeper.read, sweeper.accepted), (1, 1, 0));
            assert_eq!(stripe.stats().effects, before);
            assert_eq!(
                stripe.stats_of(&Scope::default()).total.received,
                19,
                "no scope of ours went along"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_advisory_upstream_does_it_twice_and_the_relay_says_so() {
    let hooks = Suite::builder().start().await.unwrap();
    let url = format!("http://{}/hooks", hooks.addresses().http().unwrap());
    with(
        |b| b.relay(spec("pay", &url, "")),
        async |app: &App| {
            for (n, (mode, kept_back)) in MODES.into_iter().enumerate() {
                let scope = format!("s{n}");
                let call = Call::post("/orders").json(&json!({"n": n}));
                // One by its key, the next by what it says.
                let call = if n % 2 == 0 { call.key(&scope) } else { call };
                twice(app, &scope, &call, mode, kept_back).await;
                let counts = app.of(&scope);
                assert_eq!(
                    (counts.accepted, counts.replayed, counts.duplicates),
                    (2, 0, 1),
                    "{mode}"
                );
                assert_eq!(hooks.stats().effects["delivery"], 2 * (n as u64 + 1), "{mode}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_what_carries_the_header_that_was_named_and_no_error_or_look_up() {
    let answer = |status: &str, header: &str| {
        format!("HTTP/1.1 {status}\r\n{header}: true\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    };
    let usual = Raw::saying(answer("200 OK", "idempotent-replayed")).await;
    let own = Raw::saying(answer("200 OK", "x-seen-before")).await;
    let error = Raw::saying(answer("409 Conflict", "x-seen-before")).await;
    with(
        |b| {
            b.relay(spec("usual", &usual.url(), ""))
                .relay(spec("own", &own.url(), ";replayed=X-Seen-Before"))
                .relay(spec("other", &usual.url(), ";replayed=X-Seen-Before"))
                .relay(spec("unnamed", &own.url(), ""))
                .relay(spec("error", &error.url(), ";replayed=X-Seen-Before"))
        },
        async |app: &App| {
            for (relay, expected) in [
                ("usual", (0, 1, 0)),
                ("own", (0, 1, 0)),
                ("other", (1, 0, 0)),
                ("unnamed", (1, 0, 0)),
                ("error", (0, 0, 1)),
            ] {
                app.through(relay, Call::post("/").body("x")).await;
                app.through(relay, Call::get("/")).await;
                let counts = app.counts(relay).await;
                assert_eq!((counts.accepted, counts.replayed, counts.refused), expected, "{relay}");
                assert_eq!(counts.read, 1, "{relay}");
            }
            assert_eq!(app.effects("request"), 2);
        },
    )
    .await;
}
