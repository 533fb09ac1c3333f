//! `GET /_stats`: the counts, in the shape that users rely on.

use serde_json::{Value, json};

use crate::support::{App, Call, End, letter, with};

/// Two charges asked for with one key, the first answer lost, one look-up, and a mail sent twice.
async fn the_story(app: &App) {
    app.fault(json!({"mode": "drop-after-commit", "provider": "stripe", "on": 1}))
        .await;
    let mut conn = app.connect().await;
    conn.send(&Call::charge().key("order-17").bytes()).await;
    assert_eq!(conn.rest().await, (vec![], End::Orderly));
    let charge = app.call(Call::charge().key("order-17")).await.json();
    let path = format!("/v1/charges/{}", charge["id"].as_str().unwrap());
    let found = Call::get(&path).header("authorization", "Bearer sk_test_123");
    assert_eq!(app.call(found).await.status, 200);
    for id in ["first", "second"] {
        assert!(app.post("a@b.test", &letter(id, "hello")).await.starts_with("250"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_documentation() {
    with(
        |b| b,
        async |app: &App| {
            the_story(app).await;
            let mut stats = app.admin(Call::get("/_stats")).await;
            let since = stats["since"].take();
            assert!(since.as_str().unwrap().ends_with('Z'), "{since}");
            let operations = stats["providers"]["stripe"]["operations"].take();
            let expected = json!({"received": 3, "accepted": 1, "replayed": 1, "refused": 0, "read": 1, "failed": 0, "incomplete": 0,
                "unknown": 0, "in_flight": 0, "answered": 2, "withheld": 1, "lost": 0, "open": 0, "duplicates": 0,
                "class": "key-enforced", "effects": {"charge": 1}, "operations": null});
            assert_eq!(stats["providers"]["stripe"], expected);
            let create = &operations["charges.create"];
            let read = &operations["charges.retrieve"];
            assert_eq!((&create["received"], &create["accepted"], &create["replayed"]), (&json!(2), &json!(1), &json!(1)));
            assert_eq!((&read["received"], &read["read"]), (&json!(1), &json!(1)));
            let smtp = &stats["providers"]["smtp"];
            assert_eq!(smtp["class"], "key-advisory");
            assert_eq!((&smtp["accepted"], &smtp["duplicates"]), (&json!(2), &json!(1)));
            assert_eq!(smtp["duplicates_by"], json!({"message-id": 0, "content": 1}));
            assert_eq!(smtp["effects"], json!({"message": 2, "recipient": 2}));
            assert_eq!(stats["effects"], json!({"charge": 1, "message": 2, "recipient": 2}));
            assert_eq!(stats["faults"], json!({"armed": 0, "fired": 1}));
            assert_eq!((&stats["generation"], &stats["unmatched"]), (&json!(1), &json!(0)));
            assert_eq!(stats["journal_trimmed"], json!({"entries": 0, "bodies": 0}));
            let names: Vec<&String> = stats["providers"].as_object().unwrap().keys().collect();
            assert_eq!(names, ["deliveries", "orders", "smtp", "stripe", "stripe-webhooks", "webhook"], "those that were not called too");
            check_sums(&stats);
        },
    )
    .await;
}

/// Checks that the total is the sum of the providers, name by name, and that both sums hold.
fn check_sums(stats: &Value) {
    let total = stats["total"].as_object().unwrap();
    assert_eq!(total.len(), 14);
    let count = |name: &str| total[name].as_u64().unwrap();
    for name in total.keys() {
        let providers = stats["providers"].as_object().unwrap().values();
        let sum: u64 = providers.map(|provider| provider[name].as_u64().unwrap()).sum();
        assert_eq!(count(name), sum, "{name}");
    }
    let outcomes = [
        "accepted",
        "replayed",
        "refused",
        "read",
        "failed",
        "incomplete",
        "unknown",
        "in_flight",
    ];
    let fates = ["answered", "withheld", "lost", "open"];
    assert_eq!(count("received"), outcomes.iter().map(|name| count(name)).sum::<u64>());
    assert_eq!(count("received"), fates.iter().map(|name| count(name)).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_is_open_and_told_so_from_outside() {
    with(
        |b| b,
        async |app: &App| {
            for (mode, outcome, held) in [
                ("hold-before-commit", "in_flight", 0),
                ("hold-after-commit", "accepted", 1),
            ] {
                app.admin(Call::post("/_reset")).await;
                app.fault(json!({"mode": mode, "on": 1})).await;
                let mut conn = app.connect().await;
                conn.send(&Call::order("a").bytes()).await;
                app.until("the hold", |app| app.suite.holds().list(None).len() == 1)
                    .await;
                let stats = app.admin(Call::get("/_stats")).await;
                let orders = &stats["providers"]["orders"];
                assert_eq!((&orders[outcome], &orders["open"]), (&json!(1), &json!(1)), "{mode}");
                assert_eq!(app.effects("order"), held);
                check_sums(&stats);
                drop(conn);
                app.settled().await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_knows_is_counted_apart() {
    with(
        |b| b,
        async |app: &App| {
            let answer = app.call(Call::post("/api/charges?key=sk_test_51Habc")).await;
            assert_eq!(answer.status, 404);
            let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(said.contains("/api/charges") && said.contains("/v1"), "{said}");
            app.call(Call::get("/~alice/nothing")).await;
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(
                (&stats["unmatched"], &stats["total"]["received"]),
                (&json!(2), &json!(0))
            );
            let last = stats["unmatched_last"].to_string();
            assert!(last.contains("POST /api/charges") && !last.contains("51Habc"), "{last}");
            let alice = app.admin(Call::get("/_stats?scope=alice")).await;
            assert_eq!(
                (&alice["unmatched"], &alice["unmatched_last"]),
                (&json!(1), &json!(["GET /~alice/nothing"]))
            );
            app.admin(Call::post("/_reset")).await;
            assert_eq!(app.admin(Call::get("/_stats")).await["unmatched"], 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_begins_a_generation_at_zero() {
    with(
        |b| b,
        async |app: &App| {
            the_story(app).await;
            let answer = app.admin(Call::post("/_reset")).await;
            assert_eq!(answer, json!({"generation": 2, "scope": null}));
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(stats["generation"], 2);
            assert_eq!(
                (&stats["total"]["received"], &stats["effects"]),
                (&json!(0), &json!({}))
            );
            assert_eq!(stats["faults"], json!({"armed": 0, "fired": 0}));
            assert_eq!(app.admin(Call::get("/_events")).await["events"], json!([]));
            assert_eq!(app.admin(Call::get("/_mail")).await["total"], 0);
        },
    )
    .await;
}
