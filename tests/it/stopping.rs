//! A stop ends everything in time, and everything with an outcome and a fate.

use std::time::{Duration, Instant};

use ackdrop::Suite;
use ackdrop::ledger::{Fate, Outcome};
use serde_json::json;

use crate::support::{App, Call};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_with_clients_at_every_point_takes_less_than_a_second() {
    let app = App {
        suite: Suite::builder().start().await.unwrap(),
    };
    let large = json!({"reference": "large", "text": "x".repeat(8 << 20)});
    assert_eq!(app.call(Call::post("/orders").json(&large)).await.status, 201);
    let cases = [
        ("drop-after-commit; how=hang", Outcome::Accepted, Fate::Withheld),
        ("fail-before-commit; how=hang", Outcome::Failed, Fate::Withheld),
        ("hold-before-commit", Outcome::Failed, Fate::Withheld),
        ("hold-after-commit", Outcome::Accepted, Fate::Withheld),
        ("delay; at=before; delay=10m", Outcome::Failed, Fate::Withheld),
        ("delay; at=after; delay=10m", Outcome::Accepted, Fate::Withheld),
    ];
    let mut conns = Vec::new();
    let mut expected = vec![(Outcome::Accepted, Fate::Answered)];
    for (fault, outcome, fate) in cases {
        for mut conn in app.connect_both().await {
            let call = Call::order(&format!("o{}", conns.len())).fault(fault);
            let mut bytes = call.bytes();
            bytes.extend(Call::order("behind").bytes());
            conn.send(&bytes).await;
            conns.push(conn);
            expected.push((outcome, fate));
        }
    }
    for mut conn in app.connect_both().await {
        conn.send(&Call::get("/orders/large").bytes()).await;
        conn.answer_head().await;
        conns.push(conn);
        expected.push((Outcome::Read, Fate::Lost));
    }
    for mut conn in app.connect_both().await {
        conn.send(&Call::order("half").head()).await;
        conns.push(conn);
        expected.push((Outcome::Incomplete, Fate::Lost));
    }
    for mut conn in app.connect_both().await {
        conn.send(b"POST /ord").await;
        conns.push(conn);
    }
    let all = expected.len() as u64;
    app.until("all of them", |app| {
        let reached = app.entries().iter().filter(|e| !e.fired.is_empty()).count();
        app.suite.stats().total.received == all && reached == 12
    })
    .await;

    let ledger = app.suite.ledger().clone();
    let began = Instant::now();
    let ended = app.suite.stop().await;
    let took = began.elapsed();
    assert!(ended && took < Duration::from_secs(1), "{took:?}, ended: {ended}");
    let (mut entries, _) = ledger.changed_since(0, usize::MAX, |_| true);
    entries.sort_by_key(|entry| entry.id);
    let ends: Vec<_> = entries.iter().filter_map(|e| Some((e.outcome?, e.fate?))).collect();
    let sorted = |mut ends: Vec<(Outcome, Fate)>| {
        ends.sort_by_key(|(outcome, fate)| (outcome.as_str(), fate.as_str()));
        ends
    };
    assert_eq!(sorted(ends), sorted(expected));
}
