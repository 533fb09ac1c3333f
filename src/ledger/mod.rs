//! The only record of what happened; every count is a fold over it.
//!
//! [`Book`] keeps the counts of one world and is changed only under that world's lock. [`Ledger`] keeps the bounded journal of
//! whole entries. Counts never forget; the journal does, and says so.

mod answering;
mod bodies;
mod counts;
mod entry;
mod journal;
mod outcome;
mod reply;
pub mod secrets;
mod strays;

pub use bodies::{Bodies, Body};
pub use counts::{Book, Correlation, Counts, Decided, Effect, Hash, Summary, hash};
pub use entry::{Answered, Arrival, Entry, Fired, Peer, Recorded, Relayed, rfc3339};
pub use journal::{Ledger, Limits};
pub use outcome::{Class, Fate, Outcome};
pub use reply::{Content, Reply, View};
pub use strays::Strays;
