//! HTTP/1.1 with a client: one connection, its requests one after the other, and its exact ending.

mod answer;
pub(crate) mod body;
pub(crate) mod scope;
mod tunnel;

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
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
    gauge: Gauge,
    /// Cancelled when the client leaves before the first byte of an answer.
    pub(crate) gone: CancellationToken,
    /// Cancelled when the connection was given up: whatever was still to be read from it is cut off.
    pub(crate) given_up: CancellationToken,
    /// Whether the client left, even if an answer was on its way then.
    left: AtomicBool,
    after: Mutex<After>,
}

/// Says what comes after the requests of a connection.
#[derive(Debug, Default)]
struct After {
    ending: Option<Ending>,
    /// The connection goes on as another protocol, with whoever answered so.
    upgrade: Option<hyper::upgrade::OnUpgrade>,
}

impl Connection {
    fn new(peer: Peer) -> Self {
        Self {
            peer,
            gauge: Gauge::default(),
            gone: CancellationToken::new(),
            given_up: CancellationToken::new(),
            left: AtomicBool::new(false),
            after: Mutex::default(),
        }
    }

    /// Takes in that one more request arrived: of a client that left while an earlier answer was on its way, it is a gone one's.
    pub(crate) fn arrived(&self) {
        if self.left.load(Ordering::Relaxed) {
            self.gone.cancel();
        }
    }

    /// Says how the connection is to end, once its requests are over.
    pub(crate) fn end(&self, ending: Ending) -> Ended {
        self.after().ending = Some(ending);
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

    fn after(&self) -> MutexGuard<'_, After> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner)
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
    let connection = Arc::new(Connection::new(peer));
    let driver = Driver {
        limits: &house.limits,
        stop,
        connection: &connection,
    };
    let (stream, unread) = driver.drive(stream, &socket, respond).await;
    // The last handle must be the ending's own, or an RST would wait for it.
    drop(socket);
    connection.gauge.abandon();
    connection.gone.cancel();
    let After { ending, upgrade } = std::mem::take(&mut *connection.after());
    let ending = match (ending, upgrade) {
        (Some(ending), _) => ending,
        (None, _) if connection.gauge.is_cut() => return stream.cut(stop).await,
        (None, Some(upgrade)) => return tunnel::join(stream, unread, upgrade, stop).await,
        (None, None) => Ending::Close,
    };
    ending.apply(stream, stop, house.way.hang_cap).await;
}

/// Drives one connection.
struct Driver<'a> {
    limits: &'a Limits,
    stop: &'a CancellationToken,
    connection: &'a Arc<Connection>,
}

impl Driver<'_> {
    /// Lets hyper drive the connection until it, its client or the suite is at an end; returns the stream, and what was read ahead of it.
    async fn drive<F>(
        &self,
        stream: Stream,
        socket: &Socket,
        respond: impl Fn(Arc<Connection>, hyper::Request<Incoming>) -> F,
    ) -> (Stream, Bytes)
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
        // Said first: a body whose connection is dropped would look as if it had come to its end.
        connection.given_up.cancel();
        let parts = hyper.into_parts();
        (parts.io.into_inner().stream, parts.read_buf)
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
