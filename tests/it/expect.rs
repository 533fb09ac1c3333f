//! `POST /_expect` waits for what is expected, misses no change, and never says yes too early.

mod command;
mod waking;

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, App, Call, with};

/// Asks, and returns the answer.
async fn expect(app: &App, path: &str, body: Value) -> Answer {
    app.call(Call::post(path).json(&body)).await
}

fn charge(key: &str) -> Call {
    Call::charge().key(key)
}

fn seconds(verdict: &Value) -> f64 {
    verdict["waited"]
        .as_str()
        .unwrap()
        .trim_end_matches('s')
        .parse()
        .unwrap()
}

/// Places orders at once, each on a connection of its own.
async fn place_at_once(app: &App, scope: &str, n: usize) {
    let calls = (0..n).map(|i| {
        let call = Call::order(&format!("order-{i}")).header("x-ackdrop-scope", scope);
        let addr = app.http();
        tokio::spawn(async move {
            let mut conn = crate::support::Conn::plain(addr).await;
            conn.send(&call.bytes()).await;
            assert_eq!(conn.answer().await.status, 201);
        })
    });
    for placed in calls.collect::<Vec<_>>() {
        placed.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_holds_is_answered_with_the_attempts_that_were_counted() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "provider": "stripe", "on": 1}))
                .await;
            let mut conn = app.connect().await;
            conn.send(&charge("order-17").bytes()).await;
            conn.rest().await;
            assert_eq!(app.call(charge("order-17")).await.status, 200);
            app.call(Call::order("a")).await;
            let all = [
                "stripe.charge == 1",
                "charge=1",
                "stripe.charges.create.accepted == 1",
                "stripe.replayed == 1",
                "stripe.withheld == 1",
                "accepted == 2",
                "received > 2",
                "received < 4",
                "duplicates == 0",
                "orders.order <= 1",
                "smtp.message != 1",
                "unmatched == 0",
                "faults.armed == 0",
                "faults.fired >= 1",
                "faults all fired",
            ];
            // JSON is read whatever the Content-Type.
            let body = json!({"expect": all, "settle": "0s"}).to_string();
            let answer = app.call(Call::post("/_expect").form(&body)).await;
            let verdict = answer.json();
            assert_eq!((answer.status, &verdict["holds"]), (200, &json!(true)), "{verdict}");
            let judged = verdict["expectations"].as_array().unwrap();
            assert_eq!(
                judged[1],
                json!({"text": "charge == 1", "name": "charge", "operator": "==", "expected": 1, "counted": 1, "holds": true})
            );
            assert_eq!(judged[14]["counted"], 1);
            let evidence = verdict["evidence"].as_array().unwrap();
            let shown: Vec<_> = evidence.iter().map(|a| (&a["id"], a["outcome"].as_str(), a["fate"].as_str())).collect();
            let expected = [
                (&json!(1), Some("accepted"), Some("withheld")),
                (&json!(2), Some("replayed"), Some("answered")),
                (&json!(3), Some("accepted"), Some("answered")),
            ];
            assert_eq!(shown, expected);
            assert_eq!(evidence[0]["line"], "POST /v1/charges");
            assert_eq!((&evidence[0]["key"], &evidence[0]["effects"][0]["kind"]), (&json!("order-17"), &json!("charge")));
            assert_eq!(evidence[0]["fault"]["rule"], "f1");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_hold_is_answered_with_what_made_the_difference() {
    with(
        |b| b,
        async |app: &App| {
            for key in ["a", "b"] {
                app.call(charge(key)).await;
            }
            app.call(Call::stripe("/v1/charges", "amount=1099")).await;
            app.call(Call::get("/charges")).await;
            let rule = json!({"mode": "refuse", "provider": "stripe", "key": "order-*"});
            app.fault(rule).await;
            app.call(charge("a")).await;
            let all = [
                "stripe.charge == 1",
                "stripe.charge == 3",
                "duplicates == 0",
                "faults all fired",
                "stripe.replayed == 1",
            ];
            let answer = expect(app, "/_expect", json!({"expect": all, "timeout": "0s"})).await;
            let verdict = answer.json();
            assert_eq!((answer.status, &verdict["holds"]), (417, &json!(false)));
            assert_eq!(verdict["ended"], "timeout");
            let ids = |judged: &Value| -> Vec<(u64, bool)> {
                let attempts = judged["attempts"].as_array().unwrap().iter();
                attempts
                    .map(|a| (a["id"].as_u64().unwrap(), a["counts"] == true))
                    .collect()
            };
            let judged = &verdict["expectations"];
            assert_eq!(ids(&judged[0]), [(1, true), (2, true)], "too many: those counted");
            assert_eq!(judged[0]["diff"][0], "expected exactly 1, counted 2");
            let first = judged[0]["diff"][1].as_str().unwrap();
            assert!(
                first.starts_with("#1 stripe charges.create key=a accepted answered: charge ch_"),
                "{first}"
            );
            let of_three = [(1, true), (2, true), (3, false), (4, false)];
            assert_eq!(ids(&judged[1]), of_three, "too few: also those that were not counted, and why");
            assert!(judged[1]["diff"][3].as_str().unwrap().contains("refused answered (not counted)"));
            assert_eq!(ids(&judged[2]), [(2, true)], "the duplicate");
            let rule = judged[3]["diff"][1].as_str().unwrap();
            let near = "f1 refuse; provider=stripe; key=order-*: matched 0, fired 0; nearly matched: key should be order-*, was a";
            assert_eq!((&judged[3]["counted"], rule), (&json!(0), near));
            assert_eq!((&judged[4]["holds"], &judged[4]["diff"]), (&json!(true), &Value::Null));
            let note = verdict["notes"][0].as_str().unwrap();
            assert!(note.contains("no provider knows: 1") && note.contains("GET /charges"), "{note}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_attempts_the_last_are_listed() {
    with(
        |b| b,
        async |app: &App| {
            place_at_once(app, "default", 30).await;
            let verdict = expect(app, "/_expect", json!({"expect": "order == 29", "timeout": "0s"}))
                .await
                .json();
            let judged = &verdict["expectations"][0];
            assert_eq!(
                (&judged["more"], judged["attempts"].as_array().unwrap().len()),
                (&json!(10), 20)
            );
            let commits: Vec<&str> = judged["attempts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|a| a["committed"].as_str().unwrap())
                .collect();
            assert!(commits.is_sorted(), "{commits:?}");
            let mut entries = app.entries();
            entries.sort_by_key(|entry| entry.committed);
            assert_eq!(judged["attempts"][19]["id"], entries[29].id);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_listed_in_the_order_of_their_commit() {
    with(
        |b| b,
        async |app: &App| {
            let mut first = app.connect().await;
            first
                .send(&Call::order("early").fault("hold-before-commit").bytes())
                .await;
            let id = app.until_held(1).await.remove(0);
            app.call(Call::order("late")).await;
            app.release(&id, json!({"then": "answer"})).await;
            assert_eq!(first.answer().await.status, 201);
            for (text, list) in [("order == 2", "/evidence"), ("order == 1", "/expectations/0/attempts")] {
                let body = json!({"expect": text, "timeout": "1s", "settle": "0s"});
                let verdict = expect(app, "/_expect", body).await.json();
                let attempts = verdict.pointer(list).unwrap().as_array().unwrap();
                let ids: Vec<_> = attempts.iter().map(|a| a["id"].as_u64().unwrap()).collect();
                assert_eq!(ids, [2, 1], "{text}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_is_looked_at_alone() {
    with(
        |b| b,
        async |app: &App| {
            place_at_once(app, "alice", 1).await;
            place_at_once(app, "bob", 2).await;
            let counted = async |path: &str| {
                let body = json!({"expect": ["orders.order == 1", "faults all fired"], "timeout": "0s"});
                let verdict = expect(app, path, body).await.json();
                let of = |i: usize| verdict["expectations"][i]["counted"].as_u64().unwrap();
                (
                    of(0),
                    of(1),
                    verdict["expectations"][1]["diff"][0].as_str().map(str::to_owned),
                )
            };
            let none = Some("there is no rule that could fire".to_owned());
            assert_eq!(counted("/_expect").await, (3, 0, none));
            app.admin(Call::post("/_faults?scope=bob").json(&json!({"mode": "pass"})))
                .await;
            let bound = Some("no rule names the scope `alice`; one without a scope belongs to none".to_owned());
            assert_eq!(counted("/_expect?scope=alice").await, (1, 0, bound));
            place_at_once(app, "carol", 1).await;
            let of_bob = counted("/~bob/_expect").await;
            assert_eq!((of_bob.0, of_bob.1), (2, 0));
            app.call(Call::get("/orders/x").header("x-ackdrop-scope", "bob")).await;
            assert_eq!(
                counted("/~bob/_expect").await,
                (2, 1, None),
                "alone it may be armed still"
            );
            let nobody = counted("/_expect?scope=nobody").await;
            assert_eq!(nobody.0, 0);
            assert_eq!(
                app.admin(Call::get("/_scopes")).await["scopes"]
                    .as_array()
                    .unwrap()
                    .len(),
                3
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused_with_its_place() {
    with(
        |b| b,
        async |app: &App| {
            let wrong = json!({"expect": ["charge == 1", "stripe.chrage == 1", "smtp.message =="]});
            let answer = expect(app, "/_expect", wrong).await;
            assert_eq!(answer.status, 400);
            let error = &answer.json()["error"];
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("did you mean `stripe.charge`?"), "{message}");
            assert_eq!(
                error["problems"][0],
                json!({"expectation": 1, "why": "`stripe` has no effect `chrage`, and there is no such outcome or fate",
                    "nearest": ["stripe.charge"], "column": 8, "marked": ["stripe.chrage == 1", "       ^^^^^^"]})
            );
            assert_eq!(error["problems"][1]["column"], 16);
            for (body, words) in [
                ("", "cannot be read"),
                ("{}", "missing field `expect`"),
                (r#"{"expect": 1}"#, "a text or a list of texts"),
                (r#"{"expect": []}"#, "nothing is expected"),
                (r#"{"expect": "charge == 1", "timout": "1s"}"#, "unknown field `timout`"),
                (
                    r#"{"expect": "charge == 1", "timeout": "1"}"#,
                    "`timeout` is `1`, which is not a duration",
                ),
                (r#"{"expect": "charge == 1", "timeout": "11m"}"#, "longer than 10m"),
                (
                    r#"{"expect": "charge == 1", "timeout": "1s", "settle": "2s"}"#,
                    "`settle` is longer",
                ),
            ] {
                let answer = app.call(Call::post("/_expect").body(body)).await;
                assert_eq!(answer.status, 400, "{body}");
                assert!(answer.text().contains(words), "{}", answer.text());
            }
            assert_eq!(
                expect(app, "/_expect?scop=a", json!({"expect": "charge == 0"}))
                    .await
                    .status,
                400
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_retry_is_caught_by_a_watch_that_is_long_enough_and_by_nothing_shorter() {
    with(
        |b| b,
        async |app: &App| {
            let body = |watch| json!({"expect": "stripe.charge == 1", "settle": "100ms", "watch": watch});
            // The retry comes when the others have said that all is well.
            let late = async {
                assert_eq!(app.call(charge("first")).await.status, 200);
                let said = tokio::join!(expect(app, "/_expect", body("1s")), expect(app, "/_expect", body("0s")),);
                assert_eq!(app.call(charge("again")).await.status, 200);
                said
            };
            let (long, (short, none)) = tokio::join!(expect(app, "/_expect", body("15s")), late);
            assert_eq!((none.status, short.status), (200, 200), "{}", short.text());
            assert!(seconds(&short.json()) >= 1.1 && seconds(&none.json()) < seconds(&short.json()));
            let late = long.json();
            assert_eq!((long.status, &late["ended"]), (417, &json!("late")));
            let waited = seconds(&late);
            assert!((1.1..10.0).contains(&waited), "it is said at once: {waited}");
            let attempts = late["expectations"][0]["attempts"].as_array().unwrap();
            let keys: Vec<_> = attempts.iter().map(|a| a["key"].as_str().unwrap()).collect();
            assert_eq!(keys, ["first", "again"], "in the order of their commit");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_inside_the_process_asks_the_same() {
    with(
        |b| b,
        async |app: &App| {
            app.call(Call::order("a")).await;
            let options = ackdrop::expect::Options {
                timeout: Duration::ZERO,
                ..Default::default()
            };
            let verdict = app.suite.expect(&["orders.order == 1"], &options).await.unwrap();
            assert!(verdict.holds, "{verdict}");
            let verdict = app.suite.expect(&["orders.order == 2"], &options).await.unwrap();
            let text = verdict.to_string();
            assert!(
                !verdict.holds && text.contains("orders.order == 2: expected exactly 2, counted 1\n  #1 orders"),
                "{text}"
            );
            assert!(app.suite.expect(&["orders.odrer == 2"], &options).await.is_err());
        },
    )
    .await;
}
