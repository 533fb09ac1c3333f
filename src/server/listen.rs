//! Where a listener listens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Says where one listener listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listen {
    /// The address; port 0 takes any free port.
    pub addr: SocketAddr,
    /// `addr` is 127.0.0.1: listen on `::1` with the same port as well, where it exists.
    pub both_loopbacks: bool,
    /// `addr` is `[::]`, asked for as `:port`: take IPv4 too, and fall back to 0.0.0.0 where there is no IPv6.
    pub all_interfaces: bool,
}

impl Listen {
    /// Listens on 127.0.0.1 and `::1`, on any free port.
    pub const ANY_LOOPBACK: Self = Self {
        addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        both_loopbacks: true,
        all_interfaces: false,
    };

    /// Returns the second address that this listener takes too, given the port that the first one got.
    #[must_use]
    pub fn second(&self, port: u16) -> Option<SocketAddr> {
        self.both_loopbacks
            .then(|| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port))
    }
}
