//! Lists: newest first, a page at a time, with filters. Rows are read as they are needed.

use std::sync::Arc;

use super::failure::{Failure, Outcome};
use super::objects::{Kind, Thing};
use super::params::Params;
use super::scene::{Answer, Scene, missing};
use crate::store::Object;

/// Bounds the time at which an object was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Created {
    from: i64,
    to: i64,
}

impl Created {
    /// Reads `created=…` or `created[gte]=…` and the like.
    pub(crate) fn read(params: &Params<'_>) -> Outcome<Self> {
        Self::read_as(params, "created")
    }

    /// Reads bounds of a time by another name.
    pub(crate) fn read_as(params: &Params<'_>, name: &str) -> Outcome<Self> {
        let Ok(Some(bounds)) = params.nested(name) else {
            let exact = params.integer(name)?;
            return Ok(Self {
                from: exact.unwrap_or(i64::MIN),
                to: exact.unwrap_or(i64::MAX),
            });
        };
        bounds.only(&["gt", "gte", "lt", "lte"])?;
        let above = bounds.integer("gt")?.map(|t| t.saturating_add(1));
        let below = bounds.integer("lt")?.map(|t| t.saturating_sub(1));
        let from = above.max(bounds.integer("gte")?).unwrap_or(i64::MIN);
        let to = [below, bounds.integer("lte")?].into_iter().flatten().min();
        let to = to.unwrap_or(i64::MAX);
        Ok(Self { from, to })
    }

    pub(crate) fn holds(self, time: i64) -> bool {
        (self.from..=self.to).contains(&time)
    }
}

/// Reads one page of the objects that a filter keeps.
pub(crate) fn page<T: Object>(
    scene: &Scene<'_, '_>,
    kind: Kind,
    keep: impl Fn(&T) -> bool,
    show: fn(Arc<T>) -> Thing,
) -> Outcome<Answer> {
    page_by(scene, kind, |id| Some(id.into()), keep, show)
}

/// Reads one page of objects whose key in their table is not the id that they show.
pub(crate) fn page_by<T: Object>(
    scene: &Scene<'_, '_>,
    kind: Kind,
    key: impl Fn(&str) -> Option<Arc<str>>,
    keep: impl Fn(&T) -> bool,
    show: impl Fn(Arc<T>) -> Thing,
) -> Outcome<Answer> {
    let limit = limit(&scene.params)?;
    let after = scene.params.text("starting_after")?;
    let before = scene.params.text("ending_before")?;
    let tx = &*scene.tx;
    let enough = limit + 1;
    let kept = |object: &Arc<T>| keep(object);
    let mut found: Vec<Arc<T>> = match (after, before) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: starting_after, ending_before.";
            return Err(Failure::invalid(message));
        }
        (Some(id), None) => {
            let older = key(id)
                .and_then(|key| tx.older::<T>(&key))
                .ok_or_else(|| missing(kind, id, "starting_after"))?;
            older.filter(kept).take(enough).collect()
        }
        (None, Some(id)) => {
            let newer = key(id)
                .and_then(|key| tx.newer::<T>(&key))
                .ok_or_else(|| missing(kind, id, "ending_before"))?;
            newer.filter(kept).take(enough).collect()
        }
        (None, None) => tx.list::<T>().filter(kept).take(enough).collect(),
    };
    let has_more = found.len() > limit;
    found.truncate(limit);
    if before.is_some() {
        found.reverse();
    }
    let data = found.into_iter().map(show).collect();
    Ok(Answer::Page { data, has_more })
}

/// Reads one page of things that are all at hand, in the order in which they are shown.
pub(crate) fn page_of(scene: &Scene<'_, '_>, kind: Kind, mut things: Vec<Thing>) -> Outcome<Answer> {
    let limit = limit(&scene.params)?;
    let place = |name: &str| {
        let Some(id) = scene.params.text(name)? else {
            return Ok(None);
        };
        let place = things.iter().position(|thing| thing.id() == id);
        place.map(Some).ok_or_else(|| missing(kind, id, name))
    };
    let (after, before) = (place("starting_after")?, place("ending_before")?);
    let all = things.len();
    let (range, has_more) = match (after, before) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: starting_after, ending_before.";
            return Err(Failure::invalid(message));
        }
        (_, Some(before)) => (before.saturating_sub(limit)..before, before > limit),
        (after, None) => {
            let first = after.map_or(0, |place| place + 1);
            (first..all.min(first + limit), all - first > limit)
        }
    };
    let data = things.drain(range).collect();
    Ok(Answer::Page { data, has_more })
}

/// Reads how many objects a page has at most.
pub(crate) fn limit(params: &Params<'_>) -> Outcome<usize> {
    let refuse = |message: &'static str| {
        Err(Failure::invalid(message)
            .code("parameter_invalid_integer")
            .param("limit"))
    };
    match params.integer("limit")? {
        None => Ok(10),
        Some(limit) if limit < 1 => refuse("This value must be greater than or equal to 1."),
        Some(limit) if limit > 100 => refuse("This value must be less than or equal to 100."),
        Some(limit) => Ok(usize::try_from(limit).unwrap_or(100)),
    }
}

/// Reads one page of what belongs to an object, in the order in which it shows it.
pub(crate) fn members(scene: &Scene<'_, '_>, kind: Kind, ids: &[Arc<str>]) -> Outcome<Answer> {
    let limit = limit(&scene.params)?;
    let place = |param: &str| -> Outcome<Option<usize>> {
        let Some(id) = scene.params.text(param)? else {
            return Ok(None);
        };
        let found = ids.iter().position(|own| **own == *id);
        found.map(Some).ok_or_else(|| missing(kind, id, param))
    };
    let (from, to) = match (place("starting_after")?, place("ending_before")?) {
        (Some(_), Some(_)) => {
            let message = "You may only specify one of these parameters: starting_after, ending_before.";
            return Err(Failure::invalid(message));
        }
        (Some(after), None) => (after + 1, ids.len()),
        (None, Some(before)) => (before.saturating_sub(limit), before),
        (None, None) => (0, ids.len()),
    };
    let has_more = if scene.params.has("ending_before") {
        from > 0
    } else {
        to - from > limit
    };
    let data = ids[from..to]
        .iter()
        .take(limit)
        .filter_map(|id| kind.find(scene.tx, id));
    Ok(Answer::Page {
        data: data.collect(),
        has_more,
    })
}
