//! The same event twice in one moment: what a receiver that only looks before it writes does with it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

use super::receiver::{hear, say};
use super::{Receiver, deliver, each};
use crate::support::{App, Call, with, within};

type Seen = Arc<Mutex<HashSet<String>>>;

fn event(n: usize) -> serde_json::Value {
    json!({"object": "event", "id": format!("evt_{n}"), "type": "charge.succeeded"})
}

/// Looks whether the event is known, goes to its database, and writes: the window that a retry falls into.
async fn check_then_insert(seen: &Seen, id: &str) -> bool {
    let known = seen.lock().unwrap().contains(id);
    database().await;
    if !known {
        seen.lock().unwrap().insert(id.to_owned());
    }
    !known
}

/// Claims the event in one step, and works only if the claim is its own.
async fn claim(seen: &Seen, id: &str) -> bool {
    let own = seen.lock().unwrap().insert(id.to_owned());
    database().await;
    own
}

/// Takes the time of a write to a database that syncs its disk: so long a receiver that checks first knows nothing of the other.
async fn database() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Starts a receiver that works once for each event that it takes for new.
async fn worker<F>(is_new: impl Fn(Seen, String) -> F + Send + Sync + 'static) -> (Receiver, Arc<AtomicUsize>)
where
    F: Future<Output = bool> + Send + 'static,
{
    let (seen, effects) = (Seen::default(), Arc::new(AtomicUsize::new(0)));
    let (is_new, counted) = (Arc::new(is_new), Arc::clone(&effects));
    let receiver = Receiver::start(move |heard, stream| {
        let (seen, counted, is_new) = (Arc::clone(&seen), Arc::clone(&counted), Arc::clone(&is_new));
        async move {
            let event: serde_json::Value = serde_json::from_str(&heard.body).unwrap();
            if is_new(seen, event["id"].as_str().unwrap().to_owned()).await {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            say(stream, "200 OK").await;
        }
    });
    (receiver.await, effects)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_then_insert_receiver_is_caught_and_an_atomic_claim_passes() {
    with(
        |b| b,
        async |app: &App| {
            let check = move |seen, id: String| async move { check_then_insert(&seen, &id).await };
            let (receiver, effects) = worker(check).await;
            let mut tries = 0;
            while effects.load(Ordering::Relaxed) == tries {
                assert!(tries < 20, "not caught in {tries} tries");
                tries += 1;
                let told = deliver(app, json!({"url": receiver.url, "body": event(tries), "copies": 2})).await;
                assert_eq!(each(&told, "status"), [200, 200]);
            }
            assert_eq!(
                effects.load(Ordering::Relaxed),
                tries + 1,
                "one event was worked for twice"
            );

            let own = move |seen, id: String| async move { claim(&seen, &id).await };
            let (receiver, effects) = worker(own).await;
            for n in 1..=200 {
                let told = deliver(app, json!({"url": receiver.url, "body": event(n), "copies": 2})).await;
                assert_eq!(each(&told, "status"), [200, 200]);
                assert_eq!(effects.load(Ordering::Relaxed), n);
            }
            let counts = app.counts("deliveries").await;
            let all = 200 + tries as u64;
            assert_eq!(
                (counts.received, counts.accepted, counts.answered),
                (2 * all, 2 * all, 2 * all)
            );
            assert_eq!(counts.duplicates, all);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_one_message_and_are_released_when_all_are_connected() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let told = deliver(app, json!({"url": receiver.url, "body": event(1), "copies": 50})).await;
            let heard = receiver.heard();
            assert_eq!(heard.len(), 50);
            let first = heard[0].clone();
            assert!(
                heard.iter().all(|h| (&h.head, &h.body) == (&first.head, &first.body)),
                "copies are one message"
            );
            assert_eq!(told["summary"]["accepted"], 50);
            let times = each(&told, "times");
            let latest = |field: &str| times.iter().map(|t| t[field].as_f64().unwrap()).fold(0.0, f64::max);
            let earliest = times
                .iter()
                .map(|t| t["released"].as_f64().unwrap())
                .fold(f64::MAX, f64::min);
            assert!(latest("connected") <= earliest, "{times:?}");
            let counts = app.counts("deliveries").await;
            assert_eq!((counts.accepted, counts.duplicates), (50, 49));
        },
    )
    .await;
}

/// Listens so that only two connections can be made until it accepts them; the next is made when its SYN comes again, a second later.
fn narrow() -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    socket.bind(&any.into()).unwrap();
    socket.listen(1).unwrap();
    socket.set_nonblocking(true).unwrap();
    TcpListener::from_std(socket.into()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_while_a_connection_is_missing() {
    with(
        |b| b,
        async |app: &App| {
            let listener = narrow();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let mut conn = app.connect().await;
            let asked = json!({"url": url, "body": event(1), "copies": 4});
            conn.send(&Call::post("/_deliver").json(&asked).bytes()).await;
            let mut streams = Vec::new();
            for n in 0..4 {
                streams.push(within("a connection", listener.accept()).await.unwrap().0);
                if n == 1 {
                    // Nothing comes for a while: that is what is looked at, and only a pause can show it.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    assert!(streams.iter().all(|stream| stream.try_read(&mut [0]).is_err()));
                }
            }
            for mut stream in streams {
                assert!(within("a request", hear(&mut stream)).await.is_some());
                tokio::spawn(say(stream, "200 OK"));
            }
            assert_eq!(conn.answer().await.json()["summary"]["accepted"], 4);
        },
    )
    .await;
}
