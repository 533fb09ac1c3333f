//! The way of one attempt, the same for every provider.

pub mod mail_header;
mod provider;
mod request;

pub use provider::{About, Conflict, Describe, HttpProvider, Identified, Kind, Operation, Provider, Refusal, hash};
pub use request::{HttpRequest, Mail};
