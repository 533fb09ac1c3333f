//! The three words every count is made of: outcome, fate, class.

use serde::{Deserialize, Serialize};

/// Names what the provider's side made of an attempt. Every attempt ends with exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The provider committed: effects exist.
    Accepted,
    /// A key-enforced provider answered from its record and did nothing new.
    Replayed,
    /// The provider said no: validation, decline, conflict, an injected refusal.
    Refused,
    /// An operation that its provider declares a look-up, whatever it answered.
    Read,
    /// A fault before the commit: the provider never saw the request.
    Failed,
    /// The request never became whole, or its client left while held before the commit.
    Incomplete,
    /// Relay only: bytes were sent upstream and no answer came.
    Unknown,
}

/// Names what became of the answer. Every attempt ends with exactly one; it is never derived from the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// All of the answer was handed to the kernel. Says that it left us, never that the client read it.
    Answered,
    /// A fault kept the provider's own answer back.
    Withheld,
    /// The client was gone first.
    Lost,
}

/// Says whether a provider guarantees uniqueness by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The provider guarantees uniqueness: a retry under the same key is safe.
    KeyEnforced,
    /// The key is a hint: duplicates land.
    KeyAdvisory,
}

impl Outcome {
    /// All outcomes, in the order in which counts list them.
    pub const ALL: [Self; 7] = [
        Self::Accepted,
        Self::Replayed,
        Self::Refused,
        Self::Read,
        Self::Failed,
        Self::Incomplete,
        Self::Unknown,
    ];

    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Replayed => "replayed",
            Self::Refused => "refused",
            Self::Read => "read",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::Unknown => "unknown",
        }
    }
}

impl Fate {
    /// All fates, in the order in which counts list them.
    pub const ALL: [Self; 3] = [Self::Answered, Self::Withheld, Self::Lost];

    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Withheld => "withheld",
            Self::Lost => "lost",
        }
    }
}
