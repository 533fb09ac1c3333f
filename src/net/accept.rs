//! Listeners: one address or both loopbacks, and a task a connection.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::House;
use super::listen::Listen;
use super::socket::Socket;
use super::stream::Stream;
use crate::ledger::Peer;

/// HTTP/1.1 only, so that an answer and a connection are one thing and a fault never hits a neighbour.
pub(crate) const HTTP_1: &[&[u8]] = &[b"http/1.1"];
/// How long a TLS handshake may take.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(20);

/// Says that an address could not be taken.
#[derive(Debug)]
pub struct Taken {
    /// Which address.
    pub addr: SocketAddr,
    /// What the system said.
    pub source: io::Error,
}

/// Listens, and does not serve yet.
#[derive(Debug)]
pub struct Listener {
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
    pub async fn bind(listen: Listen) -> Result<Self, Taken> {
        let mut tries = 0;
        loop {
            let (addr, first) = take(listen.addr, listen.all_interfaces).await?;
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
                        return Err(Taken { addr: second, source });
                    }
                    Err(_) => {} // The machine has no ::1.
                }
            }
            return Ok(Self { addr, sockets });
        }
    }

    /// Serves until the place is closed; each connection in a task of its own.
    pub(crate) fn serve<F: Future<Output = ()> + Send + 'static>(
        self,
        place: &Place,
        connect: impl Fn(Socket, Peer) -> F + Clone + Send + 'static,
    ) {
        for socket in self.sockets {
            let accepting = place.clone().accept(socket, connect.clone());
            let accepting = place.listening.track_future(accepting);
            place.house.way.tasks.spawn(accepting);
        }
    }
}

/// Binds one address; all interfaces, where there is no IPv6, are those of IPv4.
async fn take(addr: SocketAddr, all_interfaces: bool) -> Result<(SocketAddr, TcpListener), Taken> {
    let taken = |source| Taken { addr, source };
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

/// Is where connections are accepted.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What they share.
    pub(crate) house: House,
    /// The name that stands in the log.
    pub(crate) name: Arc<str>,
    /// Cancelled when no more are accepted.
    pub(crate) stop: CancellationToken,
    /// The tasks that accept: over when the address is free again.
    pub(crate) listening: TaskTracker,
}

impl Place {
    async fn accept<F: Future<Output = ()> + Send + 'static>(
        self,
        listener: TcpListener,
        connect: impl Fn(Socket, Peer) -> F + Send,
    ) {
        let Self { house, name, stop, .. } = self;
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => {
                    let Ok(permit) = Arc::clone(&house.permits).try_acquire_owned() else {
                        let open = house.limits.connections;
                        tracing::warn!("{name} refused {address}: {open} connections are open");
                        continue;
                    };
                    let peer = Peer {
                        address,
                        connection: house.way.store.ledger().next_connection(),
                    };
                    let connection = connect(Socket::new(stream), peer);
                    house.way.tasks.spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // Too many open files is over by itself; spinning on it would make it worse.
                    tracing::warn!("{name} cannot accept: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Shakes hands as the server, whatever name the client asks for; none if it came to nothing.
pub(crate) async fn handshake(alpn: &[&[u8]], stream: Stream, house: &House) -> Option<Stream> {
    let local = stream.socket().local_addr().ok()?.ip();
    shake(house.authority.server_config(alpn, local), stream, HANDSHAKE, house).await
}

/// Shakes hands as the server within a time; none if it came to nothing.
pub(crate) async fn shake(
    config: Arc<rustls::ServerConfig>,
    stream: Stream,
    patience: Duration,
    house: &House,
) -> Option<Stream> {
    let acceptor = TlsAcceptor::from(config);
    let done = tokio::select! {
        () = house.way.stop.cancelled() => return None,
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
