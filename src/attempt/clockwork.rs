//! The clockwork: wakes a world when something in it is due, by time passing or because its clock was advanced, and lets the providers
//! that keep a schedule run it.
//!
//! Nothing polls: while nothing is due it sleeps until the first moment in which something is, or until that changes. What it runs is an
//! attempt in the ledger, for its effects are counted like any other; nobody waits for its answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Operation, Provider, Way};
use crate::ledger::{Arrival, Fate, Outcome, Peer};
use crate::store::{Decision, Scope, Ticket, Tx};

/// The operation as which work of a provider's own is counted. No client asks for it, so that no rule can meet it.
pub const SCHEDULE: &str = "schedule.run";
/// The longest sleep: the machine's clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);
/// How long it leaves what is due and what nobody takes.
const PAUSE: Duration = Duration::from_secs(1);
/// How long [`Way::caught_up`] waits at most.
const CATCHING_UP: Duration = Duration::from_secs(30);

/// Is a provider that has work of its own to do when its time comes.
pub trait Scheduled: Provider {
    /// Names the operation as which such work is counted.
    fn scheduled(&self) -> &'static Operation;

    /// Says whether there is work that is due.
    fn has_due(&self, tx: &Tx<'_>) -> bool;

    /// Runs work that is due, the earliest first, and takes it off the schedule. It may leave some for the next call, which follows at once.
    /// It may be run again.
    fn run_due(&self, tx: &mut Tx<'_>);
}

/// Is whatever has something to do when a world is woken.
pub trait Woken: Send + Sync {
    /// Does what is due in a world; says whether anything was.
    fn wake<'w>(&'w self, way: &'w Way, scope: &'w Scope) -> BoxFuture<'w, bool>;
}

/// Gathers what is to be woken; [`run`](Self::run) is the task.
#[derive(Default)]
pub struct Clockwork(Vec<Box<dyn Woken>>);

impl std::fmt::Debug for Clockwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clockwork").field(&self.0.len()).finish()
    }
}

impl Clockwork {
    /// Takes a provider in.
    #[must_use]
    pub fn and<P: Scheduled>(self, provider: &Arc<P>) -> Self {
        self.and_wake(Schedule(Arc::clone(provider)))
    }

    /// Takes something else in that is to be woken.
    #[must_use]
    pub fn and_wake(mut self, woken: impl Woken + 'static) -> Self {
        self.0.push(Box::new(woken));
        self
    }

    /// Wakes what is due, one world at a time, until the suite stops.
    pub async fn run(self, way: Way) {
        let mut changes = way.store.due_changes();
        loop {
            changes.mark_unchanged();
            let first = way.store.first_due(None);
            let pause = match first {
                None => None,
                Some((at, scope)) => match Duration::try_from(at - way.store.now(None)) {
                    Ok(left) if !left.is_zero() => Some(left.min(LONGEST_SLEEP)),
                    _ if self.wake(&way, &scope).await => Some(Duration::ZERO),
                    _ => Some(PAUSE),
                },
            };
            let pause = async {
                match pause {
                    Some(Duration::ZERO) => tokio::task::yield_now().await,
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = way.stop.cancelled() => return,
                _ = changes.changed() => {}
                () = pause => {}
            }
        }
    }

    async fn wake(&self, way: &Way, scope: &Scope) -> bool {
        let mut any = false;
        for woken in &self.0 {
            any |= woken.wake(way, scope).await;
        }
        any
    }
}

impl Way {
    /// Waits until what is due by now, in one world or in all, has been run; gives up after half a minute or when the suite stops.
    pub async fn caught_up(&self, scope: Option<&Scope>) {
        let mut changes = self.store.due_changes();
        let by = self.store.now(None);
        let none_left = async {
            loop {
                changes.mark_unchanged();
                match self.store.first_due(scope) {
                    Some((at, _)) if at <= by => {}
                    _ => return,
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = none_left => {}
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(CATCHING_UP) => {}
        }
    }
}

/// Is the schedule of one provider.
struct Schedule<P>(Arc<P>);

impl<P: Scheduled> Woken for Schedule<P> {
    fn wake<'w>(&'w self, way: &'w Way, scope: &'w Scope) -> BoxFuture<'w, bool> {
        async move {
            let about = self.0.about();
            let operation = self.0.scheduled().name;
            let arrival = Arrival {
                provider: about.name.into(),
                class: about.class,
                operation: operation.into(),
                line: operation.into(),
                peer: Peer::NOBODY,
            };
            let begun = way.store.begin_if(scope, arrival, |tx| self.0.has_due(tx));
            match begun {
                Some(ticket) => self.run(ticket).await,
                None => return false,
            }
            true
        }
        .boxed()
    }
}

impl<P: Scheduled> Schedule<P> {
    /// Runs what is due, as one attempt. After a reset in between nothing of it is left to be run.
    async fn run(&self, mut ticket: Ticket) {
        ticket.set_fallback(Outcome::Failed);
        let run = ticket.transact(
            |tx| {
                self.0.run_due(tx);
                tx.has_effects()
            },
            |accepted, _| {
                let outcome = if *accepted { Outcome::Accepted } else { Outcome::Read };
                let correlations = Vec::new();
                (Some(Decision { outcome, correlations }), ())
            },
        );
        if run.await.is_ok() {
            ticket.finish(Fate::Answered);
        }
    }
}
