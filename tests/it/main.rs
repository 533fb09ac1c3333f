//! The suite as its clients meet it: real sockets, raw bytes.

mod admin;
mod binary;
mod endings;
mod faults;
mod input;
mod layering;
mod leaving;
mod scopes;
mod secrets;
mod support;
mod tls;
