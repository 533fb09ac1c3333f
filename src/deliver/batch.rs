//! Several letters to one receiver: all in one moment, one after the other, or spaced.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::{Courier, Found, Gate, Going, Letter, Opened, Report, Trouble, Try, What};
use crate::store::{Scope, Store, TooManyScopes};

/// How long one batch may take, whatever was asked for.
pub const LONGEST_BATCH: Duration = Duration::from_secs(600);

/// Says when the letters of a batch go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All in one moment: every connection is opened first.
    AtOnce,
    /// One event after the other; the copies of each in one moment.
    InTurn,
    /// One copy so long after the other, whatever became of the first.
    Spaced(Duration),
}

/// Is what is sent to one receiver.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The events.
    pub letters: Vec<Arc<Letter>>,
    /// Which of them go, in this order; one may go several times.
    pub sequence: Vec<usize>,
    /// How many copies of each go.
    pub copies: usize,
    /// When they go.
    pub pace: Pace,
    /// How long to wait before the first.
    pub delay: Duration,
}

/// Says what became of one copy.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Which event it was a copy of.
    pub event: usize,
    /// How it went; a trouble here is one before the try had even begun, so that the ledger knows nothing of it.
    pub tried: Result<Report, Trouble>,
}

/// Is a batch on its way.
struct Errand<'a> {
    batch: &'a Batch,
    courier: &'a Courier,
    store: &'a Store,
    scope: &'a Scope,
    found: &'a Result<Found, Trouble>,
    gate: &'a dyn Gate,
    over: CancellationToken,
    began: Instant,
}

impl Batch {
    /// Sends it, and tells of every copy in the order of sending. What could not be resolved has failed once for each copy.
    ///
    /// # Errors
    ///
    /// Fails if the tries would need one scope too many.
    pub async fn send(
        &self,
        courier: &Courier,
        store: &Store,
        scope: &Scope,
        found: &Result<Found, Trouble>,
        gate: &dyn Gate,
    ) -> Result<Vec<Sent>, TooManyScopes> {
        let errand = Errand {
            batch: self,
            courier,
            store,
            scope,
            found,
            gate,
            over: store.over(scope),
            began: Instant::now(),
        };
        match self.pace {
            Pace::AtOnce => errand.at_once().await,
            Pace::InTurn => errand.in_turn().await,
            Pace::Spaced(gap) => errand.spaced(gap).await,
        }
    }

    /// Lists the events of all copies, in the order of sending.
    fn copies_of(&self, events: &[usize]) -> Vec<usize> {
        let each = |event: &usize| std::iter::repeat_n(*event, self.copies);
        events.iter().flat_map(each).collect()
    }
}

impl Errand<'_> {
    async fn at_once(&self) -> Result<Vec<Sent>, TooManyScopes> {
        let events = self.batch.copies_of(&self.batch.sequence);
        match self.wait_until(self.batch.delay).await {
            Ok(()) => self.release(&events).await,
            Err(trouble) => Ok(unsent(&events, &trouble)),
        }
    }

    async fn in_turn(&self) -> Result<Vec<Sent>, TooManyScopes> {
        let mut sent = Vec::new();
        let mut at = self.batch.delay;
        for event in &self.batch.sequence {
            let events = self.batch.copies_of(&[*event]);
            match self.wait_until(at).await {
                Ok(()) => sent.extend(self.release(&events).await?),
                Err(trouble) => sent.extend(unsent(&events, &trouble)),
            }
            at = self.began.elapsed();
        }
        Ok(sent)
    }

    async fn spaced(&self, gap: Duration) -> Result<Vec<Sent>, TooManyScopes> {
        let events = self.batch.copies_of(&self.batch.sequence);
        let each = events.iter().zip(0..).map(async |(event, n)| {
            let at = self.batch.delay.saturating_add(gap.saturating_mul(n));
            match self.wait_until(at).await {
                Ok(()) => self.release(&[*event]).await,
                Err(trouble) => Ok(unsent(&[*event], &trouble)),
            }
        });
        let sent: Result<Vec<_>, _> = join_all(each).await.into_iter().collect();
        Ok(sent?.into_iter().flatten().collect())
    }

    /// Opens a connection for each of these, and when all are open, or have failed, lets them go in one moment.
    ///
    /// All in one task: to wake and schedule a task for each would take many times longer than to write from one after the other.
    async fn release(&self, events: &[usize]) -> Result<Vec<Sent>, TooManyScopes> {
        let begin = |event: &usize| Try::begin(self.store, self.scope, &self.batch.letters[*event], self.began);
        let tries: Vec<Try> = events.iter().map(begin).collect::<Result<_, _>>()?;
        let ask = |(event, tried): (&usize, Try)| self.gate.ask(tried, &self.batch.letters[*event]);
        let going: Vec<Going> = events.iter().zip(tries).map(ask).collect();
        let together = going.iter().filter(|going| matches!(going, Going::Together(..)));
        let start = Barrier::new(together.count());
        let each = events.iter().zip(going).map(async |(event, going)| {
            let report = match going {
                Going::Together(tried, letter) => self.send(tried, &letter, Some(&start)).await,
                Going::Alone(going) => match going.await {
                    Ok((tried, letter)) => self.send(tried, &letter, None).await,
                    Err(report) => report,
                },
            };
            let event = *event;
            Sent {
                event,
                tried: Ok(report),
            }
        });
        Ok(join_all(each).await)
    }

    /// Sends one copy, in the moment in which all have come to the start, if there is one.
    async fn send(&self, mut tried: Try, letter: &Letter, start: Option<&Barrier>) -> Report {
        let arrive = async || {
            if let Some(start) = start {
                start.wait().await;
            }
        };
        match self.open(&mut tried).await {
            Ok(mut opened) => {
                opened.wait(arrive()).await;
                tried.carry(self.courier, opened, letter).await
            }
            Err(trouble) => {
                let report = tried.fail(trouble);
                arrive().await;
                report
            }
        }
    }

    async fn open(&self, tried: &mut Try) -> Result<Opened, Trouble> {
        match self.found {
            Ok(found) => tried.open(self.courier, found).await,
            Err(trouble) => Err(trouble.clone()),
        }
    }

    /// Waits until so long after the begin, unless the suite stops, the scope is reset, or the whole takes too long.
    async fn wait_until(&self, at: Duration) -> Result<(), Trouble> {
        if at > LONGEST_BATCH {
            let words = format!("not sent: the whole takes more than {}s", LONGEST_BATCH.as_secs());
            return Err(Trouble::new(What::Timeout, words));
        }
        tokio::select! {
            biased;
            () = self.over.cancelled() => Err(Trouble::stopped()),
            () = self.courier.stop().cancelled() => Err(Trouble::stopped()),
            () = tokio::time::sleep_until((self.began + at).into()) => Ok(()),
        }
    }
}

fn unsent(events: &[usize], trouble: &Trouble) -> Vec<Sent> {
    let each = events.iter().map(|event| Sent {
        event: *event,
        tried: Err(trouble.clone()),
    });
    each.collect()
}
