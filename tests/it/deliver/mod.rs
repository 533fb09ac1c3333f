//! Deliveries: what the suite sends, to receivers that speak raw bytes.

mod faults;
mod paced;
mod races;
mod receiver;
mod refused;
mod signed;
mod told;

use serde_json::Value;

use crate::support::{App, Call};

use receiver::{Heard, Receiver};

/// Asks for a delivery that must be taken, and returns what the suite tells of it.
async fn deliver(app: &App, asked: Value) -> Value {
    app.admin(Call::post("/_deliver").json(&asked)).await
}

/// Lists one field of every copy.
fn each(told: &Value, field: &str) -> Vec<Value> {
    let copies = told["copies"].as_array().unwrap();
    copies.iter().map(|copy| copy[field].clone()).collect()
}
