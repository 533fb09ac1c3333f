//! Stripe's webhooks over real sockets: endpoints, deliveries, retries by the clock, and faults of what is sent.

mod delivered;
mod endpoints;
mod events;
mod given;
mod n8n;
mod receiver;
mod retried;
mod tampered;

use serde_json::{Value, json};

use super::{get, id, made};
use crate::support::{App, Call};
use receiver::Receiver;

/// Makes an endpoint for all events; returns its id and its secret.
async fn endpoint(app: &App, prefix: &str, url: &str) -> (String, String) {
    let form = format!("url={url}&enabled_events[]=*");
    let made = made(app, Call::stripe(&format!("{prefix}/v1/webhook_endpoints"), &form)).await;
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("id"), text("secret"))
}

/// Makes a customer: one event.
fn customer(name: &str) -> Call {
    Call::stripe("/v1/customers", &format!("name={name}"))
}

/// Returns the one event of a type.
async fn event(app: &App, kind: &str) -> Value {
    let page = made(app, get(&format!("/v1/events?type={kind}"))).await;
    let [event] = &page["data"].as_array().expect("a list")[..] else {
        panic!("one event of {kind}: {page}")
    };
    event.clone()
}

async fn advance(app: &App, by: &str) {
    app.admin(Call::post("/_clock").json(&json!({"advance": by}))).await;
}

/// Returns what the journal says of all tries: outcome, fate.
fn tries(app: &App) -> Vec<(String, String)> {
    let entries = app
        .entries()
        .into_iter()
        .filter(|e| &*e.arrival.provider == "stripe-webhooks");
    let word = |value: Option<&'static str>| value.unwrap_or("none").to_owned();
    entries
        .map(|e| (word(e.outcome.map(|o| o.as_str())), word(e.fate.map(|f| f.as_str()))))
        .collect()
}

fn said(outcome: &str, fate: &str) -> (String, String) {
    (outcome.to_owned(), fate.to_owned())
}
