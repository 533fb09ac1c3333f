//! The HTTP relay: one request is one attempt, accepted at the head of the upstream's answer.
//!
//! In reading order: `respond` (one request, from its head), `forward` (the errand: forward, then count), `upload` and `download` (the two
//! bodies as they stream), `headers` (what is passed on), `client` (how the upstream is reached), `said` (what the relay says itself).

mod client;
mod download;
mod forward;
mod headers;
mod respond;
mod said;
mod upload;

use std::sync::Arc;

use http::Method;

use super::Relay;
use super::upstream::operation;
use crate::attempt::{Kind, Operation};
use crate::ledger::Peer;
use crate::net;
use crate::net::http::Connection;
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use client::Client;

/// What attempts are called: by their method.
pub(super) static OPERATIONS: &[Operation] = &[
    operation("get", Kind::Read, &[]),
    operation("head", Kind::Read, &[]),
    operation("options", Kind::Read, &[]),
    operation("post", Kind::Write, &["request"]),
    operation("put", Kind::Write, &["request"]),
    operation("patch", Kind::Write, &["request"]),
    operation("delete", Kind::Write, &["request"]),
    operation("other", Kind::Write, &["request"]),
];

/// Is one HTTP relay, with its way to the upstream.
#[derive(Debug)]
pub(super) struct Door {
    relay: Arc<Relay>,
    client: Client,
}

impl Door {
    pub(super) fn new(relay: Arc<Relay>) -> Self {
        let client = Client::new(&relay);
        Self { relay, client }
    }

    /// Names the operation of a method.
    fn operation(&self, method: &Method) -> &'static Operation {
        let name = match *method {
            Method::GET => "get",
            Method::HEAD => "head",
            Method::OPTIONS => "options",
            Method::POST => "post",
            Method::PUT => "put",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "other",
        };
        self.relay.about.operation(name)
    }
}

/// Serves one client to its end.
pub(super) async fn serve(door: Arc<Door>, socket: Socket, peer: Peer) {
    let (house, stop) = (door.relay.house.clone(), door.relay.stop.clone());
    let respond = |connection: Arc<Connection>, request| {
        let door = Arc::clone(&door);
        async move { respond::respond(&door, &connection, request).await }
    };
    net::http::serve(&house, &stop, Stream::Plain(socket), peer, respond).await;
}
