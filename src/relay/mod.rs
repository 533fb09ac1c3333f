//! Relays: the same faults, the same ledger and the same way, before a provider that is no mock.
//!
//! ```text
//! client -> listener (net) -> attempt: begin, ask "before" -> COMMIT: forward, then one transact that counts -> ask "after" -> client
//! ```
//!
//! In reading order: [`Spec`] and [`Upstream`] (what a user writes), [`Relays`] (which run, and how one is started and stopped), then one
//! folder a protocol. A protocol brings a table of operations, and a `serve(relay, socket, peer)` that talks to one client; [`Bound::serve`]
//! chooses it by the upstream's scheme. Where an attempt is one call, it walks [`crate::attempt::walk`] with an errand whose commit
//! forwards first. Where it is a part of a connection, the pieces are the same: `store.begin`, `ticket.while_current` to ask the rules
//! before, [`crate::attempt::Way::pause`], and `ticket.transact`, whose seal decides the outcome and asks the rules after in one moment.

mod http;
mod pipe;
mod postgres;
mod relays;
mod smtp;
mod spec;
mod tcp;
mod tls;
mod upstream;

pub(crate) use http::{Door, Through};
pub use relays::{Bound, MAX_RELAYS, Relay, Relays, StartError};
pub use spec::{FORM, Spec, Wrong};
pub use tls::{Roots, RootsError};
pub use upstream::{Scheme, SslMode, Upstream};
