//! Confirming an intent: the step that takes the money, from wherever it is asked for.

use std::sync::Arc;

use crate::mocks::stripe::billing::collect;
use crate::mocks::stripe::cards::Behaviour;
use crate::mocks::stripe::declines::{AUTHENTICATION, Decline, NOT_HANDLED};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{CaptureMethod, Failed, Intent, IntentTerms, Method, Status, Terms, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::payment::{self, Order};
use crate::mocks::stripe::scene::{Scene, unexpected_state};

use super::authenticate;
use super::payment_methods::{self, check_owner, check_unspent};

/// Says how the holder can be asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presence {
    /// The holder is not there.
    off_session: bool,
    /// The caller cannot let the holder authenticate.
    error_on_requires_action: bool,
}

/// Says what a card makes of a confirmation.
pub(crate) enum Verdict {
    Taken,
    AsksHolder,
    Refused(&'static Decline),
}

impl Presence {
    /// The holder is not there.
    pub(crate) const AWAY: Self = Self {
        off_session: true,
        error_on_requires_action: false,
    };

    /// The holder is there, and has just shown it.
    pub(crate) const HERE: Self = Self {
        off_session: false,
        error_on_requires_action: false,
    };

    pub(crate) fn read(params: &Params<'_>) -> Outcome<Self> {
        // `off_session` also takes the older words `one_off` and `recurring`.
        let off_session = match params.text("off_session")? {
            Some("one_off" | "recurring") => true,
            _ => params.boolean("off_session")?.unwrap_or(false),
        };
        Ok(Self {
            off_session,
            error_on_requires_action: params.boolean("error_on_requires_action")?.unwrap_or(false),
        })
    }
}

/// Confirms an intent, puts its new version, and returns it; a declined one is put too, and refused.
/// `made` is a method that this very call made and that is not put yet.
pub(crate) fn confirm(
    scene: &mut Scene<'_, '_>,
    mut intent: Intent,
    made: Option<Method>,
    presence: Presence,
) -> Outcome<Arc<Intent>> {
    let method = method_of(scene, &intent, made)?;
    intent.page = None;
    let told = match judge(&method, presence, intent.authenticated) {
        Verdict::Refused(decline) => return Err(refused(scene, intent, method, decline)),
        Verdict::AsksHolder => {
            scene.tx.put(method);
            intent.status = Status::RequiresAction;
            intent.page = Some(Box::new(authenticate::page_url(scene, "payment_intents", &intent.id)));
            "payment_intent.requires_action"
        }
        Verdict::Taken => {
            let order = order(scene, &intent, &method);
            let charge = payment::charge(scene, order, None);
            keep(scene, method, &intent);
            intent.took(&charge);
            match intent.status {
                Status::Succeeded => "payment_intent.succeeded",
                _ => "payment_intent.amount_capturable_updated",
            }
        }
    };
    let intent = scene.tx.put(intent);
    scene.event(told, Arc::clone(&intent));
    collect::settled(scene, &intent);
    Ok(intent)
}

/// Finds the method of an intent that is to be confirmed, and checks that it may be used for it.
fn method_of(scene: &Scene<'_, '_>, intent: &Intent, made: Option<Method>) -> Outcome<Method> {
    let Some(id) = &intent.method else {
        let message = "You cannot confirm this PaymentIntent because it's missing a payment method. You can either update \
                       the PaymentIntent with a payment method and then confirm it again, or confirm it again directly \
                       with a payment method or ConfirmationToken.";
        let shown = Thing::Intent(Arc::new(intent.clone())).plain();
        return Err(unexpected_state(message.to_owned(), shown));
    };
    let stored = || scene.tx.get::<Method>(id).map(|m| Method::clone(&m));
    let method = made.or_else(stored);
    let method = method.ok_or_else(|| Failure::no_such("PaymentMethod", id, "payment_method"))?;
    check_unspent(&method)?;
    check_owner(&method, intent.customer.as_ref())?;
    Ok(method)
}

/// Says what a card makes of a payment or a set-up.
pub(crate) fn judge(method: &Method, presence: Presence, authenticated: bool) -> Verdict {
    let (unless_set_up, then) = match method.card.test.behaviour {
        Behaviour::Succeeds => return Verdict::Taken,
        Behaviour::Declines(decline) | Behaviour::DeclinesLater(decline) => return Verdict::Refused(decline),
        Behaviour::Authenticates { unless_set_up, then } => (unless_set_up, then),
    };
    let spared = presence.off_session && unless_set_up && method.set_up;
    match then {
        Some(decline) if authenticated || spared => Verdict::Refused(decline),
        None if authenticated || spared => Verdict::Taken,
        _ if presence.off_session => Verdict::Refused(&AUTHENTICATION),
        _ if presence.error_on_requires_action => Verdict::Refused(&NOT_HANDLED),
        _ => Verdict::AsksHolder,
    }
}

/// Keeps what a decline leaves behind: a failed charge, and an intent that needs another method.
fn refused(scene: &mut Scene<'_, '_>, intent: Intent, method: Method, decline: &'static Decline) -> Box<Failure> {
    let order = order(scene, &intent, &method);
    let charge = payment::charge(scene, order, Some(decline));
    let method = scene.tx.put(method);
    let intent = fell_through(scene, intent, decline, Some(&charge.id), &method);
    Failure::card(decline)
        .charge(&charge.id)
        .intent(Thing::Intent(intent).plain())
        .method(Thing::Method(method).plain())
}

/// Puts an intent whose payment failed: it needs another method.
pub(crate) fn fell_through(
    scene: &mut Scene<'_, '_>,
    mut intent: Intent,
    decline: &'static Decline,
    charge: Option<&Arc<str>>,
    method: &Arc<Method>,
) -> Arc<Intent> {
    intent.status = Status::RequiresPaymentMethod;
    intent.method = None;
    intent.authenticated = false;
    intent.page = None;
    if let Some(charge) = charge {
        intent.charge = Some(Arc::clone(charge));
    }
    intent.failed = Some(Box::new(Failed {
        decline,
        charge: charge.cloned(),
        method: Arc::clone(method),
    }));
    let intent = scene.tx.put(intent);
    scene.event("payment_intent.payment_failed", Arc::clone(&intent));
    intent
}

/// Keeps the method after it was charged: attached where it is to be used again, else spent.
fn keep(scene: &mut Scene<'_, '_>, mut method: Method, intent: &Intent) {
    let again = intent.terms.as_deref().and_then(|t| t.setup_future_usage);
    method.set_up |= again == Some("off_session");
    match (&method.customer, &intent.customer) {
        (Some(_), _) => {}
        (None, Some(customer)) if again.is_some() => {
            method.customer = Some(Arc::clone(customer));
            payment_methods::put_attached(scene, method);
            return;
        }
        (None, _) => method.spent = true,
    }
    scene.tx.put(method);
}

fn order(scene: &mut Scene<'_, '_>, intent: &Intent, method: &Method) -> Order {
    Order {
        id: scene.new_id("ch_"),
        amount: intent.amount,
        currency: intent.currency,
        capture: intent.capture_method != CaptureMethod::Manual,
        card: method.card,
        secured: intent.authenticated,
        customer: intent.customer.clone(),
        intent: Some(Arc::clone(&intent.id)),
        method: Some(Arc::clone(&method.id)),
        description: intent.description.clone(),
        metadata: intent.metadata.clone(),
        billing: method.billing.clone(),
        terms: intent.terms.as_deref().and_then(charge_terms),
    }
}

/// Returns what a charge takes over from its intent.
fn charge_terms(terms: &IntentTerms) -> Option<Arc<Terms>> {
    let any = terms.receipt_email.is_some()
        || terms.shipping.is_some()
        || terms.statement_descriptor.is_some()
        || terms.statement_descriptor_suffix.is_some()
        || terms.transfer_group.is_some();
    any.then(|| {
        Arc::new(Terms {
            receipt_email: terms.receipt_email.clone(),
            shipping: terms.shipping.clone(),
            statement_descriptor: terms.statement_descriptor.clone(),
            statement_descriptor_suffix: terms.statement_descriptor_suffix.clone(),
            transfer_group: terms.transfer_group.clone(),
            fraud_report: None,
        })
    })
}
