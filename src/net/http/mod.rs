//! HTTP/1.1 with a client: one connection, its requests one after the other, and its exact ending.

mod answer;
pub(crate) mod body;
pub(crate) mod scope;
mod tunnel;

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::socket::Socket;
use super::stream::Stream;
use super::wire::{Gauge, Wire};
use super::{House, Limits};
use crate::attempt::Delivery;
use crate::ledger::Peer;

pub(crate) use answer::{Answer, answer, faults_of, own};

/// How long a stopping suite lets an answer that is being sent go on.
const GRACE: std::time::Duration = std::time::Duration::from_millis(300);

/// Says that the connection ends here, in the way that it has been told.
#[derive(Debug, thiserror::Error)]
#[error("the connection ends here")]
pub(crate) struct Ended;

/// Is what the requests of one connection share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    /// Whether it is inside TLS.
    pub(crate) secure: bool,
    /// Where the listener listens, as the client sees it.
    pub(crate) local: Option<SocketAddr>,
    gauge: Gauge,
    /// Cancelled when the client leaves before the first byte of an answer.
    pub(crate) gone: CancellationToken,
    /// Whether the client left, even if an answer was on its way then.
    left: AtomicBool,
    next: Mutex<Option<Next>>,
}

/// Serves what a connection becomes.
type Become = Box<dyn FnOnce(Stream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Says how a connection goes on when its requests are over.
enum Next {
    /// It ends.
    End(Ending),
    /// It becomes something else, and nothing was answered: a tunnel.
    Become(Become),
    /// It goes on as another protocol, with whoever has answered so.
    Upgrade(OnUpgrade),
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::End(_) => "End",
            Self::Become(_) => "Become",
            Self::Upgrade(_) => "Upgrade",
        })
    }
}

impl Connection {
    fn new(peer: Peer, stream: &Stream, socket: &Socket) -> Self {
        Self {
            peer,
            secure: matches!(stream, Stream::Tls(_)),
            local: socket.local_addr().ok(),
            gauge: Gauge::default(),
            gone: CancellationToken::new(),
            left: AtomicBool::new(false),
            next: Mutex::default(),
        }
    }

    /// Takes in that one more request arrived: of a client that left while an earlier answer was on its way, it is a gone one's.
    pub(crate) fn arrived(&self) {
        if self.left.load(Ordering::Relaxed) {
            self.gone.cancel();
        }
    }

    /// Takes in that the client has left: it is gone, unless an answer is on its way.
    pub(crate) fn left(&self) {
        self.left.store(true, Ordering::Relaxed);
        if !self.gauge.is_answering() {
            self.gone.cancel();
        }
    }

    /// Says how the connection is to end, once its requests are over.
    pub(crate) fn end(&self, ending: Ending) -> Ended {
        *self.next() = Some(Next::End(ending));
        Ended
    }

    /// Hands the connection over, once its requests are over; what was read ahead of it comes with it.
    pub(crate) fn hand_over<F>(&self, to: impl FnOnce(Stream) -> F + Send + 'static) -> Ended
    where
        F: Future<Output = ()> + Send + 'static,
    {
        *self.next() = Some(Next::Become(Box::new(move |stream| Box::pin(to(stream)))));
        Ended
    }

    /// Waits for what comes of an attempt; of a client that is gone, no longer than until its request was `read`.
    pub(crate) async fn wait(&self, delivery: oneshot::Receiver<Delivery>, read: &CancellationToken) -> Answer {
        let gone = async {
            read.cancelled().await;
            self.gone.cancelled().await;
        };
        tokio::select! {
            biased;
            () = gone => Err(self.end(Ending::Gone)),
            delivery = delivery => match delivery {
                Ok(Delivery::Answer(outgoing)) => Ok(answer(self, outgoing)),
                Ok(Delivery::Lose { how, over }) => Err(self.end(Ending::Fault(how, over))),
                Err(_) => Err(self.end(Ending::Close)),
            },
        }
    }

    fn next(&self) -> MutexGuard<'_, Option<Next>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one connection to its end, or until `stop`; each request is handed to `respond`.
pub(crate) async fn serve<F>(
    house: &House,
    stop: &CancellationToken,
    stream: Stream,
    peer: Peer,
    respond: impl Fn(Arc<Connection>, hyper::Request<Incoming>) -> F,
) where
    F: Future<Output = Answer> + Send,
{
    let socket = stream.socket();
    let connection = Arc::new(Connection::new(peer, &stream, &socket));
    let driver = Driver {
        limits: &house.limits,
        stop,
        connection: &connection,
    };
    let Driven { stream, read, whole } = driver.drive(stream, &socket, respond).await;
    // The last handle must be the ending's own, or an RST would wait for it.
    drop(socket);
    connection.gauge.abandon();
    connection.gone.cancel();
    let next = connection.next().take();
    let ending = match next {
        Some(Next::End(ending)) => ending,
        Some(Next::Become(serve)) if whole => return serve(stream.behind(read)).await,
        // An earlier answer has not left, and nothing can be said behind half of it.
        Some(Next::Become(_)) => Ending::Close,
        _ if connection.gauge.is_cut() => return stream.cut(stop).await,
        Some(Next::Upgrade(upgrade)) => return tunnel::join(stream, read, upgrade, stop).await,
        None => Ending::Close,
    };
    ending.apply(stream, stop, house.way.hang_cap).await;
}

/// Is what hyper leaves behind.
struct Driven {
    stream: Stream,
    /// What it has read and not looked at.
    read: Bytes,
    /// Whether all that was to leave has left.
    whole: bool,
}

/// Drives one connection.
struct Driver<'a> {
    limits: &'a Limits,
    stop: &'a CancellationToken,
    connection: &'a Arc<Connection>,
}

impl Driver<'_> {
    /// Lets hyper drive the connection until it, its client or the suite is at an end.
    async fn drive<F>(
        &self,
        stream: Stream,
        socket: &Socket,
        respond: impl Fn(Arc<Connection>, hyper::Request<Incoming>) -> F,
    ) -> Driven
    where
        F: Future<Output = Answer> + Send,
    {
        let Self {
            limits,
            stop,
            connection,
        } = *self;
        let service = service_fn(|request| Box::pin(respond(Arc::clone(connection), request)));
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
            () = stop.cancelled() => {
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
}

/// Watches for the client's leaving, on our own handle of the socket: hyper does not see it while pipelined bytes wait.
async fn watch(connection: &Connection, socket: &Socket) -> std::convert::Infallible {
    socket.left().await;
    connection.left();
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
