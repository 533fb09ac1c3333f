//! The SMTP relay: step by step between a client and a real server. A mail is accepted by the upstream's 2yz to its final dot.
//!
//! What a client says is said to the upstream, and what that replies to the client, one command after the other. Only the content of a
//! mail is held until its dot, so that a rule before the commit keeps it back whole. In reading order: `session` (one client), `login`, `speaking` (its socket), `steps`
//! (where rules meet it), `transaction` (a mail up to its dot), `transmit` (the errand: content and dot, then count), `link` and
//! `replies` (the session with the upstream).

mod link;
mod login;
mod replies;
mod session;
mod speaking;
mod steps;
mod transaction;
mod transmit;

use super::upstream::operation;
use crate::attempt::{Kind, Operation};

pub(super) use session::serve;

/// The operation of every mail.
const SEND: &str = "messages.send";

/// What attempts are called.
pub(super) static OPERATIONS: &[Operation] = &[operation(SEND, Kind::Write, &["message", "recipient"])];
