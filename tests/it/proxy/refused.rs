//! A host that is neither played nor allowed: refused, told, and never looked up.

use std::sync::Arc;

use serde_json::json;

use super::{Recorder, allowing, ask};
use crate::support::{App, Call, with};

#[tokio::test(flavor = "multi_thread")]
async fn it_is_a_403_that_names_the_host_and_is_counted() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            for _ in 0..3 {
                conn.send(&ask("Example.com:443").bytes()).await;
                let answer = conn.answer().await;
                assert_eq!(answer.status, 403);
                let text = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(
                    text.contains("`example.com:443`") && text.contains("--allow-host example.com"),
                    "{text}"
                );
            }
            let login = ("proxy-authorization", "Basic fmFsaWNlOg==");
            conn.send(
                &Call::get("http://example.org/v1/charges")
                    .header(login.0, login.1)
                    .bytes(),
            )
            .await;
            assert_eq!(conn.answer().await.status, 403, "the connection goes on");
            let hosts = |stats: &serde_json::Value| stats["refused_hosts"].clone();
            let stats = app.admin(Call::get("/_stats")).await;
            assert_eq!(hosts(&stats), json!({"example.com:443": 3, "example.org:80": 1}));
            assert_eq!(
                (&stats["unmatched"], &stats["total"]["received"]),
                (&json!(0), &json!(0))
            );
            let alice = app.admin(Call::get("/_stats?scope=alice")).await;
            assert_eq!(hosts(&alice), json!({"example.org:80": 1}));
            app.admin(Call::post("/_reset?scope=alice")).await;
            assert_eq!(
                hosts(&app.admin(Call::get("/_stats")).await),
                json!({"example.com:443": 3})
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_looked_up_or_connected_for_it_or_for_a_played_host() {
    let recorder = Arc::new(Recorder::default());
    with(
        |b| {
            allowing(
                b.connector(Arc::clone(&recorder) as _),
                &["allowed.test", "*.below.test"],
            )
        },
        async |app: &App| {
            for target in [
                "example.com:443",
                "www.allowed.test:443",
                "below.test:443",
                "127.0.0.1:9",
                "[::1]:9",
                "localhost:9",
                "169.254.169.254:80",
            ] {
                assert_eq!(app.call(ask(target)).await.status, 403, "{target}");
                assert_eq!(
                    app.call(Call::get(&format!("http://{target}/"))).await.status,
                    403,
                    "{target}"
                );
            }
            assert_eq!(app.call(Call::get("http://api.stripe.com/v1/x")).await.status, 401);
            super::secure(app).await.half_close().await;
            assert_eq!(recorder.asked(), [""; 0]);
            // So that the recorder is known to see what there is.
            assert_eq!(app.call(ask("allowed.test:443")).await.status, 502);
            assert_eq!(app.call(Call::get("http://a.below.test/")).await.status, 502);
            assert_eq!(recorder.asked(), ["allowed.test:443", "a.below.test:80"]);
        },
    )
    .await;
}
