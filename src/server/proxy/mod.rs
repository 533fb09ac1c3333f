//! The forward proxy on the HTTP listeners: who stands behind a host that a client asks for, and the way to it.
//!
//! [`Proxy::behind`] decides. A host that the suite plays is answered here, inside the client's own TLS; a host that was allowed is
//! reached; any other is refused, and nothing is looked up or connected for it.

mod connector;
mod forward;
mod hosts;
mod target;
mod tunnel;

use std::sync::Arc;

pub use connector::{Connect, Direct};
pub(crate) use forward::{failed, forward};
pub use hosts::AllowHost;
pub(crate) use hosts::played;
pub(crate) use target::Target;
pub(crate) use tunnel::{intercept, pass_through};

use super::http::Owner;

/// Knows which hosts are played, which are allowed, and how those are reached.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The hosts that may be reached.
    pub allowed: Arc<[AllowHost]>,
    /// Reaches them.
    pub connector: Arc<dyn Connect>,
}

/// Says who stands behind a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A provider of this suite.
    Played(Owner),
    /// The host itself: it was allowed.
    Allowed,
    /// Nobody: it was not allowed.
    Refused,
}

impl Proxy {
    /// Decides who stands behind a host. Nothing is looked up for it.
    pub(crate) fn behind(&self, target: &Target) -> Behind {
        match played(&target.host) {
            Some(owner) => Behind::Played(owner),
            None if self.allowed.iter().any(|allowed| allowed.allows(&target.host)) => Behind::Allowed,
            None => Behind::Refused,
        }
    }
}

impl Default for Proxy {
    fn default() -> Self {
        Self {
            allowed: Arc::new([]),
            connector: Arc::new(Direct),
        }
    }
}
