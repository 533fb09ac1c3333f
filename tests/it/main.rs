//! The suite as its clients meet it: real sockets, raw bytes.

mod admin;
mod binary;
mod bodies;
mod cuts;
mod demo;
mod endings;
mod expect;
mod faults;
mod holds;
mod input;
mod layering;
mod leaving;
mod objects;
mod relay;
mod relay_postgres;
mod relay_tcp;
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
