//! Charges once a case with async-stripe, as the plan (a JSON file, the first argument) says, and prints what the program saw.
#![expect(
    clippy::print_stdout,
    reason = "it is a program of the tests, and what it prints is its result"
)]

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use stripe::{ClientBuilder, RequestStrategy, StripeError};
use stripe_core::charge::{CreateCharge, ListCharge};
use stripe_types::Currency;

#[derive(Deserialize)]
struct Entry {
    case: String,
    url: String,
    key: String,
    retries: Option<u32>,
    timeout: Option<u64>,
    kept: bool,
}

#[tokio::main]
async fn main() {
    let path = std::env::args().nth(1).expect("a plan");
    let plan: Vec<Entry> = serde_json::from_slice(&std::fs::read(path).expect("the plan")).expect("a plan in JSON");
    for entry in plan {
        println!("{}", charge(&entry).await);
    }
}

async fn charge(entry: &Entry) -> Value {
    let mut builder = ClientBuilder::new(&*entry.key).url(format!("{}/", entry.url));
    if let Some(retries) = entry.retries {
        builder = builder.request_strategy(RequestStrategy::Retry(retries));
    }
    if let Some(timeout) = entry.timeout {
        builder = builder.timeout(Duration::from_millis(timeout));
    }
    let client = builder.build().expect("a client");
    if entry.kept {
        ListCharge::new().limit(1).send(&client).await.expect("a list");
    }
    let create = CreateCharge::new()
        .amount(1099)
        .currency(Currency::USD)
        .source("tok_visa");
    match create.send(&client).await {
        Ok(made) => json!({"case": entry.case, "saw": "success", "id": made.id}),
        Err(error) => json!({"case": entry.case, "saw": class(&error), "detail": error.to_string()}),
    }
}

fn class(error: &StripeError) -> String {
    match error {
        StripeError::Stripe(_, status) => format!("Stripe {status}"),
        StripeError::JSONDeserialize(_) => "JSONDeserialize".into(),
        StripeError::ClientError(_) => "ClientError".into(),
        StripeError::ConfigError(_) => "ConfigError".into(),
        StripeError::Timeout => "Timeout".into(),
    }
}
