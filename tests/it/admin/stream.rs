//! `GET /_events/stream`: every change, as it happens.

use serde_json::{Value, json};

use crate::support::{App, Call, Conn, with, within};

/// Reads server-sent events from a raw connection.
struct Stream {
    conn: Conn,
}

/// Is one event.
#[derive(Debug)]
struct Event {
    id: u64,
    name: String,
    entry: Value,
}

impl Stream {
    async fn open(app: &App, call: Call) -> Self {
        let mut conn = app.connect().await;
        conn.send(&call.bytes()).await;
        let status = conn.line().await;
        assert!(status.contains(" 200 "), "{status}");
        let mut head = String::new();
        loop {
            match conn.line().await {
                line if line.is_empty() => break,
                line => head.push_str(&line),
            }
        }
        assert!(head.contains("text/event-stream"), "{head}");
        Self { conn }
    }

    /// Reads the next event; each comes as a chunk of its own, or several in one.
    async fn next(&mut self) -> Event {
        let mut event = Event {
            id: 0,
            name: String::new(),
            entry: Value::Null,
        };
        loop {
            let line = self.line().await;
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.parse().unwrap(),
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("data", data)) => event.entry = serde_json::from_str(data).unwrap(),
                _ if line.is_empty() && event.id > 0 => return event,
                _ => {}
            }
        }
    }

    /// Reads the next event about a hold.
    async fn told(&mut self) -> Value {
        within("the event of a hold", self.next_told()).await
    }

    async fn next_told(&mut self) -> Value {
        let mut name = String::new();
        loop {
            let line = self.line().await;
            match line.split_once(": ") {
                Some(("event", event)) => event.clone_into(&mut name),
                Some(("data", data)) if name != "attempt" => {
                    let told: Value = serde_json::from_str(data).unwrap();
                    assert_eq!(told["event"], name);
                    return told;
                }
                _ => {}
            }
        }
    }

    async fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(self.conn.read_exact(1).await);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }
}

fn states(entry: &Value) -> [Value; 2] {
    [entry["outcome"].clone(), entry["fate"].clone()]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_is_seen_from_its_arrival_to_its_end() {
    with(
        |b| b,
        async |app: &App| {
            let mut stream = Stream::open(app, Call::get("/_events/stream?provider=orders")).await;
            app.fault(json!({"mode": "hold-after-commit"})).await;
            app.call(Call::new("HEAD", "/hooks/t")).await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("a").bytes()).await;
            let mut seen = Vec::new();
            let mut last = 0;
            let all = async {
                loop {
                    let event = stream.next().await;
                    assert!(event.id > last, "ids grow");
                    assert_eq!(
                        (event.name.as_str(), event.entry["provider"].as_str()),
                        ("attempt", Some("orders"))
                    );
                    last = event.id;
                    seen.push(states(&event.entry));
                    let [outcome, fate] = seen.last().unwrap();
                    if fate == "answered" {
                        break;
                    }
                    let is_held = app.suite.holds().list(None).len() == 1;
                    if is_held && outcome == "accepted" && fate.is_null() {
                        app.admin(Call::post("/_holds/h1/release")).await;
                    }
                }
            };
            within("the end of the attempt", all).await;
            assert_eq!(conn.answer().await.status, 201);
            let accepted = seen.iter().position(|state| *state == [json!("accepted"), json!(null)]);
            assert!(accepted.is_some_and(|place| place < seen.len() - 1), "{seen:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_away_goes_on_where_he_was() {
    with(
        |b| b,
        async |app: &App| {
            for n in 0..3 {
                app.call(Call::order(&format!("o{n}"))).await;
            }
            app.settled().await;
            let mut whole = Stream::open(app, Call::get("/_events/stream?since=0")).await;
            let mut ids = Vec::new();
            for _ in 0..3 {
                let event = whole.next().await;
                ids.push((event.entry["id"].as_u64().unwrap(), event.id));
            }
            let mut all: Vec<u64> = ids.iter().map(|(id, _)| *id).collect();
            all.sort_unstable();
            assert_eq!(all, [1, 2, 3]);
            let header = Call::get("/_events/stream").header("last-event-id", &ids[1].1.to_string());
            assert_eq!(Stream::open(app, header).await.next().await.entry["id"], ids[2].0);
            let since = Call::get(&format!("/_events/stream?since={}", ids[0].1));
            assert_eq!(Stream::open(app, since).await.next().await.entry["id"], ids[1].0);
            let mut now = Stream::open(app, Call::get("/_events/stream")).await;
            app.call(Call::order("new")).await;
            assert_eq!(now.next().await.entry["id"], 4, "without either it begins now");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_tells_of_each_hold_and_of_its_release() {
    with(
        |b| b,
        async |app: &App| {
            let held = |fault: &str| Call::order("a").key("k").fault(fault);
            let mut early = app.connect().await;
            early.send(&held("hold-before-commit").bytes()).await;
            app.until_held(1).await;
            // Outcomes are asked for so that no attempt stands between; a hold has none.
            let mut stream = Stream::open(app, Call::get("/_events/stream?provider=orders")).await;
            let mut blind = Stream::open(app, Call::get("/_events/stream?provider=orders&outcome=accepted")).await;
            let began = stream.told().await;
            assert_eq!(
                (began["event"].as_str(), began["id"].as_str()),
                (Some("hold"), Some("h1"))
            );
            app.release("h1", json!({"then": "drop", "how": "reset"})).await;
            let ended = stream.told().await;
            assert_eq!((&ended["event"], &ended["id"]), (&json!("release"), &json!("h1")));
            assert_eq!((&ended["then"], &ended["how"]), (&json!("drop"), &json!("reset")));

            let mut pair = [app.connect().await, app.connect().await];
            for conn in &mut pair {
                conn.send(&held("hold-before-commit; barrier=2").bytes()).await;
            }
            let mut told = Vec::new();
            for _ in 0..4 {
                let event = stream.told().await;
                told.push((event["event"].clone(), event["barrier"]["gathered"].clone()));
            }
            let expected = [("hold", 1), ("hold", 2), ("release", 2), ("release", 1)];
            assert_eq!(told, expected.map(|(event, n)| (json!(event), json!(n))));
            let left = app.connect().await;
            let mut left = left;
            left.send(&held("hold-after-commit").bytes()).await;
            assert_eq!(stream.told().await["event"], "hold");
            drop(left);
            assert_eq!(stream.told().await["then"], "left");
            assert_eq!(
                blind.next().await.name,
                "attempt",
                "who asks for outcomes asks for no hold"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_the_suite() {
    let suite = ackdrop::Suite::builder().start().await.unwrap();
    let app = App { suite };
    let mut stream = Stream::open(&app, Call::get("/_events/stream")).await;
    assert!(app.suite.stop().await, "the stream did not hold the suite up");
    stream.conn.rest().await;
}
