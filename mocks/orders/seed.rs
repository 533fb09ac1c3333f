//! Orders under a chosen reference, put as if a client had made them.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::order::inside;
use super::{Order, Orders, PARTITION, REFERENCES, find, read};
use crate::attempt::{Put, Resource, Seed, Wrong, hash};
use crate::ledger::View as _;
use crate::store::Tx;

impl Seed for Orders {
    fn resources(&self) -> Vec<Resource> {
        vec![Resource {
            name: "orders",
            id: "the order's reference",
            fields: None,
        }]
    }

    /// Puts an order. Its own id follows from the reference, so that it is the same in every world and after every reset.
    fn put(&self, tx: &mut Tx<'_>, _: &str, reference: &str, fields: &Map<String, Value>) -> Result<Put, Vec<Wrong>> {
        let mut wrong = Vec::new();
        if !read::is_reference(reference) {
            let why = "must be 1 to 255 characters, other than `.` and `..`";
            wrong.push(Wrong::new("id", &reference.into(), why));
        }
        if let Some(other) = fields.get("reference").filter(|given| **given != reference) {
            let why = format!("must be {reference:?}, under which it is put, or left out");
            wrong.push(Wrong::new("reference", other, why));
        }
        for own in read::OWN_MEMBERS {
            if let Some(value) = fields.get(own) {
                let why = "is given by the provider; every other member is kept as it is";
                wrong.push(Wrong::new(own, value, why));
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        tx.enter(&PARTITION);
        let old = find(tx, reference);
        let id = old.as_ref().map_or_else(|| id_of(reference), |old| Arc::clone(&old.id));
        if old.is_none() {
            tx.claim(REFERENCES, reference, &id)
                .expect("nobody holds a reference under which no order is found");
        }
        let mut members = fields.clone();
        members.shift_remove("reference");
        let order = tx.put(Order {
            id,
            reference: reference.into(),
            created: tx.now(),
            members: inside(&members),
        });
        Ok(Put {
            new: old.is_none(),
            shown: serde_json::from_slice(&order.render()).expect("an order is JSON"),
        })
    }
}

fn id_of(reference: &str) -> Arc<str> {
    let mut id = String::from("ord_");
    for byte in &hash([b"order".as_slice(), reference.as_bytes()])[..12] {
        id.push_str(&format!("{byte:02x}"));
    }
    id.into()
}
