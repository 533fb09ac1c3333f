//! Many calls with one key at once.

use std::collections::BTreeMap;

use ackdrop::ledger::{Fate, Outcome};
use ackdrop::store::Scope;
use futures_util::future::join_all;
use serde_json::json;

use super::{charge, entry};
use crate::support::{Answer, App, Call, Conn, with};

/// Sends one call on each connection at once; returns what each got, nothing where the answer was lost.
async fn at_once(conns: &mut [Conn], calls: &[Call]) -> Vec<Option<Answer>> {
    let pairs = conns.iter_mut().zip(calls);
    join_all(pairs.map(async |(conn, call)| {
        conn.send(&call.bytes()).await;
        conn.try_answer().await
    }))
    .await
}

/// Opens anew the connections that a fault has ended.
async fn reopen(app: &App, conns: &mut [Conn], answers: &[Option<Answer>]) {
    for (conn, _) in conns.iter_mut().zip(answers).filter(|(_, answer)| answer.is_none()) {
        *conn = app.connect().await;
    }
}

async fn open(app: &App, number: usize) -> Vec<Conn> {
    join_all((0..number).map(|_| app.connect())).await
}

/// Names what an answer is: `first`, `replay`, or its error's code.
fn name(answer: &Answer) -> String {
    match (answer.status, answer.header("idempotent-replayed")) {
        (200, None) => "first".into(),
        (200, Some("true")) => "replay".into(),
        _ => {
            let error = &answer.json()["error"];
            format!(
                "{} {}",
                answer.status,
                error["code"].as_str().or(error["type"].as_str()).unwrap()
            )
        }
    }
}

fn tally<'a>(answers: impl IntoIterator<Item = &'a Option<Answer>>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for answer in answers {
        let name = answer.as_ref().map_or_else(|| "lost".into(), name);
        *tally.entry(name).or_default() += 1;
    }
    tally
}

