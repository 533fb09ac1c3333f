//! One connection: opened, then used for one request.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio_util::task::AbortOnDropHandle;

use super::meter::{Marks, Meter, Metered, Stream};
use super::{LARGEST_ANSWER, Parcel, Target, Trouble, What};

/// Is a connection that has sent nothing of a request yet. Dropping it closes it.
pub struct Opened {
    target: Target,
    address: SocketAddr,
    meter: Meter,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: AbortOnDropHandle<()>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Is the head of an answer; its body may still be on the way.
#[derive(Debug)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: AbortOnDropHandle<()>,
}

impl Opened {
    pub(super) async fn new(target: Target, address: SocketAddr, stream: Box<dyn Stream>) -> Result<Self, Trouble> {
        let meter = Meter::default();
        let metered = Metered {
            stream,
            meter: meter.clone(),
        };
        let shaken = http1::Builder::new()
            .max_buf_size(LARGEST_ANSWER)
            .handshake(TokioIo::new(metered))
            .await;
        let (sender, connection) = shaken.map_err(|error| Trouble::of_exchange(&error))?;
        // What goes wrong is told to whoever waits for the answer.
        let driver = AbortOnDropHandle::new(tokio::spawn(async { drop(connection.await) }));
        Ok(Self {
            target,
            address,
            meter,
            sender,
            driver,
        })
    }

    /// Returns the address that it is connected to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the receiver has left it.
    #[cfg(test)]
    pub(super) async fn closed(&self) {
        while !self.sender.is_closed() {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(mut self, parcel: &Parcel) -> Result<Head, Trouble> {
        let request = parcel.request(&self.target);
        let request = request.map_err(|error| Trouble::new(What::Protocol, error.to_string()))?;
        let answer = self.sender.send_request(request).await;
        let answer = answer.map_err(|error| Trouble::of_exchange(&error))?;
        let (head, body) = answer.into_parts();
        Ok(Head {
            status: head.status,
            headers: head.headers,
            body,
            sender: self.sender,
            driver: self.driver,
        })
    }
}

impl Head {
    /// Reads the rest of the answer into a buffer, within its bound.
    pub(super) async fn rest(mut self, read: &mut BytesMut) -> Result<(), Trouble> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| Trouble::of_exchange(&error))?;
            let Some(data) = frame.data_ref() else { continue };
            let room = LARGEST_ANSWER - read.len();
            read.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                let words = format!("the answer has more than {LARGEST_ANSWER} bytes; the rest was not read");
                return Err(Trouble::new(What::TooLarge, words));
            }
        }
        drop((self.sender, self.driver));
        Ok(())
    }
}

impl Marks {
    /// Says whether anything of the request left.
    pub(super) fn anything_sent(&self) -> bool {
        self.written > 0
    }
}
