//! What comes behind a CONNECT: bytes to an allowed host, or a provider's own TLS and HTTP inside the tunnel.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Target;
use crate::ledger::Peer;
use crate::net::accept::{HANDSHAKE, HTTP_1, shake};
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::relay::{Door, Through};
use crate::server::Shared;
use crate::server::http::{self, Tunnel};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// The first byte of every TLS connection: a record with a handshake in it.
const TLS: u8 = 0x16;
/// How much is carried at once.
const BUFFER: usize = 16 << 10;

/// Says who serves what is in a tunnel.
#[derive(Debug)]
pub(crate) enum Inside {
    /// A provider of this suite.
    Played(Tunnel),
    /// A relay.
    Relayed(Arc<Door>, Through),
}

/// Serves a host that the suite plays or relays, inside TLS or plain, whichever the client begins with.
///
/// Boxed, for a tunnel is served as a connection is, and the future would hold itself.
pub(crate) fn intercept(
    shared: Arc<Shared>,
    stream: Stream,
    peer: Peer,
    target: Target,
    inside: Inside,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(serve(shared, stream, peer, target, inside))
}

async fn serve(shared: Arc<Shared>, stream: Stream, peer: Peer, target: Target, inside: Inside) {
    let patience = shared.limits.idle.min(HANDSHAKE);
    let begun = tokio::select! {
        () = shared.way.stop.cancelled() => return,
        begun = tokio::time::timeout(patience, begin(stream)) => begun,
    };
    let (first, stream) = match begun {
        Ok(Ok(begun)) => begun,
        // It never began to speak: there is nothing to answer.
        Ok(Err(_)) | Err(_) => return,
    };
    let stream = match first {
        None => return stream.close(&shared.way.stop).await,
        Some(TLS) => {
            let config = shared.authority.server_config_for(HTTP_1, &target.host);
            match shake(config, stream, patience, &shared.house).await {
                Some(stream) => stream,
                None => return,
            }
        }
        Some(_) => stream,
    };
    match inside {
        Inside::Played(tunnel) => http::serve_in(shared, stream, peer, Some(tunnel)).await,
        Inside::Relayed(door, through) => door.serve_through(stream, peer, through).await,
    }
}

/// Says that the tunnel is there, and waits for the first byte in it.
async fn begin(mut stream: Stream) -> io::Result<(Option<u8>, Stream)> {
    say_established(&mut stream).await?;
    let mut first = [0];
    match stream.read(&mut first).await? {
        0 => Ok((None, stream)),
        _ => Ok((Some(first[0]), stream.behind(first.to_vec().into()))),
    }
}

async fn say_established(stream: &mut Stream) -> io::Result<()> {
    stream.write_all(ESTABLISHED).await?;
    stream.flush().await
}

/// Carries bytes both ways until both have ended, or nothing has moved for too long.
async fn carry(stream: &mut Stream, upstream: &mut Socket, idle: Duration) -> io::Result<()> {
    let moved = Mutex::new(Instant::now());
    let (from_client, to_client) = tokio::io::split(stream);
    let (from_upstream, to_upstream) = tokio::io::split(upstream);
    let still = async {
        loop {
            let end = *lock(&moved) + idle;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    };
    let both = async {
        tokio::try_join!(
            carry_one_way(from_client, to_upstream, &moved),
            carry_one_way(from_upstream, to_client, &moved)
        )
    };
    tokio::select! {
        carried = both => carried.map(|_| ()),
        () = still => Err(io::Error::new(io::ErrorKind::TimedOut, format!("nothing was sent for {idle:?}"))),
    }
}

async fn carry_one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &Mutex<Instant>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        *lock(moved) = Instant::now();
        if read == 0 {
            return to.shutdown().await;
        }
        let mut left = &buffer[..read];
        while !left.is_empty() {
            let written = to.write(left).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left = &left[written..];
            *lock(moved) = Instant::now();
        }
        to.flush().await?;
    }
}

fn lock(moved: &Mutex<Instant>) -> MutexGuard<'_, Instant> {
    moved.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries bytes both ways between a client and an allowed host, until both have ended or have been
/// silent for too long; either may end its half first.
pub(crate) async fn pass_through(shared: &Shared, mut stream: Stream, upstream: TcpStream, target: &Target) {
    let mut upstream = Socket::new(upstream);
    let carried = async {
        tokio::time::timeout(shared.limits.idle, say_established(&mut stream)).await??;
        carry(&mut stream, &mut upstream, shared.limits.idle).await
    };
    let carried = tokio::select! {
        () = shared.way.stop.cancelled() => return,
        carried = carried => carried,
    };
    if let Err(error) = carried {
        tracing::info!("the tunnel to {target} broke off: {error}");
        // One side was reset or cut off: the other one is not to take that for an orderly end.
        upstream.arm_reset();
        stream.reset();
    }
}
