//! What is to happen later without anybody asking: kept in the store as objects, and run by the suite's clockwork when its time has come.

use std::sync::Arc;

use time::{Duration, OffsetDateTime};

use super::billing::agenda;
use super::form::Fields;
use super::ids::Ids;
use super::objects::{Charge, Intent, Status, Task};
use super::params::Params;
use super::scene::{Origin, Scene};
use super::{events, payment, search};
use crate::attempt::{Operation, SCHEDULE, Scheduled};
use crate::store::{Object, Tx};

/// How long a card's authorisation holds.
pub(crate) const AUTHORISED: Duration = Duration::days(7);
/// The operation as which it is counted.
pub(crate) const OPERATION: &str = SCHEDULE;
/// What can come of it.
pub(crate) const EFFECTS: &[&str] = &[
    "charge",
    "charge_expire",
    "checkout_session_expire",
    "invoice_finalize",
    "invoice_pay",
    "payment_intent_cancel",
    "refund_fail",
    "refund_settle",
    "subscription_cancel",
    "subscription_cycle",
    "subscription_expire",
    "subscription_pause",
];
/// How much of it is run at once.
const MOST: usize = 1_000;

/// Is one thing to do, and when.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    at: OffsetDateTime,
    work: Work,
}

/// Says what is to be done. There is one of a kind for one object at most: planned again, it has a new time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Let an authorisation go that nobody has captured.
    ExpireAuthorisation { charge: Arc<str> },
    /// Let a refund fail.
    FailRefund { refund: Arc<str> },
    /// Let a pending refund succeed.
    SettleRefund { refund: Arc<str> },
    /// Go on with an invoice or a subscription.
    Billing(Task),
}

impl Object for Due {
    const TABLE: &'static str = "stripe.due";

    fn id(&self) -> Arc<str> {
        self.work.id()
    }

    fn due(&self) -> Option<OffsetDateTime> {
        Some(self.at)
    }
}

impl Work {
    /// Returns the id under which it is planned.
    fn id(&self) -> Arc<str> {
        let (kind, id) = match self {
            Self::ExpireAuthorisation { charge } => ("expire_authorisation", charge),
            Self::FailRefund { refund } => ("fail_refund", refund),
            Self::SettleRefund { refund } => ("settle_refund", refund),
            Self::Billing(task) => return task.id(),
        };
        format!("{kind}:{id}").into()
    }

    /// Does it, in the account in which it was planned. `at` is when it was due; the world's clock may be far past it.
    fn run(&self, scene: &mut Scene<'_, '_>, at: OffsetDateTime) {
        match self {
            Self::ExpireAuthorisation { charge } => expire_authorisation(scene, charge),
            Self::FailRefund { refund } => payment::fail(scene, refund),
            Self::SettleRefund { refund } => payment::settle(scene, refund),
            Self::Billing(task) => agenda::run(scene, task, at.unix_timestamp()),
        }
    }
}

/// Plans work; what was planned of the same kind for the same object is forgotten.
pub(crate) fn later(tx: &mut Tx<'_>, at: OffsetDateTime, work: Work) {
    tx.put(Due { at, work });
}

/// Forgets planned work.
pub(crate) fn never(tx: &mut Tx<'_>, work: &Work) {
    tx.remove::<Due>(&work.id());
}

/// Lets a provider's due work be run by the clockwork: all that has one and the same time, at most so much at once.
impl Scheduled for super::Stripe {
    fn scheduled(&self) -> &'static Operation {
        super::routes::ABOUT.operation(OPERATION)
    }

    fn has_due(&self, tx: &Tx<'_>) -> bool {
        tx.due::<Due>().next().is_some()
    }

    fn run_due(&self, tx: &mut Tx<'_>) {
        let first = tx.due::<Due>().next().map(|(at, ..)| at);
        // What one piece of work plans may come before the next: only what is due in the same moment is run at once.
        let together = tx.due::<Due>().take_while(|(at, ..)| Some(*at) == first);
        let due: Vec<_> = together.take(MOST).collect();
        for (at, account, due) in due {
            tx.enter(&account);
            never(tx, &due.work);
            let fields = Fields::default();
            let mut scene = Scene {
                tx,
                params: Params::new(&fields),
                id: "",
                parent: "",
                base: "",
                origin: Origin::Schedule,
                search_lag: self.search_lag,
                ids: Ids::Random,
                allowed: &self.allowed,
            };
            due.work.run(&mut scene, at);
            events::trim(tx);
            search::note(tx, self.search_lag);
        }
    }
}

fn expire_authorisation(scene: &mut Scene<'_, '_>, id: &str) {
    let open = |charge: &Arc<Charge>| charge.paid() && !charge.captured && !charge.refunded();
    let Some(charge) = scene.tx.get::<Charge>(id).filter(open) else {
        return;
    };
    let charge = payment::release(scene.tx, &charge);
    scene.tx.effect("charge_expire", id);
    scene.event("charge.expired", Arc::clone(&charge));
    let intent = charge.intent.as_ref();
    let intent = intent.and_then(|intent| scene.tx.get::<Intent>(intent));
    if let Some(intent) = intent.filter(|intent| intent.status == Status::RequiresCapture) {
        let intent = scene.tx.put(Intent {
            status: Status::Canceled,
            canceled: Some(Box::new((scene.now(), Some("automatic")))),
            ..Intent::clone(&intent)
        });
        scene.tx.effect("payment_intent_cancel", &intent.id);
        scene.event("payment_intent.canceled", intent);
    }
}
