//! What an admin call asks for: its scope and its query, with every name checked.

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::{StatusCode, request::Parts};

use super::NamedScope;
use crate::store::Scope;

/// Holds an admin call's query.
#[derive(Debug)]
pub(super) struct Ask {
    named: Option<Scope>,
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Ask {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let named = parts.extensions.get::<NamedScope>().and_then(|named| named.0.clone());
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self { named, pairs: pairs.into_owned().collect() })
    }
}

impl Ask {
    /// Refuses a query with a name that is not among the allowed ones: a misspelt `scope` must never answer for all.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), Response> {
        match self.pairs.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let text = format!("unknown query parameter `{name}`; allowed are: {}", allowed.join(", "));
                Err(super::error(StatusCode::BAD_REQUEST, &text))
            }
        }
    }

    /// Returns a parameter's first value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns a parameter as a number.
    pub(super) fn number(&self, name: &str, default: u64, max: u64) -> Result<u64, Response> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(n) if n <= max => Ok(n),
                _ => {
                    let text = format!("`{name}` is `{text}`, and must be a whole number from 0 to {max}");
                    Err(super::error(StatusCode::BAD_REQUEST, &text))
                }
            },
        }
    }

    /// Returns the scope: by `?scope=`, else as the path or header named it.
    pub(super) fn scope(&self) -> Result<Option<Scope>, Response> {
        match self.get("scope") {
            None => Ok(self.named.clone()),
            Some(name) => match Scope::parse(name) {
                Ok(scope) => Ok(Some(scope)),
                Err(invalid) => Err(super::error(StatusCode::BAD_REQUEST, &invalid.to_string())),
            },
        }
    }
}