/// Checks that all answers with 200 have the same body.
fn assert_one_body(answers: &[Option<Answer>]) {
    let mut bodies = answers.iter().flatten().filter(|a| a.status == 200).map(|a| &a.body);
    let first = bodies.next().expect("one was answered");
    assert!(bodies.all(|b| b == first), "one answer, byte for byte");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_at_once_make_one_charge_in_each_of_fifty_rounds() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 100).await;
            for round in 1..=50 {
                let calls = vec![charge(1000 + round).key(&format!("round-{round}")); 100];
                let answers = at_once(&mut conns, &calls).await;
                assert_one_body(&answers);
                let tally = tally(&answers);
                let of = |name: &str| tally.get(name).copied().unwrap_or_default();
                assert_eq!(of("first"), 1, "round {round}: {tally:?}");
                assert_eq!(
                    of("replay") + of("409 idempotency_key_in_use"),
                    99,
                    "round {round}: {tally:?}"
                );
                assert_eq!(app.effects("charge"), round);
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.received, counts.accepted, counts.answered), (5000, 50, 5000));
            assert_eq!(counts.replayed + counts.refused, 4950);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_withheld_one_is_the_accepted_one_in_every_round() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 100).await;
            for round in 1..=50 {
                let key = format!("round-{round}");
                let call = charge(1000 + round).key(&key);
                let how = ["close", "reset"][usize::from(round % 4 < 2)];
                let call = if round % 2 == 0 {
                    app.fault(json!({"mode": "drop-after-commit", "how": how, "key": &key, "on": 1}))
                        .await;
                    call
                } else {
                    call.fault(&format!("drop-after-commit; how={how}; on=1"))
                };
                let answers = at_once(&mut conns, &vec![call; 100]).await;
                let tally = tally(&answers);
                let of = |name: &str| tally.get(name).copied().unwrap_or_default();
                assert_eq!((of("lost"), of("first")), (1, 0), "round {round}: {tally:?}");
                assert_eq!(
                    of("replay") + of("409 idempotency_key_in_use"),
                    99,
                    "round {round}: {tally:?}"
                );
                assert_one_body(&answers);
                assert_eq!(app.effects("charge"), round);
                reopen(app, &mut conns, &answers).await;
            }
            app.counts("stripe").await;
            for entry in app.entries() {
                let fate = match entry.outcome {
                    Some(Outcome::Accepted) => Fate::Withheld,
                    _ => Fate::Answered,
                };
                assert_eq!(entry.fate, Some(fate), "{}", entry.log_line());
            }
            let counts = app.counts("stripe").await;
            assert_eq!((counts.accepted, counts.withheld, counts.answered), (50, 50, 4950));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_is_held_before_its_commit_all_others_conflict() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "hold-before-commit", "on": 1})).await;
            let mut conns = open(app, 60).await;
            let calls = vec![charge(1099).key("k"); 60];
            let release = async {
                app.until("59 conflicts", |app| app.now("stripe").refused == 59).await;
                assert_eq!((app.effects("charge"), app.now("stripe").in_flight), (0, 1));
                app.admin(Call::post("/_holds/h1/release")).await;
            };
            let (answers, ()) = tokio::join!(at_once(&mut conns, &calls), release);
            let tally = tally(&answers);
            assert_eq!(
                (tally["first"], tally["409 idempotency_key_in_use"]),
                (1, 59),
                "{tally:?}"
            );
            assert_eq!(app.effects("charge"), 1);
            assert_eq!(entry(app, "k", Outcome::Accepted).fate, Some(Fate::Answered));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_before_the_commit_makes_conflicts_and_then_replays() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 40).await;
            for round in 1..=3 {
                let key = format!("round-{round}");
                app.fault(json!({"mode": "delay", "at": "before", "delay": "500ms", "key": &key, "on": 1}))
                    .await;
                app.fault(json!({"mode": "drop-after-commit", "key": &key, "on": 1}))
                    .await;
                let calls = vec![charge(1000 + round).key(&key); 40];
                let answers = at_once(&mut conns, &calls).await;
                let tally = tally(&answers);
                let of = |name: &str| tally.get(name).copied().unwrap_or_default();
                assert_eq!((of("lost"), of("first")), (1, 0), "{tally:?}");
                assert!(of("409 idempotency_key_in_use") > 0, "{tally:?}");
                assert_eq!(of("409 idempotency_key_in_use") + of("replay"), 39, "{tally:?}");
                reopen(app, &mut conns, &answers).await;
                let again = app.call(charge(1000 + round).key(&key)).await;
                assert_eq!(name(&again), "replay");
                assert_eq!(app.effects("charge"), round);
                assert_eq!(entry(app, &key, Outcome::Accepted).fate, Some(Fate::Withheld));
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_and_accounts_race_apart() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "scope": "s3", "on": 1}))
                .await;
            let mut conns = open(app, 96).await;
            let call = |n: usize| {
                let call = charge(1099).key("k").header("x-ackdrop-scope", &format!("s{}", n % 8));
                match n / 8 % 2 {
                    0 => call,
                    _ => call.header("stripe-account", "acct_1"),
                }
            };
            let calls: Vec<Call> = (0..96).map(call).collect();
            let answers = at_once(&mut conns, &calls).await;
            app.counts("stripe").await;
            for scope in 0..8 {
                let own: Vec<_> = answers.iter().skip(scope).step_by(8).cloned().collect();
                let tally = tally(&own);
                let lost = usize::from(scope == 3);
                assert_eq!(tally["first"], 2 - lost, "s{scope}: {tally:?}");
                let stats = app.suite.stats_of(&Scope::parse(&format!("s{scope}")).unwrap());
                let counts = stats.providers["stripe"].counts;
                assert_eq!(
                    (counts.received, counts.accepted, counts.withheld, counts.duplicates),
                    (12, 2, lost as u64, 0)
                );
                assert_eq!(stats.effects["charge"], 2);
            }
            assert_eq!(app.effects("charge"), 16);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_parameters_at_once_are_a_mismatch_and_never_a_second_charge() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 40).await;
            for round in 1..=10 {
                let key = format!("round-{round}");
                let calls: Vec<Call> = (0..40).map(|n| charge(1000 * round + n % 2).key(&key)).collect();
                let tally = tally(&at_once(&mut conns, &calls).await);
                assert_eq!(
                    (tally["first"], tally["replay"], tally["400 idempotency_error"]),
                    (1, 19, 20),
                    "{tally:?}"
                );
                assert_eq!(app.effects("charge"), round);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_at_once_never_give_back_more_than_was_captured() {
    with(
        |b| b,
        async |app: &App| {
            let id = super::id(app, charge(1000)).await;
            let mut conns = open(app, 30).await;
            let refund = |n: usize| {
                let form = format!("charge={id}&amount=300&metadata[n]={}", n / 2);
                Call::stripe("/v1/refunds", &form).key(&format!("refund-{}", n / 2))
            };
            let calls: Vec<Call> = (0..30).map(refund).collect();
            at_once(&mut conns, &calls).await;
            let charge = super::made(app, super::get(&format!("/v1/charges/{id}"))).await;
            assert_eq!((app.effects("refund"), &charge["amount_refunded"]), (3, &json!(900)));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_two_endpoints_at_once_has_one_effect() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 40).await;
            for round in 1..=10 {
                let key = format!("round-{round}");
                let call = |n: u64| match n % 2 {
                    0 => Call::stripe("/v1/customers", &format!("name={round}")).key(&key),
                    _ => charge(1000 + round).key(&key),
                };
                let calls: Vec<Call> = (0..40).map(call).collect();
                let tally = tally(&at_once(&mut conns, &calls).await);
                assert_eq!(
                    (tally["first"], tally["replay"], tally["400 idempotency_error"]),
                    (1, 19, 20),
                    "{tally:?}"
                );
                assert_eq!(app.effects("charge") + app.effects("customer"), round);
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_all_at_once_are_charged_and_one_answer_is_lost() {
    with(
        |b| b,
        async |app: &App| {
            app.fault(json!({"mode": "drop-after-commit", "how": "reset", "on": 7}))
                .await;
            let mut conns = open(app, 100).await;
            let tally = tally(&at_once(&mut conns, &vec![charge(1099); 100]).await);
            assert_eq!((tally["first"], tally["lost"]), (99, 1), "{tally:?}");
            let counts = app.counts("stripe").await;
            assert_eq!(
                (
                    counts.accepted,
                    counts.withheld,
                    counts.duplicates,
                    app.effects("charge")
                ),
                (100, 1, 99, 100)
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_before_the_commit_takes_one_call_out_of_the_race() {
    with(
        |b| b,
        async |app: &App| {
            let mut conns = open(app, 50).await;
            for round in 1..=10 {
                let key = format!("round-{round}");
                app.fault(json!({"mode": "fail-before-commit", "key": &key, "on": 1}))
                    .await;
                let calls = vec![charge(1000 + round).key(&key); 50];
                let answers = at_once(&mut conns, &calls).await;
                let tally = tally(&answers);
                assert_eq!(
                    (tally["lost"], tally["first"], tally["replay"]),
                    (1, 1, 48),
                    "{tally:?}"
                );
                assert_eq!((app.effects("charge"), app.now("stripe").failed), (round, round));
                reopen(app, &mut conns, &answers).await;
            }
        },
    )
    .await;
}
