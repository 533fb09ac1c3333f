//! Waiting on purpose: holds and delays, and all that can end them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::holds::{Held, Release};
use super::notice::Ended;
use super::way::Way;
use crate::faults::How;

/// Says what to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Until released.
    Hold {
        /// How many gather until all of them go in one instant.
        barrier: Option<u16>,
    },
    /// So long; a client that leaves does not end it.
    Delay(Duration),
}

/// Says how a pause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// Go on.
    GoOn,
    /// Lose the answer so: released with drop, held too long, or the suite stops.
    Drop(How),
    /// The client left a hold.
    Left,
    /// The world was reset.
    Over,
}

impl Way {
    /// Pauses an attempt, or an SMTP session.
    pub async fn pause(&self, pause: Pause, held: Held, gone: &CancellationToken, over: &CancellationToken) -> Paused {
        match pause {
            Pause::Delay(delay) => tokio::select! {
                biased;
                () = over.cancelled() => Paused::Over,
                () = self.stop.cancelled() => Paused::Drop(How::Close),
                () = tokio::time::sleep(delay) => Paused::GoOn,
            },
            Pause::Hold { barrier } => {
                let mut hold = self.holds.enter(held, barrier, [gone.clone(), over.clone()]);
                let (paused, ended) = tokio::select! {
                    biased;
                    () = over.cancelled() => (Paused::Over, Ended::Reset),
                    release = &mut hold.release => match release {
                        Ok(Release::Answer) => (Paused::GoOn, Ended::Answer),
                        Ok(Release::Drop(how)) => (Paused::Drop(how), Ended::Drop(how)),
                        Err(_) => (Paused::Over, Ended::Reset),
                    },
                    () = gone.cancelled() => (Paused::Left, Ended::Left),
                    () = self.stop.cancelled() => (Paused::Drop(How::Close), Ended::Stopped),
                    () = tokio::time::sleep(self.hang_cap) => (Paused::Drop(How::Close), Ended::Expired),
                };
                hold.ended = ended;
                paused
            }
        }
    }
}
