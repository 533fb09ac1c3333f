//! What an admin call asks for: its scope and its query, with every name checked.

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::{Error, NamedScope};
use crate::store::Scope;

/// Holds an admin call's query.
#[derive(Debug)]
pub(super) struct Ask {
    named: Option<Scope>,
    query: String,
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Ask {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let named = parts.extensions.get::<NamedScope>().and_then(|named| named.0.clone());
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self {
            named,
            query: query.to_owned(),
            pairs: pairs.into_owned().collect(),
        })
    }
}

impl Ask {
    /// Makes what a query asks for, for tests.
    #[cfg(test)]
    pub(super) fn of(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes());
        Self {
            named: None,
            query: query.to_owned(),
            pairs: pairs.into_owned().collect(),
        }
    }

    /// Refuses a query with a name that is not among the allowed ones: a misspelt `scope` must never answer for all.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), Error> {
        match self.pairs.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) if allowed.is_empty() => {
                let text = format!("unknown query parameter `{name}`; none is taken here");
                Err(Error::bad(text))
            }
            Some((name, _)) => {
                let text = format!("unknown query parameter `{name}`; allowed are: {}", allowed.join(", "));
                Err(Error::bad(text))
            }
        }
    }

    /// Returns the query as it came.
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// Returns a parameter's first value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// Iterates over all values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(n, _)| n == name);
        pairs.map(|(_, value)| value.as_str())
    }

    /// Returns a parameter as a number.
    pub(super) fn number(&self, name: &str, default: u64, max: u64) -> Result<u64, Error> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(n) if n <= max => Ok(n),
                _ => {
                    let text = format!("`{name}` is `{text}`, and must be a whole number from 0 to {max}");
                    Err(Error::bad(text))
                }
            },
        }
    }

    /// Returns the scope: by `?scope=`, else as the path or header named it.
    pub(super) fn scope(&self) -> Result<Option<Scope>, Error> {
        match self.get("scope") {
            None => Ok(self.named.clone()),
            Some(name) => match Scope::parse(name) {
                Ok(scope) => Ok(Some(scope)),
                Err(invalid) => Err(Error::bad(invalid.to_string())),
            },
        }
    }
}
