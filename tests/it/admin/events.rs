//! `GET /_events`: whole entries, filtered, page by page.

use serde_json::{Value, json};

use crate::support::{App, Call, letter, with};

async fn events(app: &App, query: &str) -> Vec<Value> {
    let list = app.admin(Call::get(&format!("/_events{query}"))).await;
    list["events"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_tells_all_there_is_to_know() {
    with(
        |b| b,
        async |app: &App| {
            let rule = app.fault(json!({"mode": "error-after-commit", "status": 504})).await;
            let call = Call::order("order-17").key("k-1").header("x-ackdrop-scope", "alice");
            app.call(call).await;
            let entry = events(app, "").await.remove(0);
            for (field, value) in [
                ("generation", json!(1)),
                ("scope", json!("alice")),
                ("provider", json!("orders")),
                ("operation", json!("orders.create")),
                ("line", json!("POST /orders")),
                ("key", json!("k-1")),
                ("outcome", json!("accepted")),
                ("fate", json!("withheld")),
                ("duplicate", json!(null)),
                (
                    "fault",
                    json!({"rule": rule, "mode": "error-after-commit", "how": "status"}),
                ),
            ] {
                assert_eq!(entry[field], value, "{field}");
            }
            assert_eq!(entry["correlation"]["parameters"].as_str().unwrap().len(), 32);
            let effect = &entry["effects"][0];
            assert_eq!((&effect["kind"], &effect["count"]), (&json!("order"), &json!(1)));
            assert!(effect["id"].as_str().unwrap().starts_with("ord_"), "{effect}");
            let times = ["arrived", "committed", "answering", "ended"].map(|name| entry[name].as_str().unwrap());
            assert!(times.is_sorted(), "{times:?}");
            assert!(entry["client"].as_str().unwrap().starts_with("127.0.0.1:"));
            assert!(entry["connection"].as_u64().unwrap() > 0 && entry["bytes"]["sent"].as_u64().unwrap() > 0);
            assert_eq!(entry["request"]["body"], r#"{"reference":"order-17"}"#);
            assert!(
                entry["request"]["headers"]
                    .as_str()
                    .unwrap()
                    .contains("idempotency-key: k-1")
            );
            // What the provider did stands here, and not what the transport made of it.
            assert_eq!(entry["answer"]["status"], 201);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_shows_its_own_and_nothing_else() {
    with(
        |b| b,
        async |app: &App| {
            app.call(Call::order("a").key("k-1")).await;
            app.call(Call::order("a").header("x-ackdrop-scope", "alice")).await;
            app.call(Call::order("a")).await;
            app.call(Call::get("/orders/a")).await;
            app.call(Call::post("/hooks/t").fault("error-after-commit")).await;
            app.post("a@b.test", &letter("m-1", "x")).await;
            app.settled().await;
            for (query, expected) in [
                ("", 6),
                ("?scope=alice", 1),
                ("?scope=nobody", 0),
                ("?provider=orders", 4),
                ("?operation=orders.retrieve", 1),
                ("?outcome=refused", 1),
                ("?outcome=accepted", 4),
                ("?fate=withheld", 1),
                ("?key=k-1", 1),
                ("?provider=orders&outcome=accepted", 2),
                ("?provider=smtp&key=m-1", 1),
            ] {
                assert_eq!(events(app, query).await.len(), expected, "{query}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other_and_miss_nothing() {
    with(
        |b| b,
        async |app: &App| {
            for n in 0..7 {
                app.order_of(n).await;
            }
            app.settled().await;
            let (mut since, mut seen) = (0, Vec::new());
            loop {
                let page = app.admin(Call::get(&format!("/_events?limit=3&since={since}"))).await;
                seen.extend(
                    page["events"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|e| e["id"].as_u64().unwrap()),
                );
                since = page["next"].as_u64().unwrap();
                if page["has_more"] == false {
                    break;
                }
            }
            // In the order of their last change, which is not quite that of their arrival.
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
            let after = app.admin(Call::get(&format!("/_events?since={since}"))).await;
            assert_eq!(
                (&after["events"], &after["next"]),
                (&json!([]), &json!(since)),
                "a cursor at the end stays there"
            );
            let none = app.admin(Call::get("/_events?outcome=failed")).await;
            assert_eq!(
                (&none["events"], &none["next"]),
                (&json!([]), &json!(since)),
                "what a filter leaves out is not looked at twice"
            );
            app.order_of(8).await;
            assert_eq!(events(app, &format!("?since={since}")).await.len(), 1);
        },
    )
    .await;
}

impl App {
    async fn order_of(&self, n: usize) {
        assert_eq!(self.call(Call::order(&format!("o{n}"))).await.status, 201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_cannot_match_is_refused_with_what_can() {
    with(
        |b| b,
        async |app: &App| {
            for (query, words) in [
                (
                    "?outcome=acepted",
                    "accepted, replayed, refused, read, failed, incomplete, unknown",
                ),
                ("?fate=dropped", "answered, withheld, lost"),
                ("?scpe=alice", "unknown query parameter `scpe`; allowed are: scope"),
                (
                    "?limit=many",
                    "`limit` is `many`, and must be a whole number from 0 to 1000",
                ),
                ("?limit=1001", "from 0 to 1000"),
                ("?since=-1", "`since` is `-1`"),
                ("?scope=a%20b", "`a b` is no scope name"),
            ] {
                for path in ["/_events", "/_events/stream"] {
                    let answer = app.call(Call::get(&format!("{path}{query}"))).await;
                    if answer.status == 200 {
                        assert!(query.starts_with("?limit"), "{path}{query}");
                        continue;
                    }
                    assert_eq!(answer.status, 400, "{path}{query}");
                    let said = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                    assert!(said.contains(words), "{query}: {said}");
                }
            }
        },
    )
    .await;
}
