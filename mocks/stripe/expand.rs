//! `expand[]`: other objects in place of their ids. Paths are checked before anything is carried out.

use std::sync::Arc;

use super::failure::{Failure, Outcome};
use super::objects::{Charge, Customer, Expanded, Intent, Kind, Method, Page, Refund, Shown, Target, Thing, Token};
use super::params::Params;
use crate::store::Tx;

/// How many levels a path may have, `data` not counted.
const MAX_LEVELS: usize = 4;

/// Is a path that leads from an object to another.
pub(crate) type Path = Vec<(&'static str, Target)>;

/// Reads the paths of a request whose answer shows this kind, one or a list of it.
pub(crate) fn read(params: &Params<'_>, kind: Kind, list: bool) -> Outcome<Vec<Path>> {
    let paths = params.list("expand")?;
    paths.into_iter().map(|path| check(path, kind, list)).collect()
}

fn check(path: &str, kind: Kind, list: bool) -> Outcome<Path> {
    let shown: String = path.chars().take(200).collect();
    let refuse = |hint: String| {
        let message = format!("This property cannot be expanded ({shown}).{hint}");
        Err(Failure::invalid(message).param("expand"))
    };
    let inner = if list { path.strip_prefix("data.") } else { Some(path) };
    let Some(inner) = inner else {
        let known = path.split('.').next().and_then(|first| kind.link(first));
        return refuse(known.map_or(String::new(), |_| {
            format!(" You may want to try expanding 'data.{shown}' instead.")
        }));
    };
    let mut steps = inner.split('.');
    let (mut kind, mut out) = (kind, Path::new());
    while let Some(step) = steps.next() {
        let Some((field, target)) = kind.link(step) else {
            return refuse(String::new());
        };
        out.push((field, target));
        kind = match target {
            Target::One(kind) => kind,
            Target::Refunds => match steps.next() {
                None | Some("data") => Kind::Refund,
                Some(_) => return refuse(String::new()),
            },
        };
    }
    if out.len() > MAX_LEVELS {
        let message = format!("You cannot expand more than {MAX_LEVELS} levels of a property. Property: {shown}");
        return Err(Failure::invalid(message).param("expand"));
    }
    Ok(out)
}

/// Takes the versions of what the paths lead to.
pub(crate) fn expand(tx: &Tx<'_>, thing: Thing, paths: &[&[(&'static str, Target)]]) -> Shown {
    let mut expanded: Vec<(&'static str, Expanded)> = Vec::new();
    for (field, target) in paths.iter().filter_map(|p| p.first()) {
        if expanded.iter().any(|(known, _)| known == field) {
            continue;
        }
        let below: Vec<_> = paths
            .iter()
            .filter_map(|p| p.split_first())
            .filter(|((first, _), rest)| first == field && !rest.is_empty())
            .map(|(_, rest)| rest)
            .collect();
        let found = match target {
            Target::One(kind) => thing
                .reference(field)
                .and_then(|id| find(tx, *kind, &id))
                .map(|t| Expanded::One(expand(tx, t, &below))),
            Target::Refunds => refunds(tx, &thing, &below).map(Expanded::Many),
        };
        expanded.extend(found.map(|e| (*field, e)));
    }
    Shown {
        thing,
        expanded: (!expanded.is_empty()).then(|| expanded.into_boxed_slice()),
    }
}

/// Finds the current version of an object.
pub(crate) fn find(tx: &Tx<'_>, kind: Kind, id: &str) -> Option<Thing> {
    match kind {
        Kind::Charge => tx.get::<Charge>(id).map(Thing::Charge),
        Kind::Customer => tx.get::<Customer>(id).map(Thing::Customer),
        Kind::Intent => tx.get::<Intent>(id).map(Thing::Intent),
        Kind::Method => tx.get::<Method>(id).map(Thing::Method),
        Kind::Refund => tx.get::<Refund>(id).map(Thing::Refund),
        Kind::Token => tx.get::<Token>(id).map(Thing::Token),
        Kind::Card => tx.get::<Method>(id).map(Thing::Card),
        Kind::Balance => None,
    }
}

/// Shows a charge's newest refunds, as many as a page has.
fn refunds(tx: &Tx<'_>, thing: &Thing, paths: &[&[(&'static str, Target)]]) -> Option<Page> {
    const FIRST_PAGE: usize = 10;
    let Thing::Charge(charge) = thing else { return None };
    let ids: &[Arc<str>] = charge.refunds.as_deref().unwrap_or_default();
    let newest = ids.iter().rev().take(FIRST_PAGE);
    let data = newest.filter_map(|id| tx.get::<Refund>(id));
    Some(Page {
        url: format!("/v1/charges/{}/refunds", charge.id).into(),
        has_more: ids.len() > FIRST_PAGE,
        data: data.map(|r| expand(tx, Thing::Refund(r), paths)).collect(),
    })
}
