//! The suite as its clients meet it: real sockets, raw bytes.

mod cuts;
mod endings;
mod holds;
mod layering;
mod leaving;
mod reservations;
mod reset;
mod sending;
mod stopping;
mod support;
