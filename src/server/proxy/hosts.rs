//! Hosts by name: those that the suite plays, and those that it lets through.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::server::http::Owner;

/// The hosts that are all a provider's.
const PLAYED: [(&str, Owner); 1] = [("api.stripe.com", Owner::Stripe)];

/// Returns whose a host is, if the suite plays it.
pub(crate) fn played(host: &str) -> Option<Owner> {
    let played = PLAYED.iter().find(|(name, _)| name.eq_ignore_ascii_case(host));
    played.map(|(_, owner)| *owner)
}

/// Names a host, or all hosts below one (`*.example.com`), to which the proxy lets its clients through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowHost {
    /// In lower case; behind a wildcard from its dot on.
    name: String,
    below: bool,
}

impl AllowHost {
    /// Says whether it names this host, which is in lower case.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        if self.below {
            host.len() > self.name.len() && host.ends_with(&self.name)
        } else {
            host == self.name
        }
    }
}

impl FromStr for AllowHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no host to allow; write a name, an address, or `*.example.com`, without scheme and port"
            )
        };
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            let name = address.to_string();
            return Ok(Self { name, below: false });
        }
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        let (below, rest) = match name.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let label = |label: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            (1..=63).contains(&label.len()) && label.chars().all(fits)
        };
        if rest.len() > 253 || !rest.split('.').all(label) {
            return Err(wrong());
        }
        if let Some(_owner) = played(rest).filter(|_| !below) {
            return Err(format!("`{text}` is played by this suite, and never reached"));
        }
        Ok(Self {
            name: name.trim_start_matches('*').to_owned(),
            below,
        })
    }
}

impl fmt::Display for AllowHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*" } else { "" }, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::AllowHost;

    #[test]
    fn a_name_allows_itself_and_a_wildcard_all_below_it() {
        for (allowed, host, expected) in [
            ("example.com", "example.com", true),
            ("Example.COM.", "example.com", true),
            ("example.com", "www.example.com", false),
            ("example.com", "badexample.com", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.example.com", "badexample.com", false),
            ("*.example.com", "example.com.evil.test", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("[::1]", "::1", true),
            ("0:0::1", "::1", true),
        ] {
            let rule: AllowHost = allowed.parse().unwrap();
            assert_eq!(rule.allows(host), expected, "{allowed} {host}");
        }
    }

    #[test]
    fn what_is_no_host_or_is_played_is_refused() {
        for wrong in [
            "",
            "*",
            "*.",
            "a*.example.com",
            "*.*.com",
            "https://example.com",
            "example.com:443",
            "a b",
            "a..b",
            "[::1",
            "ex/ample",
            "api.stripe.com",
            "API.stripe.com.",
        ] {
            assert!(wrong.parse::<AllowHost>().is_err(), "{wrong}");
        }
        assert_eq!(
            "*.Example.com".parse::<AllowHost>().unwrap().to_string(),
            "*.example.com"
        );
    }
}
