//! The orders provider: an order API whose client reference is unique, as a database's unique constraint makes it.

mod canonical;
mod key;
mod order;
mod problem;
mod read;
mod seed;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use http::Method;
use time::Duration;

use crate::attempt::{About, Conflict, HttpProvider, HttpRequest, Identified, Kind, Operation, Provider, Refusal};
use crate::idempotency::{Key, Record};
use crate::ledger::{Class, Correlation, Reply, View};
use crate::store::Tx;
pub use order::Order;
use order::{Page, Taken};
use problem::{MEDIA_TYPE, Problem};
use read::{Draft, Place, Wanted};

static ABOUT: About = About {
    name: "orders",
    class: Class::KeyEnforced,
    operations: &[
        Operation {
            name: "orders.create",
            kind: Kind::Write,
            effects: &["order"],
        },
        Operation {
            name: "orders.retrieve",
            kind: Kind::Read,
            effects: &[],
        },
        Operation {
            name: "orders.list",
            kind: Kind::Read,
            effects: &[],
        },
        Operation {
            name: "unrecognized",
            kind: Kind::Write,
            effects: &[],
        },
    ],
};

static PARTITION: LazyLock<Arc<str>> = LazyLock::new(|| "orders".into());
const REFERENCES: &str = "orders.reference";
const KEPT: Duration = Duration::hours(24);

/// Is the orders provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orders {
    /// Whether `orders.create` without an Idempotency-Key is refused.
    pub require_key: bool,
}

/// Is what one request asks for.
#[derive(Debug)]
pub enum Call {
    /// An order to be made.
    Create(Draft),
    /// The order with this reference.
    Retrieve(Arc<str>),
    /// A page of orders.
    List(Wanted),
    /// Nothing: it was refused early.
    Nothing,
}

impl Provider for Orders {
    type Request = HttpRequest;
    type Call = Call;

    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn identify(&self, request: &HttpRequest) -> Identified<Call> {
        let identified = match request.operation.name {
            "orders.create" => self.create(request),
            "orders.retrieve" => retrieve(request),
            "orders.list" => read::wanted(request).map(|wanted| Identified::plain(Call::List(wanted))),
            _ => {
                let (problem, allow) = read::unrecognized(request);
                let reply = problem.reply();
                return refused(match allow {
                    Some(allow) => reply.header("allow", allow),
                    None => reply,
                });
            }
        };
        identified.unwrap_or_else(|problem| refused(problem.reply()))
    }

    fn handle(&self, tx: &mut Tx<'_>, _request: &HttpRequest, call: &Call) -> Reply {
        tx.enter(&PARTITION);
        match call {
            Call::Create(draft) => create(tx, draft),
            Call::Retrieve(reference) => match find(tx, reference) {
                Some(order) => json(200, order),
                None => {
                    let detail = format!("There is no order with the reference `{reference}`.");
                    Problem::new(404, "order-not-found", "Order not found", detail).reply()
                }
            },
            Call::List(wanted) => page(tx, wanted),
            Call::Nothing => Problem::of_status(400, "The request was refused.", None).reply(),
        }
    }

    fn conflict(&self, _request: &HttpRequest, _call: &Call, conflict: &Conflict<'_>) -> Reply {
        match conflict {
            Conflict::InFlight => {
                let detail = "A request with this Idempotency-Key is being carried out. Retry when it has ended.";
                Problem::new(
                    409,
                    "request-outstanding",
                    "A request is outstanding for this Idempotency-Key",
                    detail,
                )
                .reply()
                .header("retry-after", "1")
            }
            Conflict::Mismatch(_) => {
                let detail = "This Idempotency-Key was used for another request. Use a new key, or send the first payload again.";
                Problem::new(422, "idempotency-key-reused", "Idempotency-Key is already used", detail).reply()
            }
        }
    }

    fn replay(&self, _request: &HttpRequest, call: &Call, record: &Record) -> Reply {
        let mut reply = Reply::new(record.status, record.content.bytes());
        reply.content = record.content.clone();
        reply.extra.clone_from(&record.extra);
        // The fingerprint is the same, so the reference is too.
        let reply = match (call, record.status) {
            (Call::Create(draft), 201) => reply.header("location", read::location(&draft.reference)),
            _ => reply,
        };
        let kind = if record.status < 400 {
            "application/json"
        } else {
            MEDIA_TYPE
        };
        reply.header("content-type", kind).header("idempotent-replayed", "true")
    }

