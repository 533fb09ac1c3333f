//! Checkout sessions: made, found, expired. A customer completes one in `checkout_complete`.

use std::sync::Arc;

use time::OffsetDateTime;

use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::due::{self, Work};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, members, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Kind, Mode, Session, SessionStatus, Task, Thing};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::checkout_complete;
use super::checkout_terms as terms;

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/checkout/sessions", "checkout_sessions.create", Kind::Session, &["checkout_session"], SESSION_CREATE, create),
    row(Get, "/v1/checkout/sessions", "checkout_sessions.list", Kind::Session, &[], SESSION_LIST, list).listing(),
    row(Get, "/v1/checkout/sessions/{id}", "checkout_sessions.retrieve", Kind::Session, &[], &[], retrieve),
    row(Post, "/v1/checkout/sessions/{id}", "checkout_sessions.update", Kind::Session, &["checkout_session_update"],
        &["collected_information{}", "line_items[]", "metadata{}=", "shipping_options[]="], update),
    row(Post, "/v1/checkout/sessions/{id}/expire", "checkout_sessions.expire", Kind::Session, &["checkout_session_expire"], &[], expire),
    row(Get, "/v1/checkout/sessions/{id}/line_items", "checkout_sessions.line_items", Kind::SessionLine, &[],
        &["ending_before$", "limit#", "starting_after$"], line_items).listing(),
    row(Get, "/v1/test_helpers/checkout/sessions/{id}/complete", "checkout_sessions.page", Kind::Session, &[],
        &["account$"], checkout_complete::show).keyless(),
    row(Post, "/v1/test_helpers/checkout/sessions/{id}/complete", "checkout_sessions.complete", Kind::Session,
        &["checkout_session_complete", "charge"], &["account$", "email$", "name$", "payment_method$", "redirect?"],
        checkout_complete::complete).keyless(),
];

#[rustfmt::skip]
const SESSION_CREATE: &[&str] = &[
    "adaptive_pricing{}", "after_expiration{}", "allow_promotion_codes?", "automatic_tax{}",
    "billing_address_collection=auto|required", "branding_settings{}", "cancel_url$", "client_reference_id$",
    "consent_collection{}", "currency$", "custom_fields[]", "custom_text{}", "customer$", "customer_account$",
    "customer_creation=always|if_required", "customer_email$", "customer_update{}", "discounts[]",
    "excluded_payment_method_types[]", "expires_at#", "integration_identifier$", "invoice_creation{}", "line_items[]",
    "locale=auto|bg|cs|da|de|el|en|en-GB|es|es-419|et|fi|fil|fr|fr-CA|hr|hu|id|it|ja|ko|lt|lv|ms|mt|nb|nl|pl|pt|pt-BR|ro|ru|sk|sl|sv|th|tr|vi|zh|zh-HK|zh-TW",
    "managed_payments{}", "metadata{}", "mode=payment|setup|subscription", "name_collection{}", "optional_items[]",
    "origin_context=mobile_app|web", "payment_intent_data{}", "payment_method_collection=always|if_required",
    "payment_method_configuration$", "payment_method_data{}", "payment_method_options{}", "payment_method_types[]", "permissions{}",
    "phone_number_collection{}", "redirect_on_completion=always|if_required|never", "return_url$", "saved_payment_method_options{}",
    "setup_intent_data{}", "shipping_address_collection{}", "shipping_options[]", "submit_type=auto|book|donate|pay|subscribe",
    "subscription_data{}", "success_url$", "tax_id_collection{}", "ui_mode=elements|embedded_page|hosted_page", "wallet_options{}",
];

#[rustfmt::skip]
const SESSION_LIST: &[&str] = &[
    "created{}#", "customer$", "customer_account$", "customer_details{}", "ending_before$", "limit#", "payment_intent$",
    "payment_link$", "starting_after$", "status=complete|expired|open", "subscription$",
];

