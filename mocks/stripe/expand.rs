//! `expand[]`: other objects in place of their ids. Paths are checked before anything is carried out.

use super::failure::{Failure, Outcome};
use super::objects::{Expanded, Kind, Page, Shown, Target, Thing};
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
        let known = kind.link(path);
        return refuse(known.map_or(String::new(), |_| {
            format!(" You may want to try expanding 'data.{shown}' instead.")
        }));
    };
    let (mut kinds, mut out, mut rest) = (vec![kind], Path::new(), inner);
    loop {
        let Some((field, target, below)) = kinds.iter().find_map(|kind| kind.link(rest)) else {
            return refuse(String::new());
        };
        out.push((field, target));
        rest = below;
        kinds = match target {
            Target::One(kind) | Target::Each(kind) => vec![kind],
            Target::OneOf(kinds) => kinds.to_vec(),
            Target::Many(kind) => {
                rest = match below.strip_prefix("data.") {
                    Some(below) => below,
                    None if below.is_empty() || below == "data" => "",
                    None => return refuse(String::new()),
                };
                vec![kind]
            }
        };
        if rest.is_empty() {
            break;
        }
    }
    if out.len() > MAX_LEVELS {
        let message = format!("You cannot expand more than {MAX_LEVELS} levels of a property. Property: {shown}");
        return Err(Failure::invalid(message).param("expand"));
    }
    Ok(out)
}

/// Takes the versions of what the paths lead to, and of what belongs to the thing.
pub(crate) fn expand(tx: &Tx<'_>, thing: Thing, paths: &[&[(&'static str, Target)]]) -> Shown {
    let mut expanded: Vec<(&'static str, Expanded)> = Vec::new();
    for (field, target) in thing.kind().links() {
        let leading: Vec<_> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|((first, _), _)| first == field)
            .map(|(_, rest)| rest)
            .collect();
        if leading.is_empty() && !thing.kind().inside().contains(field) {
            continue;
        }
        let below: Vec<_> = leading.into_iter().filter(|rest| !rest.is_empty()).collect();
        let one = |kinds: &[Kind]| {
            let id = thing.reference(field)?;
            let found = kinds.iter().find_map(|kind| kind.find(tx, &id))?;
            Some(Expanded::One(expand(tx, found, &below)))
        };
        let found = match target {
            Target::One(kind) => one(&[*kind]),
            Target::OneOf(kinds) => one(kinds),
            Target::Each(kind) => {
                let ids = thing.members(field);
                let each = ids.iter().filter_map(|id| kind.find(tx, id));
                Some(Expanded::Each(each.map(|found| expand(tx, found, &below)).collect()))
            }
            Target::Many(kind) => Some(Expanded::Many(members(tx, &thing, field, *kind, &below))),
        };
        expanded.extend(found.map(|found| (*field, found)));
    }
    Shown {
        thing,
        expanded: (!expanded.is_empty()).then(|| expanded.into_boxed_slice()),
    }
}

/// Shows a thing with what belongs to it.
pub(crate) fn shown(tx: &Tx<'_>, thing: impl Into<Thing>) -> Shown {
    expand(tx, thing.into(), &[])
}

/// Shows the first page of what belongs to a thing.
fn members(tx: &Tx<'_>, thing: &Thing, field: &str, kind: Kind, paths: &[&[(&'static str, Target)]]) -> Page {
    const FIRST_PAGE: usize = 10;
    let ids = thing.members(field);
    let found = ids.iter().take(FIRST_PAGE).filter_map(|id| kind.find(tx, id));
    Page {
        url: thing.members_url(field).into(),
        has_more: ids.len() > FIRST_PAGE,
        data: found.map(|found| expand(tx, found, paths)).collect(),
        next: None,
    }
}
