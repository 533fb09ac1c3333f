//! Listeners: one address or both loopbacks, and a task a connection.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::listen::Listen;
use super::socket::Socket;
use super::stream::Stream;
use super::{Shared, http, smtp};
use crate::ledger::Peer;

/// How long a TLS handshake may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(20);
/// HTTP/1.1 only, so that an answer and a connection are one thing and a fault never hits a neighbour.
pub(super) const HTTP_1: &[&[u8]] = &[b"http/1.1"];

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
#[error("the {name} listener cannot take {addr}: {source}; move it with --{name} ADDR:PORT (port 0 takes any free one), or turn it off with --{name} off", name = kind.as_str())]
pub struct TakenPort {
    /// Which listener.
    pub kind: Kind,
    /// Which address.
    pub addr: SocketAddr,
    source: io::Error,
}

/// Listens, and does not serve yet.
#[derive(Debug)]
pub struct Listener {
    /// What it serves.
    pub kind: Kind,
    /// Where it really listens.
    pub addr: SocketAddr,
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Takes an address.
    ///
    /// # Errors
    ///
    /// Fails if it is taken, or is none of this machine's.
    pub async fn bind(kind: Kind, listen: Listen) -> Result<Self, TakenPort> {
        let mut tries = 0;
        loop {
            let (addr, first) = take(kind, listen.addr, listen.all_interfaces).await?;
            let mut sockets = vec![first];
            if let Some(second) = listen.second(addr.port()) {
                match TcpListener::bind(second).await {
                    Ok(socket) => sockets.push(socket),
                    // Any free port was asked for, and this one is free on one loopback only: ask for another.
                    Err(e) if e.kind() == io::ErrorKind::AddrInUse && listen.addr.port() == 0 && tries < 16 => {
                        tries += 1;
                        continue;
                    }
                    Err(source) if source.kind() == io::ErrorKind::AddrInUse => {
                        return Err(TakenPort {
                            kind,
                            addr: second,
                            source,
                        });
                    }
                    Err(_) => {} // The machine has no ::1.
                }
            }
            return Ok(Self { kind, addr, sockets });
        }
    }

    /// Says whether other machines reach the admin API through it.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        matches!(self.kind, Kind::Http | Kind::Https) && !self.addr.ip().is_loopback()
    }

    /// Serves until the suite stops; each connection in a task of its own.
    pub fn serve(self, shared: &Arc<Shared>) {
        for socket in self.sockets {
            let (kind, shared) = (self.kind, Arc::clone(shared));
            let tasks = shared.way.tasks.clone();
            tasks.spawn(accept(kind, socket, shared));
        }
    }
}

/// Binds one address; all interfaces, where there is no IPv6, are those of IPv4.
async fn take(kind: Kind, addr: SocketAddr, all_interfaces: bool) -> Result<(SocketAddr, TcpListener), TakenPort> {
    let taken = |source| TakenPort { kind, addr, source };
    let socket = match TcpListener::bind(addr).await {
        Err(e) if all_interfaces && e.kind() != io::ErrorKind::AddrInUse => {
            TcpListener::bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), addr.port())).await
        }
        bound => bound,
    };
    let socket = socket.map_err(taken)?;
    let addr = socket.local_addr().map_err(taken)?;
    Ok((addr, socket))
}

async fn accept(kind: Kind, listener: TcpListener, shared: Arc<Shared>) {
    let stop = shared.way.stop.clone();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let Ok(permit) = Arc::clone(&shared.permits).try_acquire_owned() else {
                    tracing::warn!(
                        "{} refused {address}: {} connections are open",
                        kind.as_str(),
                        shared.limits.connections
                    );
                    continue;
                };
                let peer = Peer {
                    address,
                    connection: shared.way.store.ledger().next_connection(),
                };
                let connection = connect(kind, stream, peer, Arc::clone(&shared));
                shared.way.tasks.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Too many open files is over by itself; spinning on it would make it worse.
                tracing::warn!("{} cannot accept: {error}", kind.as_str());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connect(kind: Kind, stream: TcpStream, peer: Peer, shared: Arc<Shared>) {
    let socket = Socket::new(stream);
    if let Kind::Smtp | Kind::Smtps = kind {
        // A rule can meet the connection before its handshake.
        return smtp::serve(shared, socket, peer, kind == Kind::Smtps).await;
    }
    let stream = match kind.tls() {
        None => Stream::Plain(socket),
        Some(alpn) => match handshake(alpn, Stream::Plain(socket), &shared).await {
            Some(stream) => stream,
            None => return,
        },
    };
    http::serve(shared, stream, peer).await;
}

/// Shakes hands as the server, whatever name the client asks for; none if it came to nothing.
pub(super) async fn handshake(alpn: &[&[u8]], stream: Stream, shared: &Shared) -> Option<Stream> {
    let local = stream.socket().local_addr().ok()?.ip();
    shake(shared.authority.server_config(alpn, local), stream, HANDSHAKE, shared).await
}

/// Shakes hands as the server within a time; none if it came to nothing.
pub(super) async fn shake(
    config: Arc<rustls::ServerConfig>,
    stream: Stream,
    patience: Duration,
    shared: &Shared,
) -> Option<Stream> {
    let acceptor = TlsAcceptor::from(config);
    let done = tokio::select! {
        () = shared.way.stop.cancelled() => return None,
        done = tokio::time::timeout(patience, acceptor.accept(stream)) => done,
    };
    match done {
        Ok(Ok(tls)) => Some(Stream::Tls(Box::new(tls))),
        Ok(Err(error)) => {
            tracing::info!("a TLS handshake failed: {error}");
            None
        }
        Err(_) => None,
    }
}
