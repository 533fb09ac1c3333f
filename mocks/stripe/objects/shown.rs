//! An object as an answer shows it: its version, and the versions of what was expanded in it.

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::Thing;
use crate::ledger::View;
use crate::mocks::stripe::failure::pretty;

/// Is a version with what was expanded in it; renders to the same bytes for ever.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) thing: Thing,
    pub(crate) expanded: Option<Box<[(&'static str, Expanded)]>>,
}

/// Is what stands in place of an id.
#[derive(Clone, Debug)]
pub(crate) enum Expanded {
    One(Shown),
    Many(Page),
    Each(Vec<Shown>),
}

/// Is a page of a list.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) url: Box<str>,
    pub(crate) has_more: bool,
    pub(crate) data: Vec<Shown>,
    /// The page of what a search found, with the token of the next.
    pub(crate) next: Option<Option<Box<str>>>,
}

/// Is a reference as it is shown.
#[derive(Debug)]
pub(crate) enum Link<'s> {
    Null,
    Id(&'s str),
    /// An id that is made when it is shown.
    Made(String),
    Expanded(&'s Expanded),
}

/// Is an array of references as it is shown.
#[derive(Debug)]
pub(crate) enum Links<'s> {
    Ids(&'s [Arc<str>]),
    Expanded(&'s Expanded),
}

impl Shown {
    /// Returns a reference as it is shown here.
    pub(crate) fn link<'s>(&'s self, field: &str, id: &'s Option<Arc<str>>) -> Link<'s> {
        match (self.expansion(field), id) {
            (Some(expanded), _) => Link::Expanded(expanded),
            (None, Some(id)) => Link::Id(id),
            (None, None) => Link::Null,
        }
    }

    /// Returns a reference that is always there as it is shown here.
    pub(crate) fn link_to<'s>(&'s self, field: &str, id: &'s str) -> Link<'s> {
        self.expansion(field).map_or(Link::Id(id), Link::Expanded)
    }

    /// Returns a reference whose id is made, where there is one, as it is shown here.
    pub(crate) fn link_made(&self, field: &str, id: Option<String>) -> Link<'_> {
        let made = || id.map_or(Link::Null, Link::Made);
        self.expansion(field).map_or_else(made, Link::Expanded)
    }

    /// Returns an array of references as it is shown here.
    pub(crate) fn links<'s>(&'s self, field: &str, ids: &'s [Arc<str>]) -> Links<'s> {
        self.expansion(field).map_or(Links::Ids(ids), Links::Expanded)
    }

    pub(crate) fn expansion(&self, field: &str) -> Option<&Expanded> {
        let expanded = self.expanded.as_deref().unwrap_or_default();
        expanded.iter().find(|(name, _)| *name == field).map(|(_, e)| e)
    }
}

impl View for Shown {
    fn render(&self) -> Bytes {
        pretty(self).into()
    }
}

impl View for Page {
    fn render(&self) -> Bytes {
        pretty(self).into()
    }
}

impl Serialize for Page {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut page = serializer.serialize_struct("Page", 5)?;
        let kind = if self.next.is_some() { "search_result" } else { "list" };
        page.serialize_field("object", kind)?;
        page.serialize_field("data", &self.data)?;
        page.serialize_field("has_more", &self.has_more)?;
        if let Some(next) = &self.next {
            page.serialize_field("next_page", next)?;
        }
        page.serialize_field("url", &self.url)?;
        page.end()
    }
}

impl Serialize for Expanded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(shown) => shown.serialize(serializer),
            Self::Many(page) => page.serialize(serializer),
            Self::Each(shown) => serializer.collect_seq(shown),
        }
    }
}

impl Serialize for Link<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Id(id) => serializer.serialize_str(id),
            Self::Made(id) => serializer.serialize_str(id),
            Self::Expanded(expanded) => expanded.serialize(serializer),
        }
    }
}

impl Serialize for Links<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ids(ids) => serializer.collect_seq(ids.iter()),
            Self::Expanded(expanded) => expanded.serialize(serializer),
        }
    }
}
