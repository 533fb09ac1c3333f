//! One connection: opened, then used for one request.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::meter::{Marks, Meter, Metered, Stream};
use super::{LARGEST_ANSWER, Parcel, Target, Trouble, What};

/// How long a goodbye may take that has nobody to wait for.
const GOODBYE: Duration = Duration::from_millis(100);

/// Is a connection that has sent nothing of a request yet. Dropping it closes it.
pub struct Opened {
    target: Target,
    address: SocketAddr,
    meter: Meter,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
}

/// Drives the connection in the task of whoever waits for it: a task of its own would have to be woken and scheduled first, and copies
/// that are released in one moment would leave up to half a millisecond apart.
struct Driver(Option<Pin<Box<Connection>>>);

type Connection = http1::Connection<TokioIo<Metered>, Full<Bytes>>;

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Is the head of an answer; its body may still be on the way.
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
}

impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Head")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl Driver {
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Some(connection) = &mut self.0 {
            tokio::select! {
                biased;
                done = &mut work => return done,
                // What went wrong is told to the work, which waits for the answer.
                _ = connection => {}
            }
            self.0 = None;
        }
        work.await
    }

    /// Says goodbye, as far as that goes at once.
    async fn end(self) {
        if let Some(connection) = self.0 {
            drop(timeout(GOODBYE, connection).await);
        }
    }
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
        let driver = Driver(Some(Box::pin(connection)));
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

    /// Waits for the moment of release; a receiver that leaves before it is noticed.
    pub async fn wait<T>(&mut self, release: impl Future<Output = T>) -> T {
        self.driver.drive(release).await
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(mut self, parcel: &Parcel) -> Result<Head, Trouble> {
        let request = parcel.request(&self.target);
        let request = request.map_err(|error| Trouble::new(What::Protocol, error.to_string()))?;
        let answer = self.driver.drive(self.sender.send_request(request)).await;
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
        while let Some(frame) = self.driver.drive(self.body.frame()).await {
            let frame = frame.map_err(|error| Trouble::of_exchange(&error))?;
            let Some(data) = frame.data_ref() else { continue };
            let room = LARGEST_ANSWER - read.len();
            read.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                let words = format!("the answer has more than {LARGEST_ANSWER} bytes; the rest was not read");
                return Err(Trouble::new(What::TooLarge, words));
            }
        }
        drop(self.sender);
        self.driver.end().await;
        Ok(())
    }
}

impl Marks {
    /// Says whether anything of the request left.
    pub(super) fn anything_sent(&self) -> bool {
        self.written > 0
    }
}
