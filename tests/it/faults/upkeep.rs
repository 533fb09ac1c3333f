//! How rules come and go.

use ackdrop::faults::Source;
use serde_json::json;

use crate::support::{App, Call, with, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_ends_when_its_time_is_over() {
    with(
        |b| b,
        async |app: &App| {
            let short = app
                .fault(json!({"mode": "refuse", "provider": "orders", "expires_in": "1ms"}))
                .await;
            let long = app
                .fault(json!({"mode": "refuse", "provider": "webhook", "expires_in": "1h"}))
                .await;
            let over = async { while app.rule(&short).await["expired"] != true {} };
            within("the end of the rule", over).await;
            assert_eq!(app.order("a").await, 201);
            assert_eq!(app.call(Call::post("/hooks/t")).await.status, 503);
            let rule = app.rule(&short).await;
            assert_eq!((&rule["armed"], &rule["matched"]), (&json!(false), &json!(0)));
            assert_eq!(app.rule(&long).await["expired"], false);
            assert_eq!(app.admin(Call::get("/_stats")).await["faults"]["armed"], 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_rule_is_answered_with_its_id_and_its_names() {
    with(
        |b| b,
        async |app: &App| {
            let rule = json!({"mode": "forward-then-drop-response", "how": "reset", "on": 1});
            // JSON is read whatever the Content-Type.
            let answer = app.call(Call::post("/_faults").body(rule.to_string())).await;
            assert_eq!(answer.status, 201);
            let expected = json!({"id": "f1", "source": "api", "mode": "drop-after-commit", "how": "reset", "on": 1,
                "matched": 0, "fired": 0, "skipped": 0, "armed": true, "expired": false, "near_miss": null});
            assert_eq!(answer.json(), expected);
            let list = app
                .admin(
                    Call::post("/_faults")
                        .json(&json!([{"mode": "forward-and-respond"}, {"mode": "fail-before-forward"}])),
                )
                .await;
            let modes: Vec<_> = list["faults"]
                .as_array()
                .unwrap()
                .iter()
                .map(|rule| rule["mode"].clone())
                .collect();
            assert_eq!(modes, ["pass", "fail-before-commit"]);
            let one = app.admin(Call::post("/_faults").json(&json!([{"mode": "pass"}]))).await;
            assert_eq!(one["faults"][0]["id"], "f4", "a list is answered by a list");
            assert_eq!(
                app.admin(Call::get("/_faults")).await["faults"]
                    .as_array()
                    .unwrap()
                    .len(),
                4
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_taken_away_one_by_one_or_all_those_of_the_api() {
    with(
        |b| b.fault(Source::Flag, "--fault", "refuse; provider=webhook"),
        async |app: &App| {
            let one = app.fault(json!({"mode": "refuse", "provider": "orders"})).await;
            let two = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 500}))
                .await;
            app.admin(Call::new("DELETE", &format!("/_faults/{one}"))).await;
            assert_eq!(app.order("a").await, 500);
            let gone = app.call(Call::new("DELETE", &format!("/_faults/{one}"))).await;
            assert_eq!(gone.status, 404);
            assert!(gone.text().contains(&one), "{}", gone.text());
            let left = app.admin(Call::new("DELETE", "/_faults")).await;
            assert_eq!(left["faults"].as_array().unwrap().len(), 1, "a flag's rule stays");
            assert_eq!((app.order("a").await, app.rule(&two).await), (201, json!(null)));
            assert_eq!(app.call(Call::post("/hooks/t")).await.status, 503);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scopes_rules_are_its_own() {
    with(
        |b| b,
        async |app: &App| {
            let alice = |call: Call| call.header("x-ackdrop-scope", "alice");
            let rule = json!({"mode": "refuse", "provider": "orders"});
            let bound = app.admin(Call::post("/_faults?scope=alice").json(&rule)).await;
            assert_eq!(bound["scope"], "alice");
            let open = app
                .fault(json!({"mode": "refuse", "provider": "orders", "status": 500, "on": "every 1"}))
                .await;
            assert_eq!(
                (app.order("a").await, app.call(alice(Call::order("a"))).await.status),
                (500, 422)
            );
            let list = app.admin(Call::get("/~alice/_faults")).await;
            assert_eq!(list["faults"].as_array().unwrap().len(), 1);
            let other = app
                .call(Call::post("/_faults?scope=alice").json(&json!({"mode": "pass", "scope": "bob"})))
                .await;
            assert_eq!(other.status, 400);
            let foreign = app
                .call(Call::new("DELETE", &format!("/_faults/{open}?scope=alice")))
                .await;
            assert_eq!(foreign.status, 404, "a scope's call touches no unscoped rule");
            app.admin(Call::new("DELETE", "/_faults?scope=alice")).await;
            assert_eq!(app.call(alice(Call::order("b"))).await.status, 500);
            app.admin(Call::post("/_reset?scope=alice")).await;
            assert_eq!(app.tally(&open).await, [3, 2, 1], "a scoped reset neither");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_takes_the_apis_rules_and_arms_all_others_again() {
    with(
        |b| b.fault(Source::File, "a", "refuse; provider=orders; on=1"),
        async |app: &App| {
            app.fault(json!({"mode": "refuse", "provider": "webhook"})).await;
            assert_eq!((app.order("a").await, app.order("a").await), (422, 201));
            app.admin(Call::post("/_reset")).await;
            let list = app.admin(Call::get("/_faults")).await;
            assert_eq!(list["faults"].as_array().unwrap().len(), 1);
            assert_eq!(list["faults"][0]["matched"], 0);
            assert_eq!(app.call(Call::post("/hooks/t")).await.status, 200);
            assert_eq!((app.order("a").await, app.order("a").await), (422, 201));
        },
    )
    .await;
}
