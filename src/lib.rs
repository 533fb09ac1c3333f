//! ackdrop: provider test doubles that commit, count every side effect, and lose the answer exactly where told.
//!
//! Start at [`Suite`], the front door, then read [`attempt`]: the way of one attempt, the same for every provider. The map, in reading
//! order from the top; imports go one way, downwards, and a test holds that:
//!
//! - [`cli`]: the commands, and what they print.
//! - [`config`]: flags, variables and file, to one validated value.
//! - [`suite`]: the builder, the running suite, its addresses, its stop.
//! - [`server`]: the suite's own listeners: HTTP, SMTP, and whose a request is.
//! - [`admin`]: the admin API under `/_`, one file a resource.
//! - [`expect`]: expectations over counts: their grammar, the wait until they hold, the evidence.
//! - [`mocks`]: the providers. None knows another, and none knows of faults, sockets or counts.
//! - [`relay`]: the same faults and counts before providers that are no mocks.
//! - [`net`]: a client's socket, whoever serves it: accept, TLS, HTTP/1.1, exact endings.
//! - [`deliver`]: outgoing requests: the addresses they may go to, their signatures, and their tries in the ledger.
//! - [`attempt`]: identify, ask before, reserve, commit, ask after, answer.
//! - [`faults`]: rules, matching, decision. Pure, behind one lock.
//! - [`idempotency`]: reservation and record of a key.
//! - [`store`]: all state, and the one `transact` in which it changes.
//! - [`ledger`]: outcome, fate, counts, journal, secrets.
//! - [`duration`]: durations as users write them.
//!
//! # Invariants
//!
//! - Every attempt ends with exactly one outcome and one fate; neither is derived from the other. A ticket that is dropped ends its attempt.
//! - An object, the record of its key and its count change in one transact, or not at all.
//! - The verdict on an answer is taken with the commit, before anybody else can see the record.
//! - A client's leaving cancels no attempt; only a hold before the commit ends with its client.
//! - What began before a reset changes nothing after it.
//! - No lock is held across an await. Lock order: world, rules, journal.
//! - Counts never forget. The journal is bounded, and says what it let go.
//! - Secrets are taken out on entry, not on display.

pub mod admin;
pub mod attempt;
pub mod cli;
pub mod config;
pub mod deliver;
pub mod duration;
pub mod expect;
pub mod faults;
pub mod idempotency;
pub mod ledger;
pub mod net;
pub mod relay;
pub mod server;
pub mod store;
pub mod suite;

pub use suite::Suite;

#[path = "../mocks/mod.rs"]
pub mod mocks;
