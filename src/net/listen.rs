//! Where a listener listens.

use std::fmt;
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

impl Listen {
    /// Reads `host:port`, `:port` (all interfaces) or `[::]:port`; the host is an IP address or `localhost`.
    ///
    /// # Errors
    ///
    /// Fails with words that name what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((host, port)) = text.rsplit_once(':') else {
            let hint = match text.parse::<u16>() {
                Ok(port) => {
                    format!(" (127.0.0.1:{port} for this machine only, :{port} for all interfaces)")
                }
                Err(_) => String::new(),
            };
            return Err(format!("`{text}` is no address{hint}; {ALLOWED}"));
        };
        let port: u16 = port
            .parse()
            .map_err(|_| format!("`{port}` in `{text}` is no port (0 to 65535)"))?;
        let one = |ip: IpAddr| Self {
            addr: SocketAddr::new(ip, port),
            both_loopbacks: ip == Ipv4Addr::LOCALHOST,
            all_interfaces: false,
        };
        match host {
            "" => Ok(Self {
                all_interfaces: true,
                ..one(Ipv6Addr::UNSPECIFIED.into())
            }),
            "localhost" => Ok(one(Ipv4Addr::LOCALHOST.into())),
            _ => match (host.parse::<Ipv4Addr>(), text.parse::<SocketAddr>()) {
                (Ok(ip), _) => Ok(one(ip.into())),
                (_, Ok(addr)) => Ok(one(addr.ip())),
                _ if host.parse::<Ipv6Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok() => {
                    Err(format!("`{text}`: write an IPv6 address in brackets, as [::1]:8080"))
                }
                _ => Err(format!("`{host}` in `{text}` is no IP address; {ALLOWED}")),
            },
        }
    }

    /// Says whether the kernel would refuse one beside the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (self.addr, other.addr);
        let wide = |one: &Self| one.addr.ip() == Ipv6Addr::UNSPECIFIED;
        let same_family = a.is_ipv4() == b.is_ipv4();
        let unspecified = a.ip().is_unspecified() || b.ip().is_unspecified();
        a.port() != 0
            && a.port() == b.port()
            && (a.ip() == b.ip() || wide(self) || wide(other) || (unspecified && same_family))
    }
}

const ALLOWED: &str = "write IP:PORT, localhost:PORT, :PORT for all interfaces, or off";

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all_interfaces {
            true => write!(f, ":{}", self.addr.port()),
            false => self.addr.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Listen;

    fn listen(text: &str) -> (String, bool, bool) {
        let listen = Listen::parse(text).unwrap();
        (listen.addr.to_string(), listen.both_loopbacks, listen.all_interfaces)
    }

    #[test]
    fn every_form_of_an_address() {
        assert_eq!(listen("127.0.0.1:80"), ("127.0.0.1:80".into(), true, false));
        assert_eq!(listen("localhost:0"), ("127.0.0.1:0".into(), true, false));
        assert_eq!(listen("[::1]:80"), ("[::1]:80".into(), false, false));
        assert_eq!(listen("0.0.0.0:80"), ("0.0.0.0:80".into(), false, false));
        assert_eq!(listen("[::]:80"), ("[::]:80".into(), false, false));
        assert_eq!(listen(":80"), ("[::]:80".into(), false, true));
    }

    #[test]
    fn a_wrong_address_says_what_is_allowed() {
        for (text, words) in [
            ("8080", "127.0.0.1:8080 for this machine only"),
            ("nonsense", "write IP:PORT"),
            ("example.com:80", "`example.com` in `example.com:80` is no IP address"),
            ("127.0.0.1:http", "`http` in `127.0.0.1:http` is no port"),
            ("127.0.0.1:65536", "no port"),
            ("::1:8080", "in brackets"),
            ("", "no address"),
        ] {
            let said = Listen::parse(text).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn the_second_loopback_has_the_port_that_the_first_one_got() {
        assert_eq!(Listen::ANY_LOOPBACK.second(4321), Some("[::1]:4321".parse().unwrap()));
        assert_eq!(Listen::parse(":80").unwrap().second(80), None);
    }

    #[test]
    fn addresses_overlap_where_the_kernel_says_so() {
        let overlap = |a, b| Listen::parse(a).unwrap().overlaps(&Listen::parse(b).unwrap());
        assert!(overlap(":80", "127.0.0.1:80") && overlap("0.0.0.0:80", "127.0.0.1:80"));
        assert!(overlap("127.0.0.1:80", "localhost:80"));
        assert!(!overlap("0.0.0.0:80", "[::1]:80") && !overlap("127.0.0.1:80", "127.0.0.2:80"));
        assert!(!overlap(":0", ":0") && !overlap(":80", ":81"));
    }
}
