//! The TCP relay: one connection is one attempt, accepted at the first answer bytes that follow request bytes.
//!
//! It knows no protocol, and so nothing but bytes, directions and ends. It alone respects half-close: a client that has no more to say is
//! still there to be answered. Rules meet it where its bytes are:
//!
//! | step | modes | where |
//! | --- | --- | --- |
//! | `connect` (if none is given) | before the commit | the client is there, and no connection to the upstream |
//! | `request` with `bytes` n (1 if not given) | before the commit | n bytes have gone up |
//! | `answer` (if none is given) with `after` m (1 if not given) | after the commit | the first bytes come down that follow m bytes up |
//!
//! `how` is `close`, `reset` or `hang` of the whole connection; `truncate` ends the one direction: at step `request` the upstream gets no
//! byte after the n, at step `answer` the client none after `bytes` of the answer, and the other direction goes on.

mod connection;
mod rules;

use std::sync::Arc;

use super::Relay;
use super::upstream::operation;
use crate::attempt::{Kind, Operation};
use crate::ledger::Peer;
use crate::net::socket::Socket;

/// What every attempt is called.
const CONNECTION: &str = "connection";

/// What attempts are called.
pub(super) static OPERATIONS: &[Operation] = &[operation(CONNECTION, Kind::Write, &["connection"])];

/// Serves one client to its end.
pub(super) async fn serve(relay: Arc<Relay>, socket: Socket, peer: Peer) {
    connection::serve(relay, socket, peer).await;
}
