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
        &["allow_redisplay=always|limited|unspecified", "ending_before$", "limit#", "starting_after$", TYPE], list).listing(),
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
