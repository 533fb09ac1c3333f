//! The HTTP listeners: one connection, its requests one after the other, and its exact ending.

mod body;
mod proxied;
mod respond;
mod route;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::ending::Ending;
use super::proxy::{self, Target};
use super::socket::Socket;
use super::stream::Stream;
use super::wire::{Gauge, Wire};
use crate::ledger::Peer;
use crate::store::Scope;
use respond::Ended;

pub(crate) use route::{Owner, Tunnel};

/// How long a stopping suite lets an answer that is being sent go on.
const GRACE: std::time::Duration = std::time::Duration::from_millis(300);

/// Is what the requests of one connection share.
#[derive(Debug)]
pub(crate) struct Connection {
    peer: Peer,
    /// Whether it is inside TLS.
    secure: bool,
    gauge: Gauge,
    /// Cancelled when the client leaves before the first byte of an answer.
    gone: CancellationToken,
    /// Whether the client left, even if an answer was on its way then.
    left: AtomicBool,
    /// The tunnel in which it lies, if it does.
    tunnel: Option<Tunnel>,
    /// Where the listener listens, as the client sees it.
    local: Option<SocketAddr>,
    next: Mutex<Option<Next>>,
}

/// Says how a connection goes on when its requests are over.
#[derive(Debug)]
enum Next {
    /// It ends.
    End(Ending),
    /// It becomes a tunnel to a host that the suite plays.
    Intercept(Target, Tunnel),
    /// It becomes a tunnel to an allowed host.
    PassThrough(Target, TcpStream),
}

impl Connection {
    /// Takes in that one more request arrived: of a client that left while an earlier answer was on its way, it is a gone one's.
    fn arrived(&self) {
        if self.left.load(Ordering::Relaxed) {
            self.gone.cancel();
        }
    }

    /// Returns what stands before a path by which the client of a request reaches the same world without naming it otherwise.
    fn base(&self, head: &http::request::Parts, scope: Option<&Scope>) -> String {
        let host = head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let scheme = if self.secure { "https" } else { "http" };
        let prefix = scope.filter(|scope| **scope != Scope::default());
        let prefix = prefix.map_or(String::new(), |scope| format!("/~{scope}"));
        format!("{scheme}://{}{prefix}", host.unwrap_or("localhost"))
    }

    /// Says how the connection is to end, once its requests are over.
    fn end(&self, ending: Ending) -> Ended {
        self.then(Next::End(ending))
    }

    /// Says how the connection goes on, once its requests are over.
    fn then(&self, next: Next) -> Ended {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Ended
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, stream: Stream, peer: Peer) {
    serve_in(shared, stream, peer, None).await;
}

/// Serves one connection, or what lies in a tunnel through it, to its end.
pub(crate) async fn serve_in(shared: Arc<Shared>, stream: Stream, peer: Peer, tunnel: Option<Tunnel>) {
    let socket = stream.socket();
    let connection = Arc::new(Connection {
        peer,
        secure: matches!(stream, Stream::Tls(_)),
        gauge: Gauge::default(),
        gone: CancellationToken::new(),
        left: AtomicBool::new(false),
        tunnel,
        local: socket.local_addr().ok(),
        next: Mutex::default(),
    });
    let Driven { stream, read, whole } = drive(&shared, &connection, stream, &socket).await;
    // The last handle must be the ending's own, or an RST would wait for it.
    drop(socket);
    connection.gauge.abandon();
    connection.gone.cancel();
    let planned = connection.next.lock().unwrap_or_else(PoisonError::into_inner).take();
    let ending = match planned {
        Some(Next::End(ending)) => ending,
        Some(Next::Intercept(target, tunnel)) if whole => {
            return proxy::intercept(shared, stream.behind(read), peer, target, tunnel).await;
        }
        Some(Next::PassThrough(target, upstream)) if whole => {
            return proxy::pass_through(&shared, stream.behind(read), upstream, &target).await;
        }
        // An earlier answer has not left, and nothing can be said behind half of it.
        Some(Next::Intercept(..) | Next::PassThrough(..)) => Ending::Close,
        None if connection.gauge.is_cut() => return stream.cut(&shared.way.stop).await,
        None => Ending::Close,
    };
    ending.apply(stream, &shared.way.stop, shared.way.hang_cap).await;
}

/// Is what hyper leaves behind.
struct Driven {
    stream: Stream,
    /// What it has read and not looked at.
    read: Bytes,
    /// Whether all that was to leave has left.
    whole: bool,
}

/// Lets hyper drive the connection until it, its client or the suite is at an end.
async fn drive(shared: &Arc<Shared>, connection: &Arc<Connection>, stream: Stream, socket: &Socket) -> Driven {
    let service = service_fn(|request| {
        let (shared, connection) = (Arc::clone(shared), Arc::clone(connection));
        Box::pin(async move { respond::respond(&shared, &connection, request).await })
    });
    let limits = &shared.limits;
    let mut hyper = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_headers(limits.headers)
        .max_buf_size(limits.head_size)
        .half_close(false)
        .pipeline_flush(false)
        .serve_connection(TokioIo::new(Wire::new(stream, connection.gauge.clone())), service);
    tokio::select! {
        // hyper first: what has arrived is looked at before what has left.
        biased;
        _ = poll_fn(|cx| hyper.poll_without_shutdown(cx)) => {}
        never = watch(connection, socket) => match never {},
        () = stalled(&connection.gauge, limits.idle) => {}
        () = shared.way.stop.cancelled() => {
            std::pin::Pin::new(&mut hyper).graceful_shutdown();
            let rest = poll_fn(|cx| hyper.poll_without_shutdown(cx));
            drop(tokio::time::timeout(GRACE, rest).await);
        }
    }
    let parts = hyper.into_parts();
    let wire = parts.io.into_inner();
    Driven {
        whole: !wire.is_unflushed(),
        stream: wire.stream,
        read: parts.read_buf,
    }
}

/// Watches for the client's leaving, on our own handle of the socket: hyper does not see it while pipelined bytes wait.
async fn watch(connection: &Connection, socket: &Socket) -> std::convert::Infallible {
    socket.left().await;
    connection.left.store(true, Ordering::Relaxed);
    if !connection.gauge.is_answering() {
        connection.gone.cancel();
    }
    std::future::pending().await
}

/// Comes back when an answer has made no progress for the idle time.
async fn stalled(gauge: &Gauge, idle: std::time::Duration) {
    let mut before = gauge.progress();
    loop {
        tokio::time::sleep(idle).await;
        let now = gauge.progress();
        if now.0 && now == before {
            return;
        }
        before = now;
    }
}
