//! ackdrop: provider test doubles that commit, count every side effect, and lose the answer exactly where told.
//!
//! The map, in reading order. Arrows run one way, top to bottom; a test reads the imports and holds the drawing.

pub mod admin;
pub mod attempt;
pub mod cli;
pub mod config;
pub mod duration;
pub mod faults;
pub mod idempotency;
pub mod ledger;
pub mod server;
pub mod store;
pub mod suite;

pub use suite::Suite;

#[path = "../mocks/mod.rs"]
pub mod mocks;
