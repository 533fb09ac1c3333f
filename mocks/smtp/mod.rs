//! The smtp provider.
