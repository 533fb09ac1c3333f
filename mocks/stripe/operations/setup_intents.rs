//! Setup intents.

use std::sync::Arc;

use crate::mocks::stripe::cards::Behaviour;
use crate::mocks::stripe::declines::Decline;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Failed, Kind, Method, Setup, SetupStatus, Thing};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::authenticate;
use super::intent_terms::{automatic, check_types};
use super::payment_methods::{self, attached, check_owner, check_unspent};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/setup_intents", "setup_intents.create", Kind::Setup, &["setup_intent"], SETUP_CREATE, create),
    row(Get, "/v1/setup_intents", "setup_intents.list", Kind::Setup, &[],
        &["attach_to_self?", "created{}#", "customer$", "customer_account$", "ending_before$", "limit#", "payment_method$", "starting_after$"], list).listing(),
    row(Get, "/v1/setup_intents/{id}", "setup_intents.retrieve", Kind::Setup, &[], &["client_secret$"], retrieve),
    row(Post, "/v1/setup_intents/{id}", "setup_intents.update", Kind::Setup, &["setup_intent_update"], SETUP_UPDATE, update),
    row(Post, "/v1/setup_intents/{id}/confirm", "setup_intents.confirm", Kind::Setup, &["setup_intent_confirm"],
        SETUP_CONFIRM, confirm),
    row(Post, "/v1/setup_intents/{id}/cancel", "setup_intents.cancel", Kind::Setup, &["setup_intent_cancel"],
        &["cancellation_reason=abandoned|duplicate|requested_by_customer"], cancel),
];

#[rustfmt::skip]
const SETUP_CREATE: &[&str] = &[
    "allowed_payment_method_types[]", "attach_to_self?", "automatic_payment_methods{}", "confirm?", "customer$",
    "customer_account$", "description$", "excluded_payment_method_types[]", "flow_directions[]", "mandate_data{}=", "metadata{}",
    "on_behalf_of$", "payment_method$", "payment_method_configuration$", "payment_method_data{}", "payment_method_options{}",
    "payment_method_types[]", "return_url$", "single_use{}", "usage=off_session|on_session", "use_stripe_sdk?",
];

#[rustfmt::skip]
const SETUP_UPDATE: &[&str] = &[
    "allowed_payment_method_types[]=", "attach_to_self?", "customer$", "customer_account$", "description$",
    "excluded_payment_method_types[]=", "flow_directions[]", "metadata{}=", "payment_method$", "payment_method_configuration$",
    "payment_method_data{}", "payment_method_options{}", "payment_method_types[]",
];

#[rustfmt::skip]
const SETUP_CONFIRM: &[&str] = &[
    "allowed_payment_method_types[]", "client_secret$", "mandate_data{}=", "payment_method$", "payment_method_data{}",
    "payment_method_options{}", "return_url$", "use_stripe_sdk?",
];

