//! What is wrong with a configuration, and where.

use std::fmt;

use super::Source;

/// Says what is wrong in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the user wrote it.
    pub source: Source,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// Holds every problem of a configuration; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problem {
    /// Reports what is wrong at `source`.
    pub fn new(source: Source, message: impl Into<String>) -> Self {
        Self {
            source,
            message: message.into(),
        }
    }
}

impl Problems {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty(), "no problem is no error");
        Self(problems)
    }

    /// Returns them in the order of the settings.
    #[must_use]
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.message)
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    /// Writes one line a problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let end = if index + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "{problem}{end}")?;
        }
        Ok(())
    }
}
