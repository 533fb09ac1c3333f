//! The suite as its clients meet it: real sockets, raw bytes.

mod endings;
mod layering;
mod leaving;
mod smtp;
mod support;
