//! Checkout sessions: made, found, expired. A customer completes one in `checkout_complete`.

use std::sync::Arc;

use time::OffsetDateTime;

use crate::mocks::stripe::billing::discounts::{self, Chosen, For};
use crate::mocks::stripe::billing::{draft, totals};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::due::{self, Work};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, members, page};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Kind, Mode, Price, Session, SessionLine, SessionStatus, SessionTerms, Shipping, Task, Thing,
};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::checkout_complete;
use super::prices::{self, Allowed};

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
    "billing_address_collection$=auto|required", "branding_settings{}", "cancel_url$", "client_reference_id$",
    "consent_collection{}", "currency$", "custom_fields[]", "custom_text{}", "customer$", "customer_account$",
    "customer_creation$=always|if_required", "customer_email$", "customer_update{}", "discounts[]",
    "excluded_payment_method_types[]", "expires_at#", "integration_identifier$", "invoice_creation{}", "line_items[]",
    "locale$=auto|bg|cs|da|de|el|en|en-GB|es|es-419|et|fi|fil|fr|fr-CA|hr|hu|id|it|ja|ko|lt|lv|ms|mt|nb|nl|pl|pt|pt-BR|ro|ru|sk|sl|sv|th|tr|vi|zh|zh-HK|zh-TW",
    "managed_payments{}", "metadata{}", "mode$=payment|setup|subscription", "name_collection{}", "optional_items[]",
    "origin_context$=mobile_app|web", "payment_intent_data{}", "payment_method_collection$=always|if_required",
    "payment_method_configuration$", "payment_method_data{}", "payment_method_options{}", "payment_method_types[]",
    "permissions{}", "phone_number_collection{}", "redirect_on_completion$=always|if_required|never", "return_url$",
    "saved_payment_method_options{}", "setup_intent_data{}", "shipping_address_collection{}", "shipping_options[]",
    "submit_type$=auto|book|donate|pay|subscribe", "subscription_data{}", "success_url$", "tax_id_collection{}",
    "ui_mode$=elements|embedded_page|hosted_page", "wallet_options{}",
];

#[rustfmt::skip]
const SESSION_LIST: &[&str] = &[
    "created#{}", "customer$", "customer_account$", "customer_details{}", "ending_before$", "limit#",
    "payment_intent$", "payment_link$", "starting_after$", "status$=complete|expired|open", "subscription$",
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

const MOST_LINES: usize = 100;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

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
        expires_at: expiry(&params, now)?,
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
        terms: Arc::new(terms(&params, mode)?),
        metadata: Metadata::read(&params)?,
        id,
    };
    urls(&mut session, &params)?;
    session.page = (session.ui_mode == "hosted_page").then(|| checkout_complete::page_url(scene, &session.id));
    lines(scene, &mut session, &params, now)?;
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

fn expiry(params: &Params<'_>, now: i64) -> Outcome<i64> {
    let at = params.integer("expires_at")?.unwrap_or(now + DAY);
    if (now + HOUR / 2..=now + DAY).contains(&at) {
        return Ok(at);
    }
    let message = "The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.";
    Err(Failure::invalid(message).param("expires_at"))
}

/// Reads where the customer goes afterwards.
fn urls(session: &mut Session, params: &Params<'_>) -> Outcome<()> {
    for (name, to) in [
        ("success_url", &mut session.success_url),
        ("cancel_url", &mut session.cancel_url),
        ("return_url", &mut session.return_url),
    ] {
        let Some(url) = params.text(name)? else {
            continue;
        };
        let parsed = url.parse::<http::Uri>();
        let braces = url.replace("{CHECKOUT_SESSION_ID}", "id").parse::<http::Uri>();
        let right = parsed
            .or(braces)
            .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        if !right {
            return Err(Failure::invalid("Not a valid URL").code("url_invalid").param(name));
        }
        *to = Some(url.into());
    }
    let (needed, forbidden): (&str, &[&str]) = match session.ui_mode {
        "hosted_page" => ("success_url", &["return_url"]),
        _ => ("return_url", &["cancel_url", "success_url"]),
    };
    if !params.has(needed) {
        return Err(Failure::missing(needed));
    }
    match forbidden.iter().find(|name| params.has(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("`{name}` cannot be set when `ui_mode` is `{}`.", session.ui_mode);
            Err(Failure::invalid(message).param(name))
        }
    }
}

