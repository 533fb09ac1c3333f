//! A request's body on its way to the upstream: measured, hashed, and never more of it in memory than is under way.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ledger::{Ledger, secrets};
use crate::net::House;
use crate::net::http::body::{Broken, is_malformed, is_of_client};
use crate::store::Ticket;

/// How much of a body is recorded.
pub(super) const RECORDED: usize = 64 << 10;
/// How long a client that asked for leave to send its body waits for the upstream's word.
const LEAVE: Duration = Duration::from_secs(1);

/// Says what has come of a body so far; shared by the body and whoever waits for what comes of it.
#[derive(Debug)]
pub(super) struct Received {
    ledger: Ledger,
    id: u64,
    head: Bytes,
    state: Mutex<State>,
    /// Cancelled when the upstream wants the body.
    pub(super) wanted: CancellationToken,
    /// Cancelled when the upstream has answered.
    pub(super) answered: CancellationToken,
    /// Cancelled when the answer is over: what has not been sent by now is not wanted.
    pub(super) over: CancellationToken,
    /// Cancelled when the client has left in the middle of the body.
    pub(super) left: CancellationToken,
}

#[derive(Debug)]
struct State {
    bytes: u64,
    hash: Sha256,
    part: BytesMut,
    whole: bool,
    broken: Option<Broken>,
    last: Instant,
    /// Whether it is the client's turn: more was asked for, and has not come.
    clients_turn: bool,
}

/// Says that a body broke off.
#[derive(Debug, thiserror::Error)]
#[error("the request broke off")]
pub(super) struct BrokenOff;

/// Is a body on its way.
#[derive(Debug)]
pub(super) struct Upload {
    incoming: Incoming,
    /// What was read ahead.
    ahead: Option<Bytes>,
    /// What came behind it and is no data.
    trailers: Option<Frame<Bytes>>,
    leave: Option<Leave>,
    idle: Duration,
    silence: Pin<Box<Sleep>>,
    received: Arc<Received>,
    /// Says, when it goes, that nothing more will be read.
    read: Option<DropGuard>,
}

/// Waits until the upstream wants the body, for a client that asked.
struct Leave(Pin<Box<dyn Future<Output = bool> + Send + Sync>>);

impl std::fmt::Debug for Leave {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leave")
    }
}

impl Received {
    pub(super) fn new(ticket: &Ticket, head: Bytes) -> Arc<Self> {
        Arc::new(Self {
            ledger: ticket.ledger().clone(),
            id: ticket.id(),
            head,
            state: Mutex::new(State {
                bytes: 0,
                hash: Sha256::new(),
                part: BytesMut::new(),
                whole: false,
                broken: None,
                last: Instant::now(),
                clients_turn: false,
            }),
            wanted: CancellationToken::new(),
            answered: CancellationToken::new(),
            over: CancellationToken::new(),
            left: CancellationToken::new(),
        })
    }

    /// Returns the hash of the body, if all of it came.
    pub(super) fn hash(&self) -> Option<[u8; 32]> {
        let state = self.lock();
        state.whole.then(|| state.hash.clone().finalize().into())
    }

    /// Says why the body did not become whole.
    pub(super) fn broken(&self) -> Option<Broken> {
        self.lock().broken
    }

    /// Returns since when the upstream has owed something; none while it is the client's turn.
    pub(super) fn owed_since(&self) -> Option<Instant> {
        let state = self.lock();
        (!state.clients_turn).then_some(state.last)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, data: &Bytes) {
        let mut state = self.lock();
        state.bytes += data.len() as u64;
        state.hash.update(data);
        let room = RECORDED.saturating_sub(state.part.len());
        state.part.extend_from_slice(&data[..room.min(data.len())]);
        state.last = Instant::now();
        state.clients_turn = false;
    }

    /// Takes in that the client was seen to leave, maybe before whoever watches its connection has seen it.
    fn client_left(&self) {
        self.left.cancel();
        self.ledger.update(self.id, |entry| {
            entry.note_relayed(|relayed, now| _ = relayed.client_left.get_or_insert(now));
        });
    }

    fn end(&self, broken: Option<Broken>) {
        let mut state = self.lock();
        if state.whole || state.broken.is_some() {
            return;
        }
        state.whole = broken.is_none();
        state.broken = broken;
        state.last = Instant::now();
        state.clients_turn = false;
        drop(state);
        self.note();
    }

