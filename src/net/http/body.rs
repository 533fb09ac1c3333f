//! Bodies in both directions.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::attempt::{Budget, Flow};
use crate::net::wire::Gauge;

/// Says why a body did not become whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It is larger than bodies may be.
    TooLarge,
    /// Too many bytes are arriving at once.
    NoRoom,
    /// It came too slowly.
    Idle,
    /// Its framing is broken.
    Malformed,
    /// The client left.
    Cut,
}

impl Broken {
    /// Returns the status that says so.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            Self::Idle => StatusCode::REQUEST_TIMEOUT,
            Self::Malformed | Self::Cut => StatusCode::BAD_REQUEST,
        }
    }

    /// Says so in words.
    pub(crate) fn text(self, limit: u64) -> String {
        match self {
            Self::TooLarge => format!("the body is larger than {limit} bytes"),
            Self::NoRoom => "too many bytes of bodies are arriving at once".to_owned(),
            Self::Idle => "the body came too slowly".to_owned(),
            Self::Malformed => "the framing of the body is broken".to_owned(),
            Self::Cut => "the body broke off".to_owned(),
        }
    }
}

/// Reads a whole body within its limits.
///
/// # Errors
///
/// Fails as [`Broken`] says; what was read is forgotten.
pub(crate) async fn read(mut incoming: Incoming, limit: u64, budget: &Budget, idle: Duration) -> Result<Bytes, Broken> {
    if incoming.size_hint().lower() > limit {
        return Err(Broken::TooLarge);
    }
    let mut share = budget.share();
    let mut whole = BytesMut::new();
    loop {
        let frame = match tokio::time::timeout(idle, incoming.frame()).await {
            Err(_) => return Err(Broken::Idle),
            Ok(Some(Err(error))) if is_malformed(&error) => return Err(Broken::Malformed),
            Ok(Some(Err(_))) => return Err(Broken::Cut),
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if (whole.len() + data.len()) as u64 > limit {
            return Err(Broken::TooLarge);
        }
        if !share.take(data.len() as u64) {
            return Err(Broken::NoRoom);
        }
        whole.extend_from_slice(&data);
    }
}

/// Says whether the client sent what it must not, rather than too little.
pub(crate) fn is_malformed(error: &hyper::Error) -> bool {
    cause(error).is_some_and(|e| matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData))
}

/// Says whether a body broke off at the client, and not because its connection was given up here.
pub(crate) fn is_of_client(error: &hyper::Error) -> bool {
    cause(error).is_some()
}

fn cause(error: &hyper::Error) -> Option<&io::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Is the body of any answer.
#[derive(Debug)]
pub(crate) enum Outbound {
    /// A provider's, measured.
    Measured {
        /// What is left of it.
        bytes: Option<Bytes>,
        /// What is told of its end.
        gauge: Gauge,
    },
    /// One that passes through a relay, measured.
    Passing {
        /// What is still to come of it.
        body: Flow,
        /// What is told of its end.
        gauge: Gauge,
    },
    /// The suite's own.
    Own(axum::body::Body),
    /// That of a host to which a request was forwarded.
    Forwarded(Incoming),
}

impl Body for Outbound {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.get_mut() {
            Self::Own(body) => Pin::new(body).poll_frame(cx),
            Self::Forwarded(body) => Pin::new(body).poll_frame(cx).map_err(axum::Error::new),
            Self::Passing { body, gauge } => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                let is_last = match &frame {
                    None => true,
                    Some(frame) => frame.as_ref().is_ok_and(Frame::is_trailers),
                };
                if is_last {
                    gauge.body_over();
                }
                Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)))
            }
            Self::Measured { bytes, gauge } => match bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => {
                    gauge.body_over();
                    Poll::Ready(None)
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_end_stream(),
            Self::Forwarded(body) => body.is_end_stream(),
            Self::Passing { body, .. } => body.is_end_stream(),
            Self::Measured { bytes, .. } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => body.size_hint(),
            Self::Forwarded(body) => body.size_hint(),
            Self::Passing { body, .. } => body.size_hint(),
            Self::Measured { bytes, .. } => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
        }
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        // hyper never polls the body of an answer to HEAD, nor of a 204: there the drop is the end.
        match self {
            Self::Measured { gauge, .. } => gauge.body_over(),
            Self::Passing { body, gauge } if body.is_end_stream() => gauge.body_over(),
            Self::Passing { .. } | Self::Own(_) | Self::Forwarded(_) => {}
        }
    }
}
