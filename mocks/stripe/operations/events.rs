//! Events, to be looked up.

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::list::{Created, page};
use crate::mocks::stripe::objects::{Event, Kind, Thing};
use crate::mocks::stripe::routes::{Route, Verb::Get, row};
use crate::mocks::stripe::scene::{Answer, Scene};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Get, "/v1/events", "events.list", Kind::Event, &[],
        &["created{}#", "delivery_success?", "ending_before$", "limit#", "starting_after$", "type$", "types[]"], list).listing(),
    row(Get, "/v1/events/{id}", "events.retrieve", Kind::Event, &[], &[], retrieve),
];

/// How many types one call may ask for.
const MOST_TYPES: usize = 20;

pub(crate) fn retrieve(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    Ok(Answer::One(Thing::Event(scene.own(Kind::Event, "id")?)))
}

pub(crate) fn list(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let created = Created::read(&scene.params)?;
    let kind = scene.params.text("type")?;
    let kinds = scene.params.list("types")?;
    let delivered = scene.params.boolean("delivery_success")?;
    if kind.is_some() && !kinds.is_empty() {
        return Err(Failure::invalid(
            "You may only specify one of these parameters: type, types.",
        ));
    }
    if kinds.len() > MOST_TYPES {
        let message = format!("Invalid array: at most {MOST_TYPES} types may be asked for at once");
        return Err(Failure::invalid(message).param("types"));
    }
    let keep = |event: &Event| {
        created.holds(event.created)
            && kind.is_none_or(|kind| matches(kind, event.kind))
            && (kinds.is_empty() || kinds.iter().any(|kind| matches(kind, event.kind)))
            && delivered.is_none_or(|delivered| delivered == (event.pending == 0))
    };
    page(scene, Kind::Event, keep, Thing::Event)
}

/// Says whether a type is the one that is asked for, or of the group that is: `charge.*`.
fn matches(wanted: &str, kind: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(group) => kind.starts_with(group),
        None => kind == wanted,
    }
}
