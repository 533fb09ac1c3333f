//! Tokens.

use crate::mocks::stripe::cards::Card;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{Kind, Thing, Token};
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/tokens", "tokens.create", Kind::Token, &["token"], TOKEN_CREATE, create).publishable(),
    row(Get, "/v1/tokens/{id}", "tokens.retrieve", Kind::Token, &[], &[], retrieve),
];

const TOKEN_CREATE: &[&str] = &[
    "account{}",
    "bank_account{}",
    "card{}$",
    "customer$",
    "cvc_update{}",
    "person{}",
    "pii{}",
];

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = &scene.params;
    params.not_modelled(&["account", "bank_account", "customer", "cvc_update", "person", "pii"])?;
    if let Ok(Some(id)) = params.text("card") {
        let id: String = id.chars().take(200).collect();
        let message = format!("Making a token of a card that a customer keeps ({id}) is not modelled here.");
        return Err(Failure::invalid(message).param("card"));
    }
    let card = scene.params.nested("card")?.ok_or_else(|| Failure::missing("card"))?;
    let payer = scene.card(&card)?;
    let token = Token {
        id: scene.new_id("tok_"),
        created: scene.now(),
        card: payer.card,
        used: false,
        billing: payer.billing,
    };
    let token = scene.tx.put(token);
    scene.tx.effect("token", &token.id);
    Ok(Answer::One(Thing::Token(token)))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    if let Some(card) = Card::named(scene.id, "tok_", scene.tx.now().year()) {
        let token = Token {
            id: scene.id.into(),
            created: scene.now(),
            card,
            used: false,
            billing: None,
        };
        return Ok(Answer::One(Thing::Token(token.into())));
    }
    Ok(Answer::One(Thing::Token(scene.own(Kind::Token, "token")?)))
}