const OPEN: [SetupStatus; 3] = [
    SetupStatus::RequiresPaymentMethod,
    SetupStatus::RequiresConfirmation,
    SetupStatus::RequiresAction,
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let confirms = params.boolean("confirm")?.unwrap_or(false);
    let mut setup = Setup {
        id: scene.new_id("seti_"),
        created: scene.now(),
        status: SetupStatus::RequiresPaymentMethod,
        usage: params
            .one_of("usage", &["off_session", "on_session"])?
            .unwrap_or("off_session"),
        customer: None,
        method: None,
        description: None,
        return_url: None,
        automatic: automatic(&params)?,
        failed: None,
        cancellation: None,
        page: None,
        metadata: Metadata::read(&params)?,
    };
    let made = merge(scene, &mut setup, &params)?;
    scene.event("setup_intent.created", Arc::new(setup.clone()));
    let setup = if confirms {
        take(scene, setup, made)?
    } else {
        made.map(|method| scene.tx.put(method));
        scene.tx.put(setup)
    };
    scene.tx.effect("setup_intent", &setup.id);
    Ok(Answer::One(Thing::Setup(setup)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let setup = own(scene)?;
    check_secret(scene, &setup)?;
    Ok(Answer::One(Thing::Setup(setup)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let mut setup = Setup::clone(&*own(scene)?);
    let moves = ["customer", "payment_method", "payment_method_data"];
    if !OPEN.contains(&setup.status) && moves.iter().any(|name| params.has(name)) {
        let message = format!(
            "You cannot update this SetupIntent because it has a status of {}. Only a SetupIntent with one of the following \
             statuses may be updated: requires_payment_method, requires_confirmation, requires_action.",
            setup.status.as_str()
        );
        return Err(unexpected(message, setup.into()));
    }
    setup.metadata.merge(&params)?;
    let made = merge(scene, &mut setup, &params)?;
    made.map(|method| scene.tx.put(method));
    let setup = scene.tx.put(setup);
    scene.tx.effect("setup_intent_update", &setup.id);
    Ok(Answer::One(Thing::Setup(setup)))
}

pub(crate) fn confirm(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let mut setup = Setup::clone(&*own(scene)?);
    check_secret(scene, &setup)?;
    if !OPEN.contains(&setup.status) {
        let message = format!(
            "You cannot confirm this SetupIntent because it has a status of {}. Only a SetupIntent with one of the following \
             statuses may be confirmed: requires_payment_method, requires_confirmation, requires_action.",
            setup.status.as_str()
        );
        return Err(unexpected(message, setup.into()));
    }
    let made = merge(scene, &mut setup, &params)?;
    let setup = take(scene, setup, made)?;
    scene.tx.effect("setup_intent_confirm", &setup.id);
    Ok(Answer::One(Thing::Setup(setup)))
}

pub(crate) fn cancel(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    const REASONS: [&str; 3] = ["abandoned", "duplicate", "requested_by_customer"];
    let reason = scene.params.one_of("cancellation_reason", &REASONS)?;
    let before = own(scene)?;
    if !OPEN.contains(&before.status) {
        let message = format!(
            "You cannot cancel this SetupIntent because it has a status of {}. Only a SetupIntent with one of the following \
             statuses may be canceled: requires_payment_method, requires_confirmation, requires_action.",
            before.status.as_str()
        );
        return Err(unexpected(message, before));
    }
    let setup = scene.tx.put(Setup {
        status: SetupStatus::Canceled,
        cancellation: reason,
        page: None,
        ..Setup::clone(&before)
    });
    scene.tx.effect("setup_intent_cancel", &setup.id);
    scene.event("setup_intent.canceled", Arc::clone(&setup));
    Ok(Answer::One(Thing::Setup(setup)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let customer = scene.params.text("customer")?;
    let method = scene.params.text("payment_method")?;
    let keep = |s: &Setup| {
        created.holds(s.created)
            && customer.is_none_or(|id| s.customer.as_deref() == Some(id))
            && method.is_none_or(|id| s.method.as_deref() == Some(id))
    };
    page(scene, Kind::Setup, keep, Thing::Setup)
}

/// Finishes a set-up: the method is attached to the customer, if there is one.
pub(crate) fn succeed(scene: &mut Scene<'_, '_>, mut setup: Setup, mut method: Method) -> Outcome<Arc<Setup>> {
    method.set_up |= setup.usage == "off_session";
    match &setup.customer {
        Some(customer) if method.customer.is_none() => {
            let method = attached(method, customer)?;
            payment_methods::put_attached(scene, method);
        }
        _ => drop(scene.tx.put(method)),
    }
    setup.status = SetupStatus::Succeeded;
    setup.failed = None;
    setup.page = None;
    let setup = scene.tx.put(setup);
    scene.event("setup_intent.succeeded", Arc::clone(&setup));
    Ok(setup)
}

/// Puts a setup intent whose set-up failed: it needs another method.
pub(crate) fn fell_through(
    scene: &mut Scene<'_, '_>,
    mut setup: Setup,
    decline: &'static Decline,
    method: &Arc<Method>,
) -> Arc<Setup> {
    setup.status = SetupStatus::RequiresPaymentMethod;
    setup.method = None;
    setup.page = None;
    setup.failed = Some(Box::new(Failed {
        decline,
        charge: None,
        method: Arc::clone(method),
    }));
    let setup = scene.tx.put(setup);
    scene.event("setup_intent.setup_failed", Arc::clone(&setup));
    setup
}

/// Says that a setup intent's status forbids this.
pub(crate) fn unexpected(message: String, setup: Arc<Setup>) -> Box<Failure> {
    Failure::invalid(message)
        .code("setup_intent_unexpected_state")
        .setup(Thing::Setup(setup).plain())
}

pub(crate) fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Setup>> {
    scene.own(Kind::Setup, "intent")
}

/// Sets the method up, or asks its holder; a card that no customer may keep is refused.
fn take(scene: &mut Scene<'_, '_>, mut setup: Setup, made: Option<Method>) -> Outcome<Arc<Setup>> {
    let Some(id) = setup.method.clone() else {
        let message = "You cannot confirm this SetupIntent because it's missing a payment method. You can either update the \
                       SetupIntent with a payment method and then confirm it again, or confirm it again directly with a \
                       payment method or ConfirmationToken.";
        return Err(unexpected(message.to_owned(), setup.into()));
    };
    let stored = || scene.tx.get::<Method>(&id).map(|method| Method::clone(&method));
    let method = made.or_else(stored);
    let method = method.ok_or_else(|| Failure::no_such(Kind::Method.word(), &id, "payment_method"))?;
    check_unspent(&method)?;
    check_owner(&method, setup.customer.as_ref())?;
    match method.card.test.behaviour {
        Behaviour::Declines(decline) => {
            let method = scene.tx.put(method);
            let setup = fell_through(scene, setup, decline, &method);
            let failure = Failure::card(decline).setup(Thing::Setup(setup).plain());
            Err(failure.method(Thing::Method(method).plain()))
        }
        Behaviour::Authenticates { .. } => {
            scene.tx.put(method);
            setup.status = SetupStatus::RequiresAction;
            setup.page = Some(authenticate::page_url(scene, "setup_intents", &setup.id));
            let setup = scene.tx.put(setup);
            scene.event("setup_intent.requires_action", Arc::clone(&setup));
            Ok(setup)
        }
        Behaviour::Succeeds | Behaviour::DeclinesLater(_) => succeed(scene, setup, method),
    }
}

/// Reads what create, update and confirm have in common; a method that it makes is not put yet.
fn merge(scene: &mut Scene<'_, '_>, setup: &mut Setup, params: &Params<'_>) -> Outcome<Option<Method>> {
    check_types(params)?;
    if params.has("single_use") {
        let message = "Mandates for a single use are not modelled here: leave `single_use` out.";
        return Err(Failure::invalid(message).param("single_use"));
    }
    if let Some(id) = params.text("customer")? {
        setup.customer = Some(Arc::clone(&scene.customer(id, "customer")?.id));
    }
    params.change("description")?.apply(&mut setup.description);
    params.change("return_url")?.apply(&mut setup.return_url);
    match payment_methods::given(scene, params)? {
        Change::Keep => Ok(None),
        Change::Clear => {
            setup.method = None;
            setup.status = SetupStatus::RequiresPaymentMethod;
            Ok(None)
        }
        Change::Set(method) => {
            setup.method = Some(Arc::clone(&method.id));
            if OPEN.contains(&setup.status) {
                setup.status = SetupStatus::RequiresConfirmation;
            }
            Ok(Some(method))
        }
    }
}

fn check_secret(scene: &Scene<'_, '_>, setup: &Setup) -> Outcome<()> {
    match scene.params.text("client_secret")? {
        Some(secret) if secret != setup.client_secret() => {
            let message =
                "The client_secret provided does not match the client_secret associated with the SetupIntent.";
            Err(Failure::invalid(message).param("client_secret"))
        }
        _ => Ok(()),
    }
}
