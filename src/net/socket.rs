//! One connection's socket: shared by `Arc`, never by a second descriptor, so that an ending is the kernel's and nobody holds it back.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// How long a closing side reads on, so that unread request bytes do not turn its FIN into an RST.
const DRAIN: Duration = Duration::from_millis(500);
/// The same while the suite stops, which has to end in time.
const HURRIED_DRAIN: Duration = Duration::from_millis(100);

/// Is a handle of one TCP connection; clones share the descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Socket(Arc<TcpStream>);

impl Socket {
    /// Takes an accepted connection.
    #[must_use]
    pub(crate) fn new(stream: TcpStream) -> Self {
        // An answer is small and must leave when it is written: a truncated one has no later byte that would push it out.
        drop(stream.set_nodelay(true));
        Self(Arc::new(stream))
    }

    /// Returns our address.
    ///
    /// # Errors
    ///
    /// Fails if the connection is gone.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits until the client has left: its FIN or RST arrived, whatever bytes wait unread before it.
    ///
    /// On Linux `READABLE` would spin while unread bytes wait; priority and error readiness tell of the end alone.
    pub(crate) async fn left(&self) {
        loop {
            match self.0.ready(Interest::PRIORITY | Interest::ERROR).await {
                Ok(ready) if ready.is_read_closed() || ready.is_error() => return,
                Ok(_) => tokio::task::yield_now().await,
                Err(_) => return,
            }
        }
    }

    /// Sends a FIN and reads on for a moment, so that it stays one.
    pub(crate) async fn close(self, stop: &CancellationToken) {
        drop(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write));
        let drained = async {
            let mut sink = [0; 16 * 1024];
            loop {
                if self.0.readable().await.is_err() {
                    return;
                }
                match self.0.try_read(&mut sink) {
                    Ok(0) => return,
                    Ok(_) => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        };
        tokio::select! {
            () = drained => {}
            () = patience(stop) => {}
        }
    }

    /// Makes the drop of the last handle send an RST.
    pub(crate) fn arm_reset(&self) {
        drop(SockRef::from(&*self.0).set_linger(Some(Duration::ZERO)));
    }
}

/// Waits as long as the end of a connection may take.
pub(crate) async fn patience(stop: &CancellationToken) {
    let hurried = async {
        stop.cancelled().await;
        tokio::time::sleep(HURRIED_DRAIN).await;
    };
    tokio::select! {
        () = tokio::time::sleep(DRAIN) => {}
        () = hurried => {}
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buf.initialize_unfilled()) {
                Ok(n) => {
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(bufs) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}
