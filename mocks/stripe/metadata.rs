//! Metadata: what callers pin to an object.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::failure::{Failure, Outcome};
use super::params::{Change, Params};

const MAX_KEYS: usize = 50;
const MAX_KEY: usize = 40;
const MAX_VALUE: usize = 500;

type Pair = (Box<str>, Box<str>);

/// Holds key-value pairs, sorted by key; versions of an object share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata(Option<Arc<[Pair]>>);

impl Metadata {
    /// Holds nothing.
    pub(crate) const NONE: Self = Self(None);

    /// Merges the parameter `metadata` in: an empty value unsets its key, `metadata=` all of them.
    pub(crate) fn merge(&mut self, params: &Params<'_>) -> Outcome<()> {
        match params.nested_change("metadata")? {
            Change::Keep => Ok(()),
            Change::Clear => {
                self.0 = None;
                Ok(())
            }
            Change::Set(given) => {
                let mut pairs = self.0.as_deref().unwrap_or_default().to_vec();
                for (key, value) in given.texts()? {
                    check(&given, key, value)?;
                    let at = pairs.binary_search_by(|(k, _)| (**k).cmp(key));
                    match (at, value.is_empty()) {
                        (Ok(at), true) => drop(pairs.remove(at)),
                        (Ok(at), false) => pairs[at].1 = value.into(),
                        (Err(_), true) => {}
                        (Err(at), false) => pairs.insert(at, (key.into(), value.into())),
                    }
                }
                if pairs.len() > MAX_KEYS {
                    let message =
                        format!("You can have up to {MAX_KEYS} metadata keys, but this object would have more.");
                    return Err(Failure::invalid(message).param("metadata"));
                }
                self.0 = (!pairs.is_empty()).then(|| pairs.into());
                Ok(())
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let pairs = self.0.as_deref().unwrap_or_default();
        let at = pairs.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&pairs[at].1)
    }

    /// Adds what another holds.
    pub(crate) fn with(self, other: &Self) -> Self {
        match (self.0.is_some(), other.0.is_some()) {
            (_, false) => self,
            (false, true) => other.clone(),
            (true, true) => {
                let own = self.0.iter().flat_map(|pairs| pairs.iter());
                let more = other.0.iter().flat_map(|pairs| pairs.iter());
                let all: std::collections::BTreeMap<_, _> = own.chain(more).cloned().collect();
                Self(Some(all.into_iter().collect()))
            }
        }
    }

    pub(crate) fn read(params: &Params<'_>) -> Outcome<Self> {
        let mut metadata = Self::default();
        metadata.merge(params)?;
        Ok(metadata)
    }
}

fn check(given: &Params<'_>, key: &str, value: &str) -> Outcome<()> {
    let (length, limit, what) = match (key.chars().count(), value.chars().count()) {
        (key, _) if key > MAX_KEY => (key, MAX_KEY, "keys"),
        (_, value) if value > MAX_VALUE => (value, MAX_VALUE, "values"),
        _ => return Ok(()),
    };
    let what = format!("Metadata {what} can have up to {limit} characters, but you passed in one of {length}.");
    Err(Failure::invalid(what).param(&given.name(key)))
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.as_deref().unwrap_or_default();
        serializer.collect_map(pairs.iter().map(|(k, v)| (k, v)))
    }
}
