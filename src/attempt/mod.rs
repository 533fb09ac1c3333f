//! The way of one attempt, the same for every provider.
