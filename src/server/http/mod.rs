//! The HTTP listeners: whose a request is, and its way from there.

mod respond;
mod route;

use std::sync::Arc;

use super::Shared;
use crate::ledger::Peer;
use crate::net;
use crate::net::http::Connection;
use crate::net::stream::Stream;

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, stream: Stream, peer: Peer) {
    let stop = &shared.way.stop;
    let respond = |connection: Arc<Connection>, request| {
        let shared = Arc::clone(&shared);
        async move { respond::respond(&shared, &connection, request).await }
    };
    net::http::serve(&shared.house, stop, stream, peer, respond).await;
}
