//! The suite as its clients meet it: real sockets, raw bytes.

mod cuts;
mod demo;
mod endings;
mod holds;
mod layering;
mod leaving;
mod reservations;
mod reset;
mod sending;
mod smtp;
mod stopping;
mod stripe;
mod support;
