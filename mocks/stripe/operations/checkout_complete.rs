//! A checkout session as a customer completes it: an endpoint of the suite's own, and a page with a button that calls it.
//!
//! It is an attempt like any other, so that a fault can lose the customer too. No key is needed, for a customer has none. A card that
//! asks for authentication is authenticated on the way.

use std::sync::Arc;

use crate::mocks::stripe::billing::discounts::{self, Chosen};
use crate::mocks::stripe::billing::{agenda, collect};
use crate::mocks::stripe::cards::Behaviour;
use crate::mocks::stripe::due::{self, Work};
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{
    Buyer, CaptureMethod, Customer, Intent, IntentTerms, Kind, Method, Mode, On, Session, SessionLine, SessionStatus,
    Setup, SetupStatus, Status, Subscription, Task, Thing,
};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::checkout::{check_open, own};
use super::confirm::{Presence, confirm};
use super::payment_methods::{self, attached};
use super::setup_intents;
use super::subscription_terms::{Extra, NewItem};
use super::subscriptions::{self, Plan};

/// Names the page on which the customer completes a session, on the host by which the request came.
pub(crate) fn page_url(scene: &Scene<'_, '_>, id: &str) -> Arc<str> {
    let (base, account) = (scene.base, scene.tx.partition());
    let account = match &**account {
        "" => String::new(),
        account => format!("?account={account}"),
    };
    format!("{base}/v1/test_helpers/checkout/sessions/{id}/complete{account}").into()
}

/// Shows the page.
pub(crate) fn show(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let session = own(scene)?;
    let amount = session
        .currency
        .map_or(String::new(), |currency| format!(" {}", currency.show(session.total)));
    let (id, status) = (&session.id, session.status.as_str());
    let form = if session.status == SessionStatus::Open {
        "<form method=\"post\">\n<input type=\"hidden\" name=\"redirect\" value=\"true\">\n\
         <label>Email <input name=\"email\" value=\"customer@example.com\"></label>\n\
         <label>Payment method <input name=\"payment_method\" value=\"pm_card_visa\"></label>\n\
         <button>Complete</button>\n</form>"
    } else {
        "<p>Nothing is asked of you any more.</p>"
    };
    Ok(Answer::Html(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Checkout test page</title></head>\n<body>\n\
         <h1>Checkout test page</h1>\n<p>{id}{amount}; its status is {status}.</p>\n{form}\n</body>\n</html>\n"
    )))
}

/// Completes a session as a customer does.
pub(crate) fn complete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let redirects = params.boolean("redirect")?.unwrap_or(false);
    let before = own(scene)?;
    check_open(&before, "completed")?;
    let card = params.text("payment_method")?.unwrap_or("pm_card_visa");
    let method = scene.method(card, "payment_method")?;
    payment_methods::check_owner(&method, before.customer.as_ref().or(method.customer.as_ref()))?;
    payment_methods::check_unspent(&method)?;
    let mut session = Session::clone(&before);
    let known = before.customer.as_deref().and_then(|id| scene.tx.get::<Customer>(id));
    let email = params
        .text("email")?
        .map(Into::into)
        .or_else(|| before.customer_email.clone());
    let email = email.or_else(|| known.as_ref().and_then(|customer| customer.email.clone()));
    let name = params
        .text("name")?
        .map(Into::into)
        .or_else(|| known.as_ref().and_then(|customer| customer.name.clone()));
    session.buyer = Some(Box::new(Buyer { email, name }));
    match session.mode {
        Mode::Payment => pay(scene, &mut session, method)?,
        Mode::Setup => set_up(scene, &mut session, method)?,
        Mode::Subscription => subscribe(scene, &mut session, method)?,
    }
    session.status = SessionStatus::Complete;
    due::never(scene.tx, &Work::Billing(Task::ExpireSession(Arc::clone(&session.id))));
    let session = scene.tx.put(session);
    scene.tx.effect("checkout_session_complete", &session.id);
    scene.event("checkout.session.completed", Arc::clone(&session));
    match (redirects, session.success_url.as_deref()) {
        (true, Some(to)) => Ok(Answer::Redirect(to.replace("{CHECKOUT_SESSION_ID}", &session.id))),
        _ => Ok(Answer::One(Thing::Session(session))),
    }
}

