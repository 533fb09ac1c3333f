//! All state, and the one place where it changes.
