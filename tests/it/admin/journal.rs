//! The journal is bounded and says so; no count ever changes by it.

use ackdrop::ledger::Limits;
use serde_json::json;

use crate::support::{App, Call, letter, with};

#[tokio::test(flavor = "multi_thread")]
async fn past_its_entries_the_oldest_go_and_every_count_stays() {
    with(
        |b| {
            b.ledger(Limits {
                entries: 10,
                ..Limits::default()
            })
        },
        async |app: &App| {
            for n in 0..30 {
                app.call(Call::order(&format!("o{n}"))).await;
                app.call(Call::get("/orders")).await;
            }
            app.post("a@b.test", &letter("a", "x")).await;
            app.post("a@b.test", &letter("b", "x")).await;
            app.settled().await;
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(stats["journal_trimmed"], json!({"entries": 52, "bodies": 0}));
            assert_eq!(stats["effects"], json!({"message": 2, "order": 30, "recipient": 2}));
            assert_eq!(
                (&stats["total"]["received"], &stats["total"]["duplicates"]),
                (&json!(62), &json!(1))
            );
            let events = app.admin(Call::get("/_events")).await;
            assert_eq!(
                (&events["journal_trimmed"], &events["has_more"]),
                (&json!(52), &json!(false))
            );
            let mut ids: Vec<_> = events["events"]
                .as_array()
                .unwrap()
                .iter()
                .map(|e| e["id"].as_u64().unwrap())
                .collect();
            ids.sort_unstable();
            assert_eq!(ids, (53..=62).collect::<Vec<_>>());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_entry_is_gone_still_ends_and_is_counted() {
    with(
        |b| {
            b.ledger(Limits {
                entries: 2,
                ..Limits::default()
            })
        },
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1})).await;
            let mut conn = app.connect().await;
            conn.send(&Call::order("held").bytes()).await;
            app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                .await;
            for n in 0..5 {
                app.call(Call::order(&format!("o{n}"))).await;
            }
            app.admin(Call::post("/_holds/h1/release")).await;
            assert_eq!(conn.answer().await.status, 201);
            let counts = app.counts("orders").await;
            assert_eq!((counts.accepted, counts.answered, counts.open), (6, 6, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_bytes_of_bodies_the_oldest_bodies_go_and_their_mails_stay_listed() {
    with(
        |b| {
            b.ledger(Limits {
                bodies: 1024,
                ..Limits::default()
            })
        },
        async |app: &App| {
            let text = "x".repeat(600);
            for n in 0..3 {
                app.post("a@b.test", &letter(&format!("m{n}"), &format!("{n}{text}")))
                    .await;
                app.call(Call::post(&format!("/hooks/t{n}")).body(format!("{n}{text}")))
                    .await;
            }
            app.settled().await;
            let stats = app.admin(Call::get("/_stats")).await;
            assert!(
                stats["journal_trimmed"]["bodies"].as_u64().unwrap() >= 5,
                "{}",
                stats["journal_trimmed"]
            );
            assert_eq!(stats["journal_trimmed"]["entries"], 0);
            assert_eq!(stats["effects"], json!({"delivery": 3, "message": 3, "recipient": 3}));
            let mails = app.mails("").await;
            assert_eq!(mails.len(), 3);
            let first = &mails[2];
            assert_eq!(
                (&first["message_id"], &first["body_let_go"]),
                (&json!("m0"), &json!(true))
            );
            assert_eq!(first["envelope"]["recipients"], json!(["a@b.test"]));
            assert!(first["size"].as_u64().unwrap() > 600 && first["sha256"].as_str().unwrap().len() == 64);
            let raw = app
                .call(Call::get(&format!("/_mail/{}/raw", first["id"].as_str().unwrap())))
                .await;
            assert_eq!(raw.status, 410);
            let events = app.admin(Call::get("/_events")).await;
            let oldest = &events["events"][0]["request"];
            assert_eq!(oldest["body"], json!(null));
            assert!(oldest["size"].as_u64().unwrap() > 600);
        },
    )
    .await;
}
