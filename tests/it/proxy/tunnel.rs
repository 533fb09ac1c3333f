//! CONNECT to a host that the suite plays: all in the tunnel is its provider's.

use crate::support::{App, Call, with};

use super::{STRIPE, ask, both, opened, secure};

#[tokio::test(flavor = "multi_thread")]
async fn requests_follow_one_another_and_all_are_stripes() {
    with(
        |b| b,
        async |app: &App| {
            for (n, mut conn) in both(app).await.into_iter().enumerate() {
                for charge in 0..2 {
                    conn.send(&Call::charge().key(&format!("k{n}-{charge}")).bytes()).await;
                    assert_eq!(conn.answer().await.status, 200);
                }
                // No admin, no scope's prefix, and no other host, whatever a request says of itself.
                for path in [
                    "/_stats",
                    "/~alice/v1/charges",
                    "http://example.test/v1/nothing",
                    "/orders",
                ] {
                    conn.send(&Call::get(path).header("authorization", "Bearer sk_test_123").bytes())
                        .await;
                    let answer = conn.answer().await;
                    assert_eq!(answer.status, 404, "{path}");
                    assert!(
                        answer.text().contains("invalid_request_error"),
                        "{path}: {}",
                        answer.text()
                    );
                }
            }
            let stats = app.suite.stats();
            assert_eq!(
                (
                    app.effects("charge"),
                    stats.unmatched,
                    stats.providers["orders"].counts.received
                ),
                (4, 0, 0)
            );
            let entry = app.entries().remove(0);
            assert_eq!((&*entry.scope, &*entry.arrival.line), ("default", "POST /v1/charges"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_https_listener_is_a_proxy_too() {
    with(
        |b| b,
        async |app: &App| {
            let outer = app.connect_tls(app.suite.addresses().https().unwrap()).await;
            let tunnel = opened(outer, &ask(STRIPE)).await;
            let mut inner = tunnel.secure(app.suite.ca_pem(), "api.stripe.com").await;
            inner.send(&Call::charge().bytes()).await;
            assert_eq!((inner.answer().await.status, app.effects("charge")), (200, 1));
            inner
                .send(&Call::charge().fault("drop-after-commit; how=reset").bytes())
                .await;
            assert_eq!(inner.rest().await, (vec![], crate::support::End::Reset));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_comes_from_inside_or_from_the_login_at_the_proxy() {
    with(
        |b| b,
        async |app: &App| {
            // The user `~alice`, as curl -x http://~alice@… sends it.
            let login = ask(STRIPE).header("proxy-authorization", "Basic fmFsaWNlOg==");
            let tunnel = opened(app.connect().await, &login).await;
            let mut conn = tunnel.secure(app.suite.ca_pem(), "api.stripe.com").await;
            conn.send(&Call::charge().bytes()).await;
            conn.send(&Call::charge().header("x-ackdrop-scope", "bob").bytes())
                .await;
            let carol = Call::post("/v1/charges").header("authorization", "Bearer sk_test_~carol");
            conn.send(&carol.form("amount=1099&currency=usd&source=tok_visa").bytes())
                .await;
            for _ in 0..3 {
                assert_eq!(conn.answer().await.status, 200);
            }
            for scope in ["alice", "bob", "carol"] {
                assert_eq!(app.of(scope).accepted, 1, "{scope}");
            }
            let mut conn = app.connect().await;
            conn.send(&ask(STRIPE).header("x-ackdrop-scope", "a b").bytes()).await;
            assert_eq!(conn.answer().await.status, 400);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_behind_the_connect_at_once_is_not_lost() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = app.connect().await;
            let mut bytes = ask("api.stripe.com:80").bytes();
            bytes.extend(Call::charge().key("a").bytes());
            bytes.extend(Call::charge().key("b").bytes());
            conn.send(&bytes).await;
            assert_eq!(conn.answer_head().await.status, 200);
            assert_eq!((conn.answer().await.status, conn.answer().await.status), (200, 200));
            assert_eq!(app.effects("charge"), 2);
            // Behind a request that was answered first, too.
            let mut conn = app.connect().await;
            conn.send(&[Call::order("o").bytes(), bytes].concat()).await;
            assert_eq!(
                (conn.answer().await.status, conn.answer_head().await.status),
                (201, 200)
            );
            assert_eq!((conn.answer().await.status, conn.answer().await.status), (200, 200));
            assert_eq!((app.effects("order"), app.effects("charge")), (1, 2));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_is_the_hosts_whatever_name_is_asked_for() {
    with(
        |b| b,
        async |app: &App| {
            for name in ["example.com", "stripe.com"] {
                let conn = opened(app.connect().await, &ask(STRIPE)).await;
                let shaken = conn.try_secure(app.suite.ca_pem(), name).await;
                let error = shaken.err().expect("it is not for that name").to_string();
                assert!(error.contains("not valid for name"), "{error}");
            }
            assert_eq!(app.suite.stats().total.received, 0);
            let mut conn = opened(app.connect().await, &ask("API.Stripe.com.:443"))
                .await
                .secure(app.suite.ca_pem(), "api.stripe.com")
                .await;
            conn.send(&Call::charge().bytes()).await;
            assert_eq!(conn.answer().await.status, 200);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_suites_ca_is_not_trusted_and_a_tunnel_holds_no_tunnel() {
    with(
        |b| b,
        async |app: &App| {
            let other = ackdrop::Suite::builder().start().await.unwrap();
            let conn = opened(app.connect().await, &ask(STRIPE)).await;
            assert!(conn.try_secure(other.ca_pem(), "api.stripe.com").await.is_err());
            let mut conn = secure(app).await;
            conn.send(&ask(STRIPE).header("authorization", "Bearer sk_test_123").bytes())
                .await;
            assert_eq!(conn.answer().await.status, 404);
        },
    )
    .await;
}
