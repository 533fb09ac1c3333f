//! One thing being sent: what the rules say about it, and the way of each of its tries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use time::OffsetDateTime;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{End, Outbox, Post, Seal};
use crate::attempt::asked::fired;
use crate::attempt::holds::{Held, Release};
use crate::attempt::notice::Ended;
use crate::attempt::{Pause, Paused, Way, sent};
use crate::deliver::{Courier, Letter, Trouble, Try, Witness};
use crate::faults::{Action, Tamper, Verdict};
use crate::ledger::Outcome;
use crate::store::{Scope, Ticket, Tx};

/// Is one thing on its way, in one try or in several at once.
pub(super) struct Errand<O> {
    pub(super) outbox: Arc<O>,
    pub(super) courier: Courier,
    pub(super) permits: Arc<Semaphore>,
    pub(super) way: Way,
    pub(super) scope: Scope,
    pub(super) post: Post,
    pub(super) letter: Letter,
    pub(super) began: Instant,
}

/// Is its first try, with what the rules said.
pub(super) struct Taken {
    tried: Try,
    verdict: Option<Verdict>,
}

/// Looks on as a try is decided: asks the rules about the receiver's acceptance, and notes the end.
struct Judge<O> {
    outbox: Arc<O>,
    way: Way,
    post: Post,
    letter: Letter,
    /// Whether a `pass` has won already.
    exempt: bool,
    /// Whether it is to be forgotten however it ends.
    forgotten: bool,
}

impl<O: Outbox> Errand<O> {
    /// Asks the rules about it, and takes it out of the outbox; none after a reset.
    pub(super) async fn take(&self, mut tried: Try) -> Option<Taken> {
        let verdict = sent::ask(&self.way.rules, tried.ticket(), &self.letter, None, false)?;
        let tries = match &verdict {
            Some(Verdict {
                action: Action::Tamper(Tamper::Copies(copies)),
                ..
            }) => *copies,
            _ => 1,
        };
        let taken = tried
            .ticket()
            .transact(|tx| self.outbox.take(tx, &self.post, tries), |(), _| (None, ()));
        taken.await.ok()?;
        if let Some(verdict) = &verdict {
            tried.ticket().note_fired(fired(verdict));
        }
        Some(Taken { tried, verdict })
    }

    /// Carries it out.
    pub(super) async fn run(self, taken: Taken) {
        let Taken { tried, verdict } = taken;
        let action = verdict.as_ref().map(|verdict| verdict.action.clone());
        let exempt = action == Some(Action::Pass);
        let forgotten = action == Some(Action::Tamper(Tamper::Never));
        let judge = self.judge(exempt, forgotten);
        let tried = tried.watched(judge.clone());
        let seal = match action {
            Some(Action::Fail(_) | Action::Tamper(Tamper::Never)) => return drop(tried.keep_back(&self.letter).await),
            Some(Action::Tamper(Tamper::Copies(copies))) => return self.send_copies(tried, copies, &judge).await,
            Some(Action::Tamper(Tamper::WrongSecret)) => Seal::WrongSecret,
            Some(Action::Tamper(Tamper::Aged(age))) => {
                Seal::Aged(time::Duration::try_from(age).unwrap_or(time::Duration::MAX))
            }
            _ => Seal::Right,
        };
        let Some(tried) = self.wait(tried, verdict.as_ref()).await else {
            return;
        };
        self.send(tried, seal).await;
    }

    fn judge(&self, exempt: bool, forgotten: bool) -> Arc<Judge<O>> {
        Arc::new(Judge {
            outbox: Arc::clone(&self.outbox),
            way: self.way.clone(),
            post: self.post.clone(),
            letter: self.letter.clone(),
            exempt,
            forgotten,
        })
    }

    /// Waits as the rule says; none where that ended it.
    async fn wait(&self, mut tried: Try, verdict: Option<&Verdict>) -> Option<Try> {
        let Some(verdict) = verdict.filter(|verdict| makes_wait(&verdict.action)) else {
            return Some(tried);
        };
        let over = tried.ticket().over().clone();
        let held = sent::held(tried.ticket(), &self.letter, verdict);
        let paused = match verdict.action {
            Action::Tamper(Tamper::Behind(others, most)) => self.let_others_go_first(held, others, most, &over).await,
            Action::Delay(delay) => self.pause(Pause::Delay(delay), held, &over).await,
            Action::Hold { barrier } => self.pause(Pause::Hold { barrier }, held, &over).await,
            _ => Paused::GoOn,
        };
        match paused {
            Paused::GoOn => Some(tried),
            Paused::Drop(_) => {
                drop(tried.keep_back(&self.letter).await);
                None
            }
            Paused::Left | Paused::Over => None,
        }
    }

