//! Relays: the same faults and the same ledger before providers that are no mocks.

mod cut;
mod endless;
mod hostile;
mod http;
mod modes;
mod protocol;
mod register;
mod smtp;
pub(crate) mod support;
mod trouble;
mod twice;
mod unasked;