/// Reads what is bought, and what comes off it.
fn lines(scene: &mut Scene<'_, '_>, session: &mut Session, params: &Params<'_>, now: i64) -> Outcome<()> {
    let given = params.hashes("line_items")?;
    if session.mode == Mode::Setup {
        if !given.is_empty() {
            return Err(Failure::invalid("`line_items` cannot be set in `setup` mode.").param("line_items"));
        }
        return Ok(());
    }
    if given.is_empty() {
        return Err(Failure::missing("line_items"));
    }
    if given.len() > MOST_LINES {
        return Err(Failure::invalid(format!("Array must contain at most {MOST_LINES} items.")).param("line_items"));
    }
    let mut bought: Vec<(Arc<Price>, i64, Metadata)> = Vec::with_capacity(given.len());
    for given in given {
        given.only(&[
            "adjustable_quantity",
            "metadata",
            "price",
            "price_data",
            "quantity",
            "tax_rates",
        ])?;
        given.not_modelled(&["tax_rates"])?;
        let quantity = given
            .amount("quantity")?
            .ok_or_else(|| Failure::missing(&given.name("quantity")))?;
        let price = prices::chosen(scene, &given, Allowed::Both)?;
        check_price(
            session.mode,
            &price,
            session.currency,
            bought.first().map(|(price, ..)| &**price),
            &given,
        )?;
        bought.push((price, quantity, Metadata::read(&given)?));
    }
    let Some((first, ..)) = bought.first() else {
        return Err(Failure::missing("line_items"));
    };
    let currency = first.currency;
    if session.mode == Mode::Subscription && bought.iter().all(|(price, ..)| price.recurring.is_none()) {
        let message = "You must provide at least one recurring price in `subscription` mode when using prices.";
        return Err(Failure::invalid(message).param("line_items"));
    }
    session.currency = Some(currency);
    session.subtotal = bought.iter().map(|(price, quantity, _)| price.amount(*quantity)).sum();
    discount(scene, session, params, currency, now)?;
    let entries: Vec<_> = bought
        .iter()
        .map(|(price, quantity, _)| totals::Entry {
            amount: price.amount(*quantity),
            discountable: true,
            own: Vec::new(),
        })
        .collect();
    let whole: Vec<_> = session.discount.iter().map(|(coupon, _)| &**coupon).collect();
    let taken = totals::reduce(&entries, &whole);
    session.total = session.subtotal - taken.iter().map(totals::Taken::sum).sum::<i64>();
    if session.mode == Mode::Payment && session.total != 0 {
        currency.check(session.total, "line_items")?;
    }
    for ((price, quantity, metadata), taken) in bought.into_iter().zip(taken) {
        let line = SessionLine {
            id: scene.new_id("li_"),
            quantity,
            subtotal: price.amount(quantity),
            off: taken.sum(),
            description: (*draft::product_name(scene, &price)).into(),
            metadata,
            price,
        };
        session.lines.push(Arc::clone(&scene.tx.put(line).id));
    }
    Ok(())
}

fn check_price(
    mode: Mode,
    price: &Price,
    wanted: Option<Currency>,
    first: Option<&Price>,
    given: &Params<'_>,
) -> Outcome<()> {
    if mode == Mode::Payment && price.recurring.is_some() {
        let message = "You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only \
                       one-time prices.";
        return Err(Failure::invalid(message).param("line_items"));
    }
    let currency = first.map(|first| first.currency).or(wanted);
    if currency.is_some_and(|currency| currency != price.currency) {
        let message = "All prices of a Checkout Session have to be in the same currency.";
        return Err(Failure::invalid(message).param(&given.name("price")));
    }
    Ok(())
}

fn discount(
    scene: &Scene<'_, '_>,
    session: &mut Session,
    params: &Params<'_>,
    currency: Currency,
    now: i64,
) -> Outcome<()> {
    let what = For {
        customer: session.customer.as_ref(),
        currency,
        amount: Some(session.subtotal),
        now,
    };
    let Change::Set(chosen) = discounts::read(scene, params, what)? else {
        return Ok(());
    };
    if session.takes_codes.is_some() {
        let message = "You may only specify one of these parameters: allow_promotion_codes, discounts.";
        return Err(Failure::invalid(message).param("discounts"));
    }
    match <[Chosen; 1]>::try_from(chosen) {
        Ok([Chosen::Coupon(coupon, promotion)]) => session.discount = Some((coupon, promotion)),
        Ok([Chosen::Kept(_)]) => {
            return Err(Failure::invalid("Received unknown parameter: discounts[0][discount]")
                .code("parameter_unknown")
                .param("discounts[0][discount]"));
        }
        Err(none) if none.is_empty() => {}
        Err(_) => return Err(Failure::invalid("You can only apply one coupon or promotion code.").param("discounts")),
    }
    Ok(())
}

