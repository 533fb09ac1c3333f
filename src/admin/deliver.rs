//! `POST /_deliver`: events sent to a receiver, in copies of one moment, spaced, reordered or late.

mod asked;
mod shown;
mod sign;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use self::asked::Asked;
use super::ask::Ask;
use super::{Admin, Error};
use crate::attempt::{About, Kind, Operation, Orders};
use crate::deliver::{Sender, What};
use crate::ledger::Class;

/// Describes what stands for the receivers of deliveries in counts and rules.
pub static DELIVERIES: About = About {
    name: "deliveries",
    class: Class::KeyAdvisory,
    operations: &[Operation {
        name: "deliver",
        kind: Kind::Write,
        effects: &["delivery"],
    }],
};

const SENDER: Sender = Sender {
    provider: "deliveries",
    operation: "deliver",
    effect: "delivery",
};

pub(super) async fn deliver(State(admin): State<Admin>, ask: Ask, body: Bytes) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let scope = ask.scope()?.unwrap_or_default();
    let asked = Asked::read(&body).map_err(|invalid| Error::bad(format!("nothing was sent: {invalid}")))?;
    let courier = match asked.timeout {
        Some(timeout) => admin.courier.clone().timeout(timeout),
        None => admin.courier.clone(),
    };
    let found = courier.find(&asked.target).await;
    if let Err(trouble) = &found
        && trouble.what == What::Forbidden
    {
        let words = format!("nothing was sent: {}", trouble.reason);
        return Err(super::error(StatusCode::FORBIDDEN, words));
    }
    let store = admin.way.store.clone();
    let gate = Orders::new(&admin.way, asked.signed.clone());
    let batch = asked.batch(store.ledger(), SENDER);
    // In a task of its own: who asked may leave, and what was asked for goes on and is counted.
    let sending = admin.way.tasks.spawn(async move {
        let sent = batch.send(&courier, &store, &scope, &found, &gate).await;
        sent.map(|sent| shown::show(&batch, &sent))
    });
    match sending.await {
        Ok(Ok(shown)) => Ok(super::answer(StatusCode::OK, &shown)),
        Ok(Err(full)) => Err(super::error(StatusCode::SERVICE_UNAVAILABLE, full.to_string())),
        Err(broken) => Err(super::error(StatusCode::INTERNAL_SERVER_ERROR, broken.to_string())),
    }
}
