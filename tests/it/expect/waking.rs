//! Every change wakes, and nothing that is still going on is taken for the end.

use std::time::Duration;

use ackdrop::ledger::Limits;
use serde_json::{Value, json};

use super::{charge, expect, place_at_once, seconds};
use crate::support::{App, Call, Conn, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_missed_and_no_yes_comes_early_in_two_hundred_rounds() {
    with(
        |b| b,
        async |app: &App| {
            for round in 0..200 {
                let scope = format!("r{round}");
                let path = if round % 2 == 0 {
                    format!("/_expect?scope={scope}")
                } else {
                    "/_expect".to_owned()
                };
                let all = if round % 2 == 0 { 5 } else { 5 * (round + 1) };
                let texts = [format!("orders.order == {all}"), format!("orders.answered == {all}")];
                let body = json!({"expect": texts, "timeout": "15s", "settle": "0s"});
                let (answer, ()) = tokio::join!(expect(app, &path, body), place_at_once(app, &scope, 5));
                let verdict = answer.json();
                assert_eq!(answer.status, 200, "round {round}: {verdict:#}");
                assert_eq!(verdict["expectations"][0]["counted"], all, "round {round}");
                // At the end of its time it would look in any case.
                assert!(seconds(&verdict) < 10.0, "round {round} missed a change");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_a_thousand_parallel_attempts_the_answer_is_right() {
    with(
        |b| b,
        async |app: &App| {
            let asked = |settle| json!({"expect": ["orders.accepted >= 1", "order <= 1000"], "timeout": "60s", "settle": settle});
            let exact = json!({"expect": "order == 1000", "timeout": "60s", "settle": "0s"});
            let mut conns = Vec::new();
            for _ in 0..1000 {
                conns.push(app.connect().await);
            }
            // All heads first: each attempt is in flight before the first is whole.
            for (i, conn) in conns.iter_mut().enumerate() {
                let bytes = Call::order(&format!("o{i}")).bytes();
                conn.send(&bytes[..bytes.len() - 1]).await;
            }
            app.until("a thousand in flight", |app| app.now("orders").in_flight == 1000).await;
            let work = async {
                let send = conns.into_iter().map(|mut conn| {
                    tokio::spawn(async move {
                        conn.send(b"}").await;
                        assert_eq!(conn.answer().await.status, 201);
                    })
                });
                for sent in send.collect::<Vec<_>>() {
                    sent.await.unwrap();
                }
            };
            let (early, exact, ()) = tokio::join!(
                expect(app, "/_expect", asked("0s")),
                expect(app, "/_expect", exact),
                work
            );
            assert_eq!((early.status, exact.status), (200, 200), "{}", exact.text());
            let counted = &early.json()["expectations"][0]["counted"];
            assert_eq!(counted, 1000, "one was enough, and the others were in flight");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_or_half_sent_keeps_it_waiting_and_a_hang_does_not() {
    with(
        |b| b,
        async |app: &App| {
            let mut hung = app.connect().await;
            hung.send(&charge("hung").fault("drop-after-commit; how=hang").bytes())
                .await;
            let now = json!({"expect": "stripe.charge == 1", "timeout": "5s", "settle": "0s"});
            assert_eq!(expect(app, "/_expect", now).await.status, 200, "a hang is withheld");

            for point in ["before", "after"] {
                let scope = format!("/_expect?scope={point}");
                let mut conn = app.connect().await;
                let call = Call::order("held").header("x-ackdrop-scope", point);
                conn.send(&call.fault(&format!("hold-{point}-commit")).bytes()).await;
                let id = app.until_held(1).await.remove(0);
                let body = |timeout| json!({"expect": "orders.order <= 1", "timeout": timeout, "settle": "0s"});
                let verdict = expect(app, &scope, body("50ms")).await.json();
                assert_eq!(verdict["ended"], "timeout", "{verdict:#}");
                assert_eq!(verdict["in_flight"]["attempts"][0]["operation"], "orders.create");
                assert!(
                    verdict["message"]
                        .as_str()
                        .unwrap()
                        .contains("an attempt is still going on"),
                    "{verdict}"
                );
                let open =
                    json!({"expect": ["orders.open == 1", "orders.order <= 1"], "timeout": "5s", "settle": "0s"});
                assert_eq!(
                    expect(app, &scope, open).await.status,
                    200,
                    "what is asked for may be open"
                );
                let (answer, _) = tokio::join!(expect(app, &scope, body("15s")), async {
                    conn.is_silent(Duration::from_millis(100)).await;
                    app.release(&id, json!({"then": "answer"})).await;
                    conn.answer().await
                });
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_the_journal_has_let_go_wakes_too() {
    let limits = Limits {
        entries: 1,
        ..Limits::default()
    };
    with(
        |b| b.ledger(limits),
        async |app: &App| {
            let mut conn = app.connect().await;
            conn.send(&Call::order("a").fault("hold-before-commit").bytes()).await;
            let id = app.until_held(1).await.remove(0);
            app.call(Call::order("b")).await;
            let body = json!({"expect": "orders.order == 2", "timeout": "15s", "settle": "0s"});
            let (answer, _) = tokio::join!(expect(app, "/_expect", body), async {
                conn.is_silent(Duration::from_millis(100)).await;
                app.release(&id, json!({"then": "answer"})).await;
                conn.answer().await
            });
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(seconds(&answer.json()) < 10.0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stray_a_rule_and_its_end_wake_too() {
    with(
        |b| b,
        async |app: &App| {
            let wakes = async |text: &str, act: &dyn Fn() -> Call| {
                let body = json!({"expect": text, "timeout": "15s", "settle": "0s"});
                let (answer, ()) = tokio::join!(expect(app, "/_expect", body), async {
                    // The wait has begun by then or not: it must not matter.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    app.call(act()).await;
                });
                assert_eq!(answer.status, 200, "{text}: {}", answer.text());
                assert!(seconds(&answer.json()) < 10.0, "{text}");
            };
            wakes("unmatched == 1", &|| Call::get("/nothing")).await;
            let short = json!({"mode": "pass", "scope": "nobody", "expires_in": "1s"});
            wakes("faults.armed == 1", &|| Call::post("/_faults").json(&short)).await;
            wakes("faults.armed == 0", &|| Call::get("/_health")).await;
            let greeting = json!({"mode": "fail-before-commit", "provider": "smtp", "step": "greeting"});
            wakes("faults.armed == 1", &|| Call::post("/_faults").json(&greeting)).await;
            let body = json!({"expect": "faults.fired == 1", "timeout": "15s", "settle": "0s"});
            let (answer, ()) = tokio::join!(expect(app, "/_expect", body), async {
                // As above: it must not matter.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Conn::plain(app.suite.addresses().smtp().unwrap()).await.rest().await;
            });
            assert_eq!(answer.status, 200, "a session has no attempt: {}", answer.text());
            wakes("faults.armed == 0", &|| Call::new("DELETE", "/_faults")).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_what_is_looked_at_begins_the_settling_anew_and_no_other() {
    with(
        |b| b,
        async |app: &App| {
            let body = json!({"expect": "orders.order == 0", "timeout": "15s", "settle": "500ms"});
            let noisy = async {
                for _ in 0..10 {
                    // Noise at times that are shorter than the settling.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    app.call(Call::get("/orders/x").header("x-ackdrop-scope", "noisy"))
                        .await;
                }
            };
            let (answer, ()) = tokio::join!(expect(app, "/_expect?scope=noisy", body.clone()), noisy);
            let waited = seconds(&answer.json());
            assert!(answer.status == 200 && waited >= 1.5, "{waited}");

            let calm = expect(app, "/_expect?scope=calm", body.clone());
            let noise = async {
                loop {
                    app.call(Call::get("/orders/x").header("x-ackdrop-scope", "noisy"))
                        .await;
                }
            };
            tokio::select! {
                answer = calm => assert_eq!(answer.status, 200, "{}", answer.text()),
                () = noise => {}
            }
            let busy = json!({"expect": "orders.order == 0", "timeout": "700ms", "settle": "500ms"});
            let all = expect(app, "/_expect", busy);
            let noise = async {
                loop {
                    app.call(Call::get("/orders/x").header("x-ackdrop-scope", "noisy"))
                        .await;
                }
            };
            tokio::select! {
                answer = all => {
                    let verdict = answer.json();
                    assert_eq!(answer.status, 417, "{verdict:#}");
                    assert!(verdict["expectations"][0]["holds"] == true, "{verdict:#}");
                }
                () = noise => {}
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_at_the_end_of_the_watch_is_waited_for() {
    with(
        |b| b,
        async |app: &App| {
            let slow = |fate: &str| {
                let scope = fate.to_owned();
                move |key: &str| charge(key).header("x-ackdrop-scope", &scope)
            };
            let call = slow("late");
            app.call(call("first")).await;
            let body = json!({"expect": "stripe.charge == 1", "timeout": "15s", "settle": "0s", "watch": "1500ms"});
            let (answer, _) = tokio::join!(expect(app, "/_expect?scope=late", body), async {
                // It arrives within the watch, on a busy machine too, and commits after it.
                tokio::time::sleep(Duration::from_millis(100)).await;
                app.call(call("second").fault("delay; at=before; delay=2s")).await
            });
            let verdict = answer.json();
            assert_eq!((answer.status, &verdict["ended"]), (417, &json!("late")), "{verdict:#}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_while_it_waits_lets_it_wait_on() {
    with(
        |b| b,
        async |app: &App| {
            place_at_once(app, "default", 2).await;
            let body = json!({"expect": "order == 1", "timeout": "15s", "settle": "0s"});
            let (answer, ()) = tokio::join!(expect(app, "/_expect", body), async {
                // The wait has begun by then or not: it must not matter.
                tokio::time::sleep(Duration::from_millis(50)).await;
                app.admin(Call::post("/_reset")).await;
                place_at_once(app, "default", 1).await;
            });
            assert_eq!(answer.status, 200, "{}", answer.text());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_whoever_waits() {
    let app = App {
        suite: ackdrop::Suite::builder().start().await.unwrap(),
    };
    let mut conn = app.connect().await;
    let body: Value = json!({"expect": "order == 1", "timeout": "10m"});
    conn.send(&Call::post("/_expect").json(&body).bytes()).await;
    assert!(conn.is_silent(Duration::from_millis(100)).await);
    let (answer, ended) = tokio::join!(conn.answer(), within("the stop", app.suite.stop()));
    assert!(ended);
    assert_eq!(answer.status, 503, "{}", answer.text());
}
