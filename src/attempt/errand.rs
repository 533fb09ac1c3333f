//! What an attempt carries out, be it a mock's work or a relay's: how rules see it, how it is refused, how it commits.

use std::future::Future;

use super::asked::Asked;
use super::line::Passing;
use super::{Describe, Refusal};
use crate::faults::{Rules, Verdict};
use crate::idempotency::Reservation;
use crate::ledger::{Outcome, Reply};
use crate::store::{Stale, Ticket, Tx};

/// Is what an attempt carries out. The way asks the rules, waits, loses and answers; an errand only commits.
pub trait Errand: Send + Sync + 'static {
    /// What rules look at.
    type Request: Describe;

    /// Returns what was asked.
    fn asked(&self) -> &Asked<Self::Request>;

    /// Returns what was asked, to note how rules have met it.
    fn asked_mut(&mut self) -> &mut Asked<Self::Request>;

    /// Speaks a refusal that a fault asked for, in the words of who would refuse.
    fn refuse(&self, refusal: &Refusal) -> Reply;

    /// Speaks as the gateway before it would.
    fn gateway(&self, asked: &Refusal) -> Reply;

    /// Takes an injected refusal to the commit, if it is one that is kept under a key; else gives it back.
    fn keep(&mut self, refusal: Reply) -> Option<Reply> {
        Some(refusal)
    }

    /// Reserves what an attempt that is told to wait must not lose to another, in the moment in which it is told.
    fn reserve_at_once(&self, tx: &mut Tx<'_>, verdict: &Verdict, attempt: u64) {
        let _ = (tx, verdict, attempt);
    }

    /// Makes sure of the reservation before the wait.
    fn reserve(&mut self, ticket: &mut Ticket, rules: &Rules) -> impl Future<Output = Result<Reserved, Stale>> + Send {
        let _ = (ticket, rules);
        std::future::ready(Ok(Reserved::Nothing))
    }

    /// Commits: what changes changes in one transact, which decides the outcome and asks the rules about it in the same moment.
    fn commit(
        &mut self,
        ticket: &mut Ticket,
        rules: &Rules,
    ) -> impl Future<Output = Result<(Settled, Option<Verdict>), Stale>> + Send;
}

/// Says what came of a reservation.
#[derive(Debug)]
pub enum Reserved {
    /// There is nothing to reserve.
    Nothing,
    /// It is reserved.
    Key(Reservation),
    /// There is no need to wait: the key has its answer already.
    Settled(Box<Settled>, Option<Verdict>),
}

/// Is what a commit came to.
#[derive(Debug)]
pub struct Settled {
    /// The answer; of one that passes through, what the ledger records of it at once.
    pub reply: Reply,
    /// The answer as it comes, if it passes through a relay.
    pub passing: Option<Box<Passing>>,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a replay is one of an accepted record.
    pub from_accepted: bool,
}
