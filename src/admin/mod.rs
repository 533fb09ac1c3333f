//! The admin API: one file a resource.

pub mod hooks;
