//! Who may change anything.

use serde_json::json;

use crate::support::{Answer, App, Call, Conn, with};

/// Makes a call whose Host is what a test says, and not the harness's.
async fn call_as(app: &App, head: &str) -> Answer {
    let mut conn: Conn = app.connect().await;
    conn.send(format!("{head}\r\ncontent-length: 0\r\n\r\n").as_bytes())
        .await;
    conn.answer().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_page_and_a_rebound_name_change_nothing() {
    with(
        |b| b.admin(None, &["mock.example.com".to_owned()]),
        async |app: &App| {
            app.call(Call::order("a")).await;
            for (head, status) in [
                ("POST /_reset HTTP/1.1\r\nhost: evil.example", 421),
                ("POST /~alice/_reset HTTP/1.1\r\nhost: evil.example", 421),
                (
                    "POST /_reset HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example",
                    403,
                ),
                (
                    "DELETE /_faults HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site",
                    403,
                ),
                (
                    "PUT /_hooks/t HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-site",
                    403,
                ),
                ("GET /_stats HTTP/1.1\r\nhost: evil.example", 200),
                (
                    "POST /orders HTTP/1.1\r\nhost: api.example.com\r\norigin: http://shop.example",
                    400,
                ),
            ] {
                let answer = call_as(app, head).await;
                assert_eq!(answer.status, status, "{head}: {}", answer.text());
            }
            assert_eq!(app.effects("order"), 1, "nothing was reset");
            let named = call_as(app, "POST /_reset HTTP/1.1\r\nhost: Mock.Example.Com:8080").await;
            assert_eq!((named.status, app.effects("order")), (200, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_guards_all_but_health() {
    with(
        |b| b.admin(Some("t0k"), &[]),
        async |app: &App| {
            for path in [
                "/_stats",
                "/_events",
                "/_faults",
                "/_mail",
                "/_hooks",
                "/_addresses",
                "/_nothing",
            ] {
                let answer = app.call(Call::get(path)).await;
                assert_eq!(
                    (answer.status, answer.header("www-authenticate")),
                    (401, Some("Bearer")),
                    "{path}"
                );
                assert!(answer.text().contains("--admin-token") && !answer.text().contains("t0k"));
            }
            for open in ["/_health", "/_ready", "/_ca.pem"] {
                assert_eq!(app.call(Call::get(open)).await.status, 200, "{open}");
            }
            let reset = |token: &str| Call::post("/_reset").header("authorization", token);
            assert_eq!(app.call(reset("Bearer wrong")).await.status, 401);
            assert_eq!(app.call(reset("Bearer t0k")).await.status, 200);
            assert_eq!(app.call(Call::order("a")).await.status, 201, "providers ask for none");
            let stats = app
                .admin(Call::get("/_stats").header("authorization", "Bearer t0k"))
                .await;
            assert_eq!(stats["effects"], json!({"order": 1}));
        },
    )
    .await;
}
