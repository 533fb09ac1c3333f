//! Webhook endpoints.

use std::sync::Arc;

use crate::deliver::Target;
use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::page;
use crate::mocks::stripe::metadata::Metadata;
use crate::mocks::stripe::objects::{Deleted, Endpoint, Kind, Resource as _, Thing};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{
    Route,
    Verb::{Delete, Get, Post},
    row,
};
use crate::mocks::stripe::scene::{Answer, Scene};
use crate::mocks::stripe::webhooks::{self, types};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/webhook_endpoints", "webhook_endpoints.create", Kind::Endpoint, &["webhook_endpoint"],
        &["api_version$", "connect?", "description$", "enabled_events[]", "metadata{}=", "url$"], create),
    row(Get, "/v1/webhook_endpoints", "webhook_endpoints.list", Kind::Endpoint, &[],
        &["ending_before$", "limit#", "starting_after$"], list).listing(),
    row(Get, "/v1/webhook_endpoints/{id}", "webhook_endpoints.retrieve", Kind::Endpoint, &[], &[], retrieve),
    row(Post, "/v1/webhook_endpoints/{id}", "webhook_endpoints.update", Kind::Endpoint, &["webhook_endpoint_update"],
        &["description$", "disabled?", "enabled_events[]", "metadata{}=", "url$"], update),
    row(Delete, "/v1/webhook_endpoints/{id}", "webhook_endpoints.delete", Kind::Endpoint, &["webhook_endpoint_delete"], &[], delete),
];

/// How many an account may have.
const MOST: usize = 16;
const LONGEST_SECRET: usize = 256;

pub(crate) fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let api_version = api_version(&params)?;
    let url = url(scene, params.required("url")?)?;
    let enabled_events = match enabled_events(&params)? {
        Some(events) => events,
        None => return Err(Failure::missing("enabled_events")),
    };
    let own = scene.tx.get::<Endpoint>(scene.id).is_some();
    if scene.tx.list::<Endpoint>().count() >= MOST && !own {
        let message = format!("You have reached the maximum of {MOST} test webhook endpoints.");
        return Err(Failure::invalid(message));
    }
    let mut description = None;
    params.change("description")?.apply(&mut description);
    let secret = match params.text("secret")? {
        Some(secret) if secret.len() > LONGEST_SECRET => {
            let message = format!("Invalid string: a secret has at most {LONGEST_SECRET} bytes");
            return Err(Failure::invalid(message).param("secret"));
        }
        Some(secret) => secret.into(),
        None => webhooks::new_secret(scene.tx),
    };
    let (id, created) = (scene.new_id("we_"), scene.now());
    let endpoint = scene.tx.put(Endpoint {
        id,
        created,
        url,
        secret,
        enabled_events,
        disabled: false,
        connect: params.boolean("connect")?.unwrap_or(false),
        api_version,
        description,
        metadata: Metadata::read(&params)?,
        fresh: false,
    });
    scene.tx.effect("webhook_endpoint", &endpoint.id);
    let fresh = Endpoint {
        fresh: true,
        ..Endpoint::clone(&endpoint)
    };
    Ok(Answer::One(Thing::Endpoint(Arc::new(fresh))))
}

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Endpoint(own(scene)?)))
}

pub(crate) fn update(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    let mut endpoint = Endpoint::clone(&*own(scene)?);
    if let Some(given) = params.text("url")? {
        endpoint.url = url(scene, given)?;
    }
    if let Some(events) = enabled_events(&params)? {
        endpoint.enabled_events = events;
    }
    if let Some(disabled) = params.boolean("disabled")? {
        endpoint.disabled = disabled;
    }
    params.change("description")?.apply(&mut endpoint.description);
    endpoint.metadata.merge(&params)?;
    let endpoint = scene.tx.put(endpoint);
    scene.tx.effect("webhook_endpoint_update", &endpoint.id);
    Ok(Answer::One(Thing::Endpoint(endpoint)))
}

pub(crate) fn delete(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let endpoint = own(scene)?;
    scene.tx.remove::<Endpoint>(&endpoint.id);
    scene.tx.effect("webhook_endpoint_delete", &endpoint.id);
    let gone = Deleted {
        id: Arc::clone(&endpoint.id),
        object: Endpoint::OBJECT,
    };
    Ok(Answer::One(Thing::Deleted(gone.into())))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    page(scene, Kind::Endpoint, |_: &Endpoint| true, Thing::Endpoint)
}

fn own(scene: &Scene<'_, '_>) -> Outcome<Arc<Endpoint>> {
    scene.own(Kind::Endpoint, "webhook_endpoint")
}

/// Checks a URL: it is one, and leads to no public host. Stripe asks for the opposite.
fn url(scene: &Scene<'_, '_>, url: &str) -> Outcome<Arc<str>> {
    let wrong = |why: String| {
        Failure::invalid(format!("Invalid URL: {why}"))
            .code("url_invalid")
            .param("url")
    };
    let target = match Target::parse(url) {
        Ok(target) => target,
        Err(_) if !url.contains("://") => {
            return Err(wrong("An explicit scheme (such as https) must be provided.".to_owned()));
        }
        Err(why) => return Err(wrong(why.to_string())),
    };
    match scene.allowed.refuses_unseen(target.host()) {
        Some(reason) => Err(wrong(reason)),
        None => Ok(url.into()),
    }
}

fn enabled_events(params: &Params<'_>) -> Outcome<Option<Arc<[Box<str>]>>> {
    if !params.has("enabled_events") {
        return Ok(None);
    }
    let names = params.list("enabled_events")?;
    let wrong = |at: usize, why: &str| {
        let param = format!("enabled_events[{at}]");
        Err(Failure::invalid(format!("Invalid {param}: {why}")).param(&param))
    };
    if names.is_empty() {
        return Err(Failure::invalid("Invalid array").param("enabled_events"));
    }
    for (at, name) in names.iter().enumerate() {
        if *name == "*" && names.len() > 1 {
            return wrong(at, "`*` stands for all events, and goes with no other");
        }
        if *name != "*" && !types::is_known(name) {
            let name: String = name.chars().take(100).collect();
            return wrong(at, &format!("there is no event of the type {name}"));
        }
    }
    Ok(Some(names.into_iter().map(Box::from).collect()))
}

/// Reads a version: a date, and since 2024 the name of a release.
fn api_version(params: &Params<'_>) -> Outcome<Option<Arc<str>>> {
    let Some(version) = params.text("api_version")? else {
        return Ok(None);
    };
    let (date, name) = version
        .split_once('.')
        .map_or((version, None), |(date, name)| (date, Some(name)));
    let is_date = date.len() == 10
        && date.bytes().enumerate().all(|(at, b)| {
            if matches!(at, 4 | 7) {
                b == b'-'
            } else {
                b.is_ascii_digit()
            }
        });
    let is_name = |name: &str| !name.is_empty() && name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase());
    if is_date && name.is_none_or(is_name) {
        return Ok(Some(version.into()));
    }
    let shown: String = version.chars().take(100).collect();
    Err(Failure::invalid(format!("Invalid Stripe API version: {shown}")).param("api_version"))
}
