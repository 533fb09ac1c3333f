//! A wrong rule is 400 and names field, value and what is allowed; nothing is added.

use serde_json::{Value, json};

use crate::support::{App, Call, with};

async fn refused(app: &App, rule: &Value) -> Value {
    let answer = app.call(Call::post("/_faults").json(rule)).await;
    assert_eq!(answer.status, 400, "{rule}: {}", answer.text());
    answer.json()["error"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn field_value_and_what_is_allowed_are_named() {
    with(
        |b| b,
        async |app: &App| {
            for (rule, field, value, allowed) in [
                (
                    json!({"mode": "drop-after-comit"}),
                    "mode",
                    json!("drop-after-comit"),
                    "drop-after-commit",
                ),
                (json!({"on": 1}), "mode", json!(null), "pass"),
                (
                    json!({"mode": "pass", "provder": "orders"}),
                    "provder",
                    json!("orders"),
                    "provider",
                ),
                (
                    json!({"mode": "pass", "provider": "order"}),
                    "provider",
                    json!("order"),
                    "orders",
                ),
                (
                    json!({"mode": "pass", "provider": "orders", "operation": "orders.make"}),
                    "operation",
                    json!("orders.make"),
                    "orders.create",
                ),
                (
                    json!({"mode": "pass", "operation": "orders.make"}),
                    "operation",
                    json!("orders.make"),
                    "orders.create",
                ),
                (
                    json!({"mode": "drop-after-commit", "how": "explode"}),
                    "how",
                    json!("explode"),
                    "reset",
                ),
                (
                    json!({"mode": "fail-before-commit", "how": "truncate"}),
                    "how",
                    json!("truncate"),
                    "hang",
                ),
                (
                    json!({"mode": "delay", "delay": "2 parsecs"}),
                    "delay",
                    json!("2 parsecs"),
                    "250ms",
                ),
                (
                    json!({"mode": "delay", "delay": "2s", "at": "noon"}),
                    "at",
                    json!("noon"),
                    "after",
                ),
                (json!({"mode": "pass", "on": "never"}), "on", json!("never"), "every 3"),
                (
                    json!({"mode": "pass", "outcome": "failed"}),
                    "outcome",
                    json!("failed"),
                    "accepted",
                ),
                (
                    json!({"mode": "refuse", "step": "commit"}),
                    "step",
                    json!("commit"),
                    "dot",
                ),
                (
                    json!({"mode": "refuse", "how": "reset"}),
                    "how",
                    json!("reset"),
                    "drop-after-commit",
                ),
            ] {
                let error = refused(app, &rule).await;
                let problem = &error["problems"][0];
                assert_eq!(
                    (&problem["field"], &problem["value"]),
                    (&json!(field), &value),
                    "{rule}: {error}"
                );
                let named = problem["allowed"].to_string();
                assert!(named.contains(allowed), "{rule}: {error}");
                let said = error["message"].as_str().unwrap();
                assert!(said.contains(field) && said.contains(allowed), "{said}");
            }
            for (rule, field) in [
                (json!({"mode": "refuse", "provider": "orders", "status": 199}), "status"),
                (json!({"mode": "refuse", "provider": "smtp", "status": 250}), "status"),
                (json!({"mode": "refuse", "provider": "orders", "step": "dot"}), "step"),
                (json!({"mode": "refuse", "step": "rcpt", "subject": "x"}), "subject"),
                (json!({"mode": "refuse", "outcome": "accepted"}), "outcome"),
                (json!({"mode": "drop-after-commit", "how": "truncate"}), "bytes"),
                (json!({"mode": "pass", "sql": "INSERT*"}), "sql"),
                (json!({"mode": "pass", "scope": "a b"}), "scope"),
                (json!({"mode": "pass", "json": {"order/id": "1"}}), "json.order/id"),
                (
                    json!({"mode": "refuse", "provider": "orders", "headers": {"content-length": "1"}}),
                    "headers.content-length",
                ),
                (json!({"mode": "pass", "method": "GET", "recipient": "a@b"}), "method"),
            ] {
                let error = refused(app, &rule).await;
                assert_eq!(error["problems"][0]["field"], field, "{rule}: {error}");
            }
            assert_eq!(app.admin(Call::get("/_faults")).await["faults"], json!([]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_all_or_nothing_and_every_problem_is_told() {
    with(
        |b| b,
        async |app: &App| {
            let list = json!([{"mode": "pass"}, {"mode": "explode", "on": 0}, {"mode": "pass", "colour": 1}, 7]);
            let error = refused(app, &list).await;
            let told: Vec<_> = error["problems"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| (p["rule"].clone(), p["field"].clone()))
                .collect();
            let expected = [(1, "mode"), (1, "on"), (2, "colour"), (3, "")];
            for (rule, field) in expected {
                assert!(told.contains(&(json!(rule), json!(field))), "{rule} {field}: {told:?}");
            }
            assert_eq!(told.len(), expected.len(), "{told:?}");
            assert_eq!(app.admin(Call::get("/_faults")).await["faults"], json!([]));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_and_too_many_rules_are_refused() {
    with(
        |b| b,
        async |app: &App| {
            for body in ["", "{", "drop-after-commit; on=1"] {
                let answer = app.call(Call::post("/_faults").body(body)).await;
                assert_eq!(answer.status, 400);
                assert!(answer.text().contains("a rule looks like"), "{}", answer.text());
            }
            for wrong in [json!("pass"), json!(null), json!(7)] {
                refused(app, &wrong).await;
            }
            let many = Value::Array(vec![json!({"mode": "pass"}); 600]);
            app.admin(Call::post("/_faults").json(&many)).await;
            let error = refused(app, &many).await;
            assert!(error["message"].as_str().unwrap().contains("1000"), "{error}");
            assert_eq!(
                app.admin(Call::get("/_faults")).await["faults"]
                    .as_array()
                    .unwrap()
                    .len(),
                600
            );
        },
    )
    .await;
}
