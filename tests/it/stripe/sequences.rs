//! Random sequences of charges, captures and refunds, with answers lost and retried between: no sum runs over, no key counts twice.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use super::get;
use crate::support::{Answer, App, Call, with};

/// Is one wish of a client.
#[derive(Clone, Debug)]
enum Wish {
    Charge { amount: i64, capture: bool, declined: bool },
    Capture { which: usize, amount: i64 },
    Refund { which: usize, amount: i64 },
}

/// Says what happens to the tries of a wish, one after the other; then one is answered.
type Losses = Vec<&'static str>;

/// Is a charge as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Expected {
    id: String,
    amount: i64,
    captured: Option<i64>,
    given_back: i64,
}

#[derive(Default)]
struct Shop {
    charges: Vec<Expected>,
    captures: u64,
    refunds: u64,
}

impl Expected {
    fn left(&self) -> i64 {
        self.captured.unwrap_or(self.amount) - self.given_back
    }

    fn can_capture(&self, amount: i64) -> bool {
        self.captured.is_none() && self.given_back == 0 && amount <= self.amount
    }

    /// What was not captured can only be given back as a whole.
    fn can_refund(&self, amount: i64) -> bool {
        amount <= self.left() && (self.captured.is_some() || amount == self.left())
    }
}

impl Shop {
    /// Says how a wish is to be asked for, and whether it should be granted.
    fn ask(&self, n: usize, wish: &Wish) -> (Call, u16) {
        let said = |granted: bool| if granted { 200 } else { 400 };
        match wish {
            Wish::Charge {
                amount,
                capture,
                declined,
            } => {
                let source = if *declined { "tok_chargeDeclined" } else { "tok_visa" };
                let form = format!("amount={amount}&currency=usd&capture={capture}&source={source}&metadata[n]={n}");
                (Call::stripe("/v1/charges", &form), if *declined { 402 } else { 200 })
            }
            Wish::Capture { which, amount } => match self.pick(*which) {
                None => (
                    Call::stripe("/v1/charges/ch_none/capture", &format!("amount={amount}")),
                    404,
                ),
                Some(charge) => {
                    let path = format!("/v1/charges/{}/capture", charge.id);
                    let form = format!("amount={amount}&transfer_group=g{n}");
                    (Call::stripe(&path, &form), said(charge.can_capture(*amount)))
                }
            },
            Wish::Refund { which, amount } => {
                let charge = self.pick(*which);
                let id = charge.map_or("ch_none", |c| &c.id);
                let form = format!("charge={id}&amount={amount}&metadata[n]={n}");
                (
                    Call::stripe("/v1/refunds", &form),
                    said(charge.is_some_and(|c| c.can_refund(*amount))),
                )
            }
        }
    }

    fn pick(&self, which: usize) -> Option<&Expected> {
        self.charges.get(which % self.charges.len().max(1))
    }

    /// Notes a wish that was granted.
    fn grant(&mut self, wish: &Wish, answer: &Answer) {
        let number = self.charges.len().max(1);
        match *wish {
            Wish::Charge { amount, capture, .. } => self.charges.push(Expected {
                id: answer.json()["id"].as_str().unwrap().to_owned(),
                amount,
                captured: capture.then_some(amount),
                given_back: 0,
            }),
            Wish::Capture { which, amount } => {
                self.charges[which % number].captured = Some(amount);
                self.captures += 1;
            }
            Wish::Refund { which, amount } => {
                self.charges[which % number].given_back += amount;
                self.refunds += 1;
            }
        }
    }
}

