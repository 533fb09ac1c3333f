//! Relays: the same faults and the same ledger before providers that are no mocks.

mod http;
mod register;
mod support;
