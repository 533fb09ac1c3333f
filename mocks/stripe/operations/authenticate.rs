//! 3-D Secure, as the customer goes through it: endpoints of the suite's own, and a page with two buttons that calls them.
//!
//! They are attempts like any other, so that a fault can lose the customer too. No key is needed, for a customer has none.

use std::sync::Arc;

use crate::mocks::stripe::declines::{PAYMENT_NOT_AUTHENTICATED, SETUP_NOT_AUTHENTICATED};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{Intent, Kind, Method, Setup, SetupStatus, Status, Thing};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene, unexpected_state};

use super::confirm::{Presence, confirm, fell_through};
use super::{payment_intents, setup_intents};

/// `account` stands in for `Stripe-Account`, which no browser sends; `redirect` leads back to `return_url`.
const PARAMS: &[&str] = &["account$", "redirect?", "result=succeed|fail"];
const PAGE: &[&str] = &["account$"];

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/test_helpers/payment_intents/{id}/authenticate", "payment_intents.authentication_page", Kind::Intent, &[],
        PAGE, payment_page).keyless(),
    row(Post, "/v1/test_helpers/payment_intents/{id}/authenticate", "payment_intents.authenticate", Kind::Intent,
        &["payment_intent_authenticate", "charge"], PARAMS, payment).keyless(),
    row(Get, "/v1/test_helpers/setup_intents/{id}/authenticate", "setup_intents.authentication_page", Kind::Setup, &[],
        PAGE, setup_page).keyless(),
    row(Post, "/v1/test_helpers/setup_intents/{id}/authenticate", "setup_intents.authenticate", Kind::Setup,
        &["setup_intent_authenticate"], PARAMS, setup).keyless(),
];

/// Names the page on which the holder authenticates, on the host by which the request came.
pub(crate) fn page_url(scene: &Scene<'_, '_>, what: &str, id: &str) -> Box<str> {
    let (base, account) = (scene.base, scene.tx.partition());
    let account = match &**account {
        "" => String::new(),
        account => format!("?account={account}"),
    };
    format!("{base}/v1/test_helpers/{what}/{id}/authenticate{account}").into()
}

/// Lets the holder of a payment's card authenticate, or fail to. With automatic confirmation the charge is made at once; that it may be
/// declined is no failure of the authentication.
pub(crate) fn payment(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let (succeeds, redirects) = read(scene)?;
    let before = payment_intents::own(scene)?;
    if before.status != Status::RequiresAction {
        let message = not_asked("PaymentIntent", before.status.as_str());
        return Err(unexpected_state(message, Thing::Intent(before).plain()));
    }
    let mut intent = Intent::clone(&before);
    let intent = if !succeeds {
        let method = asked(scene, intent.method.as_ref())?;
        fell_through(scene, intent, &PAYMENT_NOT_AUTHENTICATED, None, &method)
    } else {
        intent.authenticated = true;
        intent.page = None;
        intent.status = Status::RequiresConfirmation;
        if intent.confirmation_manual {
            scene.tx.put(intent)
        } else {
            match confirm(scene, intent, None, Presence::HERE) {
                Err(failure) if failure.charge.is_some() => scene.tx.get(&before.id).expect("it was just put"),
                confirmed => confirmed?,
            }
        }
    };
    scene.tx.effect("payment_intent_authenticate", &intent.id);
    let back = intent.terms.as_deref().and_then(|terms| terms.return_url.as_deref());
    if let (true, Some(back)) = (redirects, back) {
        return Ok(Answer::Redirect(way_back(
            back,
            "payment_intent",
            &intent.id,
            &intent.client_secret(),
            succeeds,
        )));
    }
    Ok(Answer::One(Thing::Intent(intent)))
}

/// Lets the holder of a card that is set up authenticate, or fail to.
pub(crate) fn setup(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let (succeeds, redirects) = read(scene)?;
    let before = setup_intents::own(scene)?;
    if before.status != SetupStatus::RequiresAction {
        let message = not_asked("SetupIntent", before.status.as_str());
        return Err(setup_intents::unexpected(message, before));
    }
    let setup = Setup::clone(&before);
    let method = asked(scene, setup.method.as_ref())?;
    let setup = if succeeds {
        setup_intents::succeed(scene, setup, Method::clone(&method))?
    } else {
        setup_intents::fell_through(scene, setup, &SETUP_NOT_AUTHENTICATED, &method)
    };
    scene.tx.effect("setup_intent_authenticate", &setup.id);
    if let (true, Some(back)) = (redirects, setup.return_url.as_deref()) {
        return Ok(Answer::Redirect(way_back(
            back,
            "setup_intent",
            &setup.id,
            &setup.client_secret(),
            succeeds,
        )));
    }
    Ok(Answer::One(Thing::Setup(setup)))
}

fn payment_page(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let intent = payment_intents::own(scene)?;
    let amount = intent.currency.show(intent.amount);
    let terms = intent.terms.as_deref();
    let returns = terms.is_some_and(|terms| terms.return_url.is_some());
    Ok(page(
        &format!("a payment of {amount}"),
        &intent.id,
        intent.status.as_str(),
        returns,
    ))
}

fn setup_page(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let setup = setup_intents::own(scene)?;
    let returns = setup.return_url.is_some();
    Ok(page(
        "keeping a card for later",
        &setup.id,
        setup.status.as_str(),
        returns,
    ))
}

fn read(scene: &Scene<'_, '_>) -> Outcome<(bool, bool)> {
    let result = scene.params.one_of("result", &["succeed", "fail"])?;
    let result = result.ok_or_else(|| Failure::missing("result"))?;
    let redirects = scene.params.boolean("redirect")?.unwrap_or(false);
    Ok((result == "succeed", redirects))
}

/// Finds the method for which the holder is asked.
fn asked(scene: &Scene<'_, '_>, id: Option<&Arc<str>>) -> Outcome<Arc<Method>> {
    let id = id.map(|id| &**id).unwrap_or_default();
    let found = scene.tx.get::<Method>(id);
    found.ok_or_else(|| Failure::no_such(Kind::Method.word(), id, "payment_method"))
}

fn not_asked(what: &str, status: &str) -> String {
    format!(
        "This {what} could not be authenticated because it has a status of {status}. Only a {what} with one of the following \
         statuses may be authenticated: requires_action."
    )
}

/// Names where the holder goes afterwards, with what Stripe adds to it.
fn way_back(return_url: &str, what: &str, id: &str, secret: &str, succeeds: bool) -> String {
    let sign = if return_url.contains('?') { '&' } else { '?' };
    let status = if succeeds { "succeeded" } else { "failed" };
    format!("{return_url}{sign}{what}={id}&{what}_client_secret={secret}&redirect_status={status}")
}

fn page(what: &str, id: &str, status: &str, returns: bool) -> Answer {
    let buttons = if status == Status::RequiresAction.as_str() {
        "<button name=\"result\" value=\"succeed\">Authenticate</button>\n\
         <button name=\"result\" value=\"fail\">Fail authentication</button>"
    } else {
        "<p>Nothing is asked of you any more.</p>"
    };
    let redirect = if returns {
        "<input type=\"hidden\" name=\"redirect\" value=\"true\">\n"
    } else {
        ""
    };
    Answer::Html(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>3D Secure test page</title></head>\n<body>\n\
         <h1>3D Secure test page</h1>\n<p>{id} is {what}; its status is {status}.</p>\n\
         <form method=\"post\">\n{redirect}{buttons}\n</form>\n</body>\n</html>\n"
    ))
}
