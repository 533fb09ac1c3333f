//! Spaced, reordered, late.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{Receiver, deliver, each};
use crate::support::{App, Call, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_spaced_and_the_first_is_late() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let asked = json!({"url": receiver.url, "body": "x", "copies": 3, "spacing": "60ms", "delay": "100ms"});
            let begin = Instant::now();
            deliver(app, asked).await;
            let mut at: Vec<Duration> = receiver.heard().iter().map(|heard| heard.at - begin).collect();
            at.sort_unstable();
            for (n, at) in at.iter().enumerate() {
                assert!(*at >= Duration::from_millis(100 + 60 * n as u64), "{n}: {at:?}");
            }
            assert_eq!(at.len(), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_does_not_hold_up_what_is_spaced() {
    with(
        |b| b,
        async |app: &App| {
            // So slow that it answers nobody before it has heard all.
            let all = Arc::new(Barrier::new(4));
            let receiver = Receiver::start(move |_, stream| {
                let all = Arc::clone(&all);
                async move {
                    all.wait().await;
                    super::receiver::say(stream, "200 OK").await;
                }
            })
            .await;
            let told = deliver(app, json!({"url": receiver.url, "copies": 4, "spacing": "10ms"})).await;
            let times = each(&told, "times");
            let at = |n: usize, field: &str| times[n][field].as_f64().unwrap();
            assert!(at(3, "released") < at(0, "done"), "{times:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_in_the_order_that_is_asked_for() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let mut heard = 0;
            let mut order = async |asked: Value| -> String {
                let mut whole = json!({"url": receiver.url, "bodies": ["a", "b", "c", "d", "e"]});
                whole
                    .as_object_mut()
                    .unwrap()
                    .extend(asked.as_object().unwrap().clone());
                deliver(app, whole).await;
                let bodies = receiver.bodies().split_off(heard);
                heard += bodies.len();
                bodies.concat()
            };
            assert_eq!(order(json!({"order": "given"})).await, "abcde");
            assert_eq!(order(json!({"order": "reverse"})).await, "edcba");
            assert_eq!(order(json!({"order": [2, 0, 1, 0]})).await, "caba");
            assert_eq!(order(json!({"order": "reverse", "copies": 2})).await, "eeddccbbaa");
            let shuffled = order(json!({"order": "shuffle", "seed": 7})).await;
            assert_eq!(order(json!({"order": "shuffle", "seed": 7})).await, shuffled);
            let mut sorted: Vec<char> = shuffled.chars().collect();
            sorted.sort_unstable();
            assert_eq!((sorted.len(), String::from_iter(sorted).as_str()), (5, "abcde"));
            let mut all: Vec<char> = order(json!({})).await.chars().collect();
            all.sort_unstable();
            assert_eq!(String::from_iter(all), "abcde", "all at once without an order");
            let spaced = json!({"url": receiver.url, "bodies": ["a", "b"], "order": [1, 0, 1], "spacing": "20ms"});
            let told = deliver(app, spaced).await;
            assert_eq!(each(&told, "event"), [1, 0, 1]);
            let times = each(&told, "times");
            let released = times.iter().map(|times| times["released"].as_f64().unwrap());
            assert!(
                released.zip([0.0, 20.0, 40.0]).all(|(at, least)| at >= least),
                "{times:?}"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_or_a_stop_ends_what_still_waits() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let asked = json!({"url": receiver.url, "copies": 2, "spacing": "1m"});
            let mut conn = app.connect().await;
            conn.send(&Call::post("/_deliver").json(&asked).bytes()).await;
            app.until("the first copy", |app| app.now("deliveries").answered == 1)
                .await;
            app.call(Call::post("/_reset")).await;
            let told = within("the end of the delivery", conn.answer()).await.json();
            assert_eq!(each(&told, "status"), [json!(200), Value::Null]);
            assert_eq!(told["copies"][1]["error"]["what"], "stopped");
            assert_eq!((receiver.heard().len(), app.now("deliveries").received), (1, 0));
            // The harness stops the suite while this one waits, and finds that everything ended.
            let mut conn = app.connect().await;
            conn.send(&Call::post("/_deliver").json(&asked).bytes()).await;
            app.until("the first copy", |app| app.now("deliveries").answered == 1)
                .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asked_may_leave_and_all_is_sent_and_counted() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let asked = json!({"url": receiver.url, "copies": 3, "spacing": "100ms"});
            let mut conn = app.connect().await;
            conn.send(&Call::post("/_deliver").json(&asked).bytes()).await;
            app.until("the first copy", |app| app.now("deliveries").answered == 1)
                .await;
            drop(conn);
            app.until("the other copies", |app| app.now("deliveries").answered == 3)
                .await;
            assert_eq!(receiver.heard().len(), 3);
        },
    )
    .await;
}
