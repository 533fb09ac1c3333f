//! What is not sent: to addresses that are none of a test double's, and what is asked for wrongly.

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_public_address_is_refused_with_its_reason_and_nothing_is_tried() {
    with(
        |b| b,
        async |app: &App| {
            for (url, words) in [
                ("http://8.8.8.8/hook", "8.8.8.8 is a public address"),
                ("https://8.8.8.8:8443/hook", "8.8.8.8 is a public address"),
                ("http://[::ffff:8.8.8.8]/", "is a public address"),
                ("http://[2001:4860:4860::8888]/", "is a public address"),
                ("http://169.254.169.254/latest/meta-data/", "link-local"),
                ("http://[::ffff:169.254.169.254]/", "link-local"),
                ("http://[fe80::1]/", "link-local"),
                ("http://0.0.0.0:1/", "no address of a host"),
                // A name without dots, which the resolver reads as 8.8.8.8.
                (
                    "http://134744072/",
                    "134744072 resolves to 8.8.8.8, which is a public address",
                ),
            ] {
                let answer = app.call(Call::post("/_deliver").json(&json!({"url": url}))).await;
                let said = answer.text();
                assert_eq!(answer.status, 403, "{url}: {said}");
                assert!(
                    said.contains("nothing was sent") && said.contains(words),
                    "{url}: {said}"
                );
                assert!(said.contains("--deliver-host"), "{said}");
            }
            assert_eq!((app.counts("deliveries").await.received, app.entries().len()), (0, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_named_is_let_through() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    with(
        |b| b.deliver_hosts(&["0.0.0.0".to_owned()]),
        async |app: &App| {
            let receive = async {
                drop(listener.accept().await.unwrap());
            };
            // Not sent to, were it not named; on Linux it is this machine.
            let asked = Call::post("/_deliver").json(&json!({"url": format!("http://0.0.0.0:{port}/")}));
            let (told, ()) = tokio::join!(app.admin(asked), receive);
            assert!(told["copies"][0]["attempt"].is_number(), "{told}");
            let other = app
                .call(Call::post("/_deliver").json(&json!({"url": "http://8.8.8.8/"})))
                .await;
            assert_eq!(other.status, 403);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_with_what_is_allowed_and_nothing_is_sent() {
    with(
        |b| b,
        async |app: &App| {
            let url = "http://127.0.0.1:1/";
            let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
            let large = "x".repeat((1 << 20) + 1);
            for (asked, field, words) in [
                (json!([]), "the body of the call", "a JSON object"),
                (json!({}), "url", "missing"),
                (json!({"url": 3}), "url", "a URL like"),
                (json!({"url": "ftp://a/"}), "url", "must begin with http://"),
                (json!({"url": "http://u:hunter2@a/"}), "url", "Authorization"),
                (json!({"url": url, "copy": 2}), "copy", "copies"),
                (json!({"url": url, "copies": 0}), "copies", "1 to 1000"),
                (json!({"url": url, "copies": 1_001}), "copies", "1 to 1000"),
                (json!({"url": url, "copies": 501, "bodies": ["a", "b"]}), "copies", "it is 1002"),
                (json!({"url": url, "method": "BREW"}), "method", "POST"),
                (json!({"url": url, "headers": {"content-length": "3"}}), "headers", "set by the connection"),
                (json!({"url": url, "headers": {"x-a": 3}}), "headers", "a text"),
                (json!({"url": url, "headers": {"x-a": "b\r\nc: d"}}), "headers", "line break"),
                (json!({"url": url, "body": large}), "body", "1 MiB"),
                (json!({"url": url, "body": "a", "bodies": ["b"]}), "bodies", "one of"),
                (json!({"url": url, "bodies": []}), "bodies", "a list of 1"),
                (json!({"url": url, "events": [{"url": "http://a"}]}), "events[0].url", "method, headers, body"),
                (json!({"url": url, "spacing": "1 s"}), "spacing", "250ms"),
                (json!({"url": url, "spacing": "5m", "copies": 9}), "spacing", "within 600s"),
                (json!({"url": url, "delay": "11m"}), "delay", "at most 600s"),
                (json!({"url": url, "timeout": "0s"}), "timeout", "1ms and more"),
                (json!({"url": url, "order": "random"}), "order", "reverse, shuffle"),
                (json!({"url": url, "order": [1]}), "order", "0 to 0"),
                (json!({"url": url, "order": "reverse", "seed": 1}), "seed", "shuffle"),
                (json!({"url": url, "seed": 1}), "seed", "shuffle"),
                (json!({"url": url, "sign": {"secret": secret}}), "sign.scheme", "stripe, standard"),
                (json!({"url": url, "sign": {"scheme": "standard"}}), "sign.secret", "whsec_"),
                (json!({"url": url, "sign": {"scheme": "standard", "secret": "hunter2"}}), "sign.secret", "base64"),
                (json!({"url": url, "sign": {"scheme": "stripe", "secret": secret, "id": "a"}}), "sign.id", "signs no id"),
                (json!({"url": url, "sign": {"scheme": "stripe", "secret": secret}, "headers": {"Stripe-Signature": "x"}}), "headers", "beside `sign`"),
                (json!({"url": url, "sign": {"scheme": "standard", "secret": secret, "id": "a"}, "bodies": ["a", "b"]}), "sign.id", "several events"),
            ] {
                let answer = app.call(Call::post("/_deliver").json(&asked)).await;
                let said = answer.text();
                assert_eq!(answer.status, 400, "{field}: {said}");
                assert!(said.contains(&format!("`{field}` is")) && said.contains(words), "{field}: {said}");
                assert!(!said.contains("hunter2") && !said.contains("MfKQ"), "{said}");
            }
            let misspelt = app.call(Call::post("/_deliver?scoep=a").json(&json!({"url": url}))).await;
            assert_eq!(misspelt.status, 400);
            assert_eq!(app.counts("deliveries").await.received, 0);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_other_machines_reach_it_it_asks_for_a_token() {
    use ackdrop::suite::{Kind, Listen};
    let everywhere = Listen {
        addr: "0.0.0.0:0".parse().unwrap(),
        both_loopbacks: false,
        all_interfaces: false,
    };
    let asked = Call::post("/_deliver").json(&json!({"url": "http://127.0.0.1:1/"}));
    with(
        |b| b.listen(Kind::Http, everywhere),
        async |app: &App| {
            let port = app.http().port();
            for path in ["/_deliver", "/~alice/_deliver"] {
                let mut conn = crate::support::Conn::plain(([127, 0, 0, 1], port).into()).await;
                conn.send(&Call::post(path).json(&json!({"url": "http://127.0.0.1:1/"})).bytes())
                    .await;
                let answer = conn.answer().await;
                assert_eq!(
                    (answer.status, answer.header("www-authenticate")),
                    (401, Some("Bearer"))
                );
                assert!(answer.text().contains("--admin-token"), "{}", answer.text());
            }
            assert_eq!(app.counts("deliveries").await.received, 0);
        },
    )
    .await;
    with(
        |b| b.listen(Kind::Http, everywhere).admin(Some("t0k"), &[]),
        async |app: &App| {
            let mut conn = crate::support::Conn::plain(([127, 0, 0, 1], app.http().port()).into()).await;
            conn.send(&asked.clone().header("authorization", "Bearer t0k").bytes())
                .await;
            assert_eq!(conn.answer().await.status, 200);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stands_among_providers_and_can_be_named_in_rules() {
    with(
        |b| b,
        async |app: &App| {
            let list = app.admin(Call::get("/_providers")).await;
            let deliveries = list["providers"]
                .as_array()
                .unwrap()
                .iter()
                .find(|p| p["name"] == "deliveries");
            let operations = json!([{"name": "deliver", "kind": "write", "effects": ["delivery"]}]);
            let wanted = json!({"name": "deliveries", "class": "key-advisory", "operations": operations});
            assert_eq!(deliveries, Some(&wanted));
            let stats: Value = app.admin(Call::get("/_stats")).await;
            assert_eq!(stats["providers"]["deliveries"]["received"], 0);
        },
    )
    .await;
}
