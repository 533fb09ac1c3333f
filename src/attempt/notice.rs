//! What is told of a hold while it happens.

use serde_json::{Value, json};

use super::holds::{Held, Release};
use crate::faults::How;

/// Tells that a hold begins or has ended.
#[derive(Clone, Debug)]
pub struct Notice {
    /// What is held.
    pub held: Held,
    /// How it ended; none as it begins.
    pub ended: Option<Ended>,
}

/// Says how a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Let go: the attempt goes on.
    Answer,
    /// Let go, and the answer is lost.
    Drop(How),
    /// Its client left.
    Left,
    /// It lasted as long as a hold may.
    Expired,
    /// Its world was reset.
    Reset,
    /// The suite stops.
    Stopped,
}

impl Notice {
    /// Returns the name of its event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.ended {
            None => "hold",
            Some(_) => "release",
        }
    }

    /// Renders it as JSON: the event's name, the hold as it is listed, and `then` (with `how`) once it has ended.
    #[must_use]
    pub fn render(&self) -> Value {
        let mut value = json!({"event": self.name()});
        if let (Value::Object(value), Value::Object(held)) = (&mut value, json!(self.held)) {
            value.extend(held);
        }
        if let Some(ended) = self.ended {
            value["then"] = ended.as_str().into();
        }
        if let Some(Ended::Drop(how)) = self.ended {
            value["how"] = how.as_str().into();
        }
        value
    }
}

impl Ended {
    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Drop(_) => "drop",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Reset => "reset",
            Self::Stopped => "stopped",
        }
    }
}

impl From<Release> for Ended {
    fn from(release: Release) -> Self {
        match release {
            Release::Answer => Self::Answer,
            Release::Drop(how) => Self::Drop(how),
        }
    }
}
