//! The suite's own listeners: what is asked by HTTP and by SMTP, and of which provider.

mod accept;
mod http;
mod proxy;
pub mod smtp;

use std::ops::Deref;

use crate::ledger::Strays;
use crate::mocks::Mocks;
use crate::net::House;

pub use accept::{Kind, Listener, TakenPort};
pub use proxy::{AllowHost, Connect, Direct, Proxy};

/// Is what the suite's own connections share.
#[derive(Debug)]
pub struct Shared {
    /// What they share with relays.
    pub house: House,
    /// The providers.
    pub mocks: Mocks,
    /// The admin API.
    pub admin: axum::Router,
    /// Requests that nobody knows.
    pub strays: Strays,
    /// What SMTP sessions offer.
    pub smtp: smtp::Offer,
    /// Where clients of the proxy are let through to.
    pub proxy: Proxy,
}

impl Deref for Shared {
    type Target = House;

    fn deref(&self) -> &House {
        &self.house
    }
}
