//! What was not accepted is tried again, on the world's clock.

use serde_json::json;
use tokio::net::TcpListener;

use super::{Receiver, advance, customer, endpoint, event, get, made, said, tries};
use crate::support::{Call, with, within};

#[tokio::test]
async fn it_is_tried_thrice_more_as_the_clock_is_advanced_and_then_given_up() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            let (_, secret) = endpoint(app, "", &receiver.url()).await;
            made(app, customer("Ada")).await;
            let first = receiver.next_of(app, 500).await;
            for (wait, status) in [("1h", 302), ("2h", 404), ("3h", 503)] {
                advance(app, "59m").await;
                app.settled().await;
                let before = tries(app).len();
                advance(app, wait).await;
                assert_eq!(tries(app).len(), before + 1, "it was begun when the clock answered");
                let got = receiver.next().await;
                assert_eq!(got.json(), first);
                assert!(got.signed(&secret).is_some(), "signed anew");
                got.answer(status).await;
                app.settled().await;
            }
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app), vec![said("refused", "answered"); 4]);
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 1);
            let failed = made(app, get("/v1/events?delivery_success=false")).await;
            assert_eq!(failed["data"][0]["id"], first["id"]);
            assert_eq!(
                made(app, get("/v1/events?delivery_success=true")).await["data"],
                json!([])
            );
        },
    )
    .await;
}

#[tokio::test]
async fn a_receiver_that_comes_back_gets_it_once() {
    with(
        |b| b,
        async |app| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            drop(listener);
            endpoint(app, "", &format!("http://{addr}/")).await;
            made(app, customer("Ada")).await;
            app.until("the failed try", |app| tries(app) == [said("failed", "lost")])
                .await;
            app.settled().await;
            let receiver = TcpListener::bind(addr).await.unwrap();
            advance(app, "1h").await;
            let got = super::receiver::read(within("the second try", receiver.accept()).await.unwrap().0).await;
            got.answer(200).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app), [said("failed", "lost"), said("accepted", "answered")]);
            assert_eq!(app.effects("delivery"), 1);
        },
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_never_comes_whole_is_tried_again() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            made(app, customer("Ada")).await;
            drop(receiver.next().await);
            app.settled().await;
            assert_eq!(tries(app), [said("unknown", "lost")]);
            advance(app, "1h").await;
            receiver.next_of(app, 204).await;
            assert_eq!(tries(app).len(), 2);
        },
    )
    .await;
}

#[tokio::test]
async fn a_reset_and_a_deleted_endpoint_drop_what_is_pending() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            made(app, customer("Ada")).await;
            receiver.next_of(app, 500).await;
            app.admin(Call::post("/_reset")).await;
            advance(app, "100h").await;
            app.settled().await;
            assert!(tries(app).is_empty());
            let (id, _) = endpoint(app, "", &receiver.url()).await;
            made(app, customer("Eve")).await;
            receiver.next_of(app, 500).await;
            let gone = Call::new("DELETE", &format!("/v1/webhook_endpoints/{id}"));
            made(app, gone.header("authorization", "Bearer sk_test_1")).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!(tries(app), [said("refused", "answered")]);
        },
    )
    .await;
}

#[tokio::test]
async fn a_reset_while_the_receiver_thinks_lets_nothing_of_it_stay() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            made(app, customer("Ada")).await;
            let got = receiver.next().await;
            app.admin(Call::post("/_reset")).await;
            got.answer(200).await;
            advance(app, "100h").await;
            app.settled().await;
            assert_eq!((app.suite.stats().total.received, app.effects("delivery")), (0, 0));
        },
    )
    .await;
}
