//! Which attempts a rule speaks of, and how near the others came.

use serde_json::{Value, json};

use crate::support::{App, Call, letter, with};

/// Arms a refusal with these conditions and makes both calls: the first is hit, the second is not.
async fn hit_and_missed(app: &App, conditions: Value, hit: Call, missed: Call) {
    let mut rule = conditions.clone();
    rule["mode"] = "refuse".into();
    rule["status"] = 499.into();
    let id = app.fault(rule).await;
    assert_eq!(app.call(hit).await.status, 499, "{conditions}");
    assert_ne!(app.call(missed).await.status, 499, "{conditions}");
    assert_eq!(app.tally(&id).await, [1, 1, 0], "{conditions}");
    app.admin(Call::new("DELETE", "/_faults")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_condition_of_a_request() {
    with(
        |b| b,
        async |app: &App| {
            let order = || Call::order("order-17");
            let hook = |path: &str| Call::post(path).body("x");
            let nested = |id: Value| Call::post("/hooks/j").json(&json!({"order": {"id": id}}));
            for (conditions, hit, missed) in [
                (json!({"provider": "orders"}), order(), hook("/hooks/t")),
                (
                    json!({"provider": "o*", "operation": "orders.create"}),
                    order(),
                    Call::get("/orders"),
                ),
                (
                    json!({"operation": "deliveries.*"}),
                    hook("/hooks/t"),
                    Call::get("/orders"),
                ),
                (json!({"method": "PUT"}), Call::new("PUT", "/hooks/t"), hook("/hooks/t")),
                (json!({"path": "/hooks/a*"}), hook("/hooks/ab"), hook("/hooks/b")),
                (json!({"path": "/hooks/s"}), hook("/~alice/hooks/s"), hook("/hooks/s2")),
                (json!({"key": "order-*"}), order(), Call::order("invoice-1")),
                (
                    json!({"key": "webhook-1"}),
                    hook("/hooks/t").header("webhook-id", "webhook-1"),
                    hook("/hooks/t"),
                ),
                (
                    json!({"header": {"X-Tenant": "a*"}}),
                    hook("/hooks/t").header("x-tenant", "acme"),
                    hook("/hooks/t").header("x-tenant", "bcme"),
                ),
                (
                    json!({"header": {"x-a": "1", "x-b": "2"}}),
                    hook("/hooks/t").header("x-a", "1").header("x-b", "2"),
                    hook("/hooks/t").header("x-a", "1"),
                ),
                (
                    json!({"json": {"/order/id": "17"}}),
                    nested(json!(17)),
                    nested(json!(18)),
                ),
                (
                    json!({"json": {"/order/id": "a*"}}),
                    nested(json!("abc")),
                    hook("/hooks/t"),
                ),
                (
                    json!({"scope": "alice"}),
                    order().header("x-ackdrop-scope", "alice"),
                    Call::order("mine"),
                ),
                (
                    json!({"scope": "w*"}),
                    order().header("x-ackdrop-scope", "w1"),
                    order().header("x-ackdrop-scope", "v1"),
                ),
            ] {
                hit_and_missed(app, conditions, hit, missed).await;
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_matched_by_its_fields() {
    with(
        |b| b,
        async |app: &App| {
            let form = |form: &str| Call::stripe("/v1/customers", form);
            let conditions = json!({"provider": "stripe", "json": {"/metadata[order]": "17"}});
            hit_and_missed(app, conditions, form("metadata[order]=17"), form("metadata[order]=18")).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_condition_of_a_mail() {
    with(
        |b| b,
        async |app: &App| {
            let subject = |subject: &str| format!("Subject: {subject}\r\nMessage-ID: <id-1@x>\r\n\r\nhi\r\n");
            for (conditions, hit, missed) in [
                (
                    json!({"recipient": "*@example.com"}),
                    ("b@example.com", "x"),
                    ("b@example.org", "x"),
                ),
                (
                    json!({"subject": "Receipt*"}),
                    ("b@x.test", "Receipt 17"),
                    ("b@x.test", "Invoice"),
                ),
                (
                    json!({"subject": "Größe*"}),
                    ("b@x.test", "=?utf-8?q?Gr=C3=B6=C3=9Fe_1?="),
                    ("b@x.test", "Grosse"),
                ),
                (
                    json!({"sender": "shop@*", "recipient": "c@x.test"}),
                    ("c@x.test", "x"),
                    ("b@x.test", "x"),
                ),
                (
                    json!({"header": {"message-id": "*id-1@*"}, "recipient": "k@x.test"}),
                    ("k@x.test", "x"),
                    ("l@x.test", "x"),
                ),
                (
                    json!({"key": "id-1@x", "recipient": "k@x.test"}),
                    ("k@x.test", "x"),
                    ("l@x.test", "x"),
                ),
            ] {
                let mut rule = conditions.clone();
                rule["mode"] = "refuse".into();
                let id = app.fault(rule).await;
                assert!(
                    app.post(hit.0, &subject(hit.1)).await.starts_with("451"),
                    "{conditions}"
                );
                assert!(
                    app.post(missed.0, &subject(missed.1)).await.starts_with("250"),
                    "{conditions}"
                );
                assert_eq!(app.tally(&id).await, [1, 1, 0]);
                app.admin(Call::new("DELETE", "/_faults")).await;
            }
            app.fault(json!({"mode": "refuse", "sender": ""})).await;
            assert!(app.post("a@b.test", &letter("n", "x")).await.starts_with("250"));
            let mut bounce = app.mailer().await;
            bounce.expect("MAIL FROM:<>", "250").await;
            bounce.expect("RCPT TO:<a@b.test>", "250").await;
            bounce.expect("DATA", "354").await;
            bounce.dot(&letter("m", "x")).await;
            assert!(bounce.reply().await.starts_with("451"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_recipients_is_enough() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "refuse", "recipient": "two@x.test"})).await;
            let mut mailer = app.mailer().await;
            mailer.expect("MAIL FROM:<a@x.test>", "250").await;
            mailer.expect("RCPT TO:<one@x.test>", "250").await;
            mailer.expect("RCPT TO:<two@x.test>", "250").await;
            mailer.expect("DATA", "354").await;
            mailer.dot(&letter("a", "x")).await;
            assert!(mailer.reply().await.starts_with("451"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_near_miss_names_the_one_condition_that_failed() {
    with(
        |b| b,
        async |app: &App| {
            let id = app
                .fault(
                    json!({"mode": "refuse", "provider": "orders", "operation": "orders.create", "key": "order-*",
                    "header": {"x-tenant": "acme"}}),
                )
                .await;
            assert_eq!(app.rule(&id).await["near_miss"], json!(null));
            app.call(Call::order("invoice-1").header("x-tenant", "acme")).await;
            let near = json!({"field": "key", "wanted": "order-*", "got": "invoice-1"});
            assert_eq!(app.rule(&id).await["near_miss"], near);
            app.call(Call::post("/hooks/t")).await;
            assert_eq!(app.rule(&id).await["near_miss"], near, "another provider is not nearer");
            app.call(Call::order("order-1")).await;
            let near = json!({"field": "header.x-tenant", "wanted": "acme", "got": null});
            assert_eq!(app.rule(&id).await["near_miss"], near);
            let call = Call::order("order-2").header("x-tenant", "acme");
            assert_eq!(app.call(call).await.status, 422);
            assert_eq!(app.tally(&id).await, [1, 1, 0]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_after_mode_that_met_a_look_up_says_that_it_was_not_accepted() {
    with(
        |b| b,
        async |app: &App| {
            let id = app
                .fault(json!({"mode": "drop-after-commit", "provider": "orders"}))
                .await;
            app.call(Call::get("/orders")).await;
            let near = app.rule(&id).await["near_miss"].clone();
            assert_eq!((&near["field"], &near["got"]), (&json!("outcome"), &json!("read")));
        },
    )
    .await;
}
