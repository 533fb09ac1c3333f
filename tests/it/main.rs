//! The suite as its clients meet it: real sockets, raw bytes.

mod admin;
mod barriers;
mod binary;
mod bodies;
mod cuts;
mod deliver;
mod demo;
mod endings;
mod expect;
mod faults;
mod holds;
mod input;
mod layering;
mod leaving;
mod objects;
mod proxy;
mod reservations;
mod reset;
mod scopes;
mod secrets;
mod sending;
mod smtp;
mod stopping;
mod stripe;
mod support;
mod tls;
