//! An answer's body on its way from the upstream: measured, its beginning recorded, and taken in to its end whatever the client does.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::upload::{RECORDED, Received};
use crate::ledger::{Ledger, Recorded, secrets};

/// Says why an answer did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokenOff {
    #[error("the upstream broke off: {0}")]
    Upstream(#[from] hyper::Error),
    #[error("the upstream was silent for too long")]
    Silent,
    #[error("the upstream had not said all when nobody had listened for {0:?}")]
    Endless(Duration),
}

/// Is an answer's body on its way; what is left of it when it is dropped is taken in all the same.
#[derive(Debug)]
pub(super) struct Download {
    /// None once its end has come, or was left to a task.
    coming: Option<Box<Coming>>,
    /// How long what is left of it is taken in.
    cap: Duration,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Coming {
    incoming: Incoming,
    bytes: u64,
    part: BytesMut,
    idle: Duration,
    silence: Pin<Box<Sleep>>,
    ledger: Ledger,
    id: u64,
    received: Arc<Received>,
}

impl Download {
    pub(super) fn new(
        incoming: Incoming,
        received: Arc<Received>,
        (ledger, id): (Ledger, u64),
        (idle, cap): (Duration, Duration),
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let mut download = Self {
            coming: Some(Box::new(Coming {
                incoming,
                bytes: 0,
                part: BytesMut::new(),
                idle,
                silence: Box::pin(tokio::time::sleep(idle)),
                ledger,
                id,
                received,
            })),
            cap,
            tasks,
            stop,
        };
        download.look_for_end();
        download
    }

    fn look_for_end(&mut self) {
        if self
            .coming
            .as_ref()
            .is_some_and(|coming| coming.incoming.is_end_stream())
        {
            self.end(None);
        }
    }

    fn end(&mut self, note: Option<String>) {
        if let Some(coming) = self.coming.take() {
            coming.end(note);
        }
    }
}

impl Coming {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.bytes += data.len() as u64;
                    let room = RECORDED.saturating_sub(self.part.len());
                    self.part.extend_from_slice(&data[..room.min(data.len())]);
                }
                self.silence.as_mut().reset(Instant::now() + self.idle);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                ready!(self.silence.as_mut().poll(cx));
                Poll::Ready(Some(Err(BrokenOff::Silent)))
            }
        }
    }

    /// Takes in what is left.
    async fn drain(mut self, cap: Duration, stop: CancellationToken) {
        let drained = async {
            loop {
                match std::future::poll_fn(|cx| self.poll_frame(cx)).await {
                    Some(Ok(_)) => tokio::task::consume_budget().await,
                    Some(Err(broken)) => return Some(broken.to_string()),
                    None => return None,
                }
            }
        };
        let note = tokio::select! {
            () = stop.cancelled() => Some("the suite stopped before the upstream had said all".to_owned()),
            () = tokio::time::sleep(cap) => Some(BrokenOff::Endless(cap).to_string()),
            note = drained => note,
        };
        self.end(note);
    }

    fn end(self, note: Option<String>) {
        let Self {
            bytes,
            part,
            ledger,
            id,
            received,
            ..
        } = self;
        received.over.cancel();
        let part = secrets::clean_bytes(&part).into_owned();
        let body = ledger.keep(Bytes::new(), part.into(), false);
        ledger.update(id, |entry| {
            if let Some(answer) = &mut entry.answer {
                answer.content = Recorded::Body(body);
            }
            entry.note_relayed(|relayed, now| {
                relayed.down = bytes;
                relayed.last_byte = Some(now);
            });
            entry.notes.extend(note);
        });
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let this = self.get_mut();
        let Some(coming) = &mut this.coming else {
            return Poll::Ready(None);
        };
        let frame = ready!(coming.poll_frame(cx));
        match &frame {
            None => this.end(None),
            Some(Err(broken)) => this.end(Some(broken.to_string())),
            // Nothing comes behind trailers.
            Some(Ok(frame)) if frame.is_trailers() => this.end(None),
            Some(Ok(_)) => this.look_for_end(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.coming.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let coming = self.coming.as_ref();
        coming.map_or_else(|| SizeHint::with_exact(0), |coming| coming.incoming.size_hint())
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let Some(coming) = self.coming.take() else {
            return;
        };
        match tokio::runtime::Handle::try_current() {
            Ok(_) => drop(self.tasks.spawn(coming.drain(self.cap, self.stop.clone()))),
            Err(_) => coming.end(None),
        }
    }
}

/// Boxes a body as answers carry it.
pub(super) fn flow(download: Download) -> crate::attempt::Flow {
    download.map_err(Into::into).boxed()
}
