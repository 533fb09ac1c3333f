//! All that owns a socket: accept, TLS, connection handles, endings, drain.

mod accept;
mod ending;
mod http;
mod listen;
mod proxy;
pub mod smtp;
mod socket;
mod stream;
pub mod tls;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::attempt::{Budget, Way};
use crate::ledger::Strays;
use crate::mocks::Mocks;
use tls::Authority;

pub use accept::{Kind, Listener, TakenPort};
pub use listen::Listen;
pub use proxy::{AllowHost, Connect, Direct, Proxy};

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

/// Is what all connections share.
#[derive(Debug)]
pub struct Shared {
    /// The way of attempts.
    pub way: Way,
    /// The providers.
    pub mocks: Mocks,
    /// The admin API.
    pub admin: axum::Router,
    /// Requests that nobody knows.
    pub strays: Strays,
    /// The budget of arriving bodies.
    pub arriving: Budget,
    /// The bounds.
    pub limits: Limits,
    /// What SMTP sessions offer.
    pub smtp: smtp::Offer,
    /// Who signs certificates.
    pub authority: Arc<Authority>,
    /// The forward proxy.
    pub proxy: Proxy,
    /// Bounds the connections.
    pub permits: Arc<tokio::sync::Semaphore>,
}
