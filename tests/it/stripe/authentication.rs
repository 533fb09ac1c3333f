//! 3-D Secure over real sockets: where the customer is sent, what the page does, and what is counted.

use serde_json::json;

use super::{get, made, refusal};
use crate::support::{App, Call, with};

fn asks(more: &str) -> Call {
    let form = "amount=2000&currency=usd&confirm=true&payment_method=pm_card_authenticationRequired";
    Call::stripe(
        "/v1/payment_intents",
        &format!("{form}&return_url=https://shop.test/back{more}"),
    )
}

/// Makes an intent that asks, and returns its id and the path of its page.
async fn asked(app: &App, call: Call) -> (String, String) {
    let intent = made(app, call).await;
    let url = intent["next_action"]["redirect_to_url"]["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = url
        .strip_prefix("http://ackdrop.test")
        .expect("the host of the request");
    (intent["id"].as_str().unwrap().to_owned(), path.to_owned())
}

fn as_customer(path: &str, form: &str) -> Call {
    Call::post(path).form(form)
}

#[tokio::test]
async fn the_customer_is_sent_to_a_page_that_completes_the_payment_and_leads_back() {
    with(
        |b| b,
        async |app| {
            let (intent, path) = asked(app, asks("")).await;
            let page = app.call(Call::get(&path)).await;
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
            assert!(page.text().contains("a payment of $20.00") && page.text().contains("value=\"succeed\""));
            let done = app.call(as_customer(&path, "redirect=true&result=succeed")).await;
            assert_eq!(done.status, 303, "{}", done.text());
            let back =
                format!("https://shop.test/back?payment_intent={intent}&payment_intent_client_secret={intent}_secret_");
            let location = done.header("location").unwrap();
            assert!(
                location.starts_with(&back) && location.ends_with("&redirect_status=succeeded"),
                "{location}"
            );
            let paid = made(app, get(&format!("/v1/payment_intents/{intent}"))).await;
            assert_eq!(
                (&paid["status"], &paid["next_action"]),
                (&json!("succeeded"), &json!(null))
            );
            assert_eq!(
                (app.effects("charge"), app.effects("payment_intent_authenticate")),
                (1, 1)
            );
            let page = app.call(Call::get(&path)).await.text();
            assert!(!page.contains("<button"), "{page}");
        },
    )
    .await;
}

#[tokio::test]
async fn the_page_leads_into_the_scope_of_the_request() {
    with(
        |b| b,
        async |app| {
            let (_, path) = asked(app, asks("").in_scope("alice")).await;
            assert!(
                path.starts_with("/~alice/v1/test_helpers/payment_intents/pi_"),
                "{path}"
            );
            let done = app.call(as_customer(&path, "result=fail")).await.json();
            assert_eq!(
                done["last_payment_error"]["code"],
                "payment_intent_authentication_failure"
            );
            assert_eq!((app.of("alice").accepted, app.effects("charge")), (2, 0));
            let elsewhere = path.replace("/~alice", "");
            assert_eq!(refusal(&app.call(as_customer(&elsewhere, "result=fail")).await).0, 404);
        },
    )
    .await;
}

#[tokio::test]
async fn the_host_inside_tls_is_reached_by_https() {
    with(
        |b| b,
        async |app| {
            let mut conn = app.connect_tls(app.suite.addresses().https().unwrap()).await;
            conn.send(&asks("").bytes()).await;
            let intent = conn.answer().await.json();
            let url = intent["next_action"]["redirect_to_url"]["url"].as_str().unwrap();
            assert!(url.starts_with("https://ackdrop.test/v1/test_helpers/"), "{url}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_lost_answer_to_the_customer_takes_the_money_once() {
    with(
        |b| b,
        async |app| {
            let (intent, path) = asked(app, asks("")).await;
            app.fault(json!({"mode": "drop-after-commit", "operation": "payment_intents.authenticate", "on": 1}))
                .await;
            let mut conn = app.connect().await;
            conn.send(&as_customer(&path, "result=succeed").bytes()).await;
            assert!(conn.rest().await.0.is_empty(), "the answer is lost");
            let again = app.call(as_customer(&path, "result=succeed")).await;
            assert_eq!(refusal(&again).2.as_deref(), Some("payment_intent_unexpected_state"));
            let paid = made(app, get(&format!("/v1/payment_intents/{intent}"))).await;
            assert_eq!((&paid["status"], app.effects("charge")), (&json!("succeeded"), 1));
        },
    )
    .await;
}
