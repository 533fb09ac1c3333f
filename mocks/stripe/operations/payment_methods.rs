//! Payment methods.

use std::sync::Arc;

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page;
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Billing, Customer, Kind, Method, Thing};
use crate::mocks::stripe::params::{Change, Params};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/payment_methods", "payment_methods.create", Kind::Method, &["payment_method"],
        &["allow_redisplay=always|limited|unspecified", "billing_details{}", "card{}", "metadata{}", "radar_options{}", "type=acss_debit|affirm|afterpay_clearpay|alipay|alma|amazon_pay|au_becs_debit|bacs_debit|bancontact|billie|bizum|blik|boleto|card|cashapp|crypto|custom|customer_balance|eps|fpx|giropay|grabpay|ideal|kakao_pay|klarna|konbini|kr_card|link|mb_way|mobilepay|multibanco|naver_pay|nz_bank_account|oxxo|p24|pay_by_bank|payco|paynow|paypal|payto|pix|promptpay|revolut_pay|samsung_pay|satispay|scalapay|sepa_debit|sofort|sunbit|swish|twint|upi|us_bank_account|wechat_pay|zip"], create).publishable(),
    row(Get, "/v1/payment_methods", "payment_methods.list", Kind::Method, &[],
        &["allow_redisplay=always|limited|unspecified", "customer$", "ending_before$", "limit#", "starting_after$", TYPE], list).listing(),
    row(Get, "/v1/payment_methods/{id}", "payment_methods.retrieve", Kind::Method, &[], &[], retrieve),
    row(Post, "/v1/payment_methods/{id}", "payment_methods.update", Kind::Method, &["payment_method_update"],
        &["allow_redisplay=always|limited|unspecified", "billing_details{}", "card{}", "metadata{}="], update),
    row(Post, "/v1/payment_methods/{id}/attach", "payment_methods.attach", Kind::Method, &["payment_method_attach"],
        &["customer$", "customer_account$"], attach),
    row(Post, "/v1/payment_methods/{id}/detach", "payment_methods.detach", Kind::Method, &["payment_method_detach"],
        &[], detach),
];

/// The types that payment methods can be listed by; only cards are modelled.
pub(crate) const TYPE: &str = "type=\
    acss_debit|affirm|afterpay_clearpay|alipay|alma|amazon_pay|au_becs_debit|bacs_debit|bancontact|billie|bizum|\
    blik|boleto|card|cashapp|crypto|custom|customer_balance|eps|fpx|giropay|grabpay|ideal|kakao_pay|klarna|\
    konbini|kr_card|link|mb_way|mobilepay|multibanco|naver_pay|nz_bank_account|oxxo|p24|pay_by_bank|payco|\
    paynow|paypal|payto|pix|promptpay|revolut_pay|samsung_pay|satispay|scalapay|sepa_debit|sofort|sunbit|swish|\
    twint|upi|us_bank_account|wechat_pay|zip";

/// Says whether a payment method may be shown to its customer again.
pub(crate) const REDISPLAY: [&str; 3] = ["always", "limited", "unspecified"];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let metadata = Metadata::read(&params)?;
    let allow_redisplay = params.one_of("allow_redisplay", &REDISPLAY)?;
    let method = read(scene, &params)?;
    let method = scene.tx.put(Method {
        metadata,
        allow_redisplay,
        ..method
    });
    scene.tx.effect("payment_method", &method.id);
    Ok(Answer::One(Thing::Method(method)))
}

/// Reads a payment method from its parameters; it is not put yet.
pub(crate) fn read(scene: &mut Scene<'_, '_>, params: &Params<'_>) -> Outcome<Method> {
    params.required("type")?;
    params.one_of("type", &["card"])?;
    let name = params.name("card");
    let card = params.nested("card")?.ok_or_else(|| Failure::missing(&name))?;
    let mut billing = Billing::default();
    billing.merge(params)?;
    let payer = match card.text("token")? {
        Some(token) => {
            card.only(&["token"])?;
            scene.spend_token(token, &card.name("token"))?
        }
        None => scene.card(&card)?,
    };
    let billing = billing.unless_empty().or(payer.billing);
    Ok(Method {
        id: scene.new_id("pm_"),
        created: scene.now(),
        card: payer.card,
        customer: None,
        spent: false,
        allow_redisplay: None,
        set_up: false,
        billing,
        metadata: Metadata::default(),
    })
}

