//! What create, update and confirm of a payment intent read alike.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{CaptureMethod, Intent, IntentTerms, Method, Shipping, Status};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::scene::Scene;

use super::payment_methods;

/// Reads what create, update and confirm have in common.
pub(crate) fn merge(scene: &Scene<'_, '_>, intent: &mut Intent, params: &Params<'_>) -> Outcome<()> {
    const CAPTURE: [&str; 3] = ["automatic", "automatic_async", "manual"];
    const TERMS: [&str; 7] = [
        "receipt_email",
        "return_url",
        "setup_future_usage",
        "shipping",
        "statement_descriptor",
        "statement_descriptor_suffix",
        "transfer_group",
    ];
    check_types(params)?;
    if let Some(method) = params.one_of("capture_method", &CAPTURE)? {
        intent.capture_method = CaptureMethod::named(method);
    }
    if let Some(id) = params.text("customer")? {
        intent.customer = Some(Arc::clone(&scene.customer(id, "customer")?.id));
    }
    params.change("description")?.apply(&mut intent.description);
    if TERMS.iter().any(|name| params.has(name)) {
        let mut terms = intent.terms.as_deref().cloned().unwrap_or_default();
        merge_terms(&mut terms, params)?;
        intent.terms = Some(terms.into());
    }
    Ok(())
}

/// Refuses an intent that no card could serve.
pub(crate) fn check_types(params: &Params<'_>) -> Outcome<()> {
    // The newer API versions call it `allowed_payment_method_types`.
    for name in ["payment_method_types", "allowed_payment_method_types"] {
        if params.has(name) && !params.list(name)?.contains(&"card") {
            let message = format!("Only payments by card are modelled here: `{name}` has to include `card`.");
            return Err(Failure::invalid(message).param(name));
        }
    }
    Ok(())
}

fn merge_terms(terms: &mut IntentTerms, params: &Params<'_>) -> Outcome<()> {
    params.change("receipt_email")?.apply(&mut terms.receipt_email);
    params.change("return_url")?.apply(&mut terms.return_url);
    params.change("transfer_group")?.apply(&mut terms.transfer_group);
    params
        .change("statement_descriptor")?
        .apply(&mut terms.statement_descriptor);
    params
        .change("statement_descriptor_suffix")?
        .apply(&mut terms.statement_descriptor_suffix);
    match params.change("setup_future_usage")? {
        Change::Keep => {}
        Change::Clear => terms.setup_future_usage = None,
        Change::Set(_) => {
            terms.setup_future_usage = params.one_of("setup_future_usage", &["off_session", "on_session"])?;
        }
    }
    Shipping::change(&mut terms.shipping, params)
}

/// Reads `automatic_payment_methods`: whether redirects are allowed, where they are enabled.
pub(crate) fn automatic(params: &Params<'_>) -> Outcome<Option<&'static str>> {
    let Some(given) = params.nested("automatic_payment_methods")? else {
        return Ok(None);
    };
    given.only(&["allow_redirects", "enabled"])?;
    let redirects = given.one_of("allow_redirects", &["always", "never"])?;
    let enabled = given.boolean("enabled")? == Some(true);
    Ok(enabled.then(|| redirects.unwrap_or("always")))
}

/// Reads `payment_method` or `payment_method_data`; what it makes is not put yet.
pub(crate) fn choose_method(
    scene: &mut Scene<'_, '_>,
    intent: &mut Intent,
    params: &Params<'_>,
) -> Outcome<Option<Method>> {
    match payment_methods::given(scene, params)? {
        Change::Keep => Ok(None),
        Change::Clear => {
            intent.method = None;
            intent.authenticated = false;
            intent.status = Status::RequiresPaymentMethod;
            Ok(None)
        }
        Change::Set(method) => {
            if intent.method.as_ref() != Some(&method.id) {
                intent.authenticated = false;
            }
            intent.method = Some(Arc::clone(&method.id));
            intent.status = Status::RequiresConfirmation;
            Ok(Some(method))
        }
    }
}
