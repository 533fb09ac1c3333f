//! What an injected answer says: its envelope, its code, its headers, its body.

use serde_json::{Value, json};

use crate::support::{Answer, App, Call, with};

/// Makes a call of a provider that a rule answers.
async fn answered(app: &App, rule: Value, call: Call) -> Answer {
    app.admin(Call::new("DELETE", "/_faults")).await;
    app.fault(rule).await;
    app.call(call).await
}

fn kind(answer: &Answer) -> Option<&str> {
    answer.header("content-type")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_in_the_providers_envelope_with_its_code() {
    with(
        |b| b,
        async |app: &App| {
            for (rule, status, kind, code) in [
                (json!({}), 402, "card_error", "card_declined"),
                (json!({"code": "expired_card"}), 402, "card_error", "expired_card"),
                (
                    json!({"code": "rate_limit"}),
                    429,
                    "invalid_request_error",
                    "rate_limit",
                ),
                (json!({"status": 429}), 429, "invalid_request_error", "rate_limit"),
                (
                    json!({"status": 429, "code": "lock_timeout"}),
                    429,
                    "invalid_request_error",
                    "lock_timeout",
                ),
                (json!({"status": 503, "code": "api_down"}), 503, "api_error", "api_down"),
            ] {
                let mut whole = rule.clone();
                whole["mode"] = "refuse".into();
                let answer = answered(app, whole, Call::charge()).await;
                let error = answer.json()["error"].clone();
                assert_eq!(
                    (answer.status, &error["type"], &error["code"]),
                    (status, &json!(kind), &json!(code)),
                    "{rule}"
                );
                assert!(
                    error["message"].is_string() && answer.header("request-id").is_some(),
                    "{rule}"
                );
                assert_eq!(answer.header("retry-after"), (status == 429).then_some("1"), "{rule}");
            }
            let declined = answered(
                app,
                json!({"mode": "refuse", "code": "insufficient_funds"}),
                Call::charge(),
            )
            .await;
            assert_eq!(declined.json()["error"]["decline_code"], "insufficient_funds");
            let order = answered(
                app,
                json!({"mode": "refuse", "status": 429, "code": "slow"}),
                Call::order("a"),
            )
            .await;
            assert_eq!(
                (kind(&order), order.header("retry-after")),
                (Some("application/problem+json"), Some("1"))
            );
            assert_eq!(order.json()["code"], "slow");
            let hook = answered(
                app,
                json!({"mode": "refuse", "status": 429, "code": "slow"}),
                Call::post("/hooks/t"),
            )
            .await;
            assert_eq!(
                (kind(&hook), hook.header("retry-after")),
                (Some("application/json"), Some("1"))
            );
            assert_eq!(hook.json()["code"], "slow");
            let own = json!({"mode": "refuse", "status": 429, "headers": {"Retry-After": "30"}});
            let own = answered(app, own, Call::order("a")).await;
            let retries: Vec<_> = own.headers.iter().filter(|(name, _)| name == "retry-after").collect();
            assert_eq!(retries.len(), 1);
            assert_eq!(own.header("retry-after"), Some("30"));
            assert_eq!(
                (app.effects("charge"), app.effects("order"), app.effects("delivery")),
                (0, 0, 0)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_commit_is_a_gateways_page_and_no_refusal_of_the_provider() {
    with(
        |b| b,
        async |app: &App| {
            let lost = answered(
                app,
                json!({"mode": "error-after-commit", "on": 1}),
                Call::charge().key("k"),
            )
            .await;
            assert_eq!((lost.status, kind(&lost)), (502, Some("text/html")));
            assert!(lost.text().contains("502 Bad Gateway"), "{}", lost.text());
            for name in ["request-id", "original-request", "stripe-should-retry", "retry-after"] {
                assert_eq!(lost.header(name), None, "no header of Stripe's: {name}");
            }
            let again = app.call(Call::charge().key("k")).await;
            assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
            assert_eq!(app.effects("charge"), 1);
            let coded = json!({"mode": "error-after-commit", "code": "<upstream> reset"});
            let coded = answered(app, coded, Call::charge()).await.text();
            assert!(coded.contains("&lt;upstream&gt; reset"), "{coded}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_given_as_json_is_sent_as_json_unless_the_headers_say_otherwise() {
    with(
        |b| b,
        async |app: &App| {
            let body = json!({"oh": ["no"]});
            for mode in [
                json!({"mode": "refuse", "status": 500}),
                json!({"mode": "error-after-commit", "status": 500}),
                json!({"mode": "fail-before-commit", "status": 500}),
            ] {
                for (n, path) in ["/v1/charges", "/orders", "/hooks/t"].into_iter().enumerate() {
                    let call = || {
                        [
                            Call::charge(),
                            Call::order(&format!("{}{n}", mode["mode"])),
                            Call::post("/hooks/t"),
                        ][n]
                            .clone()
                    };
                    let rule = |more: Value| {
                        let mut rule = mode.clone();
                        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                        rule
                    };
                    let answer = answered(app, rule(json!({"body": body, "on": 1})), call()).await;
                    assert_eq!(
                        (answer.status, kind(&answer), answer.json()),
                        (500, Some("application/json"), body.clone()),
                        "{mode} {path}"
                    );
                    let own = json!({"body": body, "headers": {"Content-Type": "application/vnd.own+json"}, "on": 1});
                    let answer = answered(app, rule(own), call()).await;
                    if answer.status == 500 {
                        assert_eq!(kind(&answer), Some("application/vnd.own+json"), "{mode} {path}");
                    } else {
                        assert_eq!((path, answer.status), ("/orders", 409), "the order exists already");
                    }
                }
            }
            let text = json!({"mode": "fail-before-commit", "status": 500, "body": "{\"a\": 1}"});
            let text = answered(app, text, Call::order("text")).await;
            assert_eq!(
                kind(&text),
                Some("text/html"),
                "a text is a text, whatever it looks like"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_refused_by_reply_code_enhanced_code_and_text() {
    with(
        |b| b,
        async |app: &App| {
            for (rule, reply) in [
                (json!({"mode": "refuse"}), "451 4.3.0 "),
                (json!({"mode": "refuse", "status": 550, "code": "5.7.1"}), "550 5.7.1 "),
                (json!({"mode": "fail-before-commit", "status": 421}), "421 4.3.2 "),
                (json!({"mode": "error-after-commit", "code": "4.7.1"}), "451 4.7.1 "),
                (
                    json!({"mode": "error-after-commit", "status": 554, "body": "after all"}),
                    "554 after all",
                ),
            ] {
                app.admin(Call::new("DELETE", "/_faults")).await;
                app.fault(rule.clone()).await;
                let said = app.post("a@b.test", "\r\nhi\r\n").await;
                assert!(said.starts_with(reply), "{rule}: {said}");
            }
            assert_eq!(app.effects("message"), 2, "those after the commit");
        },
    )
    .await;
}
