//! The providers. Each says what it is, identifies, and handles; none knows another.

pub mod orders;
pub mod smtp;
pub mod stripe;
pub mod webhook;