    async fn pause(&self, pause: Pause, held: Held, over: &CancellationToken) -> Paused {
        // Nobody waits for it who could leave.
        self.way.pause(pause, held, &CancellationToken::new(), over).await
    }

    /// Waits until so many others have reached the same receiver, or long enough.
    async fn let_others_go_first(&self, held: Held, others: u32, most: Duration, over: &CancellationToken) -> Paused {
        let reached = || {
            self.way
                .store
                .read(&self.scope, |tx| self.outbox.reached(tx, &self.post))
        };
        let mut changes = self.way.store.ledger().subscribe();
        let enough = reached() + u64::from(others);
        let passed = async { while reached() < enough && changes.changed().await.is_ok() {} };
        let mut hold = self
            .way
            .holds
            .enter(held, None, [CancellationToken::new(), over.clone()]);
        let (paused, ended) = tokio::select! {
            biased;
            () = over.cancelled() => (Paused::Over, Ended::Reset),
            () = self.way.stop.cancelled() => (Paused::Over, Ended::Stopped),
            release = &mut hold.release => match release {
                Ok(Release::Answer) => (Paused::GoOn, Ended::Answer),
                Ok(Release::Drop(how)) => (Paused::Drop(how), Ended::Drop(how)),
                Err(_) => (Paused::Over, Ended::Reset),
            },
            () = passed => (Paused::GoOn, Ended::Answer),
            () = tokio::time::sleep(most) => (Paused::GoOn, Ended::Expired),
        };
        hold.ended = ended;
        paused
    }

    /// Sends it once.
    async fn send(&self, mut tried: Try, seal: Seal) {
        let Ok(_permit) = self.permits.acquire().await else {
            return;
        };
        match self.open(&mut tried).await {
            Ok(opened) => {
                let letter = self.sealed(seal);
                drop(tried.carry(&self.courier, opened, &letter).await);
            }
            Err(trouble) => drop(tried.give_up(trouble, &self.letter).await),
        }
    }

    async fn open(&self, tried: &mut Try) -> Result<crate::deliver::Opened, Trouble> {
        let found = tried
            .unless_over(&self.courier, self.courier.find(&self.post.target))
            .await?;
        tried.open(&self.courier, &found).await
    }

    /// Signs it as of now: after a wait the receiver must not take it for an old one.
    fn sealed(&self, seal: Seal) -> Letter {
        self.letter
            .repacked(self.outbox.parcel(&self.post, seal, OffsetDateTime::now_utc()))
    }

    /// Sends it in copies: all connections are opened first, and then all are used in one moment.
    async fn send_copies(&self, first: Try, copies: u32, judge: &Arc<Judge<O>>) {
        let Ok(_permits) = self.permits.acquire_many(copies).await else {
            return;
        };
        let mut tries = vec![first];
        for _ in 1..copies {
            let begun = Try::begin_if(&self.way.store, &self.scope, &self.letter, self.began, |tx| {
                self.outbox.is_taken(tx, &self.post)
            });
            tries.extend(begun.map(|tried| tried.watched(judge.clone())));
        }
        let opening = tries.into_iter().map(|mut tried| async {
            let opened = self.open(&mut tried).await;
            (tried, opened)
        });
        let opened = join_all(opening).await;
        let letter = self.sealed(Seal::Right);
        let sending = opened.into_iter().map(|(tried, opened)| async {
            match opened {
                Ok(opened) => drop(tried.carry(&self.courier, opened, &letter).await),
                Err(trouble) => drop(tried.give_up(trouble, &self.letter).await),
            }
        });
        join_all(sending).await;
    }
}

fn makes_wait(action: &Action) -> bool {
    matches!(
        action,
        Action::Hold { .. } | Action::Delay(_) | Action::Tamper(Tamper::Behind(..))
    )
}

impl<O: Outbox> Witness for Judge<O> {
    fn keeps_back(&self, ticket: &Ticket) -> bool {
        if self.exempt {
            return false;
        }
        let asked = sent::ask(&self.way.rules, ticket, &self.letter, Some(Outcome::Accepted), false);
        let Some(Some(verdict)) = asked else { return false };
        ticket.note_fired(fired(&verdict));
        matches!(verdict.action, Action::Drop(_))
    }

    fn settle(&self, tx: &mut Tx<'_>, outcome: Outcome, withheld: bool) {
        let end = match outcome {
            _ if self.forgotten => End::Forgotten,
            Outcome::Accepted if !withheld => End::Delivered,
            _ => End::Failed,
        };
        self.outbox.settle(tx, &self.post, end);
    }
}

impl<O> std::fmt::Debug for Judge<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge")
            .field("post", &self.post.id)
            .finish_non_exhaustive()
    }
}
