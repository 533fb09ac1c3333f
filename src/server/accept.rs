//! The suite's own listeners, by what they serve.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{Shared, http, smtp};
use crate::ledger::Peer;
use crate::net::Listen;
use crate::net::accept::{self, HTTP_1, Place, Taken, handshake};
use crate::net::socket::Socket;
use crate::net::stream::Stream;

/// Says what a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// HTTP.
    Http,
    /// HTTP inside TLS.
    Https,
    /// SMTP.
    Smtp,
    /// SMTP inside TLS.
    Smtps,
}

impl Kind {
    /// Returns the name of its flag.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Smtp => "smtp",
            Self::Smtps => "smtps",
        }
    }

    fn tls(self) -> Option<&'static [&'static [u8]]> {
        match self {
            Self::Https => Some(HTTP_1),
            Self::Smtps => Some(&[]),
            Self::Http | Self::Smtp => None,
        }
    }
}

/// Says that an address could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("the {name} listener cannot take {addr}: {source}; move it with --{name} ADDR:PORT (port 0 takes any free one), or turn it off with --{name} off", name = kind.as_str(), addr = taken.addr, source = taken.source)]
pub struct TakenPort {
    /// Which listener.
    pub kind: Kind,
    /// Which address, and why.
    pub taken: Taken,
}

/// Listens, and does not serve yet.
#[derive(Debug)]
pub struct Listener {
    /// What it serves.
    pub kind: Kind,
    /// Where it really listens.
    pub addr: SocketAddr,
    listener: accept::Listener,
}

impl Listener {
    /// Takes an address.
    ///
    /// # Errors
    ///
    /// Fails if it is taken, or is none of this machine's.
    pub async fn bind(kind: Kind, listen: Listen) -> Result<Self, TakenPort> {
        let listener = accept::Listener::bind(listen).await;
        let listener = listener.map_err(|taken| TakenPort { kind, taken })?;
        Ok(Self {
            kind,
            addr: listener.addr,
            listener,
        })
    }

    /// Says whether other machines reach the admin API through it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        matches!(self.kind, Kind::Http | Kind::Https) && !self.addr.ip().is_loopback()
    }

    /// Serves until the suite stops; each connection in a task of its own.
    pub fn serve(self, shared: &Arc<Shared>) {
        let (kind, served) = (self.kind, Arc::clone(shared));
        let connect = move |socket, peer| connect(kind, socket, peer, Arc::clone(&served));
        let place = Place {
            house: shared.house.clone(),
            name: kind.as_str().into(),
            stop: shared.way.stop.clone(),
            listening: TaskTracker::new(),
        };
        self.listener.serve(&place, connect);
    }
}

async fn connect(kind: Kind, socket: Socket, peer: Peer, shared: Arc<Shared>) {
    if let Kind::Smtp | Kind::Smtps = kind {
        // A rule can meet the connection before its handshake.
        return smtp::serve(shared, socket, peer, kind == Kind::Smtps).await;
    }
    let stream = match kind.tls() {
        None => Stream::Plain(socket),
        Some(alpn) => match handshake(alpn, Stream::Plain(socket), &shared.house).await {
            Some(stream) => stream,
            None => return,
        },
    };
    http::serve(shared, stream, peer).await;
}
