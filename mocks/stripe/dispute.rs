//! The way of a dispute: opened, perhaps escalated, decided, and its money with each step.

use std::sync::Arc;

use super::books;
use super::cards::Complaint;
use super::metadata::Metadata;
use super::objects::{Cause, Charge, Dispute, Evidence, Stage};
use super::scene::Scene;

/// Opens a dispute of all that a charge took; an inquiry withdraws nothing.
pub(crate) fn open(scene: &mut Scene<'_, '_>, charge: &Arc<Charge>, complaint: Complaint) -> Arc<Charge> {
    let dispute = Dispute {
        id: scene.new_id("dp_"),
        created: scene.now(),
        amount: charge.amount_captured,
        currency: charge.currency,
        charge: Arc::clone(&charge.id),
        intent: charge.intent.clone(),
        card: charge.card,
        reason: complaint.reason,
        inquiry: complaint.inquiry,
        stage: Stage::NeedsResponse,
        evidence: Evidence::default(),
        submissions: 0,
        metadata: Metadata::default(),
    };
    let dispute = scene.tx.put(dispute);
    let mut history = charge.history.as_deref().cloned().unwrap_or_default();
    history.dispute = Some(Arc::clone(&dispute.id));
    let charge = scene.tx.put(Charge {
        history: Some(history.into()),
        ..Charge::clone(charge)
    });
    if dispute.inquiry {
        scene.event("charge.dispute.created", dispute);
        return charge;
    }
    withdraw(scene, &charge, &dispute);
    scene.event("charge.dispute.created", Arc::clone(&dispute));
    scene.event("charge.dispute.funds_withdrawn", dispute);
    charge
}

/// Makes a chargeback of an inquiry, over what was not refunded meanwhile; where nothing is left the inquiry is closed.
pub(crate) fn escalate(scene: &mut Scene<'_, '_>, before: &Dispute) -> Arc<Dispute> {
    let charge = scene.tx.get::<Charge>(&before.charge);
    let left = charge
        .as_ref()
        .map_or(0, |charge| charge.amount - charge.amount_refunded);
    let (Some(charge), true) = (charge, left > 0) else {
        return close(scene, before, Stage::Closed);
    };
    let dispute = scene.tx.put(Dispute {
        inquiry: false,
        amount: left,
        stage: Stage::NeedsResponse,
        ..before.clone()
    });
    withdraw(scene, &charge, &dispute);
    scene.event("charge.dispute.funds_withdrawn", Arc::clone(&dispute));
    dispute
}

/// Decides a dispute. One that is won gets its money back.
pub(crate) fn close(scene: &mut Scene<'_, '_>, before: &Dispute, stage: Stage) -> Arc<Dispute> {
    let dispute = scene.tx.put(Dispute {
        stage,
        ..before.clone()
    });
    let won = stage == Stage::Won && !dispute.inquiry;
    if won && let Some(charge) = scene.tx.get::<Charge>(&dispute.charge) {
        books::correct(scene.tx, &charge, Cause::DisputeReversal, &dispute.id, dispute.amount);
    }
    scene.event("charge.dispute.closed", Arc::clone(&dispute));
    if won {
        scene.event("charge.dispute.funds_reinstated", Arc::clone(&dispute));
    }
    dispute
}

fn withdraw(scene: &mut Scene<'_, '_>, charge: &Charge, dispute: &Dispute) {
    books::correct(scene.tx, charge, Cause::Dispute, &dispute.id, -dispute.amount);
}