    fn refuse(&self, _request: &HttpRequest, _call: &Call, refusal: &Refusal) -> Reply {
        let status = refusal.status.unwrap_or(422);
        let detail = "The order API refused this request.";
        let reply = Problem::of_status(status, detail, refusal.code.clone()).reply();
        match status {
            429 => reply.header("retry-after", "1"),
            _ => reply,
        }
    }

    /// Keeps what was executed, success or error, a taken reference included. What says "not like this" or "not now" before anything is
    /// executed is not kept: the same key may be used again.
    fn keeps(&self, _: &Self::Call, status: u16) -> bool {
        !matches!(status, 400 | 401 | 403 | 405 | 408 | 413 | 415 | 429)
    }
}

impl HttpProvider for Orders {
    fn route(&self, method: &Method, path: &str) -> &'static Operation {
        ABOUT.operation(match read::place(path) {
            Place::All if *method == Method::POST => "orders.create",
            Place::All if read::looks_up(method) => "orders.list",
            Place::One(_) if read::looks_up(method) => "orders.retrieve",
            _ => "unrecognized",
        })
    }
}

impl Orders {
    fn create(&self, request: &HttpRequest) -> Result<Identified<Call>, Problem> {
        let value = key::read(request)?;
        if self.require_key && value.is_none() {
            let detail = "POST /orders needs an Idempotency-Key header here, like \"order-17\".";
            return Err(Problem::new(
                400,
                "idempotency-key-missing",
                "Idempotency-Key is missing",
                detail,
            ));
        }
        let draft = read::draft(request)?;
        let value: Option<Arc<str>> = value.map(Into::into);
        let fingerprint = draft.fingerprint;
        Ok(Identified {
            name: Some(value.clone().unwrap_or_else(|| Arc::clone(&draft.reference))),
            key: value.map(|value| Key {
                partition: Arc::clone(&PARTITION),
                value,
                fingerprint,
                endpoint: request.path.as_str().into(),
                kept: KEPT,
            }),
            correlations: vec![Correlation {
                by: "parameters",
                hash: fingerprint,
            }],
            recorded: None,
            early: None,
            call: Call::Create(draft),
        })
    }
}

fn retrieve(request: &HttpRequest) -> Result<Identified<Call>, Problem> {
    let Place::One(reference) = read::place(&request.path) else {
        return Err(read::unrecognized(request).0);
    };
    let reference = read::decoded(reference)?;
    Ok(Identified {
        name: Some(Arc::clone(&reference)),
        ..Identified::plain(Call::Retrieve(reference))
    })
}

fn create(tx: &mut Tx<'_>, draft: &Draft) -> Reply {
    let id = tx.new_id("ord_");
    if let Err(holder) = tx.claim(REFERENCES, &draft.reference, &id) {
        let order = tx
            .get::<Order>(&holder)
            .expect("a claim and its order are one commit, and no order is removed");
        return Reply::view(409, Arc::new(Taken(order))).header("content-type", MEDIA_TYPE);
    }
    tx.effect("order", &id);
    let order = tx.put(Order {
        id,
        reference: Arc::clone(&draft.reference),
        created: tx.now(),
        members: Arc::clone(&draft.members),
    });
    json(201, order).header("location", read::location(&draft.reference))
}

fn find(tx: &Tx<'_>, reference: &str) -> Option<Arc<Order>> {
    tx.get::<Order>(&tx.holder(REFERENCES, reference)?)
}

fn page(tx: &Tx<'_>, wanted: &Wanted) -> Reply {
    let take = wanted.limit + 1;
    let mut orders: Vec<Arc<Order>> = match &wanted.starting_after {
        None => tx.list::<Order>().take(take).collect(),
        Some(id) => match tx.older::<Order>(id) {
            Some(older) => older.take(take).collect(),
            None => return read::query("starting_after", id, "the id of an order").reply(),
        },
    };
    let more = orders.len() > wanted.limit;
    orders.truncate(wanted.limit);
    json(200, Arc::new(Page { orders, more }))
}

fn json(status: u16, view: Arc<dyn View>) -> Reply {
    Reply::view(status, view).header("content-type", "application/json")
}

fn refused(reply: Reply) -> Identified<Call> {
    Identified::refused(Call::Nothing, reply)
}
