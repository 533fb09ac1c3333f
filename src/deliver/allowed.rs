//! Which addresses a request may go to: a test double never lets real traffic out by accident.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The metadata service of AWS by IPv6. It lies among private addresses and hands out credentials.
const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The ends of names that no public host has.
const LOCAL: [&str; 7] = ["localhost", "internal", "local", "test", "lan", "home", "localdomain"];

/// Says which hosts a request may go to: loopback and private addresses, and hosts that are named.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    named: Arc<[String]>,
}

impl Allowed {
    /// Allows these hosts too, by name or by address, whatever the addresses they have.
    #[must_use]
    pub fn new(hosts: &[String]) -> Self {
        let named = hosts.iter().map(|host| plain(host)).collect();
        Self { named }
    }

    /// Says why a host is not allowed as far as its name tells, without a look at its addresses: an address by what it is, a name by
    /// whether it can be one of a machine or a container, or was named.
    #[must_use]
    pub fn refuses_unseen(&self, host: &str) -> Option<String> {
        let plain = plain(host);
        if let Ok(address) = plain.parse() {
            return self.refuses(host, address);
        }
        let last = plain.rsplit('.').next().unwrap_or_default();
        if !plain.contains('.') || LOCAL.contains(&last) || self.named.contains(&plain) {
            return None;
        }
        Some(format!(
            "{plain} is a public name: requests go to loopback and private addresses only, under a name without dots or one that ends in .{}; to allow this host, start the suite with --deliver-host {plain}",
            LOCAL.join(", .")
        ))
    }

    /// Says why an address of a host is not allowed; nothing if it is.
    pub(super) fn refuses(&self, host: &str, address: IpAddr) -> Option<String> {
        let address = address.to_canonical();
        let host = plain(host);
        let is_named = |name: &String| *name == host || name.parse() == Ok(address);
        if self.named.iter().any(is_named) {
            return None;
        }
        let kind = match address {
            IpAddr::V4(address) => refused_v4(address),
            IpAddr::V6(address) => refused_v6(address),
        }?;
        let shown = if host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical() == address) {
            format!("{host} is {kind}")
        } else {
            format!("{host} resolves to {address}, which is {kind}")
        };
        Some(format!(
            "{shown}: requests go to loopback (127.0.0.0/8, ::1) and private addresses (10/8, 172.16/12, 192.168/16, fc00::/7) only; to allow this host, start the suite with --deliver-host {host}"
        ))
    }
}

/// Returns a host as it is compared: lower case, no brackets, no dot at its end.
fn plain(host: &str) -> String {
    let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host = inner.unwrap_or(&host);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => host.to_owned(),
    }
}

/// Names what is wrong with an address; nothing if it is loopback or private.
fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address.is_loopback() || address.is_private() {
        None
    } else if address.is_link_local() {
        Some("a link-local address, where clouds keep their metadata and credentials")
    } else if address.is_unspecified() {
        Some("no address of a host")
    } else if address.is_multicast() || address.is_broadcast() {
        Some("an address of many hosts")
    } else {
        Some("a public address")
    }
}

fn refused_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address == METADATA {
        Some("the address of a cloud's metadata and credentials")
    } else if address.is_loopback() || address.is_unique_local() {
        None
    } else if address.is_unicast_link_local() {
        Some("a link-local address, where clouds keep their metadata and credentials")
    } else if address.is_unspecified() {
        Some("no address of a host")
    } else if address.is_multicast() {
        Some("an address of many hosts")
    } else {
        Some("a public address")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(allowed: &Allowed, host: &str, address: &str) -> Option<String> {
        allowed.refuses(host, address.parse().unwrap())
    }

    #[test]
    fn loopback_and_private_addresses_are_allowed() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "fc00::1",
            "fd12:3456::1",
            "::ffff:10.0.0.1",
        ] {
            assert_eq!(refused(&Allowed::default(), "n8n", address), None, "{address}");
        }
    }

    #[test]
    fn all_else_is_refused_with_its_reason() {
        for (address, words) in [
            ("8.8.8.8", "a public address"),
            ("::ffff:8.8.8.8", "a public address"),
            ("172.32.0.1", "a public address"),
            ("100.64.0.1", "a public address"),
            ("2001:4860:4860::8888", "a public address"),
            ("64:ff9b::808:808", "a public address"),
            ("::8.8.8.8", "a public address"),
            ("169.254.169.254", "link-local"),
            ("::ffff:169.254.169.254", "link-local"),
            ("fe80::1", "link-local"),
            ("fd00:ec2::254", "metadata"),
            ("0.0.0.0", "no address"),
            ("::", "no address"),
            ("224.0.0.1", "many hosts"),
            ("255.255.255.255", "many hosts"),
            ("ff02::1", "many hosts"),
        ] {
            let words_given = refused(&Allowed::default(), "app.example", address).expect(address);
            assert!(words_given.contains(words), "{address}: {words_given}");
            assert!(words_given.contains("--deliver-host app.example"), "{words_given}");
        }
    }

    #[test]
    fn a_name_is_judged_without_a_look_at_its_addresses() {
        let allowed = Allowed::new(&["hooks.example.com".to_owned()]);
        for host in [
            "localhost",
            "n8n",
            "app.internal",
            "App.Test.",
            "127.0.0.1",
            "hooks.example.com",
            "::1",
        ] {
            assert_eq!(allowed.refuses_unseen(host), None, "{host}");
        }
        for host in ["example.com", "evil.hooks.example.com", "8.8.8.8", "local.example"] {
            let reason = allowed.refuses_unseen(host).expect(host);
            assert!(reason.contains(&format!("--deliver-host {host}")), "{reason}");
        }
    }

    #[test]
    fn a_named_host_is_allowed_and_no_other() {
        let allowed = Allowed::new(&["Hooks.Example.COM".to_owned(), "8.8.8.8".to_owned()]);
        assert_eq!(refused(&allowed, "hooks.example.com", "93.184.216.34"), None);
        assert_eq!(refused(&allowed, "hooks.example.com.", "93.184.216.34"), None);
        assert_eq!(refused(&allowed, "8.8.8.8", "8.8.8.8"), None);
        assert_eq!(refused(&allowed, "::ffff:8.8.8.8", "::ffff:8.8.8.8"), None);
        assert!(refused(&allowed, "evil.hooks.example.com", "93.184.216.34").is_some());
        assert!(refused(&allowed, "8.8.4.4", "8.8.4.4").is_some());
    }
}
