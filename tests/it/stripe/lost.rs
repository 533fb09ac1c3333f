//! An answer is lost after the commit, and the client retries with the same key.

use ackdrop::ledger::{Fate, Outcome};
use serde_json::json;
use std::time::Duration;

use super::{assert_replays_first, charge, entry, get, id, made};
use crate::support::{App, Call, Conn, End, with};

async fn http_and_https(app: &App) -> [Conn; 2] {
    [
        app.connect().await,
        app.connect_tls(app.suite.addresses().https().unwrap()).await,
    ]
}

/// Checks that one call executed and lost its answer, and that one was answered from its record.
async fn assert_once(app: &App) {
    let counts = app.counts("stripe").await;
    assert_eq!(
        (
            counts.accepted,
            counts.replayed,
            counts.withheld,
            counts.answered,
            counts.received
        ),
        (1, 1, 1, 1, 2),
        "{counts:?}"
    );
    assert_eq!((app.effects("charge"), counts.duplicates), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn by_close_or_reset_the_retry_gets_the_saved_answer() {
    for secure in [0, 1] {
        for (how, end) in [("close", End::Orderly), ("reset", End::Reset)] {
            with(
                |b| b,
                async |app: &App| {
                    app.fault(json!({"mode": "drop-after-commit", "how": how, "on": 1}))
                        .await;
                    let [plain, tls] = http_and_https(app).await;
                    let mut conn = if secure == 1 { tls } else { plain };
                    conn.send(&charge(1099).key("k").bytes()).await;
                    assert_eq!(conn.rest().await, (vec![], end), "{how}");
                    let again = app.call(charge(1099).key("k")).await;
                    assert_replays_first(app, "k", &again);
                    assert_once(app).await;
                },
            )
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_retry_while_the_first_still_hangs_gets_the_saved_answer() {
    for secure in [0, 1] {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "drop-after-commit", "how": "hang", "on": 1}))
                    .await;
                let [plain, tls] = http_and_https(app).await;
                let mut conn = if secure == 1 { tls } else { plain };
                conn.send(&charge(1099).key("k").bytes()).await;
                app.until("the hang", |app| app.now("stripe").withheld == 1).await;
                let again = app.call(charge(1099).key("k")).await;
                assert_replays_first(app, "k", &again);
                assert_once(app).await;
                assert!(conn.is_silent(Duration::from_millis(50)).await, "it still hangs");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_anywhere_the_retry_gets_all_of_it() {
    with(
        |b| b,
        async |app: &App| {
            let whole = {
                let mut conn = app.connect().await;
                let call = charge(1000).key("key-00").header("connection", "close");
                conn.send(&call.bytes()).await;
                conn.rest().await.0
            };
            let head = whole.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
            let all = whole.len();
            let mut n = 0;
            for cut in [0, 1, 12, head / 2, head - 1, head, head + 1, head + 700, all - 1] {
                for mut conn in http_and_https(app).await {
                    n += 1;
                    let key = format!("key-{n:02}");
                    let call = charge(1000 + n).key(&key).header("connection", "close");
                    let lossy = call
                        .clone()
                        .fault(&format!("drop-after-commit; how=truncate; bytes={cut}; on=1"));
                    conn.send(&lossy.bytes()).await;
                    let (seen, _) = conn.rest().await;
                    assert_eq!(seen.len(), cut, "cut at {cut} of {all}");
                    let again = app.call(call).await;
                    assert_replays_first(app, &key, &again);
                    let body = seen.get(head..).unwrap_or_default();
                    assert!(again.body.starts_with(body), "what was seen at {cut} is how it begins");
                    assert_eq!(entry(app, &key, Outcome::Accepted).fate, Some(Fate::Withheld));
                }
            }
            let counts = app.counts("stripe").await;
            assert_eq!(
                (counts.accepted, counts.replayed, counts.withheld, counts.answered),
                (n + 1, n, n, n + 1)
            );
            assert_eq!((app.effects("charge"), counts.duplicates), (n + 1, 0));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_between_does_not_change_the_replay() {
    with(
        |b| b,
        async |app: &App| {
            let form = "amount=1099&currency=usd&source=tok_visa&capture=false&expand[]=refunds&expand[]=customer";
            let call = Call::stripe("/v1/charges", form).key("k");
            let mut conn = app.connect().await;
            conn.send(&call.clone().fault("drop-after-commit; how=reset; on=1").bytes())
                .await;
            assert_eq!(conn.rest().await, (vec![], End::Reset));
            let found = made(app, get("/v1/charges")).await;
            let charge = found["data"][0]["id"].as_str().unwrap().to_owned();
            let capture = format!("/v1/charges/{charge}/capture");
            made(app, Call::stripe(&capture, "amount=900")).await;
            made(app, Call::stripe("/v1/refunds", &format!("charge={charge}&amount=400"))).await;
            made(
                app,
                Call::stripe(&format!("/v1/charges/{charge}"), "description=changed"),
            )
            .await;
            let now = made(app, get(&format!("/v1/charges/{charge}"))).await;
            assert_eq!(
                (
                    &now["amount_captured"],
                    &now["amount_refunded"],
                    &now["captured"],
                    &now["description"]
                ),
                (&json!(900), &json!(599), &json!(true), &json!("changed"))
            );
            let again = app.call(call).await;
            assert_replays_first(app, "k", &again);
            let then = again.json();
            assert_eq!(
                (&then["amount_captured"], &then["amount_refunded"], &then["captured"]),
                (&json!(0), &json!(0), &json!(false))
            );
            assert_eq!(
                (&then["description"], &then["refunds"]["data"]),
                (&json!(null), &json!([]))
            );
            assert_eq!((app.effects("charge"), app.effects("refund")), (1, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_replay_is_replayed_again() {
    with(
        |b| b,
        async |app: &App| {
            let rule = json!({"mode": "drop-after-commit", "how": "reset", "outcome": "replayed", "on": [1, 2]});
            app.fault(rule).await;
            let first = app.call(charge(1099).key("k")).await;
            for _ in 0..2 {
                let mut conn = app.connect().await;
                conn.send(&charge(1099).key("k").bytes()).await;
                assert_eq!(conn.rest().await, (vec![], End::Reset));
            }
            let again = app.call(charge(1099).key("k")).await;
            assert_eq!(again.body, first.body);
            assert_replays_first(app, "k", &again);
            let counts = app.counts("stripe").await;
            assert_eq!(
                (counts.accepted, counts.replayed, counts.withheld, counts.answered),
                (1, 3, 2, 2)
            );
            assert_eq!(app.effects("charge"), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_call_and_its_replay_are_lost_by_one_rule() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "on": "1..2"})).await;
            for _ in 0..2 {
                let mut conn = app.connect().await;
                conn.send(&charge(1099).key("k").bytes()).await;
                assert_eq!(conn.rest().await, (vec![], End::Orderly));
            }
            let again = app.call(charge(1099).key("k")).await;
            assert_replays_first(app, "k", &again);
            let counts = app.counts("stripe").await;
            assert_eq!(
                (counts.accepted, counts.replayed, counts.withheld, app.effects("charge")),
                (1, 2, 2, 1)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn held_after_the_commit_the_retry_is_answered_at_once() {
    let releases = [
        (json!({"then": "answer"}), Fate::Answered, 200),
        (json!({"then": "drop"}), Fate::Withheld, 0),
        (json!({"then": "drop", "how": "reset"}), Fate::Withheld, 0),
        (
            json!({"then": "drop", "how": "truncate", "bytes": 30}),
            Fate::Withheld,
            30,
        ),
    ];
    for (release, fate, seen) in releases {
        with(
            |b| b,
            async |app: &App| {
                app.fault(json!({"mode": "hold-after-commit", "on": 1})).await;
                let mut conn = app.connect().await;
                conn.send(&charge(1099).key("k").bytes()).await;
                app.until("the hold", |app| !app.suite.holds().list(None).is_empty())
                    .await;
                let again = app.call(charge(1099).key("k")).await;
                assert_replays_first(app, "k", &again);
                let counts = app.counts("stripe").await;
                assert_eq!(
                    (counts.accepted, counts.replayed, counts.open, counts.in_flight),
                    (1, 1, 1, 0)
                );
                app.admin(Call::post("/_holds/h1/release").json(&release)).await;
                if seen == 200 {
                    let late = conn.answer().await;
                    assert_eq!(late.status, 200);
                    assert_eq!(late.body, again.body);
                    assert_eq!(late.header("idempotent-replayed"), None, "it is the first answer");
                } else {
                    assert_eq!(conn.rest().await.0.len(), seen);
                }
                app.settled().await;
                assert_eq!(entry(app, "k", Outcome::Accepted).fate, Some(fate), "{release}");
                let again = app.call(charge(1099).key("k")).await;
                assert_replays_first(app, "k", &again);
                assert_eq!(app.effects("charge"), 1);
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateways_error_after_the_commit_hides_the_answer_and_not_the_record() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "error-after-commit", "status": 504, "on": 1}))
                .await;
            let first = app.call(charge(1099).key("k")).await;
            assert_eq!((first.status, first.header("content-type")), (504, Some("text/html")));
            assert_eq!(first.header("original-request"), None);
            assert_replays_first(app, "k", &app.call(charge(1099).key("k")).await);
            assert_once(app).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_that_takes_a_key_happens_once_for_it() {
    with(
        |b| b,
        async |app: &App| {
            let customer = id(app, Call::stripe("/v1/customers", "")).await;
            let charge = id(
                app,
                Call::stripe("/v1/charges", "amount=500&currency=usd&source=tok_visa&capture=false"),
            )
            .await;
            let intent = id(
                app,
                Call::stripe(
                    "/v1/payment_intents",
                    "amount=700&currency=usd&capture_method=manual&payment_method=pm_card_visa",
                ),
            )
            .await;
            let method = id(
                app,
                Call::stripe("/v1/payment_methods", "type=card&card[token]=tok_visa"),
            )
            .await;
            let card = "4242424242424242&card[exp_month]=12&card[exp_year]=2099&card[cvc]=123";
            let token = format!("card[number]={card}").replace("2099", "2040");
            let steps = [
                (
                    format!("/v1/customers/{customer}"),
                    "name=N".to_owned(),
                    "customer_update",
                ),
                (
                    format!("/v1/payment_methods/{method}/attach"),
                    format!("customer={customer}"),
                    "payment_method_attach",
                ),
                (
                    format!("/v1/payment_methods/{method}"),
                    "metadata[a]=b".into(),
                    "payment_method_update",
                ),
                (
                    format!("/v1/payment_methods/{method}/detach"),
                    String::new(),
                    "payment_method_detach",
                ),
                (
                    format!("/v1/charges/{charge}/capture"),
                    "amount=400".into(),
                    "charge_capture",
                ),
                (format!("/v1/charges/{charge}"), "description=d".into(), "charge_update"),
                ("/v1/refunds".into(), format!("charge={charge}&amount=100"), "refund"),
                (
                    format!("/v1/payment_intents/{intent}"),
                    "metadata[a]=b".into(),
                    "payment_intent_update",
                ),
                (
                    format!("/v1/payment_intents/{intent}/confirm"),
                    String::new(),
                    "payment_intent_confirm",
                ),
                (
                    format!("/v1/payment_intents/{intent}/capture"),
                    "amount_to_capture=300".into(),
                    "payment_intent_capture",
                ),
                (
                    "/v1/payment_intents".into(),
                    "amount=900&currency=eur".into(),
                    "payment_intent",
                ),
                (
                    "/v1/payment_methods".into(),
                    "type=card&card[token]=tok_mastercard".into(),
                    "payment_method",
                ),
                ("/v1/customers".into(), "name=Other".into(), "customer"),
                ("/v1/tokens".into(), token, "token"),
            ];
            for (n, (path, form, effect)) in steps.into_iter().enumerate() {
                let key = format!("key-{n}");
                let before = app.effects(effect);
                let call = Call::stripe(&path, &form).key(&key);
                let mut conn = app.connect().await;
                conn.send(&call.clone().fault("drop-after-commit; on=1").bytes()).await;
                assert_eq!(conn.rest().await, (vec![], End::Orderly), "{path} is accepted");
                let again = app.call(call).await;
                assert_replays_first(app, &key, &again);
                assert_eq!(app.effects(effect), before + 1, "{path} made one {effect}");
            }
        },
    )
    .await;
}
