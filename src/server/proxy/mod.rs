//! The forward proxy on the HTTP listeners: who stands behind a host that a client asks for, and the way to it.
//!
//! [`Proxy::behind`] decides. A host that is a relay's upstream goes through the relay, and one that the suite plays is answered here, both
//! inside the client's own TLS; a host that was allowed is reached; any other is refused, and nothing is looked up or connected for it.

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
pub(crate) use tunnel::{Inside, intercept, pass_through};

use super::http::Owner;
use crate::relay::{Door, Relays};

/// Knows which hosts are played, which are allowed, and how those are reached.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The hosts that may be reached.
    pub allowed: Arc<[AllowHost]>,
    /// Reaches them.
    pub connector: Arc<dyn Connect>,
    /// The relays through which their upstreams' hosts are reached.
    pub relays: Relays,
}

/// Says who stands behind a host.
#[derive(Clone, Debug)]
pub(crate) enum Behind {
    /// A relay whose upstream it is.
    Relayed(Arc<Door>),
    /// A provider of this suite.
    Played(Owner),
    /// The host itself: it was allowed.
    Allowed,
    /// Nobody: it was not allowed.
    Refused,
}

impl Proxy {
    /// Decides who stands behind a host. Nothing is looked up for it. A relay comes first: somebody has asked for it by name.
    pub(crate) fn behind(&self, target: &Target) -> Behind {
        if let Some(door) = self.relays.door_to(&target.host, target.port) {
            return Behind::Relayed(door);
        }
        match played(&target.host) {
            Some(owner) => Behind::Played(owner),
            None if self.allowed.iter().any(|allowed| allowed.allows(&target.host)) => Behind::Allowed,
            None => Behind::Refused,
        }
    }
}
