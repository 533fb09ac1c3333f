//! Each sentence on faults has its test: which rule wins, what counts, and what the client gets.

mod answers;
mod conditions;
mod in_request;
mod occasion;
mod order;
mod spared;
mod upkeep;
mod wrong;

use serde_json::Value;

use crate::support::{App, Call};

impl App {
    /// Returns a rule as the API lists it.
    async fn rule(&self, id: &str) -> Value {
        let list = self.admin(Call::get("/_faults")).await;
        let mut rules = list["faults"].as_array().unwrap().iter();
        rules.find(|rule| rule["id"] == id).unwrap_or(&Value::Null).clone()
    }

    /// Returns how often a rule matched, fired and was skipped.
    pub(crate) async fn tally(&self, id: &str) -> [u64; 3] {
        let rule = self.rule(id).await;
        ["matched", "fired", "skipped"].map(|name| rule[name].as_u64().unwrap())
    }

    /// Creates an order with a reference of its own and returns the status.
    async fn order(&self, reference: &str) -> u16 {
        self.call(Call::order(reference)).await.status
    }
}
