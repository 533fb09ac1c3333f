//! The wait: until everything holds and is quiet, then on for late effects. Woken by every change; nothing is polled.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::look::{Changes, Look};
use super::subject::{Subject, Tally};
use super::verdict::{Ended, Verdict};
use super::{Error, Expectation, Options, Sources};

/// Is one call's wait.
pub(super) struct Wait<'a> {
    pub(super) sources: &'a Sources,
    pub(super) options: &'a Options,
    pub(super) settle: Duration,
    pub(super) expectations: &'a [Expectation],
}

/// Says what to do after a look.
enum Next {
    /// Wait for a change, at most until then.
    Wait(Instant),
    /// Say yes, if all is still as it was seen.
    Hold,
    /// Say no.
    Fail(Ended),
}

/// Is how far the wait has come.
struct Progress {
    began: Instant,
    /// Since when nothing has changed.
    still: Instant,
    /// Since when everything holds and was quiet long enough.
    held: Option<Instant>,
}

impl Wait<'_> {
    pub(super) async fn run(&self) -> Result<Verdict, Error> {
        // Subscribed before the first look: a change in between wakes.
        let mut changes = self.sources.changes();
        let began = Instant::now();
        self.sources.store.ledger().settle_answers().await;
        let mut look = self.look(&mut changes);
        let now = Instant::now();
        let mut progress = Progress {
            began,
            still: now,
            held: None,
        };
        loop {
            let next = self.next(&look, &mut progress, Instant::now());
            let seen = match next {
                Next::Wait(until) => {
                    tokio::select! {
                        biased;
                        () = self.sources.stop.cancelled() => return Err(Error::Stopping),
                        () = changes.next() => {}
                        () = sleep_until(until) => {}
                    }
                    self.look(&mut changes)
                }
                Next::Hold => {
                    let verdict = self.verdict(&look, Ended::Held, &progress);
                    let again = self.look(&mut changes);
                    if again == look {
                        return Ok(verdict);
                    }
                    // It changed while the evidence was gathered.
                    again
                }
                Next::Fail(ended) => return Ok(self.verdict(&look, ended, &progress)),
            };
            if seen != look {
                progress.still = Instant::now();
                look = seen;
            }
        }
    }

    fn look(&self, changes: &mut Changes) -> Look {
        let rules = self.expectations.contains(&Expectation::AllFaultsFired);
        self.sources.look(self.options.scope.as_ref(), rules, changes)
    }

    /// Decides after a look.
    fn next(&self, look: &Look, progress: &mut Progress, now: Instant) -> Next {
        let Options { timeout, watch, .. } = *self.options;
        let holds = self.expectations.iter().all(|expectation| look.judge(expectation).2);
        let quiet = look.unfinished() == 0 || self.lets_be_unfinished();
        let settled = progress.still + self.settle;
        if progress.held.is_none() && holds && quiet && now >= settled {
            progress.held = Some(now);
        }
        let until = match progress.held {
            None if now >= progress.began + timeout => return Next::Fail(Ended::Timeout),
            None if holds && quiet => settled.min(progress.began + timeout),
            None => progress.began + timeout,
            Some(held) => {
                // What is in flight at the end may still have its effect: it is waited for, but not for ever.
                let last = held.max(progress.began + timeout) + watch;
                match now {
                    _ if !holds => return Next::Fail(Ended::Late { held: now - held }),
                    now if now < held + watch => held + watch,
                    _ if quiet => return Next::Hold,
                    now if now >= last => return Next::Fail(Ended::Timeout),
                    _ => last,
                }
            }
        };
        Next::Wait(self.expiry(now).map_or(until, |expiry| expiry.min(until)))
    }

    /// Says whether an expectation could never hold while nothing is in flight: then it says itself what may be.
    fn lets_be_unfinished(&self) -> bool {
        self.expectations.iter().any(|expectation| {
            matches!(
                expectation,
                Expectation::Count {
                    subject: Subject::Attempts { tally: Tally::InFlight | Tally::Open, .. },
                    operator,
                    number,
                } if !operator.holds(0, *number)
            )
        })
    }

    /// Returns when the next rule expires, if that is counted: it is a change that nobody makes.
    fn expiry(&self, now: Instant) -> Option<Instant> {
        let counted = |expectation: &Expectation| {
            matches!(
                expectation,
                Expectation::Count {
                    subject: Subject::FaultsArmed,
                    ..
                }
            )
        };
        let left = self
            .expectations
            .iter()
            .any(counted)
            .then(|| self.sources.rules.until_expiry())??;
        Some(now + left)
    }

    fn verdict(&self, look: &Look, ended: Ended, progress: &Progress) -> Verdict {
        Verdict::of(self, look, ended, progress.began.elapsed())
    }
}
