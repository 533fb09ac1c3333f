//! One pass through the provider, inside the transact: the key, the provider's own work, the record.

use super::asked::Asked;
use super::{Conflict, Kind, Provider};
use crate::faults::{Action, Verdict};
use crate::idempotency::{self, Admission};
use crate::ledger::{Outcome, Reply};
use crate::store::Tx;

/// Is what one pass through the provider came to.
pub(super) struct Settled {
    pub(super) reply: Reply,
    pub(super) outcome: Outcome,
    pub(super) from_accepted: bool,
}

/// Says how far a pass through the provider goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Reserved,
    Committed,
}

/// Reserves the key of an attempt that is told to wait, in the moment in which it is told: nobody overtakes it between the two.
pub(super) fn reserve_to_wait<P: Provider>(tx: &mut Tx<'_>, asked: &Asked<P>, verdict: Option<&Verdict>, attempt: u64) {
    let waits = verdict.is_some_and(|verdict| match verdict.action {
        // Who gathers at a barrier is to race for the key when all are let go.
        Action::Hold { barrier } => barrier.is_none(),
        Action::Delay(_) => true,
        _ => false,
    });
    let Some(key) = asked.key().filter(|_| waits) else {
        return;
    };
    if let Admission::Fresh = idempotency::admit(tx, key, attempt) {
        idempotency::reserve(tx, key, attempt);
    }
}

/// Runs inside the transact: looks the key up, lets the provider handle the call, keeps the answer under the key.
/// Returns nothing when the key was reserved and that is as far as it should go.
pub(super) fn pass_through<P: Provider>(
    tx: &mut Tx<'_>,
    asked: &Asked<P>,
    injected: Option<&Reply>,
    until: Until,
    attempt: u64,
) -> Option<Settled> {
    let Asked {
        provider,
        whole,
        identified,
        ..
    } = asked;
    let (request, call) = (&whole.request, &identified.call);
    if let Some(early) = &identified.early {
        return Some(Settled::refused(asked, early.clone()));
    }
    let Some(key) = &identified.key else {
        let reply = provider.handle(tx, request, call);
        return Some(Settled::executed(asked, tx, reply));
    };
    match idempotency::admit(tx, key, attempt) {
        Admission::Replay(record) => {
            return Some(Settled {
                reply: provider.replay(request, call, &record),
                outcome: Outcome::Replayed,
                from_accepted: record.accepted,
            });
        }
        Admission::InFlight => {
            let reply = provider.conflict(request, call, &Conflict::InFlight);
            return Some(Settled::refused(asked, reply));
        }
        Admission::Mismatch(endpoint) => {
            let reply = provider.conflict(request, call, &Conflict::Mismatch(&endpoint));
            return Some(Settled::refused(asked, reply));
        }
        Admission::Fresh => {}
    }
    if until == Until::Reserved {
        idempotency::reserve(tx, key, attempt);
        return None;
    }
    let reply = injected.cloned().unwrap_or_else(|| provider.handle(tx, request, call));
    if provider.keeps(reply.status) {
        idempotency::record(tx, key, &reply, provider.reference(call));
    }
    idempotency::give_up(tx, key, attempt);
    Some(Settled::executed(asked, tx, reply))
}

impl Settled {
    fn refused<P: Provider>(asked: &Asked<P>, reply: Reply) -> Self {
        Self {
            reply,
            outcome: asked.refusal(),
            from_accepted: false,
        }
    }

    fn executed<P: Provider>(asked: &Asked<P>, tx: &Tx<'_>, reply: Reply) -> Self {
        let outcome = match asked.whole.operation.kind {
            Kind::Read => Outcome::Read,
            Kind::Write if tx.has_effects() => Outcome::Accepted,
            Kind::Write => Outcome::Refused,
        };
        Self {
            reply,
            outcome,
            from_accepted: false,
        }
    }
}
