//! Disputes: test cards open them, evidence decides them.

use std::sync::Arc;

use crate::mocks::stripe::dispute;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::objects::{Dispute, Evidence, Kind, Stage, Thing};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/disputes", "disputes.list", Kind::Dispute, &[],
        &["charge$", "created{}#", "ending_before$", "limit#", "payment_intent$", "starting_after$"], list).listing(),
    row(Get, "/v1/disputes/{id}", "disputes.retrieve", Kind::Dispute, &[], &[], retrieve),
    row(Post, "/v1/disputes/{id}", "disputes.update", Kind::Dispute, &["dispute_update"],
        &["evidence{}", "metadata{}=", "submit?"], update),
    row(Post, "/v1/disputes/{id}/close", "disputes.close", Kind::Dispute, &["dispute_close"], &[], close),
];

/// How long all evidence may be together.
const MAX_EVIDENCE: usize = 150_000;

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Dispute(own(scene)?)))
}

/// Takes evidence, and hands it in unless it is only to be kept. The text by which a test decides is decided on at once.
pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = own(scene)?;
    let mut dispute = Dispute::clone(&before);
    dispute.metadata.merge(&params)?;
    let given = params.nested("evidence")?;
    if let Some(given) = &given {
        merge(&mut dispute.evidence, given)?;
    }
    let submits = params.boolean("submit")?.unwrap_or(given.is_some());
    if (submits || given.is_some()) && !dispute.is_open() {
        return Err(decided(&dispute));
    }
    if submits {
        dispute.submissions += 1;
        dispute.stage = Stage::UnderReview;
    }
    let mut dispute = scene.tx.put(dispute);
    scene.tx.effect("dispute_update", &dispute.id);
    scene.changed("charge.dispute.updated", before, Arc::clone(&dispute));
    if submits {
        dispute = decide(scene, dispute);
    }
    Ok(Answer::One(Thing::Dispute(dispute)))
}

pub(crate) fn close(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = own(scene)?;
    if !before.is_open() {
        return Err(decided(&before));
    }
    let stage = if before.inquiry { Stage::Closed } else { Stage::Lost };
    let dispute = dispute::close(scene, &before, stage);
    scene.tx.effect("dispute_close", &dispute.id);
    Ok(Answer::One(Thing::Dispute(dispute)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let charge = scene.params.text("charge")?;
    let intent = scene.params.text("payment_intent")?;
    let keep = |d: &Dispute| {
        created.holds(d.created)
            && charge.is_none_or(|id| *d.charge == *id)
            && intent.is_none_or(|id| d.intent.as_deref() == Some(id))
    };
    page(scene, Kind::Dispute, keep, Thing::Dispute)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Dispute>> {
    scene.own(Kind::Dispute, "dispute")
}

/// Decides what was handed in, by the words that Stripe gives out for tests.
fn decide(scene: &mut Scene<'_, '_>, dispute: Arc<Dispute>) -> Arc<Dispute> {
    let text = dispute.evidence.0.get("uncategorized_text").map(|text| &**text);
    match (text, dispute.inquiry) {
        (Some("winning_evidence"), false) => dispute::close(scene, &dispute, Stage::Won),
        (Some("losing_evidence"), false) => dispute::close(scene, &dispute, Stage::Lost),
        (Some("winning_evidence" | "losing_evidence"), true) => dispute::close(scene, &dispute, Stage::Closed),
        (Some("escalate_inquiry_evidence"), true) => dispute::escalate(scene, &dispute),
        _ => dispute,
    }
}

fn merge(evidence: &mut Evidence, given: &Params<'_>) -> Outcome<()> {
    let allowed: Vec<_> = Evidence::FIELDS.into_iter().chain(["enhanced_evidence"]).collect();
    given.only(&allowed)?;
    for field in Evidence::FIELDS {
        match given.long_change(field, MAX_EVIDENCE)? {
            Change::Keep => {}
            Change::Clear => drop(evidence.0.remove(field)),
            Change::Set(text) => drop(evidence.0.insert(field, text.into())),
        }
    }
    let length: usize = evidence.0.values().map(|text| text.chars().count()).sum();
    if length > MAX_EVIDENCE {
        let message = format!("Dispute evidence may have {MAX_EVIDENCE} characters in all, and this has {length}.");
        return Err(Failure::invalid(message).param("evidence"));
    }
    Ok(())
}

fn decided(dispute: &Dispute) -> Box<Failure> {
    let status = dispute.status();
    let message = format!("This dispute is already closed: its status is {status}.");
    Failure::invalid(message).param("dispute")
}
