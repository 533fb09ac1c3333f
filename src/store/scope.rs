//! Names of scopes.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Names an isolated world: 1 to 64 of `A-Z a-z 0-9 . _ -`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Scope(Arc<str>);

/// Says that a text is no scope's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope name: 1 to 64 characters of A-Z a-z 0-9 . _ -")]
pub struct InvalidScope(String);

impl Scope {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// Fails if the text is empty, longer than 64 characters or has a character that names may not have.
    pub fn parse(name: &str) -> Result<Self, InvalidScope> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidScope(name.chars().take(80).collect()))
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the shared name.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_length_and_an_alphabet() {
        for good in ["a", "worker-7", "A.b_c-9", &"x".repeat(64)] {
            assert_eq!(Scope::parse(good).map(|s| s.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "a b", "ü", "a/b", "~a", &"x".repeat(65)] {
            assert!(Scope::parse(bad).is_err(), "{bad}");
        }
    }
}
