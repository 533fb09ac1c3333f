//! The two sockets of a relayed connection: what waits to be written, and one step of reading and writing on both sides at once.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::stream::Stream;

/// How many bytes are read at once.
const READ: usize = 16 << 10;
/// With so many bytes waiting to be written, no more are read that would be added to them.
pub(super) const FULL: usize = 256 << 10;

/// Is a connection to a server.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

impl fmt::Debug for dyn Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

/// Is what waits to be written to one side.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    written: usize,
    /// Written and not flushed yet.
    dirty: bool,
    /// How many bytes were ever put here, and how many of them have left.
    pub(super) put: u64,
    pub(super) left: u64,
}

impl Outgoing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.put += bytes.len() as u64;
    }

    pub(super) fn pending(&self) -> usize {
        self.bytes.len() - self.written
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending() == 0 && !self.dirty
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
        self.dirty = false;
    }

    /// Writes and flushes what it can; says whether it came any further.
    fn poll(&mut self, cx: &mut Context<'_>, mut to: Pin<&mut (impl AsyncWrite + ?Sized)>) -> Poll<io::Result<()>> {
        let mut moved = false;
        while self.pending() > 0 {
            match to.as_mut().poll_write(cx, &self.bytes[self.written..])? {
                Poll::Ready(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(n) => {
                    self.written += n;
                    self.dirty = true;
                    moved = true;
                }
                Poll::Pending => break,
            }
        }
        if self.pending() == 0 {
            self.bytes.clear();
            self.written = 0;
            if self.dirty && to.poll_flush(cx)?.is_ready() {
                self.dirty = false;
                self.left = self.put;
                moved = true;
            }
        }
        if moved { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

/// Says what happened on the sockets.
#[derive(Debug)]
pub(super) enum Moved {
    /// Bytes were written, or came.
    On,
    /// The client has sent its last byte.
    ClientEnded,
    /// The client takes no byte more.
    ClientBroke,
    /// The server has sent its last byte.
    ServerEnded,
    /// The server takes no byte more.
    ServerBroke,
}

/// Says from which side to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) client: bool,
    pub(super) server: bool,
}

/// Is both sides of a connection, each with what came from it and what goes to it.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) client: Option<Stream>,
    pub(super) server: Box<dyn Wire>,
    pub(super) from_client: Vec<u8>,
    pub(super) from_server: Vec<u8>,
    pub(super) to_client: Outgoing,
    pub(super) to_server: Outgoing,
}

impl Pipe {
    /// Waits until something moves.
    pub(super) async fn step(&mut self, reading: Reading) -> Moved {
        poll_fn(|cx| self.poll(cx, reading)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>, reading: Reading) -> Poll<Moved> {
        let mut moved = false;
        if !self.to_server.is_idle() {
            match self.to_server.poll(cx, Pin::new(&mut *self.server)) {
                Poll::Ready(Err(_)) => return Poll::Ready(Moved::ServerBroke),
                went => moved |= went.is_ready(),
            }
        }
        if let Some(client) = self.client.as_mut().filter(|_| !self.to_client.is_idle()) {
            match self.to_client.poll(cx, Pin::new(client)) {
                Poll::Ready(Err(_)) => return Poll::Ready(Moved::ClientBroke),
                went => moved |= went.is_ready(),
            }
        }
        if reading.server {
            match read(cx, Pin::new(&mut *self.server), &mut self.from_server) {
                Poll::Ready(Err(()) | Ok(0)) => return Poll::Ready(Moved::ServerEnded),
                went => moved |= went.is_ready(),
            }
        }
        if let Some(client) = self.client.as_mut().filter(|_| reading.client) {
            match read(cx, Pin::new(client), &mut self.from_client) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Moved::ClientEnded),
                Poll::Ready(Err(())) => return Poll::Ready(Moved::ClientBroke),
                went => moved |= went.is_ready(),
            }
        }
        if moved { Poll::Ready(Moved::On) } else { Poll::Pending }
    }
}

fn read(
    cx: &mut Context<'_>,
    from: Pin<&mut (impl AsyncRead + ?Sized)>,
    into: &mut Vec<u8>,
) -> Poll<Result<usize, ()>> {
    let mut space = [0; READ];
    let mut buffer = ReadBuf::new(&mut space);
    match from.poll_read(cx, &mut buffer) {
        Poll::Pending => Poll::Pending,
        Poll::Ready(Err(_)) => Poll::Ready(Err(())),
        Poll::Ready(Ok(())) => {
            into.extend_from_slice(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        }
    }
}
