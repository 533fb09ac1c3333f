//! async-stripe, unmodified, against the suite.

use std::time::Duration;

use ackdrop::ledger::{Fate, Outcome};
use serde_json::json;
use stripe::{Client, ClientBuilder, RequestStrategy, StripeError};
use stripe_core::charge::{CaptureCharge, CreateCharge, ListCharge, RetrieveCharge};
use stripe_core::customer::{CreateCustomer, ListCustomer};
use stripe_core::payment_intent::{ConfirmPaymentIntent, CreatePaymentIntent, RetrievePaymentIntent};
use stripe_core::refund::CreateRefund;
use stripe_core::{PaymentIntentAllowedPaymentMethodTypes, PaymentIntentStatus};
use stripe_payment::payment_method::{
    AttachPaymentMethod, CreatePaymentMethod, CreatePaymentMethodCard, CreatePaymentMethodCardDetailsParams,
    CreatePaymentMethodType,
};
use stripe_types::Currency;

use crate::support::{App, with};

fn client(app: &App, strategy: RequestStrategy) -> Client {
    builder(app, strategy).build().expect("a client")
}

fn builder(app: &App, strategy: RequestStrategy) -> ClientBuilder {
    ClientBuilder::new("sk_test_123")
        .url(format!("http://{}/", app.http()))
        .request_strategy(strategy)
}

