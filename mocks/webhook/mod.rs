//! The webhook provider.
