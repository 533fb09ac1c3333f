//! The Stripe-like provider over real sockets: one effect a key, whatever becomes of the answer.

mod authentication;
mod counted;
mod kept;
mod keys;
mod lost;
mod malformed;
mod money;
mod n8n;
mod races;
mod schedule;
mod sdk;
mod sequences;
mod slow;
mod webhooks;
mod wire;

use ackdrop::ledger::{Entry, Outcome};
use serde_json::Value;

use crate::support::{Answer, App, Call};

/// Charges an amount with a test card.
fn charge(amount: u64) -> Call {
    Call::stripe("/v1/charges", &format!("amount={amount}&currency=usd&source=tok_visa"))
}

/// Looks something up with a test key.
fn get(path: &str) -> Call {
    Call::get(path).header("authorization", "Bearer sk_test_123")
}

/// Makes a call that must succeed, and returns its JSON.
async fn made(app: &App, call: Call) -> Value {
    let answer = app.call(call).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// Makes a call that must succeed, and returns the id of what it made.
async fn id(app: &App, call: Call) -> String {
    let object = made(app, call).await;
    object["id"].as_str().expect("an object has an id").to_owned()
}

/// Returns the one entry with this key and this outcome.
fn entry(app: &App, key: &str, outcome: Outcome) -> Entry {
    let entries = app.entries().into_iter();
    let found: Vec<Entry> = entries
        .filter(|e| e.key.as_deref() == Some(key) && e.outcome == Some(outcome))
        .collect();
    match <[Entry; 1]>::try_from(found) {
        Ok([entry]) => entry,
        Err(found) => panic!("{key} is {outcome:?} {} times", found.len()),
    }
}

/// Returns the body that the provider gave to the first call with a key, whether or not it arrived.
fn first_body(app: &App, key: &str) -> Vec<u8> {
    let answer = entry(app, key, Outcome::Accepted).answer.expect("it was answered");
    answer.content.bytes().expect("it is still recorded").to_vec()
}

/// Returns the request id of the first answer to a key, as recorded.
fn first_request_id(app: &App, key: &str) -> String {
    let answer = entry(app, key, Outcome::Accepted).answer.expect("it was answered");
    let line = answer.headers.lines().find_map(|l| l.strip_prefix("request-id: "));
    line.expect("an answer names its request").to_owned()
}

/// Checks that an answer is the replay of the first one with its key.
fn assert_replays_first(app: &App, key: &str, answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("idempotent-replayed"), Some("true"), "{answer:?}");
    assert_eq!(
        answer.text(),
        String::from_utf8(first_body(app, key)).expect("JSON is UTF-8")
    );
    let first = first_request_id(app, key);
    assert_eq!(answer.header("original-request"), Some(&*first));
    let own = answer.header("request-id").expect("an answer names its request");
    assert!(own.starts_with("req_") && own != first, "{own} is its own");
    assert_eq!(answer.header("idempotency-key"), Some(key));
}

/// Returns type, code and message of a refusal.
fn refusal(answer: &Answer) -> (u16, String, Option<String>, String) {
    let error = &answer.json()["error"];
    let text = |name: &str| error[name].as_str().map(str::to_owned);
    let (kind, message) = (text("type"), text("message"));
    (
        answer.status,
        kind.expect("an error has a type"),
        text("code"),
        message.expect("an error has a message"),
    )
}
