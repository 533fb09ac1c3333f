//! Where a relay forwards to.

use std::fmt;

use http::Uri;
use percent_encoding::percent_decode_str;

use crate::attempt::{Kind, Operation};
use crate::faults::Protocol;
use crate::ledger::secrets;

/// Says what an upstream speaks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP.
    Http,
    /// HTTP inside TLS.
    Https,
    /// SMTP.
    Smtp,
    /// SMTP inside TLS.
    Smtps,
}

/// Is an upstream: `scheme://[user:password@]host[:port][/path]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    /// What it speaks.
    pub scheme: Scheme,
    /// Its host's name or address, an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path before every request's own; empty, or with a `/` in front and none behind.
    pub path: String,
    /// The user as whom the relay logs in.
    pub user: Option<String>,
    /// The user's password; never shown.
    pub password: Option<String>,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 4] = [Self::Http, Self::Https, Self::Smtp, Self::Smtps];

    /// Returns the word of the URL.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Smtp => "smtp",
            Self::Smtps => "smtps",
        }
    }

    /// Says whether it is inside TLS from the start.
    #[must_use]
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Https | Self::Smtps)
    }

    pub(super) fn is_http(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }

    /// Returns what clients of such a relay speak.
    #[must_use]
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Http | Self::Https => Protocol::Http,
            Self::Smtp | Self::Smtps => Protocol::Smtp,
        }
    }

    /// Returns what attempts of such a relay are called, and which effects they have.
    #[must_use]
    pub fn operations(self) -> &'static [Operation] {
        match self {
            Self::Http | Self::Https => super::http::OPERATIONS,
            Self::Smtp | Self::Smtps => super::smtp::OPERATIONS,
        }
    }

    /// Returns the port where a URL names none.
    fn port(self) -> Option<u16> {
        match self {
            Self::Http => Some(80),
            Self::Https => Some(443),
            Self::Smtp => Some(25),
            Self::Smtps => Some(465),
        }
    }

    /// Says whether a URL may name a user.
    fn has_user(self) -> bool {
        !self.is_http()
    }
}

impl Upstream {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// Fails with words that say what is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown = secrets::clean(text);
        let schemes = || Scheme::ALL.map(|scheme| format!("{}://", scheme.as_str())).join(", ");
        let (word, _) = text
            .split_once("://")
            .ok_or_else(|| format!("`{shown}` is no upstream; it begins with {}", schemes()))?;
        let scheme = Scheme::ALL.into_iter().find(|scheme| scheme.as_str() == word);
        let scheme = scheme.ok_or_else(|| format!("`{word}` is no scheme of an upstream; there are {}", schemes()))?;
        let uri: Uri = text.parse().map_err(|why| format!("`{shown}` is no URL: {why}"))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(format!("`{shown}` names no host"));
        }
        let port = uri.port_u16().or_else(|| scheme.port());
        let port = port.filter(|port| *port != 0);
        let port = port.ok_or_else(|| format!("`{shown}` names no port that can be connected to"))?;
        if uri.query().is_some() {
            return Err(format!("`{shown}` has a query, and an upstream has none"));
        }
        if user.is_some() && !scheme.has_user() {
            return Err(format!(
                "`{shown}` names a user, and a client of {word} says itself who it is"
            ));
        }
        let path = uri.path().trim_end_matches('/');
        if !path.is_empty() && !scheme.is_http() {
            return Err(format!("`{shown}` has a path, and {word} has none"));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = match user.map(|user| user.split_once(':').unwrap_or((user, ""))) {
            None => (None, None),
            Some((user, "")) => (Some(decoded(user)), None),
            Some((user, password)) => (Some(decoded(user)), Some(decoded(password))),
        };
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
            user,
            password,
        })
    }

    /// Returns host and port as a URL has them; the scheme's own port is left out.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.scheme.port() {
            Some(port) if port == self.port => host,
            _ => format!("{host}:{}", self.port),
        }
    }
}

impl fmt::Display for Upstream {
    /// Writes the URL without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.path)
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Makes a row of a table of operations.
pub(super) const fn operation(name: &'static str, kind: Kind, effects: &'static [&'static str]) -> Operation {
    Operation { name, kind, effects }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_and_shown() {
        for (text, host, port, path, shown) in [
            ("http://localhost", "localhost", 80, "", "http://localhost"),
            ("http://localhost:81/", "localhost", 81, "", "http://localhost:81"),
            (
                "https://api.example.com/v1/",
                "api.example.com",
                443,
                "/v1",
                "https://api.example.com/v1",
            ),
            ("https://[::1]:8443", "::1", 8443, "", "https://[::1]:8443"),
        ] {
            let upstream = Upstream::parse(text).unwrap();
            assert_eq!((&*upstream.host, upstream.port, &*upstream.path), (host, port, path));
            assert_eq!(upstream.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_upstream_is_told_why() {
        for (text, words) in [
            ("localhost:80", "begins with http://"),
            ("ftp://x", "`ftp` is no scheme"),
            ("http://", "no URL"),
            ("http://x:0", "names no port"),
            ("http://x/?a=1", "has a query"),
            ("http://user:hunter2@x", "names a user"),
        ] {
            let said = Upstream::parse(text).unwrap_err();
            assert!(said.contains(words) && !said.contains("hunter2"), "{text}: {said}");
        }
    }
}
