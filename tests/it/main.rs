//! The suite as its clients meet it: real sockets, raw bytes.

mod demo;
mod endings;
mod expect;
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
