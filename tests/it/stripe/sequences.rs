//! Random sequences of charges, captures, refunds that may fail and disputes, with answers lost and retried between: no sum runs over, no
//! key counts twice, and the balance is the sum of its transactions.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::get;
use crate::support::{Answer, App, Call, with};

/// Is one wish of a client.
#[derive(Clone, Debug)]
enum Wish {
    Charge {
        amount: i64,
        capture: bool,
        card: &'static str,
    },
    Capture {
        which: usize,
        amount: i64,
    },
    Refund {
        which: usize,
        amount: i64,
    },
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
    card: &'static str,
}

#[derive(Default)]
struct Shop {
    charges: Vec<Expected>,
    captures: u64,
    refunds: u64,
    failed: u64,
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
        !self.is_charged_back() && amount <= self.left() && (self.captured.is_some() || amount == self.left())
    }

    fn is_charged_back(&self) -> bool {
        self.captured.is_some() && self.card == "createDispute"
    }

    /// Says whether what is refunded of it comes back.
    fn fails_refund(&self) -> bool {
        self.captured.is_some() && self.card == "refundFail"
    }

    /// Returns what it adds to the balance.
    fn net(&self) -> i64 {
        match self.captured {
            Some(captured) if !self.is_charged_back() => captured - self.given_back,
            _ => 0,
        }
    }
}

impl Shop {
    /// Says how a wish is to be asked for, and whether it should be granted.
    fn ask(&self, n: usize, wish: &Wish) -> (Call, u16) {
        let said = |granted: bool| if granted { 200 } else { 400 };
        match wish {
            Wish::Charge { amount, capture, card } => {
                let form = format!("amount={amount}&currency=usd&capture={capture}&source=tok_{card}&metadata[n]={n}");
                let status = if *card == "chargeDeclined" { 402 } else { 200 };
                (Call::stripe("/v1/charges", &form), status)
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
            Wish::Charge { amount, capture, card } => self.charges.push(Expected {
                id: answer.json()["id"].as_str().unwrap().to_owned(),
                amount,
                captured: capture.then_some(amount),
                given_back: 0,
                card,
            }),
            Wish::Capture { which, amount } => {
                self.charges[which % number].captured = Some(amount);
                self.captures += 1;
            }
            Wish::Refund { which, amount } => {
                let charge = &mut self.charges[which % number];
                if charge.fails_refund() {
                    self.failed += 1;
                } else {
                    charge.given_back += amount;
                }
                self.refunds += 1;
            }
        }
    }
}

fn wishes() -> impl Strategy<Value = Vec<(Wish, Losses)>> {
    let amount = prop_oneof![Just(50_i64), Just(300), Just(500), Just(1000), 50_i64..1200];
    let cards = ["visa", "visa", "visa", "chargeDeclined", "refundFail", "createDispute"];
    let card = proptest::sample::select(cards.to_vec());
    let wish = prop_oneof![
        3 => (amount.clone(), any::<bool>(), card)
            .prop_map(|(amount, capture, card)| Wish::Charge { amount, capture, card }),
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
            let before = shop.failed;
            shop.grant(wish, &answer);
            if shop.failed > before {
                app.admin(Call::post("/_clock").json(&json!({"advance": "2s"}))).await;
            }
        }
    }
    let listed = app.call(get("/v1/refunds?limit=100")).await.json();
    for expected in &shop.charges {
        let charge = app.call(get(&format!("/v1/charges/{}", expected.id))).await.json();
        check(expected, &charge, &listed);
    }
    check_balance(app, &shop).await;
    let granted = shop.charges.len() as u64;
    let effects = ["charge", "charge_capture", "refund", "refund_fail"].map(|kind| app.effects(kind));
    let expected = [granted, shop.captures, shop.refunds, shop.failed];
    assert_eq!(effects, expected, "one effect a key");
    let counts = app.counts("stripe").await;
    assert_eq!(counts.accepted, expected.iter().sum::<u64>());
    assert_eq!((counts.duplicates, counts.lost), (0, 0));
}

/// Checks the balance against what is in it, and against its transactions.
async fn check_balance(app: &App, shop: &Shop) {
    let balance = app.call(get("/v1/balance")).await.json();
    let movements = app.call(get("/v1/balance_transactions?limit=100")).await.json();
    let moved = movements["data"].as_array().unwrap().iter();
    let moved: i64 = moved.map(|m| m["net"].as_i64().unwrap()).sum();
    let sum = |side: &str| balance[side][0]["amount"].as_i64().unwrap();
    let expected: i64 = shop.charges.iter().map(Expected::net).sum();
    assert_eq!(
        (sum("pending") + sum("available"), moved),
        (expected, expected),
        "{movements}"
    );
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
        .filter(|r| r["charge"] == charge["id"] && r["status"] != "failed")
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
