//! The stripe provider.
