//! The words of the table: a cell is one provider, one mode and one worker.

use serde_json::json;

use super::worker::{Told, Worker};
use crate::ledger::Class;

/// Names one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) provider: Provider,
    pub(super) mode: Mode,
    pub(super) worker: Worker,
}

/// Is a cell after its worker went home.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) cell: Cell,
    pub(super) counted: Counted,
    pub(super) told: Told,
}

/// Is what the provider counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) attempts: u64,
    pub(super) effects: u64,
}

/// Names who is asked to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    Stripe,
    Orders,
    Smtp,
    Webhook,
}

/// Names what happens to the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Pass,
    FailBeforeCommit,
    DropAfterCommit,
}

impl Cell {
    /// Names the scope in which this cell alone is counted.
    pub(super) fn scope(self) -> String {
        let Self { provider, mode, worker } = self;
        format!("{}.{}.{}", provider.name(), worker.name(), mode.name())
    }

    /// Writes the rule that hits the first attempt of this cell, and nothing else.
    pub(super) fn rule(self) -> String {
        let (scope, provider, mode) = (self.scope(), self.provider.name(), self.mode.name());
        json!({"scope": scope, "provider": provider, "mode": mode, "on": 1}).to_string()
    }
}

impl Provider {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::Orders => "orders",
            Self::Smtp => "smtp",
            Self::Webhook => "webhook",
        }
    }

    /// Names the effect that a job at this provider is to have once.
    pub(super) fn effect(self) -> &'static str {
        match self {
            Self::Stripe => "charge",
            Self::Orders => "order",
            Self::Smtp => "message",
            Self::Webhook => "delivery",
        }
    }

    /// Says what a careful worker has read in the provider's documentation.
    pub(super) fn class(self) -> Class {
        match self {
            Self::Stripe | Self::Orders => Class::KeyEnforced,
            Self::Smtp | Self::Webhook => Class::KeyAdvisory,
        }
    }
}

impl Mode {
    pub(super) const ALL: [Self; 3] = [Self::Pass, Self::FailBeforeCommit, Self::DropAfterCommit];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::FailBeforeCommit => "fail-before-commit",
            Self::DropAfterCommit => "drop-after-commit",
        }
    }

    /// Says what the first attempt meets.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Pass => "done, and answered",
            Self::FailBeforeCommit => "not done, and the connection closes",
            Self::DropAfterCommit => "done, and the connection closes before the answer",
        }
    }
}
