//! The payment methods of one customer.

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page;
use crate::mocks::stripe::objects::{Kind, Method, Thing};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::customer_sources::owner;
use super::payment_methods::{REDISPLAY, TYPE};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/customers/{parent}/payment_methods", "customers.payment_methods.list", Kind::Method, &[],
<<<<<<< HEAD
        &["allow_redisplay=always|limited|unspecified", "ending_before$", "limit#", "starting_after$", "type=acss_debit|affirm|afterpay_clearpay|alipay|alma|amazon_pay|au_becs_debit|bacs_debit|bancontact|billie|bizum|blik|boleto|card|cashapp|crypto|custom|customer_balance|eps|fpx|giropay|grabpay|ideal|kakao_pay|klarna|konbini|kr_card|link|mb_way|mobilepay|multibanco|naver_pay|nz_bank_account|oxxo|p24|pay_by_bank|payco|paynow|paypal|payto|pix|promptpay|revolut_pay|samsung_pay|satispay|scalapay|sepa_debit|sofort|sunbit|swish|twint|upi|us_bank_account|wechat_pay|zip"], list).listing(),
=======
        &["allow_redisplay=always|limited|unspecified", "ending_before$", "limit#", "starting_after$", TYPE], list).listing(),
>>>>>>> oracle
    row(Get, "/v1/customers/{parent}/payment_methods/{id}", "customers.payment_methods.retrieve", Kind::Method, &[], &[],
        retrieve),
];

fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = owner(scene)?;
    let kind = scene.params.text("type")?;
    let redisplay = scene.params.one_of("allow_redisplay", &REDISPLAY)?;
    let keep = |m: &Method| {
        m.customer.as_ref() == Some(&customer.id)
            && !customer.keeps(&m.id)
            && kind.is_none_or(|kind| kind == "card")
            && redisplay.is_none_or(|wanted| m.allow_redisplay.unwrap_or("unspecified") == wanted)
    };
    page(scene, Kind::Method, keep, Thing::Method)
}

fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let customer = owner(scene)?;
    let found = scene.tx.get::<Method>(scene.id);
    let own = found.filter(|m| m.customer.as_ref() == Some(&customer.id));
    let own = own.ok_or_else(|| Failure::no_such(Kind::Method.word(), scene.id, "payment_method"))?;
    Ok(Answer::One(Thing::Method(own)))
}
