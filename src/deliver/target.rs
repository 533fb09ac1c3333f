//! Where a request goes: a URL, read and checked once.

use std::fmt;
use std::net::IpAddr;

use http::Uri;

const LONGEST: usize = 4_096;

/// Is where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    secure: bool,
    host: String,
    port: u16,
    path: String,
}

/// Says what is wrong with a URL, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WrongUrl(String);

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it if it is no `http://` or `https://` URL with a host, or carries a user.
    pub fn parse(url: &str) -> Result<Self, WrongUrl> {
        let wrong = |words: &str| Err(WrongUrl(words.to_owned()));
        if url.len() > LONGEST {
            return Err(WrongUrl(format!("is longer than {LONGEST} bytes")));
        }
        let uri: Uri = match url.parse() {
            Ok(uri) => uri,
            Err(error) => return Err(WrongUrl(format!("is no URL ({error})"))),
        };
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return wrong("must begin with http:// or https://"),
        };
        let authority = uri.authority().map_or("", |a| a.as_str());
        if authority.contains('@') {
            return wrong("must not carry a user or a password: send an Authorization header");
        }
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return wrong("has no host");
        }
        // A port that is there and cannot be read must not become the usual one.
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
        let port = match (uri.port_u16(), secure) {
            (Some(0), _) => return wrong("has port 0, which nobody listens on"),
            (Some(port), _) => port,
            (None, _) if has_port => return wrong("has a port that is none: 1 to 65535"),
            (None, true) => 443,
            (None, false) => 80,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            secure,
            host,
            port,
            path: format!("{slash}{path}"),
        })
    }

    /// Says whether it goes over TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns the host in lower case, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the value of the Host header.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
            _ => self.host.clone(),
        };
        match (self.port, self.secure) {
            (443, true) | (80, false) => host,
            (port, _) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_url_is_read_whole() {
        for (url, host, port, shown) in [
            (
                "http://localhost:3000/hook?a=1",
                "localhost",
                3000,
                "http://localhost:3000/hook?a=1",
            ),
            ("http://n8n", "n8n", 80, "http://n8n/"),
            (
                "HTTPS://App.Internal.:443/x#part",
                "app.internal",
                443,
                "https://app.internal/x",
            ),
            ("https://[::1]:8443?q", "::1", 8443, "https://[::1]:8443/?q"),
            (
                "http://[::ffff:8.8.8.8]/",
                "::ffff:8.8.8.8",
                80,
                "http://[::ffff:8.8.8.8]/",
            ),
        ] {
            let target = Target::parse(url).unwrap_or_else(|e| panic!("{url}: {e}"));
            assert_eq!((target.host(), target.port()), (host, port), "{url}");
            assert_eq!(target.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_reason() {
        for (url, words) in [
            ("", "is no URL"),
            ("/hook", "must begin with http://"),
            ("localhost:3000", "must begin with http://"),
            ("ftp://localhost/", "must begin with http://"),
            ("http:///hook", "is no URL"),
            ("http://user:hunter2@localhost/", "Authorization"),
            ("http://localhost:0/", "port 0"),
            ("http://localhost:99999/", "port"),
            ("http://localhost:/", "port"),
            ("http://local host/", "is no URL"),
        ] {
            let wrong = Target::parse(url).expect_err(url).to_string();
            assert!(wrong.contains(words) && !wrong.contains("hunter2"), "{url}: {wrong}");
        }
        assert!(Target::parse(&format!("http://a/{}", "x".repeat(5_000))).is_err());
    }
}
