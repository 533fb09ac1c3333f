//! A connection's bytes as plaintext, whether or not TLS lies beneath.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::socket::{Socket, patience};

/// Is plaintext to and from a client.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Without TLS.
    Plain(Socket),
    /// Inside TLS, which may itself lie inside TLS: a tunnel through a proxy that speaks it.
    Tls(Box<TlsStream<Stream>>),
    /// Behind bytes that were read already.
    Behind(Bytes, Box<Stream>),
}

impl Stream {
    /// Returns the socket beneath.
    #[must_use]
    pub(crate) fn socket(&self) -> Socket {
        match self {
            Self::Plain(socket) => socket.clone(),
            Self::Tls(tls) => tls.get_ref().0.socket(),
            Self::Behind(_, stream) => stream.socket(),
        }
    }

    /// Returns the stream with bytes before it that were read already.
    #[must_use]
    pub(crate) fn behind(self, read: Bytes) -> Self {
        if read.is_empty() {
            return self;
        }
        match self {
            Self::Behind(rest, stream) => {
                let read = [&read[..], &rest[..]].concat().into();
                Self::Behind(read, stream)
            }
            stream => Self::Behind(read, Box::new(stream)),
        }
    }

    /// Ends in order: `close_notify` inside TLS, then FIN, and reads on for a moment.
    pub(crate) async fn close(mut self, stop: &CancellationToken) {
        let socket = self.socket();
        // A client that reads nothing must not keep its `close_notify`, and so its FIN, from leaving for ever.
        tokio::select! {
            _ = self.shutdown() => {}
            () = patience(stop) => {}
        }
        socket.close(stop).await;
    }

    /// Ends without `close_notify`: FIN alone, as a cut-off stream ends.
    pub(crate) async fn cut(self, stop: &CancellationToken) {
        let socket = self.socket();
        socket.close(stop).await;
        drop(self);
    }

    /// Ends by RST, without `close_notify`.
    pub(crate) fn reset(self) {
        self.socket().arm_reset();
        drop(self);
    }
}

macro_rules! each {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Plain($stream) => $call,
            Stream::Tls($stream) => $call,
            Stream::Behind(_, $stream) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Stream::Behind(read, _) = &mut *self
            && !read.is_empty()
        {
            let n = read.len().min(buf.remaining());
            buf.put_slice(&read.split_to(n));
            return Poll::Ready(Ok(()));
        }
        each!(self, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
            Self::Behind(_, stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
