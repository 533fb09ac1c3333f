//! Barriers: n attempts gather and go in one instant; and workers that are killed while they are held.

mod killed;
mod mail;

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, App, Call, Conn, End, Leave, with};

/// Sends a call on each of so many connections of their own.
async fn gather(app: &App, n: usize, call: impl Fn(usize) -> Call) -> Vec<Conn> {
    let mut conns = Vec::new();
    for place in 0..n {
        let mut conn = app.connect().await;
        conn.send(&call(place).bytes()).await;
        conns.push(conn);
    }
    conns
}

async fn answers(conns: &mut [Conn]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for conn in conns {
        answers.push(conn.answer().await);
    }
    answers
}

/// Returns the barrier of every hold, as it is listed.
async fn barriers(app: &App) -> Vec<Value> {
    let list = app.admin(Call::get("/_holds")).await;
    let holds = list["holds"].as_array().unwrap().iter();
    holds.map(|hold| hold["barrier"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_with_one_key_race_for_the_key_and_one_wins() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "barrier": 20, "on": "1..40"}))
                .await;
            for (calls, call) in [Call::charge().key("k"), Call::order("o").key("k")]
                .into_iter()
                .enumerate()
            {
                let mut conns = gather(app, 19, |_| call.clone()).await;
                app.until_held(19).await;
                assert_eq!(barriers(app).await, vec![json!({"gathered": 19, "of": 20}); 19]);
                assert_eq!(app.suite.stats().total.accepted, calls as u64);
                conns.extend(gather(app, 1, |_| call.clone()).await);
                let answers = answers(&mut conns).await;
                assert!(app.held(None).is_empty());
                let fresh = |a: &&Answer| a.status < 300 && a.header("idempotent-replayed").is_none();
                assert_eq!(answers.iter().filter(fresh).count(), 1, "{answers:?}");
                assert!(answers.iter().all(|a| a.status < 300 || a.status == 409), "{answers:?}");
            }
            for provider in ["stripe", "orders"] {
                let counts = app.counts(provider).await;
                assert_eq!((counts.received, counts.accepted), (20, 1), "{provider}");
                assert_eq!(counts.replayed + counts.refused, 19, "{provider}");
            }
            assert_eq!((app.effects("charge"), app.effects("order")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_without_a_key_are_twenty_effects() {
    with(
        |b| b,
        async |app: &App| {
            let call = Call::charge().fault("hold-before-commit; barrier=20");
            let mut conns = gather(app, 20, |_| call.clone()).await;
            assert!(answers(&mut conns).await.iter().all(|a| a.status == 200));
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, app.effects("charge")), (20, 20));
            assert_eq!((counts.answered, counts.withheld, counts.lost), (20, 0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gathers_before_the_commit_has_reserved_nothing() {
    with(
        |b| b,
        async |app: &App| {
            let order = Call::order("o").key("k");
            let held = order.clone().fault("hold-before-commit; barrier=2");
            let mut conns = gather(app, 1, |_| held.clone()).await;
            app.until_held(1).await;
            assert_eq!(app.call(order).await.status, 201, "the key is free for who comes by");
            conns.extend(gather(app, 1, |_| held.clone()).await);
            for answer in answers(&mut conns).await {
                assert_eq!(
                    (answer.status, answer.header("idempotent-replayed")),
                    (201, Some("true"))
                );
            }
            assert_eq!(app.effects("order"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_commit_all_are_done_and_the_answers_go_together() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-after-commit", "barrier": 3})).await;
            let mut conns = gather(app, 2, |n| Call::order(&format!("o{n}"))).await;
            app.until_held(2).await;
            assert_eq!(app.effects("order"), 2);
            for conn in &mut conns {
                assert!(conn.is_silent(Duration::from_millis(20)).await);
            }
            conns.extend(gather(app, 1, |_| Call::order("o2")).await);
            assert!(answers(&mut conns).await.iter().all(|a| a.status == 201));
            // The next ones gather anew.
            let mut next = gather(app, 3, |n| Call::order(&format!("n{n}"))).await;
            assert!(answers(&mut next).await.iter().all(|a| a.status == 201));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_a_client_that_leaves_is_empty_again() {
    with(
        |b| b,
        async |app: &App| {
            for point in ["before", "after"] {
                for leave in Leave::BOTH {
                    app.admin(Call::post("/_reset")).await;
                    let fault = format!("hold-{point}-commit; barrier=3");
                    let call = |n: usize| Call::order(&format!("o{n}")).fault(&fault);
                    let mut conns = gather(app, 2, call).await;
                    app.until_held(2).await;
                    conns.remove(0).leave(leave).await;
                    app.until("the leaving", |app| app.held(None).len() == 1).await;
                    conns.extend(gather(app, 1, |_| call(7)).await);
                    app.until_held(2).await;
                    assert_eq!(barriers(app).await, vec![json!({"gathered": 2, "of": 3}); 2]);
                    conns.extend(gather(app, 1, |_| call(8)).await);
                    assert!(answers(&mut conns).await.iter().all(|a| a.status == 201));
                    let counts = app.counts("orders").await;
                    let done = if point == "before" { (3, 1) } else { (4, 0) };
                    assert_eq!((counts.accepted, counts.incomplete), done, "{point} {leave:?}");
                    assert_eq!((counts.answered, counts.lost), (3, 1), "{point} {leave:?}");
                }
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_and_rules_do_not_gather_together() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "barrier": 2})).await;
            let call = |scope: &str| Call::order("o").header("x-ackdrop-scope", scope);
            let mut alice = gather(app, 1, |_| call("alice")).await;
            let mut bob = gather(app, 1, |_| call("bob")).await;
            let other = call("bob").fault("hold-before-commit; barrier=2");
            let mut header = gather(app, 1, |_| other.clone()).await;
            app.until_held(3).await;
            assert_eq!(barriers(app).await, vec![json!({"gathered": 1, "of": 2}); 3]);
            alice.extend(gather(app, 1, |_| call("alice")).await);
            answers(&mut alice).await;
            assert_eq!(app.held(None).len(), 2);
            bob.extend(gather(app, 1, |_| call("bob")).await);
            answers(&mut bob).await;
            // Whoever came first of the three: one is left.
            let last = app.held(None).remove(0);
            app.release(&last, json!({})).await;
            answers(&mut header).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_fills_is_let_go_as_a_hold_is() {
    with(
        |b| b.hang_cap(Duration::from_millis(1500)),
        async |app: &App| {
            let call = |n: usize| Call::order(&format!("o{n}")).fault("hold-before-commit; barrier=9");
            let mut conns = gather(app, 3, call).await;
            let ids = app.until_held(3).await;
            assert_eq!(app.release(&ids[0], json!({})).await.status, 200);
            app.until_held(2).await;
            assert_eq!(barriers(app).await, vec![json!({"gathered": 2, "of": 9}); 2]);
            let all = app.admin(Call::post("/_holds/release")).await;
            assert_eq!(all["released"].as_array().map(Vec::len), Some(2));
            assert!(answers(&mut conns).await.iter().all(|a| a.status == 201));

            let mut conns = gather(app, 2, |n| call(n + 10)).await;
            app.until_held(2).await;
            let truncate = json!({"then": "drop", "how": "truncate", "bytes": 1});
            assert_eq!(
                app.call(Call::post("/_holds/release").json(&truncate)).await.status,
                400
            );
            app.admin(Call::post("/_holds/release?scope=bob")).await;
            assert_eq!(app.held(None).len(), 2, "another scope's are not meant");
            let reset = json!({"then": "drop", "how": "reset"});
            app.admin(Call::post("/_holds/release").json(&reset)).await;
            for conn in &mut conns {
                assert_eq!(conn.rest().await, (vec![], End::Reset));
            }

            let mut conns = gather(app, 2, |n| call(n + 20)).await;
            for conn in &mut conns {
                assert_eq!(conn.rest().await, (vec![], End::Orderly), "the cap ends it");
            }

            let mut conns = gather(app, 2, |n| call(n + 30)).await;
            app.until_held(2).await;
            app.admin(Call::post("/_reset")).await;
            for conn in &mut conns {
                assert_eq!(conn.rest().await, (vec![], End::Orderly), "a reset ends it");
            }
        },
    )
    .await;
}