/// Finds the customer, or makes one of who completes the session.
fn customer(scene: &mut Scene<'_, '_>, session: &mut Session) -> Outcome<Arc<Customer>> {
    if let Some(id) = &session.customer {
        return scene.customer(id, "customer");
    }
    let mut customer = Customer::new(scene.new_id("cus_"), scene.now());
    if let Some(Buyer { email, name }) = session.buyer.as_deref() {
        (customer.email, customer.name) = (email.clone(), name.clone());
    }
    let customer = scene.tx.put(customer);
    scene.event("customer.created", Arc::clone(&customer));
    session.customer = Some(Arc::clone(&customer.id));
    Ok(customer)
}

/// Pays a session by an intent; one whose card was declined stays for the next card.
fn pay(scene: &mut Scene<'_, '_>, session: &mut Session, method: Method) -> Outcome<()> {
    let terms = Arc::clone(&session.terms);
    if session.creates_customer || terms.setup_future_usage.is_some() {
        customer(scene, session)?;
    }
    if session.total == 0 {
        session.paid = true;
        redeem(scene, session);
        return Ok(());
    }
    let open = session.intent.as_deref().and_then(|id| scene.tx.get::<Intent>(id));
    let open = open.filter(|intent| intent.status == Status::RequiresPaymentMethod);
    let intent = match open {
        Some(intent) => Intent::clone(&intent),
        None => {
            let intent = intent(scene, session);
            session.intent = Some(Arc::clone(&intent.id));
            scene.event("payment_intent.created", Arc::new(intent.clone()));
            intent
        }
    };
    let intent = Intent {
        method: Some(Arc::clone(&method.id)),
        status: Status::RequiresConfirmation,
        authenticated: asks(&method),
        customer: session.customer.clone(),
        ..intent
    };
    match confirm(scene, intent, Some(method), Presence::HERE) {
        Ok(intent) => {
            session.paid = intent.status == Status::Succeeded;
            redeem(scene, session);
            Ok(())
        }
        Err(failure) => {
            if failure.charge.is_some() {
                // The session stays open, and remembers the intent.
                let mut open = session.clone();
                open.buyer = None;
                scene.tx.put(open);
            }
            Err(failure)
        }
    }
}

/// Says whether a card asks its holder, who is there.
fn asks(method: &Method) -> bool {
    matches!(method.card.test.behaviour, Behaviour::Authenticates { .. })
}

fn intent(scene: &mut Scene<'_, '_>, session: &Session) -> Intent {
    let terms = &session.terms;
    Intent {
        id: scene.new_id("pi_"),
        created: scene.now(),
        amount: session.total,
        amount_received: 0,
        currency: session
            .currency
            .unwrap_or(crate::mocks::stripe::currency::Currency::USD),
        status: Status::RequiresPaymentMethod,
        capture_method: if terms.manual {
            CaptureMethod::Manual
        } else {
            CaptureMethod::Automatic
        },
        confirmation_manual: false,
        customer: session.customer.clone(),
        method: None,
        charge: None,
        description: terms.description.as_deref().map(Into::into),
        metadata: terms.metadata.clone(),
        failed: None,
        canceled: None,
        authenticated: false,
        page: None,
        terms: Some(Arc::new(IntentTerms {
            receipt_email: terms.receipt_email.clone(),
            shipping: terms.shipping.clone(),
            statement_descriptor: terms.statement_descriptor.clone(),
            statement_descriptor_suffix: terms.statement_descriptor_suffix.clone(),
            transfer_group: terms.transfer_group.clone(),
            setup_future_usage: terms.setup_future_usage,
            return_url: None,
            automatic: None,
        })),
    }
}

