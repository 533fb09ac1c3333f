//! The PostgreSQL relay: one transaction is one attempt, accepted when the server has made its writes visible.
//!
//! In reading order: `scanner` and `statement` (what a text asks for), `frames` (messages), `transaction` (what is written, and when it
//! counts), `expected` and `follower` (the protocol; pure), then `startup`, `upstream` and `login` (how a connection begins), `live` (the
//! attempt), `kept` (what is held back of an answer) and `connection` (the sockets around all that).

mod connection;
mod expected;
mod follower;
mod frames;
mod kept;
mod live;
mod login;
mod scanner;
mod startup;
mod statement;
#[cfg(test)]
mod tests;
mod transaction;
mod upstream;
mod verdict;

use std::sync::Arc;

use super::Relay;
use super::upstream::operation;
use crate::attempt::{Kind, Operation};
use crate::ledger::Peer;
use crate::net::socket::Socket;

/// What attempts are called: by the first statement of the transaction, BEGIN aside.
pub(super) static OPERATIONS: &[Operation] = &[
    operation("select", Kind::Read, &["row", "write"]),
    operation("insert", Kind::Write, &["row", "write"]),
    operation("update", Kind::Write, &["row", "write"]),
    operation("delete", Kind::Write, &["row", "write"]),
    operation("commit", Kind::Write, &["row", "write"]),
    operation("other", Kind::Write, &["row", "write"]),
];

/// Says why a connection cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blind {
    why: String,
}

impl Blind {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

/// Serves one client to its end.
pub(super) async fn serve(relay: Arc<Relay>, socket: Socket, peer: Peer) {
    startup::serve(relay, socket, peer).await;
}
