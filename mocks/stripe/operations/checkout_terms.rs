//! What is read of a checkout session that is to be made: where it leads, what is bought, what is handed on.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, Chosen, For};
use crate::mocks::stripe::billing::{draft, totals};
use crate::mocks::stripe::currency::Currency;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Mode, Price, Session, SessionLine, SessionTerms, Shipping};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::Scene;

use super::prices::{self, Allowed};

const MOST_LINES: usize = 100;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

pub(super) fn expiry(params: &Params<'_>, now: i64) -> Outcome<i64> {
    let at = params.integer("expires_at")?.unwrap_or(now + DAY);
    if (now + HOUR / 2..=now + DAY).contains(&at) {
        return Ok(at);
    }
    let message = "The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.";
    Err(Failure::invalid(message).param("expires_at"))
}

/// Reads where the customer goes afterwards.
pub(super) fn urls(session: &mut Session, params: &Params<'_>) -> Outcome<()> {
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
pub(super) fn lines(scene: &mut Scene<'_, '_>, session: &mut Session, params: &Params<'_>, now: i64) -> Outcome<()> {
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
pub(super) fn terms(params: &Params<'_>, mode: Mode) -> Outcome<SessionTerms> {
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
