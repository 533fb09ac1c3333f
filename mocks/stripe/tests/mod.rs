//! Tests of the whole provider, driven over a store.
