//! A mock's work: one pass through the provider inside one transact: the key, the provider's own work, the record.

use std::sync::Arc;

use super::asked::Asked;
use super::errand::{Errand, Reserved, Settled};
use super::{Conflict, Identified, Kind, Provider, Refusal, Whole};
use crate::faults::{Action, Rules, Verdict};
use crate::idempotency::{self, Admission, Key, Reservation};
use crate::ledger::{Outcome, Reply};
use crate::store::{Decision, Stale, Ticket, Tx};

/// Is a whole request to a mock, with what the provider made of it.
pub(super) struct Handled<P: Provider> {
    provider: Arc<P>,
    asked: Asked<P::Request>,
    identified: Identified<P::Call>,
    /// A refusal that a fault asked for and that the provider keeps under its key.
    injected: Option<Reply>,
}

/// Says how far a pass through the provider goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Reserved,
    Committed,
}

impl<P: Provider> Handled<P> {
    /// Reads a whole request, and notes in the journal what it is.
    pub(super) fn new(provider: Arc<P>, whole: Whole<P::Request>, ticket: &Ticket) -> Self {
        use super::Describe as _;
        let identified = provider.identify(&whole.request);
        let recorded = identified.recorded.clone().unwrap_or_else(|| {
            let (head, body) = whole.request.recordable();
            ticket.ledger().keep(head, body, false)
        });
        ticket.note(|entry| {
            entry.key.clone_from(&identified.name);
            entry.request = Some(recorded);
        });
        let content = identified.correlations.last().map(|c| c.hash);
        let asked = Asked {
            about: provider.about(),
            whole,
            name: identified.name.clone(),
            content: content.unwrap_or_default(),
            scope: ticket.scope().name(),
        };
        Self {
            provider,
            asked,
            identified,
            injected: None,
        }
    }

    /// Returns the key to reserve: none where the request is refused before its key is looked at.
    fn key(&self) -> Option<&Key> {
        self.identified.key.as_ref().filter(|_| self.identified.early.is_none())
    }

    async fn settle(
        &self,
        ticket: &mut Ticket,
        rules: &Rules,
        until: Until,
    ) -> Result<(Option<Settled>, Option<Verdict>), Stale> {
        let id = ticket.id();
        let settled = ticket.transact(
            |tx| self.pass(tx, until, id),
            |settled, _| {
                let Some(settled) = settled else {
                    return (None, None);
                };
                let outcome = settled.outcome;
                let verdict = self.asked.ask_after(rules, outcome, settled.from_accepted);
                let correlations = self.identified.correlations.clone();
                (Some(Decision { outcome, correlations }), verdict)
            },
        );
        settled.await
    }

    /// Runs inside the transact: looks the key up, lets the provider handle the call, keeps the answer under the key.
    /// Returns nothing when the key was reserved and that is as far as it should go.
    fn pass(&self, tx: &mut Tx<'_>, until: Until, attempt: u64) -> Option<Settled> {
        let (provider, identified) = (&self.provider, &self.identified);
        let (request, call) = (&self.asked.whole.request, &identified.call);
        if let Some(early) = &identified.early {
            return Some(self.refused(early.clone()));
        }
        let Some(key) = &identified.key else {
            let reply = provider.handle(tx, request, call);
            return Some(self.executed(tx, reply));
        };
        match idempotency::admit(tx, key, attempt) {
            Admission::Replay(record) => {
                return Some(Settled {
                    from_accepted: record.accepted,
                    ..settled(provider.replay(request, call, &record), Outcome::Replayed)
                });
            }
            Admission::InFlight => {
                return Some(self.refused(provider.conflict(request, call, &Conflict::InFlight)));
            }
            Admission::Mismatch(endpoint) => {
                return Some(self.refused(provider.conflict(request, call, &Conflict::Mismatch(&endpoint))));
            }
            Admission::Fresh => {}
        }
        if until == Until::Reserved {
            idempotency::reserve(tx, key, attempt);
            return None;
        }
        let injected = self.injected.clone();
        let reply = injected.unwrap_or_else(|| provider.handle(tx, request, call));
        if provider.keeps(call, reply.status) {
            idempotency::record(tx, key, &reply, provider.reference(call));
        }
        idempotency::give_up(tx, key, attempt);
        Some(self.executed(tx, reply))
    }

    fn refused(&self, reply: Reply) -> Settled {
        settled(reply, self.asked.refusal())
    }

    fn executed(&self, tx: &Tx<'_>, reply: Reply) -> Settled {
        let outcome = match self.asked.whole.operation.kind {
            Kind::Read => Outcome::Read,
            Kind::Write if tx.has_effects() => Outcome::Accepted,
            Kind::Write => Outcome::Refused,
        };
        settled(reply, outcome)
    }
}

fn settled(reply: Reply, outcome: Outcome) -> Settled {
    Settled {
        reply,
        passing: None,
        outcome,
        from_accepted: false,
    }
}

impl<P: Provider> Errand for Handled<P> {
    type Request = P::Request;

    fn asked(&self) -> &Asked<P::Request> {
        &self.asked
    }

    fn asked_mut(&mut self) -> &mut Asked<P::Request> {
        &mut self.asked
    }

    fn refuse(&self, refusal: &Refusal) -> Reply {
        let request = &self.asked.whole.request;
        self.provider.refuse(request, &self.identified.call, refusal)
    }

    fn gateway(&self, asked: &Refusal) -> Reply {
        self.provider.gateway(asked)
    }

    fn keep(&mut self, refusal: Reply) -> Option<Reply> {
        if self.identified.key.is_some() && self.provider.keeps(&self.identified.call, refusal.status) {
            self.injected = Some(refusal);
            return None;
        }
        Some(refusal)
    }

    /// Nobody overtakes it between the two.
    fn reserve_at_once(&self, tx: &mut Tx<'_>, verdict: &Verdict, attempt: u64) {
        let waits = match verdict.action {
            // Who gathers at a barrier is to race for the key when all are let go.
            Action::Hold { barrier } => barrier.is_none(),
            Action::Delay(_) => true,
            _ => false,
        };
        let Some(key) = self.key().filter(|_| waits) else {
            return;
        };
        if let Admission::Fresh = idempotency::admit(tx, key, attempt) {
            idempotency::reserve(tx, key, attempt);
        }
    }

    async fn reserve(&mut self, ticket: &mut Ticket, rules: &Rules) -> Result<Reserved, Stale> {
        let Some(key) = self.key() else {
            return Ok(Reserved::Nothing);
        };
        Ok(match self.settle(ticket, rules, Until::Reserved).await? {
            (None, _) => Reserved::Key(Reservation::guard(ticket, key)),
            (Some(settled), verdict) => Reserved::Settled(Box::new(settled), verdict),
        })
    }

    async fn commit(&mut self, ticket: &mut Ticket, rules: &Rules) -> Result<(Settled, Option<Verdict>), Stale> {
        let (settled, verdict) = self.settle(ticket, rules, Until::Committed).await?;
        settled.map(|settled| (settled, verdict)).ok_or(Stale)
    }
}