/// What would need what is not modelled.
const NOT_MODELLED: [&str; 6] = [
    "after_expiration",
    "custom_fields",
    "optional_items",
    "shipping_address_collection",
    "shipping_options",
    "wallet_options",
];
/// What only makes sense where it is enabled, which is not modelled.
const SWITCHES: [&str; 5] = [
    "adaptive_pricing",
    "automatic_tax",
    "invoice_creation",
    "managed_payments",
    "tax_id_collection",
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&NOT_MODELLED)?;
    for name in SWITCHES.into_iter().filter(|name| params.has(name)) {
        let switch = params.nested(name)?.ok_or_else(|| Failure::missing(name))?;
        if switch.boolean("enabled")? == Some(true) {
            return Err(switch.unmodelled("enabled"));
        }
    }
    let mode = match params.one_of("mode", &["payment", "setup", "subscription"])? {
        None => return Err(Failure::missing("mode")),
        Some("payment") => Mode::Payment,
        Some("setup") => Mode::Setup,
        Some(_) => Mode::Subscription,
    };
    let now = scene.now();
    let customer = match (params.text("customer")?, params.has("customer_email")) {
        (Some(_), true) => {
            let message = "You may only specify one of these parameters: customer, customer_email.";
            return Err(Failure::invalid(message).param("customer"));
        }
        (Some(id), false) => Some(scene.customer(id, "customer")?),
        (None, _) => None,
    };
    let id: Arc<str> = format!("cs_test_{}", scene.new_id("").trim_start_matches('_')).into();
    let mut session = Session {
        created: now,
        expires_at: terms::expiry(&params, now)?,
        mode,
        status: SessionStatus::Open,
        paid: false,
        page: None,
        ui_mode: params
            .one_of("ui_mode", &["elements", "embedded_page", "hosted_page"])?
            .unwrap_or("hosted_page"),
        success_url: None,
        cancel_url: None,
        return_url: None,
        reference: params.text("client_reference_id")?.map(Into::into),
        customer: customer.as_ref().map(|customer| Arc::clone(&customer.id)),
        creates_customer: params.one_of("customer_creation", &["always", "if_required"])? == Some("always"),
        customer_email: params.text("customer_email")?.map(Into::into),
        buyer: None,
        currency: match params.text("currency")? {
            Some(code) => Some(Currency::parse(code, "currency")?),
            None => None,
        },
        lines: Vec::new(),
        subtotal: 0,
        total: 0,
        discount: None,
        takes_codes: params.boolean("allow_promotion_codes")?,
        locale: params.text("locale")?.map(Into::into),
        submit_type: params.one_of("submit_type", &["auto", "book", "donate", "pay", "subscribe"])?,
        intent: None,
        invoice: None,
        setup: None,
        subscription: None,
        terms: Arc::new(terms::terms(&params, mode)?),
        metadata: Metadata::read(&params)?,
        id,
    };
    terms::urls(&mut session, &params)?;
    session.page = (session.ui_mode == "hosted_page").then(|| checkout_complete::page_url(scene, &session.id));
    terms::lines(scene, &mut session, &params, now)?;
    let at = OffsetDateTime::from_unix_timestamp(session.expires_at);
    if let Ok(at) = at {
        scene.later(at, Work::Billing(Task::ExpireSession(Arc::clone(&session.id))));
    }
    let session = scene.tx.put(session);
    scene.tx.effect("checkout_session", &session.id);
    Ok(Answer::One(Thing::Session(session)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Session(own(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.not_modelled(&["collected_information", "line_items", "shipping_options"])?;
    let mut session = Session::clone(&*own(scene)?);
    session.metadata.merge(&params)?;
    let session = scene.tx.put(session);
    scene.tx.effect("checkout_session_update", &session.id);
    Ok(Answer::One(Thing::Session(session)))
}

pub(crate) fn expire(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = own(scene)?;
    check_open(&before, "expired")?;
    due::never(scene.tx, &Work::Billing(Task::ExpireSession(Arc::clone(&before.id))));
    let session = expired(scene, &before);
    Ok(Answer::One(Thing::Session(session)))
}

/// Makes a session expire.
pub(crate) fn expired(scene: &mut Scene<'_, '_>, before: &Session) -> Arc<Session> {
    let session = scene.tx.put(Session {
        status: SessionStatus::Expired,
        ..before.clone()
    });
    scene.tx.effect("checkout_session_expire", &session.id);
    scene.event("checkout.session.expired", Arc::clone(&session));
    session
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = &scene.params;
    params.not_modelled(&["payment_link"])?;
    let created = Created::read(params)?;
    let customer = params.text("customer")?;
    let email = match params.nested("customer_details")? {
        Some(details) => details.text("email")?,
        None => None,
    };
    let intent = params.text("payment_intent")?;
    let subscription = params.text("subscription")?;
    let status = params.one_of("status", &["complete", "expired", "open"])?;
    let keep = |s: &Session| {
        let own = s
            .buyer
            .as_deref()
            .and_then(|buyer| buyer.email.as_deref())
            .or(s.customer_email.as_deref());
        created.holds(s.created)
            && customer.is_none_or(|id| s.customer.as_deref() == Some(id))
            && email.is_none_or(|email| own == Some(email))
            && intent.is_none_or(|id| s.intent.as_deref() == Some(id))
            && subscription.is_none_or(|id| s.subscription.as_deref() == Some(id))
            && status.is_none_or(|status| s.status.as_str() == status)
    };
    page(scene, Kind::Session, keep, Thing::Session)
}

pub(crate) fn line_items(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let session = own(scene)?;
    members(scene, Kind::SessionLine, &session.lines)
}

pub(crate) fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Session>> {
    scene.own(Kind::Session, "session")
}

pub(crate) fn check_open(session: &Session, what: &str) -> Outcome<()> {
    if session.status == SessionStatus::Open {
        return Ok(());
    }
    let status = session.status.as_str();
    let message = format!(
        "Only Checkout Sessions with a status in [\"open\"] can be {what}. This Checkout Session has a status of {status}."
    );
    Err(Failure::invalid(message))
}
