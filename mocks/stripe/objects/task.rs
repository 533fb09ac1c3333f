//! What billing does in its own time.

use std::sync::Arc;

/// Is one thing to do. There is one of a kind for one object at most: planned again, it has a new time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Finalizes a draft that goes its own way, and collects it.
    Finalize(Arc<str>),
    /// Tries to collect an open invoice.
    Collect(Arc<str>),
    /// Ends a subscription's period, or its trial, and begins the next.
    Cycle(Arc<str>),
    /// Tells that a trial will end.
    TrialWillEnd(Arc<str>),
    /// Gives up a subscription whose first invoice was not paid.
    Expire(Arc<str>),
    /// Cancels a subscription at the time that was asked for.
    Cancel(Arc<str>),
    /// Lets a checkout session expire.
    ExpireSession(Arc<str>),
}

impl Task {
    /// Returns the id under which it is planned.
    pub(crate) fn id(&self) -> Arc<str> {
        let (kind, id) = match self {
            Self::Finalize(id) => ("finalize", id),
            Self::Collect(id) => ("collect", id),
            Self::Cycle(id) => ("cycle", id),
            Self::TrialWillEnd(id) => ("trial_will_end", id),
            Self::Expire(id) => ("expire", id),
            Self::Cancel(id) => ("cancel", id),
            Self::ExpireSession(id) => ("expire_session", id),
        };
        format!("{kind}:{id}").into()
    }
}
