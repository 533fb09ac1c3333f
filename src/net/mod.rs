//! All that owns a client's socket, whoever serves it: accept, TLS, connection handles, HTTP/1.1, exact endings, drain.

pub mod accept;
pub(crate) mod ending;
pub(crate) mod http;
mod listen;
pub(crate) mod smtp;
pub(crate) mod socket;
pub(crate) mod stream;
pub mod tls;
pub(crate) mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::attempt::{Budget, Way};
use tls::Authority;

pub use listen::Listen;

/// Bounds what one client may make the suite hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once, over all listeners.
    pub connections: usize,
    /// Bytes of an HTTP body.
    pub http_body: u64,
    /// Header fields of an HTTP request.
    pub headers: usize,
    /// Bytes of an HTTP request's head.
    pub head_size: usize,
    /// Bytes of a mail.
    pub mail: u64,
    /// How long a connection may be silent while it owes something.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            http_body: 10 << 20,
            headers: 100,
            head_size: 64 << 10,
            mail: 50 << 20,
            idle: Duration::from_secs(300),
        }
    }
}

/// Is what all connections share, of mocks and of relays; clones share it.
#[derive(Clone, Debug)]
pub struct House {
    /// The way of attempts.
    pub way: Way,
    /// The budget of arriving bodies.
    pub arriving: Budget,
    /// The bounds.
    pub limits: Limits,
    /// Who signs certificates.
    pub authority: Arc<Authority>,
    /// Bounds the connections.
    pub permits: Arc<tokio::sync::Semaphore>,
}
