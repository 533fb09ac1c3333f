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

use std::net::IpAddr;
use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;

use super::Relay;
use super::upstream::operation;
use crate::attempt::{Kind, Operation};
use crate::ledger::Peer;
use crate::net;
use crate::net::accept::{HTTP_1, handshake};
use crate::net::http::{Answer, Connection};
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::store::Scope;
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
pub(crate) struct Door {
    relay: Arc<Relay>,
    client: Client,
}

impl Door {
    pub(super) fn new(relay: Arc<Relay>) -> Self {
        let client = Client::new(&relay);
        Self { relay, client }
    }

    /// Says whether the upstream is on this host, which is in lower case.
    pub(super) fn leads_to(&self, host: &str) -> bool {
        let own = self.relay.spec.upstream.host.trim_end_matches('.');
        match (own.parse::<IpAddr>(), host.parse::<IpAddr>()) {
            (Ok(own), Ok(asked)) => own == asked,
            _ => own.eq_ignore_ascii_case(host),
        }
    }

    /// Returns the upstream's port.
    pub(super) fn port(&self) -> u16 {
        self.relay.spec.upstream.port
    }

    /// Serves one client that has come through the proxy, to its end.
    pub(crate) async fn serve_through(self: Arc<Self>, stream: Stream, peer: Peer, through: Through) {
        serve_by(self, stream, peer, Some(through)).await;
    }

    /// Answers one request that has come through the proxy, or ends its connection.
    pub(crate) async fn respond_through(
        self: &Arc<Self>,
        connection: &Connection,
        request: Request<Incoming>,
        through: &Through,
    ) -> Answer {
        respond::respond(self, connection, request, Some(through)).await
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

/// Says how a client has come that has asked the proxy for the upstream's host, and knows nothing of the relay.
#[derive(Clone, Debug)]
pub(crate) struct Through {
    /// The scope that was named when the proxy was asked.
    pub(crate) scope: Option<Scope>,
}

/// Serves one client of the relay's own listener to its end.
pub(super) async fn serve(door: Arc<Door>, socket: Socket, peer: Peer) {
    let stream = Stream::Plain(socket);
    let stream = match door.relay.spec.tls {
        false => Some(stream),
        true => handshake(HTTP_1, stream, &door.relay.house).await,
    };
    if let Some(stream) = stream {
        serve_by(door, stream, peer, None).await;
    }
}

async fn serve_by(door: Arc<Door>, stream: Stream, peer: Peer, through: Option<Through>) {
    let (house, stop) = (door.relay.house.clone(), door.relay.stop.clone());
    let respond = |connection: Arc<Connection>, request| {
        let (door, through) = (Arc::clone(&door), through.clone());
        async move { respond::respond(&door, &connection, request, through.as_ref()).await }
    };
    net::http::serve(&house, &stop, stream, peer, respond).await;
}
