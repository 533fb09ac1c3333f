//! The only record of what happened; every count is a fold over it.

mod outcome;

pub use outcome::{Class, Fate, Outcome};
