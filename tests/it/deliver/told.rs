//! What is told of each copy, and how it stands in the ledger.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::{Receiver, deliver, each};
use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn status_outcome_and_fate_of_each_copy_are_told_and_counted() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::start(|heard: super::Heard, mut stream: TcpStream| async move {
                match heard.body.as_str() {
                    "ok" => super::receiver::say(stream, "201 Created").await,
                    "no" => super::receiver::say(stream, "500 Internal Server Error").await,
                    "reset" => stream.set_zero_linger().unwrap(),
                    "large" => {
                        let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
                        drop(stream.write_all(head.as_bytes()).await);
                        drop(stream.write_all(&[b'x'; 100_000]).await);
                    }
                    // Slower than anybody waits for it.
                    _ => std::future::pending().await,
                }
            })
            .await;
            let bodies = ["ok", "no", "reset", "large", "slow"];
            let told = deliver(app, json!({"url": receiver.url, "bodies": bodies, "timeout": "300ms"})).await;
            let null = Value::Null;
            assert_eq!(
                each(&told, "status"),
                [json!(201), json!(500), null.clone(), json!(200), null.clone()]
            );
            assert_eq!(
                each(&told, "outcome"),
                ["accepted", "refused", "unknown", "accepted", "unknown"]
            );
            assert_eq!(each(&told, "fate"), ["answered", "answered", "lost", "lost", "lost"]);
            let what: Vec<Value> = each(&told, "error").iter().map(|error| error["what"].clone()).collect();
            assert_eq!(
                what,
                [
                    null.clone(),
                    null.clone(),
                    json!("reset"),
                    json!("too-large"),
                    json!("timeout")
                ]
            );
            assert_eq!(each(&told, "body")[..2], ["ok", "ok"]);
            let summary = &told["summary"];
            assert_eq!(
                (
                    &summary["copies"],
                    &summary["accepted"],
                    &summary["refused"],
                    &summary["unknown"],
                    &summary["statuses"]
                ),
                (
                    &json!(5),
                    &json!(2),
                    &json!(1),
                    &json!(2),
                    &json!({"200": 1, "201": 1, "500": 1})
                )
            );
            let counts = app.counts("deliveries").await;
            assert_eq!((counts.accepted, counts.refused, counts.unknown), (2, 1, 2));
            assert_eq!((counts.answered, counts.lost), (2, 3));
            assert_eq!(app.effects("delivery"), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_not_there_has_failed_and_the_others_go() {
    with(
        |b| b,
        async |app: &App| {
            let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
            let told = deliver(app, json!({"url": format!("http://{gone}/"), "copies": 3})).await;
            assert_eq!(each(&told, "outcome"), ["failed"; 3]);
            assert_eq!(told["copies"][0]["error"]["what"], "refused");
            let told = deliver(app, json!({"url": "http://no-such-host.invalid/"})).await;
            assert_eq!(told["copies"][0]["error"]["what"], "unresolved");
            let counts = app.counts("deliveries").await;
            assert_eq!((counts.received, counts.failed, counts.lost), (4, 4, 4));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_try_is_an_entry_with_what_was_sent_and_answered() {
    with(
        |b| b,
        async |app: &App| {
            let receiver = Receiver::saying("200 OK").await;
            let asked = json!({
                "url": receiver.url, "events": [{"body": {"n": 1}, "method": "put", "headers": {"x-a": "own"}}, {"body": "plain"}],
                "headers": {"webhook-id": "msg_1", "x-a": "common", "x-b": ["1", "2"]}, "order": "given",
            });
            let told = app.admin(Call::post("/_deliver?scope=alice").json(&asked)).await;
            let heard = receiver.heard();
            assert!(heard[0].head.starts_with("PUT /hook HTTP/1.1"), "{}", heard[0].head);
            assert_eq!((heard[0].header("x-a"), heard[1].header("x-a")), (Some("own"), Some("common")));
            assert_eq!(heard[1].head.matches("x-b: ").count(), 2);
            assert_eq!(heard[1].header("content-type"), Some("text/plain; charset=utf-8"));
            let events = app.admin(Call::get("/_events?scope=alice")).await;
            let entry = &events["events"][0];
            assert_eq!(entry["id"], told["copies"][0]["attempt"]);
            for (field, wanted) in [
                ("provider", json!("deliveries")),
                ("operation", json!("deliver")),
                ("scope", json!("alice")),
                ("key", json!("msg_1")),
                ("line", json!(format!("PUT {}", receiver.url))),
                ("outcome", json!("accepted")),
                ("fate", json!("answered")),
                ("client", json!(receiver.url.split('/').nth(2).unwrap())),
                ("effects", json!([{"kind": "delivery", "id": "msg_1", "count": 1}])),
            ] {
                assert_eq!(entry[field], wanted, "{field}: {entry}");
            }
            assert_eq!((&entry["request"]["body"], &entry["answer"]["status"]), (&json!("{\"n\":1}"), &json!(200)));
            assert_eq!(events["events"][1]["duplicate"], "webhook-id", "one id, whatever the content");
            assert_eq!((app.of("alice").duplicates, app.of("default").received), (1, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_behind_the_suites_own_certificate_is_trusted_and_another_is_not() {
    with(
        |b| b,
        async |app: &App| {
            let https = app.suite.addresses().https().unwrap();
            for host in ["127.0.0.1", "localhost"] {
                let url = format!("https://{host}:{}/hooks/t", https.port());
                let told = deliver(app, json!({"url": url, "body": host})).await;
                assert_eq!(told["copies"][0]["status"], 200, "{told}");
            }
            with(
                |b| b,
                async |other: &App| {
                    let url = format!("https://{}/hooks/t", other.suite.addresses().https().unwrap());
                    let told = deliver(app, json!({"url": url})).await;
                    let copy = &told["copies"][0];
                    assert_eq!(
                        (&copy["error"]["what"], &copy["outcome"]),
                        (&json!("tls"), &json!("failed")),
                        "{told}"
                    );
                },
            )
            .await;
        },
    )
    .await;
}
