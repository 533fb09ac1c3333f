//! Plaintext to and from a client, measured: which byte of an answer left, and when all of it had.
//!
//! hyper drops a body long before its bytes have left, and a TLS layer keeps ciphertext back until it is flushed. So an answer counts as
//! sent by the first flush that succeeds after its body's end, and as lost when this wrapper fails or is dropped before.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Stream;
use crate::attempt::Outgoing;

/// Is the connection's stream as hyper drives it.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The stream beneath.
    pub(crate) stream: Stream,
    gauge: Gauge,
    /// Whether the end of the client's bytes has been held back for a turn.
    end_seen: bool,
    /// Whether bytes were handed over that no flush has followed yet.
    unflushed: bool,
}

/// Measures the answer that is on its way; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<Mutex<Measured>>);

#[derive(Debug, Default)]
struct Measured {
    outgoing: Option<Outgoing>,
    sent: u64,
    /// Plaintext bytes over the whole life of the connection: grows while a slow reader reads.
    total: u64,
    body_over: bool,
    /// Whether a first byte of the answer was about to leave.
    begun: bool,
    /// Whether it waits for its client to read.
    stalled: bool,
    cut: bool,
}

/// Says that an answer was cut off where it should be, or that its connection ends with it.
#[derive(Debug, thiserror::Error)]
#[error("cut off")]
struct CutOff;

impl Gauge {
    /// Begins to measure an answer.
    pub(crate) fn begin(&self, outgoing: Outgoing) {
        let mut measured = self.lock();
        measured.outgoing = Some(outgoing);
        measured.sent = 0;
        measured.body_over = false;
        measured.begun = false;
        measured.stalled = false;
    }

    /// Marks the end of the answer's body; from here the next flush completes it.
    pub(crate) fn body_over(&self) {
        self.lock().body_over = true;
    }

    /// Gives up an answer that did not leave: it is lost.
    pub(crate) fn abandon(&self) {
        let outgoing = self.lock().outgoing.take();
        drop(outgoing);
    }

    /// Says whether a first byte of an unfinished answer has left.
    #[must_use]
    pub(crate) fn is_answering(&self) -> bool {
        let measured = self.lock();
        measured.outgoing.is_some() && measured.sent > 0
    }

    /// Says whether an answer is on its way, and how many bytes the connection has sent in all.
    #[must_use]
    pub(crate) fn progress(&self) -> (bool, u64) {
        let measured = self.lock();
        (measured.outgoing.is_some(), measured.total)
    }

    /// Says whether the connection was cut off on purpose.
    #[must_use]
    pub(crate) fn is_cut(&self) -> bool {
        self.lock().cut
    }

    fn lock(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many of these bytes may leave now.
    fn allowance(&self, wanted: usize) -> usize {
        let measured = self.lock();
        let cut = measured.outgoing.as_ref().and_then(|o| o.cut);
        let left = cut.map_or(u64::MAX, |cut| cut.saturating_sub(measured.sent));
        usize::try_from(left).map_or(wanted, |left| left.min(wanted))
    }

    /// Bytes are about to be handed over; said before, for a client may read them before we come to say it after.
    fn leaving(&self) {
        let mut measured = self.lock();
        let Some(outgoing) = &measured.outgoing else {
            return;
        };
        if !measured.begun {
            outgoing.begin();
        } else if measured.stalled {
            outgoing.go_on();
        }
        measured.begun = true;
        measured.stalled = false;
    }

    /// Looks at how a write or flush went: one that has to wait for the client says that the answer cannot have been read whole.
    fn looked_at<T>(&self, went: Poll<T>) -> Poll<T> {
        if went.is_pending() {
            let mut measured = self.lock();
            if let Some(outgoing) = measured
                .outgoing
                .as_ref()
                .filter(|_| measured.begun && !measured.stalled)
            {
                outgoing.stall();
                measured.stalled = true;
            }
        }
        went
    }

    fn wrote(&self, bytes: usize) {
        let mut measured = self.lock();
        measured.total += bytes as u64;
        if measured.outgoing.is_some() {
            measured.sent += bytes as u64;
        }
    }

    /// A flush succeeded: completes the answer if its body is over. Fails if the connection ends with it.
    fn flushed(&self) -> io::Result<()> {
        let mut measured = self.lock();
        if !measured.body_over {
            return Ok(());
        }
        let Some(outgoing) = measured.outgoing.take() else {
            return Ok(());
        };
        measured.cut = outgoing.cut.is_some();
        let (cut, sent) = (measured.cut, measured.sent);
        drop(measured);
        outgoing.sent_whole(sent);
        if cut { Err(io::Error::other(CutOff)) } else { Ok(()) }
    }

    /// The bytes up to the cut have left.
    fn cut_off(&self) -> io::Error {
        let mut measured = self.lock();
        measured.cut = true;
        let (outgoing, sent) = (measured.outgoing.take(), measured.sent);
        drop(measured);
        if let Some(outgoing) = outgoing {
            outgoing.sent_cut(sent);
        }
        io::Error::other(CutOff)
    }
}

impl Wire {
    /// Measures a stream.
    #[must_use]
    pub(crate) fn new(stream: Stream, gauge: Gauge) -> Self {
        Self {
            stream,
            gauge,
            end_seen: false,
            unflushed: false,
        }
    }

    /// Says whether some of what was to leave has not left.
    #[must_use]
    pub(crate) fn is_unflushed(&self) -> bool {
        self.unflushed
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        let is_end = read.is_err() || buf.filled().len() == before;
        if is_end && !std::mem::replace(&mut self.end_seen, true) {
            // hyper looks for the end as soon as it has read a request, and drops the request that came with it unseen. A whole
            // request counts, however soon its client leaves: so the end waits until what came before it has had its turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let allowed = self.gauge.allowance(bytes.len());
        if allowed == 0 && !bytes.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            return Poll::Ready(Err(self.gauge.cut_off()));
        }
        self.gauge.leaving();
        self.unflushed = true;
        let went = Pin::new(&mut self.stream).poll_write(cx, &bytes[..allowed]);
        let n = ready!(self.gauge.looked_at(went))?;
        self.gauge.wrote(n);
        Poll::Ready(Ok(n))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = bufs.iter().map(|buf| buf.len()).sum();
        if self.gauge.allowance(wanted) < wanted {
            let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
            return self.poll_write(cx, first);
        }
        self.gauge.leaving();
        self.unflushed = true;
        let went = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        let n = ready!(self.gauge.looked_at(went))?;
        self.gauge.wrote(n);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let went = Pin::new(&mut self.stream).poll_flush(cx);
        ready!(self.gauge.looked_at(went))?;
        self.unflushed = false;
        Poll::Ready(self.gauge.flushed())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
