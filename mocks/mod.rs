//! The providers.
