//! One order, and the answers that show it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::problem::Problem;
use crate::ledger::{View, rfc3339};
use crate::store::Object;

/// Is one order. It never changes, so every answer that shows it stays the same.
#[derive(Debug)]
pub struct Order {
    /// The id that the provider gave.
    pub id: Arc<str>,
    /// The reference that the client gave, unique in its world.
    pub reference: Arc<str>,
    /// When it was made, on the world's clock.
    pub created: OffsetDateTime,
    /// All other members that the client sent, as the inside of a JSON object.
    pub members: Arc<str>,
}

impl Object for Order {
    const TABLE: &'static str = "orders";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Order {
    fn write(&self, out: &mut Vec<u8>) {
        let created = rfc3339(Some(self.created)).unwrap_or_default();
        out.extend_from_slice(b"{\"id\":");
        out.extend_from_slice(&quoted(&self.id));
        out.extend_from_slice(b",\"reference\":");
        out.extend_from_slice(&quoted(&self.reference));
        out.extend_from_slice(b",\"created\":");
        out.extend_from_slice(&quoted(&created));
        if !self.members.is_empty() {
            out.push(b',');
            out.extend_from_slice(self.members.as_bytes());
        }
        out.push(b'}');
    }
}

impl View for Order {
    fn render(&self) -> Bytes {
        let mut out = Vec::with_capacity(128 + self.members.len());
        self.write(&mut out);
        out.into()
    }
}

/// Is the answer that a reference is taken, with the order that took it.
#[derive(Debug)]
pub(super) struct Taken(pub(super) Arc<Order>);

impl View for Taken {
    fn render(&self) -> Bytes {
        let detail = format!(
            "There is an order with the reference `{}` already; it is under `order`, and nothing was done.",
            self.0.reference
        );
        let mut out = Problem::new(409, "reference-taken", "The reference is taken", detail).render();
        out.pop();
        out.extend_from_slice(b",\"order\":");
        self.0.write(&mut out);
        out.push(b'}');
        out.into()
    }
}

/// Is one page of orders, newest first.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) orders: Vec<Arc<Order>>,
    pub(super) more: bool,
}

impl View for Page {
    fn render(&self) -> Bytes {
        let mut out = b"{\"data\":[".to_vec();
        for (n, order) in self.orders.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            order.write(&mut out);
        }
        out.extend_from_slice(format!("],\"has_more\":{}}}", self.more).as_bytes());
        out.into()
    }
}

/// Renders members as the inside of an object.
pub(super) fn inside(members: &Map<String, Value>) -> Arc<str> {
    let text = serde_json::to_string(members).expect("a parsed object is JSON");
    text[1..text.len() - 1].into()
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a text is JSON")
}
