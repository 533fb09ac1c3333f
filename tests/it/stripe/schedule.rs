//! What happens later without anybody asking: by time passing, by the clock, and counted like anything else.

use serde_json::{Value, json};

use super::{get, id, made};
use crate::support::{App, Call, with, within};

/// Authorises a charge and leaves it uncaptured.
fn authorise() -> Call {
    Call::stripe("/v1/charges", "amount=1099&currency=usd&source=tok_visa&capture=false")
}

/// Advances a clock; `query` may name a scope.
async fn advance(app: &App, query: &str, by: &str) {
    app.admin(Call::post(&format!("/_clock{query}")).json(&json!({"advance": by})))
        .await;
}

async fn refunded(app: &App, prefix: &str, charge: &str) -> bool {
    let charge = made(app, get(&format!("{prefix}/v1/charges/{charge}"))).await;
    charge["refunded"] == Value::Bool(true)
}

fn runs(app: &App) -> Vec<Value> {
    let entries = app.entries().into_iter().map(|entry| entry.render());
    entries.filter(|e| e["operation"] == "schedule.run").collect()
}

#[tokio::test]
async fn an_authorisation_that_nobody_captures_expires_on_the_clock_and_is_counted() {
    with(
        |b| b,
        async |app| {
            let charge = id(app, authorise()).await;
            advance(app, "", "167h").await;
            assert!(!refunded(app, "", &charge).await);
            assert!(runs(app).is_empty(), "nothing is begun where nothing is due");
            advance(app, "", "3601s").await;
            assert!(
                refunded(app, "", &charge).await,
                "it is done when the clock has answered"
            );
            let [run] = &runs(app)[..] else { panic!("it ran once") };
            assert_eq!(
                (&run["outcome"], &run["fate"]),
                (&json!("accepted"), &json!("answered"))
            );
            assert_eq!((&run["client"], &run["connection"]), (&Value::Null, &Value::Null));
            assert_eq!(
                run["effects"],
                json!([{"kind": "charge_expire", "id": charge, "count": 1}])
            );
            assert_eq!(app.effects("charge_expire"), 1);
            let capture = app
                .call(Call::stripe(&format!("/v1/charges/{charge}/capture"), ""))
                .await;
            assert_eq!(capture.json()["error"]["code"], "charge_already_refunded");
        },
    )
    .await;
}

#[tokio::test]
async fn an_intent_goes_with_its_authorisation_and_what_is_captured_stays() {
    with(
        |b| b,
        async |app| {
            let form = "amount=500&currency=usd&payment_method=pm_card_visa&capture_method=manual&confirm=true";
            let intent = id(app, Call::stripe("/v1/payment_intents", form)).await;
            let kept = id(app, Call::stripe("/v1/payment_intents", form)).await;
            made(app, Call::stripe(&format!("/v1/payment_intents/{kept}/capture"), "")).await;
            advance(app, "", "169h").await;
            let intent = made(app, get(&format!("/v1/payment_intents/{intent}"))).await;
            assert_eq!(
                (&intent["status"], &intent["cancellation_reason"]),
                (&json!("canceled"), &json!("automatic"))
            );
            let kept = made(app, get(&format!("/v1/payment_intents/{kept}"))).await;
            assert_eq!(kept["status"], "succeeded");
            assert_eq!(
                (app.effects("charge_expire"), app.effects("payment_intent_cancel")),
                (1, 1)
            );
            assert_eq!(runs(app).len(), 1, "what was captured is off the schedule");
        },
    )
    .await;
}

#[tokio::test]
async fn each_world_has_its_own_schedule_and_a_reset_forgets_it() {
    with(
        |b| b,
        async |app| {
            let alice = id(app, authorise().in_scope("alice")).await;
            let bob = id(app, authorise().in_scope("bob")).await;
            advance(app, "?scope=alice", "169h").await;
            assert!(refunded(app, "/~alice", &alice).await);
            assert!(!refunded(app, "/~bob", &bob).await);
            app.admin(Call::post("/_reset?scope=bob")).await;
            advance(app, "", "169h").await;
            assert_eq!(
                app.effects("charge_expire"),
                1,
                "what began before the reset changes nothing"
            );
            assert_eq!(app.of("bob").received, 0);
        },
    )
    .await;
}

#[tokio::test]
async fn many_pieces_that_are_due_at_once_are_all_run_before_the_clock_answers() {
    with(
        |b| b,
        async |app| {
            let mut conn = app.connect().await;
            for _ in 0..300 {
                conn.send(&authorise().bytes()).await;
                assert_eq!(conn.answer().await.status, 200);
            }
            advance(app, "", "200h").await;
            assert_eq!(app.effects("charge_expire"), 300);
        },
    )
    .await;
}

#[tokio::test]
async fn time_that_passes_wakes_a_world_as_well() {
    with(
        |b| b,
        async |app| {
            let charge = id(app, authorise()).await;
            // Just before it is due; the rest passes by itself.
            let now = app.admin(Call::get("/_clock")).await["unix"].as_i64().unwrap();
            let created = made(app, get(&format!("/v1/charges/{charge}"))).await["created"]
                .as_i64()
                .unwrap();
            let left = created + 7 * 24 * 3600 - now - 1;
            advance(app, "", &format!("{left}s")).await;
            within(
                "the expiry",
                app.until("the expiry", |app| app.effects("charge_expire") == 1),
            )
            .await;
            assert!(refunded(app, "", &charge).await);
        },
    )
    .await;
}
