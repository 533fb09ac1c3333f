//! The HTTP listeners: whose a request is, and its way from there.

mod proxied;
mod respond;
mod route;

use std::sync::Arc;

use super::Shared;
use crate::ledger::Peer;
use crate::net;
use crate::net::http::Connection;
use crate::net::stream::Stream;

pub(crate) use route::{Owner, Tunnel};

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, stream: Stream, peer: Peer) {
    serve_in(shared, stream, peer, None).await;
}

/// Serves one connection, or what lies in a tunnel through it, to its end.
pub(crate) async fn serve_in(shared: Arc<Shared>, stream: Stream, peer: Peer, tunnel: Option<Tunnel>) {
    let stop = &shared.way.stop;
    let respond = |connection: Arc<Connection>, request| {
        let (shared, tunnel) = (Arc::clone(&shared), tunnel.clone());
        async move { respond::respond(&shared, &connection, tunnel.as_ref(), request).await }
    };
    net::http::serve(&shared.house, stop, stream, peer, respond).await;
}
