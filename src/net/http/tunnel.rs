//! A connection that goes on as another protocol.

use bytes::Bytes;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use crate::net::stream::Stream;

/// Joins a client with whoever took the upgrade until both directions have ended; `unread` is what the client sent ahead.
pub(super) async fn join(mut stream: Stream, unread: Bytes, upgrade: OnUpgrade, stop: &CancellationToken) {
    let Ok(other) = upgrade.await else {
        return stream.cut(stop).await;
    };
    let mut other = TokioIo::new(other);
    let joined = async {
        other.write_all(&unread).await?;
        tokio::io::copy_bidirectional(&mut stream, &mut other).await
    };
    tokio::select! {
        _ = joined => {}
        () = stop.cancelled() => {}
    }
    stream.close(stop).await;
}