fn charge() -> CreateCharge {
    CreateCharge::new()
        .amount(1099)
        .currency(Currency::USD)
        .source("tok_visa")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_story_is_read_by_its_decoder() {
    with(
        |b| b,
        async |app: &App| {
            let client = client(app, RequestStrategy::Once);
            let customer = CreateCustomer::new()
                .email("a@example.com")
                .name("A")
                .send(&client)
                .await
                .unwrap();
            let card = CreatePaymentMethodCardDetailsParams {
                cvc: Some("123".into()),
                ..CreatePaymentMethodCardDetailsParams::new(12, 2040, "4242424242424242")
            };
            let method = CreatePaymentMethod::new()
                .type_(CreatePaymentMethodType::Card)
                .card(CreatePaymentMethodCard::CardDetailsParams(card))
                .send(&client)
                .await
                .unwrap();
            let attached = AttachPaymentMethod::new(method.id.clone())
                .customer(customer.id.as_str())
                .send(&client)
                .await
                .unwrap();
            assert_eq!(attached.id, method.id);
            let intent = CreatePaymentIntent::new(2000, Currency::USD)
                .customer(customer.id.as_str())
                .payment_method(method.id.as_str())
                .allowed_payment_method_types([PaymentIntentAllowedPaymentMethodTypes::Card])
                .send(&client)
                .await
                .unwrap();
            let confirmed = ConfirmPaymentIntent::new(intent.id.clone())
                .send(&client)
                .await
                .unwrap();
            assert_eq!(confirmed.status, PaymentIntentStatus::Succeeded);
            let found = RetrievePaymentIntent::new(intent.id.clone())
                .send(&client)
                .await
                .unwrap();
            let paid = found.latest_charge.expect("it was charged").id().clone();
            let expanded = RetrieveCharge::new(paid.clone())
                .expand(["customer".to_owned(), "payment_intent".to_owned()])
                .send(&client)
                .await
                .unwrap();
            assert!(expanded.customer.is_some_and(|c| c.as_object().is_some()));
            let held = charge().capture(false).send(&client).await.unwrap();
            let captured = CaptureCharge::new(held.id.clone())
                .amount(900)
                .send(&client)
                .await
                .unwrap();
            assert_eq!((captured.amount_captured, captured.captured), (900, true));
            let refund = CreateRefund::new()
                .charge(paid.as_str())
                .amount(500)
                .send(&client)
                .await
                .unwrap();
            assert_eq!(refund.amount, 500);
            let charges = ListCharge::new().send(&client).await.unwrap();
            let ids: Vec<_> = charges.data.iter().map(|c| c.id.clone()).collect();
            assert_eq!(ids, [held.id, paid]);
            let customers = ListCustomer::new().email("a@example.com").send(&client).await.unwrap();
            assert_eq!(customers.data.len(), 1);
            let effects = [
                "customer",
                "payment_method",
                "payment_intent",
                "charge",
                "charge_capture",
                "refund",
            ];
            assert_eq!(effects.map(|kind| app.effects(kind)), [1, 1, 1, 2, 1, 1]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_read_by_its_decoder() {
    with(
        |b| b,
        async |app: &App| {
            let client = client(app, RequestStrategy::Once);
            let declined = charge()
                .source("tok_visa_chargeDeclinedInsufficientFunds")
                .send(&client)
                .await;
            let Err(StripeError::Stripe(error, 402)) = declined else {
                panic!("{declined:?}")
            };
            assert_eq!(error.decline_code.as_deref(), Some("insufficient_funds"));
            assert!(error.charge.is_some_and(|id| id.starts_with("ch_")));
            let unknown = CreateRefund::new().charge("ch_none").send(&client).await;
            let Err(StripeError::Stripe(error, 400)) = unknown else {
                panic!("{unknown:?}")
            };
            assert_eq!(error.message.as_deref(), Some("No such charge: 'ch_none'"));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn once_sees_the_loss_and_there_is_one_charge() {
    for fault in [
        json!({"how": "close"}),
        json!({"how": "reset"}),
        json!({"how": "truncate", "bytes": 0}),
        json!({"how": "truncate", "bytes": 100}),
        json!({"how": "truncate", "bytes": 1500}),
        json!({"how": "hang"}),
    ] {
        with(
            |b| b,
            async |app: &App| {
                let mut rule = fault.clone();
                rule["mode"] = "drop-after-commit".into();
                rule["on"] = 1.into();
                app.fault(rule).await;
                let hangs = fault["how"] == "hang";
                let mut builder = builder(app, RequestStrategy::Once);
                if hangs {
                    builder = builder.timeout(Duration::from_secs(1));
                }
                let lost = charge().send(&builder.build().unwrap()).await;
                match (&lost, hangs) {
                    (Err(StripeError::Timeout), true) | (Err(StripeError::ClientError(_)), false) => {}
                    _ => panic!("{fault}: {lost:?}"),
                }
                app.until("the commit", |app| app.now("stripe").accepted == 1).await;
                let counts = app.counts("stripe").await;
                assert_eq!(
                    (counts.received, counts.accepted, counts.withheld),
                    (1, 1, 1),
                    "{fault}"
                );
                assert_eq!(app.effects("charge"), 1);
                let entry = app.entries().remove(0);
                assert_eq!(entry.sent, fault["bytes"].as_u64().unwrap_or(0), "{fault}");
                if fault["bytes"] == 1500 {
                    let answer = entry.answer.as_ref().unwrap();
                    let length = answer.content.bytes().unwrap().len();
                    assert!(
                        answer.headers.len() < 1300 && length > 400,
                        "it was cut inside the body"
                    );
                }
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_hides_the_loss_and_there_is_one_charge() {
    for fault in [
        json!({"how": "close"}),
        json!({"how": "reset"}),
        json!({"how": "truncate", "bytes": 0}),
        json!({"how": "truncate", "bytes": 100}),
        json!({"how": "truncate", "bytes": 1500}),
        json!({"how": "hang"}),
    ] {
        with(
            |b| b,
            async |app: &App| {
                let mut rule = fault.clone();
                rule["mode"] = "drop-after-commit".into();
                rule["on"] = 1.into();
                app.fault(rule).await;
                let client = builder(app, RequestStrategy::Retry(3))
                    .timeout(Duration::from_secs(4))
                    .build()
                    .unwrap();
                let made = charge().send(&client).await.unwrap();
                let counts = app.counts("stripe").await;
                assert_eq!(
                    (
                        counts.received,
                        counts.accepted,
                        counts.replayed,
                        counts.withheld,
                        counts.answered
                    ),
                    (2, 1, 1, 1, 1),
                    "{fault}"
                );
                assert_eq!((app.effects("charge"), counts.duplicates), (1, 0));
                let entries = app.entries();
                let of = |outcome| entries.iter().find(|e| e.outcome == Some(outcome)).unwrap();
                let (first, second) = (of(Outcome::Accepted), of(Outcome::Replayed));
                assert_eq!((first.fate, second.fate), (Some(Fate::Withheld), Some(Fate::Answered)));
                assert!(first.key.is_some() && first.key == second.key);
                assert_eq!(&*first.effects[0].id, made.id.as_str());
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_naive_retry_without_a_key_charges_twice() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "on": 1})).await;
            let client = client(app, RequestStrategy::Once);
            charge().send(&client).await.unwrap_err();
            charge().send(&client).await.unwrap();
            let counts = app.counts("stripe").await;
            assert_eq!((app.effects("charge"), counts.accepted, counts.duplicates), (2, 2, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_retries_what_may_be_retried_and_stops_at_what_is_kept() {
    for (fault, received, charges) in [
        (json!({"mode": "refuse", "status": 429, "on": 1}), 2, 1),
        (json!({"mode": "refuse", "status": 409, "on": 1}), 2, 1),
        (json!({"mode": "fail-before-commit", "status": 503, "on": 1}), 2, 1),
        (json!({"mode": "error-after-commit", "status": 502, "on": 1}), 2, 1),
        (json!({"mode": "refuse", "status": 500, "on": 1}), 3, 0),
        (json!({"mode": "refuse", "status": 402, "on": 1}), 1, 0),
    ] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(fault.clone()).await;
                let made = charge().send(&client(app, RequestStrategy::Retry(3))).await;
                assert_eq!(made.is_ok(), charges == 1, "{fault}: {made:?}");
                assert_eq!(
                    (app.counts("stripe").await.received, app.effects("charge")),
                    (received, charges),
                    "{fault}"
                );
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_url_or_a_key_names_its_scope() {
    with(
        |b| b,
        async |app: &App| {
            let by_path = ClientBuilder::new("sk_test_123").url(format!("http://{}/~alice/", app.http()));
            let by_key = ClientBuilder::new("sk_test_~alice").url(format!("http://{}/", app.http()));
            let strategy = RequestStrategy::Idempotent(stripe::IdempotencyKey::new("k").unwrap());
            let mut made = Vec::new();
            for builder in [by_path, by_key] {
                let client = builder.request_strategy(strategy.clone()).build().unwrap();
                made.push(charge().send(&client).await.unwrap().id);
            }
            assert_eq!(made[0], made[1], "one world, one key");
            assert_eq!(app.effects("charge"), 1);
            assert!(app.entries().iter().all(|e| &*e.scope == "alice"));
        },
    )
    .await;
}
