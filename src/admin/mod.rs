//! The admin API: one file a resource.
