//! The orders provider.
