//! What is delivered, to whom, and that each write tells of itself once.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{Receiver, advance, customer, endpoint, event, get, id, made, said, tries};
use crate::support::{Call, with};

#[tokio::test]
async fn an_event_goes_to_its_endpoint_signed_and_names_the_key_of_its_request() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            let (_, secret) = endpoint(app, "", &receiver.url()).await;
            let made = made(app, customer("Ada").key("order-17")).await;
            let got = receiver.next().await;
            assert_eq!(got.line(), "POST /stripe/hook HTTP/1.1");
            for (name, value) in [
                ("content-type", "application/json; charset=utf-8"),
                ("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"),
            ] {
                assert_eq!(got.header(name).as_deref(), Some(value));
            }
            let age = OffsetDateTime::now_utc().unix_timestamp() - got.signed(&secret).expect("a right signature");
            assert!((0..60).contains(&age));
            let told = got.json();
            assert_eq!(got.body, serde_json::to_string_pretty(&told).unwrap());
            assert_eq!(
                (&told["type"], &told["pending_webhooks"], &told["data"]["object"]),
                (&json!("customer.created"), &json!(1), &made)
            );
            assert_eq!(told["request"]["idempotency_key"], "order-17");
            let looked_up = event(app, "customer.created").await;
            assert_eq!(looked_up, told, "pending while nobody has answered");
            got.answer(200).await;
            app.settled().await;
            assert_eq!(event(app, "customer.created").await["pending_webhooks"], 0);
            assert_eq!(tries(app), [said("accepted", "answered")]);
            let stats = app.suite.stats();
            assert_eq!((app.effects("delivery"), app.effects("customer")), (1, 1));
            assert_eq!(
                stats.providers["stripe-webhooks"].operations["events.deliver"].accepted,
                1
            );
            let entries = app.entries();
            let entry = entries
                .iter()
                .find(|e| &*e.arrival.operation == "events.deliver")
                .unwrap();
            assert_eq!(entry.key.as_deref(), told["id"].as_str());
        },
    )
    .await;
}

#[tokio::test]
async fn one_write_tells_of_itself_once_whatever_the_transport_lost() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            app.fault(
                json!({"mode": "drop-after-commit", "provider": "stripe", "operation": "customers.create", "on": 1}),
            )
            .await;
            let call = customer("Ada").key("k");
            let mut conn = app.connect().await;
            conn.send(&call.bytes()).await;
            assert!(conn.rest().await.0.is_empty());
            let told = receiver.take().await;
            assert_eq!(app.call(call).await.header("idempotent-replayed"), Some("true"));
            advance(app, "10h").await;
            app.settled().await;
            assert_eq!(event(app, "customer.created").await["id"], told);
            assert_eq!(
                (tries(app).len(), app.effects("delivery"), app.effects("customer")),
                (1, 1, 1)
            );
        },
    )
    .await;
}

#[tokio::test]
async fn a_refused_call_tells_of_nothing() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            endpoint(app, "", &receiver.url()).await;
            assert_eq!(app.call(Call::stripe("/v1/customers", "nonsense=1")).await.status, 400);
            assert_eq!(made(app, get("/v1/events")).await["data"], json!([]));
            assert!(tries(app).is_empty());
        },
    )
    .await;
}

#[tokio::test]
async fn an_endpoint_is_told_of_what_it_asked_for_in_its_own_world_and_while_it_is_enabled() {
    with(
        |b| b,
        async |app| {
            let (all, some) = (Receiver::open().await, Receiver::open().await);
            let (id, _) = endpoint(app, "/~alice", &all.url()).await;
            let form = format!("url={}&enabled_events[]=customer.deleted", some.url());
            made(app, Call::stripe("/~alice/v1/webhook_endpoints", &form)).await;
            made(app, customer("in default")).await;
            let ada = super::id(app, Call::stripe("/~alice/v1/customers", "name=Ada")).await;
            assert_eq!(all.next_of(app, 200).await["data"]["object"]["id"], ada);
            let gone =
                Call::new("DELETE", &format!("/~alice/v1/customers/{ada}")).header("authorization", "Bearer sk_test_1");
            made(app, gone).await;
            let (one, two) = (all.next().await, some.next().await);
            assert_eq!(
                (&one.json()["pending_webhooks"], one.json()["id"].as_str()),
                (&json!(2), two.json()["id"].as_str())
            );
            one.answer(200).await;
            two.answer(200).await;
            made(
                app,
                Call::stripe(&format!("/~alice/v1/webhook_endpoints/{id}"), "disabled=true"),
            )
            .await;
            made(app, Call::stripe("/~alice/v1/customers", "name=Eve")).await;
            app.settled().await;
            assert_eq!((tries(app).len(), app.of("default").received), (3, 1));
        },
    )
    .await;
}

#[tokio::test]
async fn a_platform_is_told_what_happens_in_connected_accounts_by_endpoints_for_that() {
    with(
        |b| b,
        async |app| {
            let (platform, own) = (Receiver::open().await, Receiver::open().await);
            let form = format!("url={}&enabled_events[]=*&connect=true", platform.url());
            made(app, Call::stripe("/v1/webhook_endpoints", &form)).await;
            endpoint(app, "", &own.url()).await;
            made(app, customer("connected").header("stripe-account", "acct_1")).await;
            let told = platform.next_of(app, 200).await;
            assert_eq!(
                (&told["account"], &told["pending_webhooks"]),
                (&json!("acct_1"), &json!(1))
            );
            made(app, customer("own")).await;
            assert_eq!(own.next_of(app, 200).await["account"], Value::Null);
            app.settled().await;
            assert_eq!(tries(app).len(), 2);
        },
    )
    .await;
}

#[tokio::test]
async fn the_webhook_target_finds_the_signature_valid_and_counts_what_it_got() {
    with(
        |b| b,
        async |app| {
            let url = format!("http://{}/hooks/stripe", app.http());
            let (_, secret) = endpoint(app, "", &url).await;
            let settings = json!({"scheme": "stripe", "secret": secret});
            app.admin(Call::new("PUT", "/_hooks/stripe").json(&settings)).await;
            let ada = id(app, customer("Ada")).await;
            app.until("both sides", |app| app.effects("delivery") == 2).await;
            app.settled().await;
            let got = app.admin(Call::get("/_hooks/stripe")).await;
            let delivery = &got["deliveries"][0];
            assert_eq!(delivery["signature"], "valid", "{got}");
            assert!(delivery["body"].as_str().unwrap().contains(&ada));
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_due_later_tells_of_itself_and_names_no_request() {
    with(
        |b| b,
        async |app| {
            let receiver = Receiver::open().await;
            let form = format!("url={}&enabled_events[]=charge.expired", receiver.url());
            made(app, Call::stripe("/v1/webhook_endpoints", &form)).await;
            let form = "amount=1099&currency=usd&source=tok_visa&capture=false";
            let charge = id(app, Call::stripe("/v1/charges", form)).await;
            advance(app, "169h").await;
            let told = receiver.next_of(app, 200).await;
            assert_eq!(
                (&told["data"]["object"]["id"], &told["request"]),
                (&json!(charge), &Value::Null)
            );
        },
    )
    .await;
}