fn chosen(session: &Session) -> Vec<Chosen> {
    let chosen = session
        .discount
        .iter()
        .map(|(coupon, promotion)| Chosen::Coupon(Arc::clone(coupon), promotion.clone()));
    chosen.collect()
}

fn redeem(scene: &mut Scene<'_, '_>, session: &Session) {
    let on = On::Session(Arc::clone(&session.id));
    let now = scene.now();
    discounts::redeem(scene, chosen(session), &on, session.customer.as_ref(), now);
}

fn set_up(scene: &mut Scene<'_, '_>, session: &mut Session, method: Method) -> Outcome<()> {
    if session.creates_customer {
        customer(scene, session)?;
    }
    if let Behaviour::Declines(decline) = method.card.test.behaviour {
        return Err(Failure::card(decline));
    }
    let setup = Setup {
        id: scene.new_id("seti_"),
        created: scene.now(),
        status: SetupStatus::RequiresConfirmation,
        usage: "off_session",
        customer: session.customer.clone(),
        method: Some(Arc::clone(&method.id)),
        description: session.terms.description.as_deref().map(Into::into),
        return_url: None,
        automatic: None,
        failed: None,
        cancellation: None,
        page: None,
        metadata: session.terms.metadata.clone(),
    };
    scene.event("setup_intent.created", Arc::new(setup.clone()));
    let setup = setup_intents::succeed(scene, setup, method)?;
    session.setup = Some(Arc::clone(&setup.id));
    Ok(())
}

/// Begins the subscription, and pays its first invoice; of one that cannot be paid nothing stays.
fn subscribe(scene: &mut Scene<'_, '_>, session: &mut Session, method: Method) -> Outcome<()> {
    let customer = customer(scene, session)?;
    let now = agenda::now(scene, customer.clock.as_ref());
    let authenticated = asks(&method);
    let method = attached(method, &customer.id)?;
    let method = payment_methods::put_attached(scene, method);
    let plan = plan(scene, session, &customer, &method.id, now);
    let (id, open) = subscriptions::begin(scene, plan, &customer, now);
    if let Some(open) = open
        && let Err(failure) = collect::pay_as(scene, &open, &method.id, Presence::HERE, authenticated, now)
    {
        scene.tx.discard();
        return Err(failure.plain());
    }
    let subscription = scene.tx.get::<Subscription>(&id).expect("it was just put");
    session.invoice = subscription.latest_invoice.clone();
    session.subscription = Some(id);
    session.paid = true;
    Ok(())
}

fn plan(scene: &mut Scene<'_, '_>, session: &Session, customer: &Arc<Customer>, method: &Arc<str>, now: i64) -> Plan {
    let lines: Vec<_> = session
        .lines
        .iter()
        .filter_map(|id| scene.tx.get::<SessionLine>(id))
        .collect();
    let (mut items, mut extra) = (Vec::new(), Vec::new());
    for line in lines {
        if line.price.recurring.is_some() {
            items.push(NewItem {
                id: scene.new_id("si_"),
                price: Arc::clone(&line.price),
                quantity: line.quantity,
                discounts: Vec::new(),
                metadata: line.metadata.clone(),
            });
        } else {
            extra.push(Extra {
                price: Arc::clone(&line.price),
                quantity: line.quantity,
                discountable: true,
                metadata: Metadata::default(),
            });
        }
    }
    let mut subscription = subscriptions::blank(scene, customer, &items, session.terms.trial(now), now);
    subscription.default_method = Some(Arc::clone(method));
    subscription.description.clone_from(&session.terms.description);
    subscription.metadata = session.terms.metadata.clone();
    subscription.missing_method = session.terms.missing_method.unwrap_or(subscription.missing_method);
    Plan {
        subscription,
        items,
        discounts: chosen(session),
        extra,
    }
}

/// Lets a session expire whose time is over.
pub(crate) fn expire(scene: &mut Scene<'_, '_>, id: &str) {
    let found = Kind::Session.find(scene.tx, id);
    if let Some(Thing::Session(session)) = found
        && session.status == SessionStatus::Open
    {
        super::checkout::expired(scene, &session);
    }
}
