//! Objects under chosen ids: put by the API, and from a seed that every world begins with.

use ackdrop::suite::StartError;
use ackdrop::{Suite, store::Scope};
use serde_json::{Value, json};

use crate::support::{Answer, App, Call, with};

fn put(path: &str, fields: &Value) -> Call {
    Call::new("PUT", &format!("/_objects/{path}"))
        .body(fields.to_string())
        .header("content-length", &fields.to_string().len().to_string())
}

async fn made(app: &App, path: &str, fields: Value) -> Value {
    let answer = app.call(put(path, &fields)).await;
    assert_eq!(answer.status, 201, "{path} {fields}: {}", answer.text());
    answer.json()
}

fn get(path: &str) -> Call {
    Call::get(path).header("authorization", "Bearer sk_test_123")
}

async fn shown(app: &App, path: &str) -> Value {
    let answer = app.call(get(path)).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// Returns what is pending in dollars.
async fn pending(app: &App) -> i64 {
    let balance = shown(app, "/v1/balance").await;
    let sums = balance["pending"].as_array().unwrap().iter();
    sums.filter(|sum| sum["currency"] == "usd")
        .map(|sum| sum["amount"].as_i64().unwrap())
        .sum()
}

/// Returns why a call was refused.
fn refusal(answer: &Answer) -> Value {
    assert_eq!(answer.status, 400, "{}", answer.text());
    answer.json()["error"].clone()
}

fn assert_nothing_counted(app: &App) {
    let stats = app.suite.stats();
    assert_eq!((stats.total.received, stats.effects.len()), (0, 0));
    assert!(app.entries().is_empty(), "no journal entry either");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_is_there_for_every_call_and_counts_as_nothing() {
    with(
        |b| b,
        async |app: &App| {
            made(
                app,
                "stripe/customers/cus_123",
                json!({"email": "a@example.com", "metadata": {"plan": 7}}),
            )
            .await;
            made(app, "stripe/payment_methods/pm_123", json!({"customer": "cus_123"})).await;
            made(
                app,
                "stripe/charges/ch_123",
                json!({"amount": 2000, "currency": "usd", "customer": "cus_123"}),
            )
            .await;
            made(app, "stripe/refunds/re_123", json!({"charge": "ch_123", "amount": 500})).await;
            made(app, "stripe/tokens/tok_123", json!({})).await;
            let intent = json!({"amount": 3000, "currency": "usd", "status": "requires_capture", "customer": "cus_123",
                                "payment_method": "pm_123", "latest_charge": "ch_456"});
            made(app, "stripe/payment_intents/pi_123", intent).await;
            let order = made(app, "orders/orders/order-17", json!({"total": 5})).await;
            assert_nothing_counted(app);

            let customer = shown(app, "/v1/customers/cus_123").await;
            assert_eq!(
                (&customer["email"], &customer["metadata"]),
                (&json!("a@example.com"), &json!({"plan": "7"}))
            );
            let charge = shown(app, "/v1/charges/ch_123?expand[]=customer").await;
            assert_eq!(
                (&charge["amount_refunded"], &charge["customer"]["id"]),
                (&json!(500), &json!("cus_123"))
            );
            let listed = shown(app, "/v1/payment_methods?customer=cus_123").await;
            assert_eq!(listed["data"][0]["id"], "pm_123");
            assert_eq!(shown(app, "/v1/refunds?charge=ch_123").await["data"][0]["id"], "re_123");
            let captured = app
                .call(Call::stripe("/v1/payment_intents/pi_123/capture", ""))
                .await
                .json();
            assert_eq!(
                (&captured["status"], &captured["latest_charge"]),
                (&json!("succeeded"), &json!("ch_456"))
            );
            let paid = app
                .call(Call::stripe("/v1/charges", "amount=1099&currency=usd&source=tok_123"))
                .await;
            assert_eq!(paid.status, 200, "{}", paid.text());
            let again = app.call(Call::order("order-17")).await;
            assert_eq!(
                (again.status, &again.json()["order"]),
                (409, &order),
                "the reference is taken"
            );
            assert_eq!(shown(app, "/orders/order-17").await, order);
            let effects = [
                "customer",
                "charge",
                "charge_capture",
                "refund",
                "token",
                "payment_intent",
                "order",
            ];
            assert_eq!(effects.map(|kind| app.effects(kind)), [0, 1, 1, 0, 0, 0, 0]);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intent_is_put_in_the_status_that_is_wanted() {
    with(
        |b| b,
        async |app: &App| {
            for (n, (status, charged)) in [
                ("requires_payment_method", false),
                ("requires_confirmation", false),
                ("requires_action", false),
                ("requires_capture", true),
                ("canceled", false),
                ("succeeded", true),
            ]
            .into_iter()
            .enumerate()
            {
                let fields = json!({"amount": 1099, "currency": "eur", "status": status});
                let intent = made(app, &format!("stripe/payment_intents/pi_{n}"), fields.clone()).await;
                assert_eq!(
                    (&intent["status"], intent["latest_charge"].is_string()),
                    (&json!(status), charged)
                );
                let again = app.call(put(&format!("stripe/payment_intents/pi_{n}"), &fields)).await;
                assert_eq!(
                    (again.status, &again.json()["latest_charge"]),
                    (200, &intent["latest_charge"])
                );
            }
            let declined =
                json!({"amount": 1099, "currency": "eur", "confirm": true, "payment_method": "pm_card_chargeDeclined"});
            let declined = made(app, "stripe/payment_intents/pi_no", declined).await;
            assert_eq!(declined["last_payment_error"]["code"], "card_declined");
            let failed = json!({"amount": 1099, "currency": "eur", "source": "tok_chargeDeclined"});
            assert_eq!(made(app, "stripe/charges/ch_no", failed).await["status"], "failed");
            let charges = shown(app, "/v1/charges?limit=100").await;
            assert_eq!(
                charges["data"].as_array().unwrap().len(),
                4,
                "one a charged intent, and the failed ones"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn putting_again_replaces_and_the_balance_is_the_sum_of_what_is_there() {
    with(
        |b| b,
        async |app: &App| {
            let charge = |amount: i64| json!({"amount": amount, "currency": "usd"});
            made(app, "stripe/charges/ch_1", charge(2000)).await;
            let refund = json!({"charge": "ch_1", "amount": 300});
            made(app, "stripe/refunds/re_1", refund.clone()).await;
            assert_eq!(pending(app).await, 1700);
            for _ in 0..2 {
                assert_eq!(app.call(put("stripe/refunds/re_1", &refund)).await.status, 200);
                assert_eq!(pending(app).await, 1700, "the same refund gives back once");
            }
            assert_eq!(shown(app, "/v1/charges/ch_1").await["amount_refunded"], 300);
            assert_eq!(app.call(put("stripe/charges/ch_1", &charge(500))).await.status, 200);
            assert_eq!(pending(app).await, 500);
            assert_eq!(shown(app, "/v1/charges/ch_1").await["amount_refunded"], 0);

            let intent = |status: &str| json!({"amount": 1000, "currency": "usd", "status": status});
            made(app, "stripe/payment_intents/pi_1", intent("succeeded")).await;
            assert_eq!(pending(app).await, 1500);
            app.call(put("stripe/payment_intents/pi_1", &intent("succeeded"))).await;
            assert_eq!(pending(app).await, 1500);
            app.call(put("stripe/payment_intents/pi_1", &intent("requires_confirmation")))
                .await;
            assert_eq!(pending(app).await, 500, "its charge is gone with it");
            assert_eq!(shown(app, "/v1/charges").await["data"].as_array().unwrap().len(), 1);

            let order = made(app, "orders/orders/a", json!({"n": 1, "m": 2})).await;
            let other = app.call(put("orders/orders/a", &json!({"n": 3}))).await;
            assert_eq!(
                (other.status, &other.json()["n"], other.json().get("m")),
                (200, &json!(3), None)
            );
            assert_eq!(other.json()["id"], order["id"]);
            assert_eq!(shown(app, "/orders").await["data"].as_array().unwrap().len(), 1);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_and_nothing_is_put() {
    with(
        |b| b,
        async |app: &App| {
            made(
                app,
                "stripe/payment_intents/pi_paid",
                json!({"amount": 1000, "currency": "usd", "status": "succeeded", "latest_charge": "ch_paid"}),
            )
            .await;
            let amount = json!({"amount": 1000, "currency": "usd"});
            let with = |name: &str, value: Value| {
                let mut fields = amount.clone();
                fields[name] = value;
                fields
            };
            for (path, fields, field, why) in [
                ("smtp/mails/m1", json!({}), "provider", "stripe"),
                (
                    "stripe/payouts/po_1",
                    json!({}),
                    "resource",
                    "stripe has no resource `payouts` yet; it has: customers, payment_methods",
                ),
                ("stripe/customers/cus.1", json!({}), "id", "A-Z a-z 0-9 _ -"),
                (
                    &*format!("stripe/customers/{}", "c".repeat(256)),
                    json!({}),
                    "id",
                    "1 to 255",
                ),
                (
                    "stripe/payment_methods/pm_card_visa",
                    json!({}),
                    "id",
                    "name of a test card",
                ),
                (
                    "stripe/customers/cus_1",
                    json!({"emial": "a@b.test"}),
                    "emial",
                    "description, email",
                ),
                (
                    "stripe/customers/cus_1",
                    json!({"email": "nobody"}),
                    "email",
                    "Invalid email address: nobody",
                ),
                (
                    "stripe/customers/cus_1",
                    json!({"name": ["A"]}),
                    "name",
                    "Invalid string",
                ),
                ("stripe/customers/cus_1", json!(["A"]), "", "a JSON object"),
                (
                    "stripe/charges/ch_1",
                    json!({"currency": "usd"}),
                    "amount",
                    "Missing required param",
                ),
                (
                    "stripe/charges/ch_1",
                    with("amount", json!(true)),
                    "amount",
                    "Invalid integer: true",
                ),
                (
                    "stripe/charges/ch_1",
                    with("customer", json!("cus_none")),
                    "customer",
                    "No such customer: 'cus_none'",
                ),
                (
                    "stripe/charges/ch_paid",
                    amount.clone(),
                    "id",
                    "belongs to PaymentIntent pi_paid",
                ),
                (
                    "stripe/refunds/re_1",
                    json!({"charge": "ch_none"}),
                    "charge",
                    "No such charge: 'ch_none'",
                ),
                (
                    "stripe/refunds/re_1",
                    json!({"charge": "ch_paid", "amount": 1001}),
                    "amount",
                    "greater than unrefunded",
                ),
                (
                    "stripe/payment_intents/pi_1",
                    with("status", json!("done")),
                    "status",
                    "must be one of requires_payment_method",
                ),
                (
                    "stripe/payment_intents/pi_1",
                    with("latest_charge", json!("ch_paid")),
                    "latest_charge",
                    "not this PaymentIntent's",
                ),
                (
                    "stripe/payment_intents/pi_1",
                    with("latest_charge", json!("ch_1")),
                    "latest_charge",
                    "has no charge",
                ),
                (
                    "stripe/payment_methods/pm_1",
                    json!({"customer": "cus_none"}),
                    "customer",
                    "No such customer",
                ),
                ("orders/orders/a", json!({"id": "ord_1"}), "id", "given by the provider"),
                ("orders/orders/a", json!({"reference": "b"}), "reference", "\"a\""),
            ] {
                let answer = app.call(put(path, &fields)).await;
                let error = refusal(&answer);
                assert_eq!(error["problems"][0]["field"], field, "{path} {fields}: {error}");
                assert!(
                    error["message"].as_str().unwrap().contains(why),
                    "{path} {fields}: {error}"
                );
            }
            let card = json!({"card": {"number": "4242424242424241", "exp_month": "May", "exp_year": 2040}});
            let wrong = app.call(put("stripe/payment_methods/pm_1", &card)).await;
            assert_eq!(refusal(&wrong)["problems"][0]["field"], "card[exp_month]");
            let real = json!({"card": {"number": "4111111111111111", "exp_month": 1, "exp_year": 2040}});
            let real = app.call(put("stripe/payment_methods/pm_1", &real)).await;
            assert!(!real.text().contains("4111111111111111"), "{}", real.text());
            for body in ["{", "nonsense"] {
                let call = Call::new("PUT", "/_objects/stripe/customers/cus_1").body(body);
                let call = call.header("content-length", &body.len().to_string());
                assert!(
                    refusal(&app.call(call).await)["message"]
                        .as_str()
                        .unwrap()
                        .contains("no JSON")
                );
            }
            assert_eq!(
                app.call(put("stripe/customers/cus_1?scpoe=a", &json!({}))).await.status,
                400
            );
            assert_nothing_counted(app);
            for path in ["/v1/customers", "/v1/refunds", "/orders"] {
                assert_eq!(shown(app, path).await["data"], json!([]), "{path}");
            }
            assert_eq!(
                shown(app, "/v1/payment_intents").await["data"]
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
            assert_eq!(shown(app, "/v1/charges").await["data"].as_array().unwrap().len(), 1);
            assert_eq!(pending(app).await, 1000);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scopes_objects_are_its_own_and_a_reset_takes_them() {
    with(
        |b| b,
        async |app: &App| {
            let alice = app.call(put("stripe/customers/cus_1?scope=alice", &json!({}))).await;
            assert_eq!(alice.status, 201);
            let prefixed = Call::new("PUT", "/~bob/_objects/stripe/customers/cus_2");
            assert_eq!(app.call(prefixed).await.status, 201, "no body is no field");
            for (scope, id, status) in [
                ("alice", "cus_1", 200),
                ("bob", "cus_2", 200),
                ("bob", "cus_1", 404),
                ("default", "cus_1", 404),
            ] {
                let call = get(&format!("/v1/customers/{id}")).header("x-ackdrop-scope", scope);
                assert_eq!(app.call(call).await.status, status, "{scope} {id}");
            }
            app.suite.reset(Some(&Scope::parse("alice").unwrap()));
            let gone = get("/~alice/v1/customers/cus_1");
            assert_eq!(app.call(gone).await.status, 404);
        },
    )
    .await;
}

fn seed() -> Value {
    // What refers to another stands before it, to show that the order means nothing.
    json!({
        "scopes": {"alice": {"stripe": {"customers": {"cus_alice": {}, "cus_123": {"name": "Alice"}}}}},
        "orders": {"orders": {"order-17": {"total": 5}}},
        "stripe": {
            "refunds": {"re_123": {"charge": "ch_123", "amount": 500}},
            "charges": {"ch_123": {"amount": 2000, "currency": "usd", "customer": "cus_123"}},
            "payment_methods": {"pm_123": {"customer": "cus_123"}},
            "payment_intents": {"pi_123": {"amount": 1000, "currency": "usd", "status": "succeeded"}},
            "customers": {"cus_123": {"name": "All"}},
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_is_in_every_world_and_comes_back_with_a_reset() {
    with(
        |b| b.seed("seed.json", seed()),
        async |app: &App| {
            assert_nothing_counted(app);
            let mut intents = Vec::new();
            for round in 0..2 {
                for scope in ["default", "alice", "bob"] {
                    let call = |path: &str| get(&format!("/~{scope}{path}"));
                    let name = app.call(call("/v1/customers/cus_123")).await.json()["name"].clone();
                    assert_eq!(name, if scope == "alice" { "Alice" } else { "All" }, "{round} {scope}");
                    let own = app.call(call("/v1/customers/cus_alice")).await.status;
                    assert_eq!(own, if scope == "alice" { 200 } else { 404 });
                    let order = app.call(call("/orders/order-17")).await;
                    assert_eq!(order.status, 200);
                    let intent = app.call(call("/v1/payment_intents/pi_123")).await;
                    intents.push((intent.text(), order.text()));
                    let balance = app.call(call("/v1/balance")).await.json();
                    assert_eq!(balance["pending"][0]["amount"], 2500, "{round} {scope}");
                    let delete = Call::new("DELETE", &format!("/~{scope}/v1/customers/cus_123"));
                    let delete = delete.header("authorization", "Bearer sk_test_123");
                    assert_eq!(app.call(delete).await.status, 200);
                    app.call(put(&format!("stripe/customers/cus_put?scope={scope}"), &json!({})))
                        .await;
                }
                match round {
                    0 => app.suite.reset(None),
                    _ => app.suite.reset(Some(&Scope::parse("bob").unwrap())),
                }
                assert_eq!(app.call(get("/~bob/v1/customers/cus_put")).await.status, 404);
            }
            intents.dedup();
            assert_eq!(intents.len(), 1, "the same in every world, each time: {intents:?}");
            assert_eq!(
                app.call(get("/~alice/v1/customers/cus_put")).await.status,
                200,
                "not reset"
            );
            assert_eq!(
                app.call(get("/~bob/v1/customers/cus_123")).await.json()["deleted"],
                Value::Null
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_moment_of_a_reset_is_without_the_seed() {
    with(
        |b| b.seed("seed.json", seed()),
        async |app: &App| {
            let look = async {
                let mut conn = app.connect().await;
                for _ in 0..300 {
                    conn.send(&get("/v1/customers/cus_123").bytes()).await;
                    // An attempt that a reset overtakes loses its answer; one that is answered finds the customer.
                    match conn.try_answer().await {
                        Some(answer) => assert_eq!(answer.status, 200, "{}", answer.text()),
                        None => conn = app.connect().await,
                    }
                }
            };
            let reset = async {
                for _ in 0..300 {
                    app.admin(Call::post("/_reset")).await;
                }
            };
            tokio::join!(look, reset);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_seed_starts_nothing_and_says_all_that_is_wrong() {
    let many: serde_json::Map<String, Value> = (0..1001).map(|n| (format!("cus_{n}"), json!({}))).collect();
    for (seed, problems) in [
        (json!([]), &["s.json: [] : must be an object", "s.json = []"][..1]),
        (
            json!({"strype": {}, "stripe": {"payouts": {"po_1": {}}, "customers": {"cus_1": {"email": "x", "nam": 1}},
                   "charges": {"ch_1": {"amount": 100, "currency": "usd", "customer": "cus_none"}}},
                   "orders": {"orders": []}, "scopes": {"a b": {}, "alice": {"stripe": {"tokens": {"tok_visa": {}}}}}}),
            &[
                "s.json: strype = \"strype\": has no objects that can be put (allowed: orders, stripe)",
                "s.json: stripe.payouts.po_1.resource = \"payouts\": stripe has no resource `payouts` yet; it has: customers, ",
                "s.json: stripe.customers.cus_1.nam = 1: is no field",
                "s.json: stripe.charges.ch_1.customer = \"cus_none\": No such customer",
                "s.json: orders.orders = []: must be an object of objects by id",
                "s.json: scopes.a b: `a b` is no scope name",
                "s.json: scopes.alice.stripe.tokens.tok_visa.id = \"tok_visa\": is the name of a test card",
            ],
        ),
        (
            json!({"stripe": {"customers": many}}),
            &["s.json: there are 1001 objects"],
        ),
    ] {
        let Err(StartError::Seed(said)) = Suite::builder().seed("s.json", seed.clone()).start().await else {
            panic!("{seed} is wrong");
        };
        if seed.is_array() {
            assert!(
                said.len() == 1 && said[0].contains("must be an object of providers"),
                "{said:?}"
            );
            continue;
        }
        assert_eq!(said.len(), problems.len(), "{said:#?}");
        for problem in problems {
            assert!(
                said.iter().any(|line| line.starts_with(problem)),
                "{problem} in {said:#?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_put_is_listed_with_its_fields() {
    with(
        |b| b,
        async |app: &App| {
            let objects = app.admin(Call::get("/_objects")).await["objects"].clone();
            let names: Vec<&str> = objects["stripe"]
                .as_array()
                .unwrap()
                .iter()
                .map(|r| r["name"].as_str().unwrap())
                .collect();
            assert_eq!(
                names,
                [
                    "customers",
                    "payment_methods",
                    "payment_intents",
                    "charges",
                    "refunds",
                    "setup_intents",
                    "tokens",
                    "products",
                    "prices",
                    "coupons",
                    "promotion_codes",
                    "webhook_endpoints",
                    "sources",
                    "meters"
                ]
            );
            assert!(
                objects["stripe"][0]["fields"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("email"))
            );
            assert_eq!(objects["orders"][0]["name"], "orders");
        },
    )
    .await;
}
