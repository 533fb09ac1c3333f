//! Where a suite listens.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server::{Kind, Listener};

/// Says where a suite listens. Serializes as `{"http": "127.0.0.1:8080", …}`; a listener that was repeated is a list.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Addresses(BTreeMap<&'static str, OneOrMore>);

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum OneOrMore {
    One(std::net::SocketAddr),
    More(Vec<std::net::SocketAddr>),
}

impl Addresses {
    pub(super) fn of(listeners: &[Listener]) -> Self {
        let mut addresses: BTreeMap<&'static str, OneOrMore> = BTreeMap::new();
        for listener in listeners {
            let (name, addr) = (listener.kind.as_str(), listener.addr);
            let more = match addresses.remove(name) {
                None => OneOrMore::One(addr),
                Some(OneOrMore::One(first)) => OneOrMore::More(vec![first, addr]),
                Some(OneOrMore::More(mut all)) => {
                    all.push(addr);
                    OneOrMore::More(all)
                }
            };
            addresses.insert(name, more);
        }
        Self(addresses)
    }

    fn first(&self, kind: Kind) -> Option<std::net::SocketAddr> {
        match self.0.get(kind.as_str())? {
            OneOrMore::One(addr) => Some(*addr),
            OneOrMore::More(all) => all.first().copied(),
        }
    }

    /// Returns the first HTTP address.
    #[must_use]
    pub fn http(&self) -> Option<std::net::SocketAddr> {
        self.first(Kind::Http)
    }

    /// Returns the first HTTPS address.
    #[must_use]
    pub fn https(&self) -> Option<std::net::SocketAddr> {
        self.first(Kind::Https)
    }

    /// Returns the first SMTP address.
    #[must_use]
    pub fn smtp(&self) -> Option<std::net::SocketAddr> {
        self.first(Kind::Smtp)
    }

    /// Returns the first SMTPS address.
    #[must_use]
    pub fn smtps(&self) -> Option<std::net::SocketAddr> {
        self.first(Kind::Smtps)
    }
}