    /// Notes in the journal what has come.
    fn note(&self) {
        let mut state = self.lock();
        let (bytes, whole) = (state.bytes, state.whole);
        let part = std::mem::take(&mut state.part).freeze();
        let hash: [u8; 32] = state.hash.clone().finalize().into();
        drop(state);
        let part = secrets::clean_bytes(&part).into_owned();
        let recorded = self.ledger.keep_part(self.head.clone(), part.into(), bytes, hash);
        self.ledger.update(self.id, |entry| {
            entry.request = Some(recorded);
            entry.note_relayed(|relayed, now| {
                relayed.up = bytes;
                relayed.request_end = whole.then_some(now);
            });
        });
    }
}

impl Upload {
    pub(super) fn new(
        incoming: Incoming,
        head: &request::Parts,
        received: Arc<Received>,
        house: &House,
        read: &CancellationToken,
    ) -> Self {
        let idle = house.limits.idle;
        let mut upload = Self {
            leave: asks_for_leave(head).then(|| Leave::new(&received)),
            incoming,
            ahead: None,
            trailers: None,
            idle,
            silence: Box::pin(tokio::time::sleep(idle)),
            received,
            read: Some(read.clone().drop_guard()),
        };
        upload.look_for_end();
        upload
    }

    /// Reads a body of at most `limit` bytes ahead; returns it, or none if it is larger. All of it is forwarded in any case.
    ///
    /// # Errors
    ///
    /// Fails if it breaks off.
    pub(super) async fn look_ahead(&mut self, limit: usize) -> Result<Option<Bytes>, Broken> {
        // Who looks into a body has to have it, whatever the upstream will say of it.
        self.leave = None;
        let mut ahead = BytesMut::new();
        while ahead.len() <= limit && !self.received.lock().whole {
            match self.frame().await {
                None => break,
                Some(Err(BrokenOff)) => return Err(self.received.broken().unwrap_or(Broken::Cut)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => ahead.extend_from_slice(&data),
                    Err(trailers) => self.trailers = Some(trailers),
                },
            }
        }
        let ahead = ahead.freeze();
        self.ahead = (!ahead.is_empty()).then(|| ahead.clone());
        Ok((ahead.len() <= limit).then_some(ahead))
    }

    /// Takes in that the body has come to its end, where that is known without another look.
    fn look_for_end(&mut self) {
        if self.incoming.is_end_stream() {
            self.end(None);
        }
    }

    fn end(&mut self, broken: Option<Broken>) {
        self.received.end(broken);
        self.read = None;
    }

    fn poll_leave(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BrokenOff>> {
        if let Some(leave) = &mut self.leave {
            let wanted = ready!(leave.0.as_mut().poll(cx));
            self.leave = None;
            if !wanted {
                self.read = None;
                return Poll::Ready(Err(BrokenOff));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Leave {
    fn new(received: &Arc<Received>) -> Self {
        let received = Arc::clone(received);
        Self(Box::pin(async move {
            let patience = async {
                tokio::time::sleep(LEAVE).await;
                if received.answered.is_cancelled() {
                    std::future::pending().await
                }
            };
            tokio::select! {
                () = received.wanted.cancelled() => true,
                () = received.over.cancelled() => false,
                () = patience => true,
            }
        }))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        if let Err(broken) = ready!(this.poll_leave(cx)) {
            return Poll::Ready(Some(Err(broken)));
        }
        if let Some(ahead) = this.ahead.take() {
            return Poll::Ready(Some(Ok(Frame::data(ahead))));
        }
        if let Some(trailers) = this.trailers.take() {
            return Poll::Ready(Some(Ok(trailers)));
        }
        match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    this.received.take(data);
                }
                this.silence.as_mut().reset(Instant::now() + this.idle);
                this.look_for_end();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let broken = if is_malformed(&error) {
                    Broken::Malformed
                } else {
                    if is_of_client(&error) {
                        this.received.client_left();
                    }
                    Broken::Cut
                };
                this.end(Some(broken));
                Poll::Ready(Some(Err(BrokenOff)))
            }
            // Its own end: of a body that was cut off, whoever ended the connection, hyper says so.
            Poll::Ready(None) => {
                this.end(None);
                Poll::Ready(None)
            }
            Poll::Pending => {
                this.received.lock().clients_turn = true;
                ready!(this.silence.as_mut().poll(cx));
                this.end(Some(Broken::Idle));
                Poll::Ready(Some(Err(BrokenOff)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.trailers.is_none() && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.ahead.as_ref().map_or(0, |ahead| ahead.len() as u64);
        let hint = self.incoming.size_hint();
        match hint.exact() {
            Some(left) => SizeHint::with_exact(ahead + left),
            None => SizeHint::new(),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let state = self.received.lock();
        let open = !state.whole && state.broken.is_none();
        drop(state);
        if open {
            self.received.note();
        }
    }
}

fn asks_for_leave(head: &request::Parts) -> bool {
    let expect = head.headers.get(http::header::EXPECT);
    expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}
