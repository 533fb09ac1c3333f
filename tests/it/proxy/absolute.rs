//! Requests in absolute form: a played host is its provider's, and the listener itself is known by its address.

use crate::support::{App, Call, End, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_played_host_is_all_its_providers() {
    with(
        |b| b,
        async |app: &App| {
            let charge = |url: &str| Call::stripe(url, "amount=1099&currency=usd&source=tok_visa");
            let mut conn = app.connect().await;
            for url in [
                "http://api.stripe.com/v1/charges",
                "https://API.stripe.com:443/v1/charges",
            ] {
                // The absolute form is the one that counts (RFC 9112, section 3.2.2).
                conn.send(&charge(url).header("proxy-authorization", "Basic fmFsaWNlOg==").bytes())
                    .await;
                assert_eq!(conn.answer().await.status, 200);
            }
            assert_eq!(app.of("alice").accepted, 2);
            for path in ["/_stats", "/~bob/v1/charges", "/orders"] {
                let call = Call::get(&format!("http://api.stripe.com{path}"));
                conn.send(&call.header("authorization", "Bearer sk_test_123").bytes())
                    .await;
                assert_eq!(conn.answer().await.status, 404, "{path}");
            }
            conn.send(
                &charge("http://api.stripe.com/v1/charges")
                    .fault("drop-after-commit; how=reset")
                    .bytes(),
            )
            .await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
            assert_eq!(app.effects("charge"), 3);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_itself_is_served_as_without_a_proxy() {
    with(
        |b| b,
        async |app: &App| {
            let port = app.http().port();
            for host in ["127.0.0.1", "localhost"] {
                let base = format!("http://{host}:{port}");
                let hook = Call::post(&format!("{base}/~alice/hooks/paid")).body("x");
                assert_eq!(app.call(hook).await.status, 200);
                let stats = app.call(Call::get(&format!("{base}/_stats"))).await.json();
                assert!(stats["total"]["accepted"].as_u64() > Some(0));
            }
            assert_eq!(app.of("alice").accepted, 2);
            let other = app.call(Call::get(&format!("http://evil.test:{port}/_stats"))).await;
            assert_eq!(other.status, 403);
        },
    )
    .await;
}
