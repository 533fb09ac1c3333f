//! How a connection ends, exactly.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::stream::Stream;
use crate::faults::How;

/// Says how a connection ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// As a fault wants it; the token is cancelled by a reset of the attempt's world, which lets a hang go.
    Fault(How, CancellationToken),
    /// The client is gone: nothing is left to say to it.
    Gone,
    /// In order.
    Close,
}

impl Ending {
    /// Ends the connection; comes back when it is over.
    pub(crate) async fn apply(self, stream: Stream, stop: &CancellationToken, hang_cap: Duration) {
        match self {
            Self::Close | Self::Fault(How::Close, _) => stream.close(stop).await,
            Self::Fault(How::Reset, _) => stream.reset(),
            Self::Fault(How::Truncate { .. }, _) => stream.cut(stop).await,
            Self::Fault(How::Hang, over) => {
                let socket = stream.socket();
                tokio::select! {
                    () = socket.left() => {}
                    () = stop.cancelled() => {}
                    () = over.cancelled() => {}
                    () = tokio::time::sleep(hang_cap) => {}
                }
                drop(socket);
                stream.cut(stop).await;
            }
            Self::Gone => drop(stream),
        }
    }
}
