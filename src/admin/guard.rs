//! Who may call: no page of another site, no rebound DNS name, and with a token nobody without it.
//!
//! A browser on the developer's machine reaches loopback addresses too. What it says of itself (`Sec-Fetch-Site`, `Origin`) and the
//! name by which it came (`Host`) tell a foreign page apart from the suite's own.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, StatusCode};
use sha2::{Digest as _, Sha256};

use super::{Error, error};

/// What is answered without the token: health checks have none, and a CA's certificate is no secret.
const OPEN: [&str; 4] = ["/", "/_health", "/_ready", "/_ca.pem"];
/// Ends of names that no public DNS gives out.
const LOCAL_NAMES: [&str; 4] = [".localhost", ".internal", ".local", ".test"];

/// What makes the suite send requests: where other machines reach it, this is nothing for whoever comes by.
const OUTWARD: [&str; 2] = ["/_deliver", "/_relays"];

/// Says who may call the admin API.
#[derive(Clone, Default)]
pub struct Guard {
    token: Option<[u8; 32]>,
    hosts: Arc<[String]>,
    /// Whether other machines can call.
    exposed: bool,
}

impl Guard {
    /// Asks for this token, if there is one, and takes changes under these host names too.
    #[must_use]
    pub fn new(token: Option<&str>, hosts: &[String]) -> Self {
        Self {
            token: token.map(hash),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            exposed: false,
        }
    }

    /// Says whether other machines can call.
    #[must_use]
    pub fn exposed(mut self, exposed: bool) -> Self {
        self.exposed = exposed;
        self
    }

    fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Error> {
        if !OPEN.contains(&path) {
            self.check_token(headers)?;
        }
        if !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            if is_outward(path) && self.exposed && self.token.is_none() {
                let words = format!(
                    "`{path}` makes the suite reach out to others, and other machines can reach it: start the suite with --admin-token, and send it as `Authorization: Bearer TOKEN`"
                );
                return Err(error(StatusCode::UNAUTHORIZED, words));
            }
            self.check_host(headers)?;
            check_site(headers)?;
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Error> {
        let Some(wanted) = self.token else {
            return Ok(());
        };
        let given = text(headers, AUTHORIZATION).and_then(|value| value.split_once(' '));
        match given {
            // Hashes are compared, so that the time it takes tells nothing of the token.
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && hash(token.trim()) == wanted => Ok(()),
            Some(_) => Err(error(StatusCode::UNAUTHORIZED, "this is not the suite's admin token")),
            None => {
                let words = "the suite was started with --admin-token: send it as `Authorization: Bearer TOKEN`";
                Err(error(StatusCode::UNAUTHORIZED, words))
            }
        }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Error> {
        let host = text(headers, HOST).unwrap_or_default();
        let name = name_of(host);
        if is_local(&name) || self.hosts.contains(&name) {
            return Ok(());
        }
        let words = format!(
            "changes are not taken under the host name `{name}`: call by IP, localhost, a name without dots or one that ends in .internal, .local or .test, or start the suite with --admin-host {name}"
        );
        Err(error(StatusCode::MISDIRECTED_REQUEST, words))
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("exposed", &self.exposed)
            .field("has_token", &self.token.is_some())
            .field("hosts", &self.hosts)
            .finish()
    }
}

/// Lets a call through, or says why not.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.check(request.method(), request.uri().path(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(no) => {
            let mut response = no.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                response
                    .headers_mut()
                    .insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

fn check_site(headers: &HeaderMap) -> Result<(), Error> {
    let site = text(headers, HeaderName::from_static("sec-fetch-site"));
    if let Some(site) = site.filter(|site| !matches!(*site, "same-origin" | "none")) {
        let words = format!("changes are not taken from a page of another site (Sec-Fetch-Site: {site})");
        return Err(error(StatusCode::FORBIDDEN, words));
    }
    if let Some(origin) = text(headers, ORIGIN) {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let host = text(headers, HOST).unwrap_or_default();
        if !authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host)) {
            let words = format!("changes are not taken from a page of `{origin}`, which is not this host, `{host}`");
            return Err(error(StatusCode::FORBIDDEN, words));
        }
    }
    Ok(())
}

/// Returns a header's value; what is no text is as good as a foreign one.
/// Says whether a path is one of those that reach out, or below one.
fn is_outward(path: &str) -> bool {
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    OUTWARD.into_iter().any(below)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Returns a host without its port, without brackets, in lower case.
fn name_of(host: &str) -> String {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn is_local(name: &str) -> bool {
    let is_ip = name.parse::<Ipv4Addr>().is_ok() || name.parse::<Ipv6Addr>().is_ok();
    let is_dotless = !name.is_empty() && !name.contains(['.', ':']);
    is_ip || is_dotless || LOCAL_NAMES.iter().any(|end| name.ends_with(end))
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, Method, StatusCode};

    use super::Guard;

    fn status(guard: &Guard, method: &Method, path: &str, headers: &[(&'static str, &str)]) -> Option<StatusCode> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        guard.check(method, path, &headers).err().map(|error| error.status)
    }

    #[test]
    fn changes_are_taken_under_names_that_no_foreign_page_can_have() {
        let guard = Guard::new(None, &["mock.example.com".to_owned()]);
        let by_host = |host| status(&guard, &Method::POST, "/_reset", &[("host", host)]);
        for host in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "10.1.2.3",
            "localhost",
            "localhost:1",
            "ackdrop:8080",
            "ackdrop.internal",
            "a.local:1",
            "ackdrop.test",
            "LOCALHOST",
            "MOCK.example.com:8080",
            "app.localhost",
        ] {
            assert_eq!(by_host(host), None, "{host}");
        }
        for host in [
            "evil.example",
            "example.com:8080",
            "127.0.0.1.evil.example",
            "evil.test.example",
            "",
            "1.2.3",
        ] {
            assert_eq!(by_host(host), Some(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        assert_eq!(
            status(&guard, &Method::GET, "/_stats", &[("host", "evil.example")]),
            None
        );
    }

    #[test]
    fn changes_are_not_taken_from_a_page_of_another_site() {
        let guard = Guard::default();
        let with = |name, value| {
            status(
                &guard,
                &Method::DELETE,
                "/_faults",
                &[("host", "localhost:8080"), (name, value)],
            )
        };
        for (name, value) in [
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "none"),
            ("origin", "http://localhost:8080"),
        ] {
            assert_eq!(with(name, value), None, "{name}: {value}");
        }
        for (name, value) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://localhost:3000"),
            ("origin", "null"),
            ("origin", "https://evil.example"),
        ] {
            assert_eq!(with(name, value), Some(StatusCode::FORBIDDEN), "{name}: {value}");
        }
    }

    #[test]
    fn the_token_guards_all_but_what_health_checks_need() {
        let guard = Guard::new(Some("t0k"), &[]);
        let get = |path, token| status(&guard, &Method::GET, path, &[("authorization", token)]);
        assert_eq!(
            (get("/_stats", "Bearer t0k"), get("/_stats", "bearer t0k")),
            (None, None)
        );
        for wrong in ["Bearer t0", "Basic t0k", "t0k", ""] {
            assert_eq!(get("/_stats", wrong), Some(StatusCode::UNAUTHORIZED), "{wrong}");
        }
        assert_eq!(
            status(&guard, &Method::GET, "/_stats", &[]),
            Some(StatusCode::UNAUTHORIZED)
        );
        for open in ["/_health", "/_ready", "/_ca.pem"] {
            assert_eq!(status(&guard, &Method::GET, open, &[]), None);
        }
        assert!(!format!("{guard:?}").contains("t0k"));
    }
}