/// Reads `payment_method` or `payment_method_data`; what it makes is not put yet.
pub(crate) fn given(scene: &mut Scene<'_, '_>, params: &Params<'_>) -> Outcome<Change<Method>> {
    if let Some(data) = params.nested("payment_method_data")? {
        data.only(&[
            "allow_redisplay",
            "billing_details",
            "card",
            "metadata",
            "radar_options",
            "type",
        ])?;
        let metadata = Metadata::read(&data)?;
        let method = read(scene, &data)?;
        return Ok(Change::Set(Method { metadata, ..method }));
    }
    Ok(match params.change("payment_method")? {
        Change::Keep => Change::Keep,
        Change::Clear => Change::Clear,
        Change::Set(id) => Change::Set(scene.method(id, "payment_method")?),
    })
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Method(own(scene)?.into())))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let before = own(scene)?;
    let mut method = before.clone();
    if method.customer.is_none() {
        let message = "You must save this PaymentMethod to a customer before you can update it.";
        return Err(Failure::invalid(message).param("payment_method"));
    }
    method.metadata.merge(&params)?;
    if let Some(allowed) = params.one_of("allow_redisplay", &REDISPLAY)? {
        method.allow_redisplay = Some(allowed);
    }
    let mut billing = method.billing.as_deref().cloned().unwrap_or_default();
    billing.merge(&params)?;
    method.billing = billing.unless_empty();
    if let Some(card) = params.nested("card")? {
        card.only(&["exp_month", "exp_year", "networks"])?;
        method.card = method.card.renewed(&card, scene.tx.now().date())?;
    }
    let method = scene.tx.put(method);
    scene.tx.effect("payment_method_update", &method.id);
    scene.changed("payment_method.updated", Arc::new(before), Arc::clone(&method));
    Ok(Answer::One(Thing::Method(method)))
}

pub(crate) fn attach(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = scene.params.required("customer")?;
    let method = own(scene)?;
    let customer = scene.customer(customer, "customer")?;
    let method = attached(method, &customer.id)?;
    let method = put_attached(scene, method);
    scene.tx.effect("payment_method_attach", &method.id);
    Ok(Answer::One(Thing::Method(method)))
}

/// Attaches a payment method to a customer, if it can be.
pub(crate) fn attached(mut method: Method, customer: &Arc<str>) -> Outcome<Method> {
    check_unspent(&method)?;
    if method.customer.as_ref().is_some_and(|own| own != customer) {
        let message = "The payment method you provided has already been attached to a customer.";
        return Err(Failure::invalid(message).param("payment_method"));
    }
    method.card.check_keepable()?;
    method.customer = Some(Arc::clone(customer));
    Ok(method)
}

/// Puts a method that was just attached, and tells of it.
pub(crate) fn put_attached(scene: &mut Scene<'_, '_>, method: Method) -> Arc<Method> {
    let method = scene.tx.put(method);
    scene.event("payment_method.attached", Arc::clone(&method));
    method
}

/// Refuses a payment method that its customer cannot use for this.
pub(crate) fn check_owner(method: &Method, customer: Option<&Arc<str>>) -> Outcome<()> {
    let message = match (&method.customer, customer) {
        (None, _) => return Ok(()),
        (Some(owner), Some(customer)) if owner == customer => return Ok(()),
        (Some(_), None) => {
            "The payment method you provided is attached to a customer so for security purposes you must provide the \
             customer in the request."
                .to_owned()
        }
        (Some(_), Some(_)) => format!(
            "The customer does not have a payment method with the ID {}. The payment method must be attached to the \
             customer.",
            method.id
        ),
    };
    Err(Failure::invalid(message).param("payment_method"))
}

/// Refuses a payment method that was used up.
pub(crate) fn check_unspent(method: &Method) -> Outcome<()> {
    if method.spent {
        let message = "This PaymentMethod was previously used without being attached to a Customer or was detached from a \
                       Customer, and may not be used again.";
        return Err(Failure::invalid(message).param("payment_method"));
    }
    Ok(())
}

pub(crate) fn detach(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let before = own(scene)?;
    let mut method = before.clone();
    let Some(customer) = method.customer.take() else {
        let message = "The payment method you provided is not attached to a customer so detachment is impossible.";
        return Err(Failure::invalid(message).param("payment_method"));
    };
    method.spent = true;
    let method = scene.tx.put(method);
    forget(scene, &customer, &method.id);
    scene.tx.effect("payment_method_detach", &method.id);
    scene.changed("payment_method.detached", Arc::new(before), Arc::clone(&method));
    Ok(Answer::One(Thing::Method(method)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = scene.params.text("customer")?;
    if let Some(id) = customer {
        scene.customer(id, "customer")?;
    }
    let kind = scene.params.text("type")?;
    let redisplay = scene.params.one_of("allow_redisplay", &REDISPLAY)?;
    let keep = |m: &Method| {
        !m.id.starts_with("card_")
            && kind.is_none_or(|k| k == "card")
            && redisplay.is_none_or(|wanted| m.allow_redisplay.unwrap_or("unspecified") == wanted)
            && customer.is_none_or(|id| m.customer.as_deref() == Some(id))
    };
    page(scene, Kind::Method, keep, Thing::Method)
}

fn own(scene: &mut Scene<'_, '_>) -> Outcome<Method> {
    let found = scene.method(scene.id, "payment_method");
    found.map_err(|_| Failure::no_such(Kind::Method.word(), scene.id, "payment_method"))
}

/// Takes a detached payment method out of its customer's defaults.
fn forget(scene: &mut Scene<'_, '_>, customer: &str, method: &Arc<str>) {
    let Some(customer) = scene.tx.get::<Customer>(customer) else {
        return;
    };
    let is_it = |id: &Option<Arc<str>>| id.as_ref() == Some(method);
    if is_it(&customer.default_method) || is_it(&customer.default_source) || customer.keeps(method) {
        let mut left = Customer::clone(&customer);
        left.default_method = left.default_method.filter(|id| id != method);
        left.forget(method);
        scene.tx.put(left);
    }
}