/// Reads what is handed on to what comes of the session.
fn terms(params: &Params<'_>, mode: Mode) -> Outcome<SessionTerms> {
    let mut terms = SessionTerms::default();
    let own = match mode {
        Mode::Payment => "payment_intent_data",
        Mode::Setup => "setup_intent_data",
        Mode::Subscription => "subscription_data",
    };
    for name in ["payment_intent_data", "setup_intent_data", "subscription_data"] {
        if params.has(name) && name != own {
            return Err(Failure::invalid(format!("You can not pass `{name}` in this mode.")).param(name));
        }
    }
    let Some(given) = params.nested(own)? else {
        return Ok(terms);
    };
    match mode {
        Mode::Payment => for_payment(&mut terms, &given)?,
        Mode::Setup => {
            given.only(&["description", "metadata", "on_behalf_of"])?;
            given.not_modelled(&["on_behalf_of"])?;
        }
        Mode::Subscription => for_subscription(&mut terms, &given)?,
    }
    given.change("description")?.apply(&mut terms.description);
    terms.metadata = Metadata::read(&given)?;
    Ok(terms)
}

fn for_payment(terms: &mut SessionTerms, given: &Params<'_>) -> Outcome<()> {
    given.only(&[
        "application_fee_amount",
        "capture_method",
        "description",
        "metadata",
        "on_behalf_of",
        "receipt_email",
        "setup_future_usage",
        "shipping",
        "statement_descriptor",
        "statement_descriptor_suffix",
        "transfer_data",
        "transfer_group",
    ])?;
    given.not_modelled(&["application_fee_amount", "on_behalf_of", "transfer_data"])?;
    terms.manual = given.one_of("capture_method", &["automatic", "automatic_async", "manual"])? == Some("manual");
    terms.setup_future_usage = given.one_of("setup_future_usage", &["off_session", "on_session"])?;
    given.change("receipt_email")?.apply(&mut terms.receipt_email);
    given
        .change("statement_descriptor")?
        .apply(&mut terms.statement_descriptor);
    given
        .change("statement_descriptor_suffix")?
        .apply(&mut terms.statement_descriptor_suffix);
    given.change("transfer_group")?.apply(&mut terms.transfer_group);
    Shipping::change(&mut terms.shipping, given)
}

fn for_subscription(terms: &mut SessionTerms, given: &Params<'_>) -> Outcome<()> {
    given.only(&[
        "application_fee_percent",
        "billing_cycle_anchor",
        "billing_cycle_anchor_config",
        "billing_mode",
        "default_tax_rates",
        "description",
        "invoice_settings",
        "metadata",
        "on_behalf_of",
        "pending_invoice_item_interval",
        "proration_behavior",
        "transfer_data",
        "trial_end",
        "trial_period_days",
        "trial_settings",
    ])?;
    given.not_modelled(&[
        "application_fee_percent",
        "billing_cycle_anchor",
        "billing_cycle_anchor_config",
        "default_tax_rates",
        "on_behalf_of",
        "pending_invoice_item_interval",
        "transfer_data",
    ])?;
    terms.trial_days = given.amount("trial_period_days")?;
    terms.trial_end = given.integer("trial_end")?;
    if terms.trial_days.is_some() && terms.trial_end.is_some() {
        let message = "You may only specify one of these parameters: trial_end, trial_period_days.";
        return Err(Failure::invalid(message).param(&given.name("trial_end")));
    }
    if terms.trial_days.is_some_and(|days| days > 730) {
        let message = "Invalid trial: the maximum number of trial period days is 730 (2 years).";
        return Err(Failure::invalid(message).param(&given.name("trial_period_days")));
    }
    if let Some(settings) = given.nested("trial_settings")? {
        settings.only(&["end_behavior"])?;
        if let Some(behavior) = settings.nested("end_behavior")? {
            behavior.only(&["missing_payment_method"])?;
            terms.missing_method = behavior.one_of("missing_payment_method", &["cancel", "create_invoice", "pause"])?;
        }
    }
    Ok(())
}
