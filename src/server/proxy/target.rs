//! The host and port that a client asks the proxy for.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::{Method, Uri, request};

/// Names a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// In lower case, an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Target {
    /// Reads what a CONNECT or a request in absolute form asks for.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong, in words.
    pub(crate) fn of(head: &request::Parts) -> Result<Self, String> {
        let is_connect = head.method == Method::CONNECT;
        let needed = if is_connect {
            "CONNECT takes HOST:PORT, as in CONNECT api.stripe.com:443"
        } else {
            "a request to a proxy names its host, as in GET http://api.stripe.com/v1/charges"
        };
        let uri = &head.uri;
        let wrong = || {
            format!(
                "`{}` cannot be reached: {needed}",
                crate::ledger::secrets::clean(&uri.to_string())
            )
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@')
            || (is_connect && (uri.scheme().is_some() || uri.path_and_query().is_some()))
        {
            return Err(wrong());
        }
        let port = match (authority.port_u16(), scheme_port(uri)) {
            (Some(port), _) if port > 0 => port,
            // `host:` says that there is a port, and names none.
            (None, Some(port)) if !authority.as_str().ends_with(':') => port,
            _ => return Err(wrong()),
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() || host.len() > 253 {
            return Err(wrong());
        }
        let host = host.parse::<IpAddr>().map_or(host, |address| address.to_string());
        Ok(Self { host, port })
    }

    /// Says whether it is the listener itself, named by its address.
    pub(crate) fn is(&self, local: SocketAddr) -> bool {
        let own = local.ip().to_canonical();
        let named = match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical() == own,
            Err(_) => self.host == "localhost" && own.is_loopback(),
        };
        named && self.port == local.port()
    }
}

fn scheme_port(uri: &Uri) -> Option<u16> {
    match uri.scheme_str()? {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn read(method: &str, uri: &str) -> Result<String, String> {
        let request = http::Request::builder().method(method).uri(uri).body(()).unwrap();
        Target::of(&request.into_parts().0).map(|target| target.to_string())
    }

    #[test]
    fn host_and_port_are_read_in_one_form() {
        for (method, uri, expected) in [
            ("CONNECT", "api.stripe.com:443", "api.stripe.com:443"),
            ("CONNECT", "API.Stripe.com.:443", "api.stripe.com:443"),
            ("CONNECT", "[0:0::1]:80", "[::1]:80"),
            ("GET", "http://example.com/a?b", "example.com:80"),
            ("GET", "https://example.com", "example.com:443"),
            ("GET", "http://example.com:8080/", "example.com:8080"),
        ] {
            assert_eq!(read(method, uri).as_deref(), Ok(expected), "{uri}");
        }
    }

    #[test]
    fn what_names_no_host_and_port_is_refused() {
        for (method, uri) in [
            ("CONNECT", "api.stripe.com"),
            ("CONNECT", "api.stripe.com:0"),
            ("CONNECT", "http://api.stripe.com:443/"),
            ("CONNECT", "me@api.stripe.com:443"),
            ("CONNECT", "/v1"),
            ("GET", "http://me:secret@example.com/"),
            ("GET", "ftp://example.com/"),
        ] {
            let said = read(method, uri).unwrap_err();
            assert!(
                said.contains("cannot be reached") && !said.contains("secret@"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_listener_itself_is_known_by_its_address() {
        let is = |uri: &str, local: &str| {
            let request = http::Request::get(uri).body(()).unwrap();
            Target::of(&request.into_parts().0).unwrap().is(local.parse().unwrap())
        };
        assert!(is("http://127.0.0.1:8080/", "127.0.0.1:8080"));
        assert!(is("http://localhost:8080/", "[::1]:8080"));
        assert!(is("http://127.0.0.1:8080/", "[::ffff:127.0.0.1]:8080"));
        assert!(!is("http://127.0.0.1:8081/", "127.0.0.1:8080"));
        assert!(!is("http://localhost:8080/", "10.0.0.1:8080"));
        assert!(!is("http://evil.test:8080/", "127.0.0.1:8080"));
    }
}