fn wishes() -> impl Strategy<Value = Vec<(Wish, Losses)>> {
    let amount = prop_oneof![Just(50_i64), Just(300), Just(500), Just(1000), 50_i64..1200];
    let wish = prop_oneof![
        3 => (amount.clone(), any::<bool>(), proptest::bool::weighted(0.15))
            .prop_map(|(amount, capture, declined)| Wish::Charge { amount, capture, declined }),
        2 => (0_usize..6, amount.clone()).prop_map(|(which, amount)| Wish::Capture { which, amount }),
        4 => (0_usize..6, amount).prop_map(|(which, amount)| Wish::Refund { which, amount }),
    ];
    let loss = proptest::sample::select(vec![
        "drop-after-commit",
        "drop-after-commit; how=reset",
        "drop-after-commit; how=truncate; bytes=40",
        "drop-after-commit; how=truncate; bytes=1500",
        "error-after-commit",
        "fail-before-commit",
        "fail-before-commit; how=reset",
        "fail-before-commit; status=503",
        "delay; at=before; delay=1ms",
        "pass",
    ]);
    let losses = proptest::collection::vec(loss, 0..3);
    proptest::collection::vec((wish, losses), 1..14)
}

/// Tries a wish until nothing is in its way, and once more; every answer that arrives whole must be the same.
async fn insist(app: &App, call: &Call, losses: &Losses) -> Answer {
    for loss in losses {
        let mut conn = app.connect().await;
        conn.send(&call.clone().header("connection", "close").fault(loss).bytes())
            .await;
        conn.rest().await;
    }
    let answer = app.call(call.clone()).await;
    let again = app.call(call.clone()).await;
    assert_eq!(again.status, answer.status);
    if answer.status != 400 {
        assert_eq!(again.text(), answer.text(), "it is kept");
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
    }
    answer
}

async fn play(app: &App, wishes: &[(Wish, Losses)]) {
    let mut shop = Shop::default();
    for (n, (wish, losses)) in wishes.iter().enumerate() {
        let (call, status) = shop.ask(n, wish);
        let answer = insist(app, &call.key(&format!("key-{n}")), losses).await;
        assert_eq!(
            answer.status,
            status,
            "{wish:?} of {:?}: {}",
            shop.charges,
            answer.text()
        );
        if status == 200 {
            shop.grant(wish, &answer);
        }
    }
    let listed = app.call(get("/v1/refunds?limit=100")).await.json();
    for expected in &shop.charges {
        let charge = app.call(get(&format!("/v1/charges/{}", expected.id))).await.json();
        check(expected, &charge, &listed);
    }
    let granted = shop.charges.len() as u64;
    let effects = ["charge", "charge_capture", "refund"].map(|kind| app.effects(kind));
    assert_eq!(effects, [granted, shop.captures, shop.refunds], "one effect a key");
    let counts = app.counts("stripe").await;
    assert_eq!(counts.accepted, granted + shop.captures + shop.refunds);
    assert_eq!((counts.duplicates, counts.lost), (0, 0));
}

/// Checks one charge against what it should be, and its sums against each other.
fn check(expected: &Expected, charge: &Value, refunds: &Value) {
    let number = |name: &str| charge[name].as_i64().unwrap();
    let (amount, captured, refunded) = (number("amount"), number("amount_captured"), number("amount_refunded"));
    assert_eq!((amount, captured), (expected.amount, expected.captured.unwrap_or(0)));
    let released = expected.captured.map_or(0, |captured| amount - captured);
    assert_eq!(refunded, expected.given_back + released);
    assert!(captured <= amount && refunded <= amount, "{charge}");
    let own = refunds["data"].as_array().unwrap().iter();
    let given: i64 = own
        .filter(|r| r["charge"] == charge["id"])
        .map(|r| r["amount"].as_i64().unwrap())
        .sum();
    assert_eq!(given, expected.given_back);
    assert!(expected.captured.is_none_or(|captured| given <= captured), "{charge}");
}

#[test]
fn no_sequence_gives_back_more_than_was_taken_or_counts_a_key_twice() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 40,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let played = runner.run(&wishes(), |wishes| {
        runtime.block_on(with(|b| b, async |app: &App| play(app, &wishes).await));
        Ok(())
    });
    played.unwrap_or_else(|e| panic!("{e}"));
}
