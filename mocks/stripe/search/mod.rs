//! `GET /v1/…/search`: objects by a query. It lags by a setting, as Stripe's does by up to a minute and more: what was made or changed
//! a moment ago is not found yet, so that a sweeper that searches where it must list is caught.

mod fields;
mod lag;
mod query;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::failure::{Failure, Outcome};
use super::list;
use super::metadata::Metadata;
use super::objects::Thing;
use super::scene::{Answer, Scene};
use crate::store::Object;

pub(crate) use lag::note;
use query::Query;

/// Is a resource that can be searched.
pub(crate) trait Searchable: Object + Sized {
    /// The name in paths and messages, `customers`.
    const NAME: &'static str;
    /// The query fields, metadata apart.
    const FIELDS: &'static [(&'static str, Type)];

    /// The tables of what a search sees that lags.
    const NOTES: &'static str;
    /// See `NOTES`.
    const INDEX: &'static str;

    /// Returns what a field says.
    fn fact(&self, field: &str) -> Fact<'_>;

    fn metadata(&self) -> &Metadata;

    fn created(&self) -> i64;

    /// Whether it is to be found at all: a deleted one is not.
    fn living(&self) -> bool {
        true
    }
}

/// Says how a field can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// The whole text.
    Token,
    /// The whole text, or a part of it.
    Text,
    Number,
    Flag,
}

/// Is what a field of an object says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact<'o> {
    None,
    Text(&'o str),
    Number(i64),
    Flag(bool),
}

impl<'o> From<Option<&'o str>> for Fact<'o> {
    fn from(text: Option<&'o str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }
}

/// The parameters of a search.
pub(crate) const SEARCH: &[&str] = &["limit", "page", "query"];

/// Answers a search for objects of a type.
pub(crate) fn search<T: Searchable>(scene: &mut Scene<'_, '_>) -> Outcome<Answer>
where
    Thing: From<Arc<T>>,
{
    let query = Query::read::<T>(scene.params.required("query")?)?;
    let limit = list::limit(&scene.params)?;
    let page = scene.params.text("page")?;
    let wanted = |object: &Arc<T>| object.living() && query.finds(&**object);
    let tx = &*scene.tx;
    let enough = limit + 1;
    let mut found: Vec<Arc<T>> = if scene.search_lag.is_zero() {
        match page {
            None => tx.list::<T>().filter(wanted).take(enough).collect(),
            Some(page) => {
                let older = tx.older::<T>(&last_of(page)?).ok_or_else(no_such_page)?;
                older.filter(wanted).take(enough).collect()
            }
        }
    } else {
        let mut all: Vec<_> = lag::visible::<T>(tx, scene.search_lag).filter(wanted).collect();
        all.sort_by_key(|object| std::cmp::Reverse(object.created()));
        let after = page.map(last_of).transpose()?;
        let start = match &after {
            None => 0,
            Some(last) => all.iter().position(|o| o.id() == *last).ok_or_else(no_such_page)? + 1,
        };
        all.into_iter().skip(start).take(enough).collect()
    };
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next_page = found.last().filter(|_| has_more).map(|last| token_of(&last.id()));
    let data = found.into_iter().map(Thing::from).collect();
    Ok(Answer::Found { data, next_page })
}

/// Makes the token of the page that follows an object.
fn token_of(id: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(id)
}

fn last_of(token: &str) -> Outcome<Arc<str>> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token);
    let id = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    id.map(Arc::from).ok_or_else(no_such_page)
}

fn no_such_page() -> Box<Failure> {
    Failure::invalid("The page token is invalid: take it from `next_page` of a search's answer.").param("page")
}
