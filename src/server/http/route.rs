//! Where a request goes: decided from its head alone, before any router.

use http::header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION};
use http::request;

use crate::net::http::scope::{credential_scope, header_scope, split_prefix};
use crate::server::proxy::played;
use crate::store::{InvalidScope, Scope};

/// Says whose a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The suite's own: `/`, `/_…`, `/metrics`.
    Suite,
    /// The Stripe-like API's.
    Stripe,
    /// The order API's.
    Orders,
    /// The webhook target's.
    Webhook,
    /// Nobody's.
    Nobody,
}

/// Says where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Whose it is.
    pub(crate) owner: Owner,
    /// The scope that it names; none if it names none.
    pub(crate) scope: Option<Scope>,
    /// The path without the scope's prefix.
    pub(crate) path: String,
}

/// Says what a tunnel through the proxy leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    /// Whose all requests in it are.
    pub(crate) owner: Owner,
    /// The scope that was named when it was asked for.
    pub(crate) scope: Option<Scope>,
}

/// Routes a request by its head, and by the tunnel in which it came.
///
/// # Errors
///
/// Fails if it names a scope by a name that none can have.
pub(crate) fn route(head: &request::Parts, tunnel: Option<&Tunnel>) -> Result<Route, InvalidScope> {
    let full = head.uri.path();
    let played = match tunnel {
        Some(tunnel) => Some(tunnel.clone()),
        None => host_owner(head).map(|owner| Tunnel { owner, scope: None }),
    };
    if let Some(Tunnel { owner, scope }) = played {
        let named = header_scope(head).or_else(|| credential_scope(head, AUTHORIZATION));
        return Ok(Route {
            owner,
            scope: named.transpose()?.or(scope),
            path: if full.is_empty() { "/" } else { full }.to_owned(),
        });
    }
    let (prefix, path) = split_prefix(full);
    let prefix = prefix.map(Scope::parse);
    let scope = header_scope(head)
        .or(prefix)
        .or_else(|| credential_scope(head, AUTHORIZATION))
        .transpose()?;
    Ok(Route {
        owner: owner(path),
        scope,
        path: path.to_owned(),
    })
}

fn owner(path: &str) -> Owner {
    let below = |root: &str| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if path == "/" || path.starts_with("/_") || path == "/metrics" {
        Owner::Suite
    } else if below("/v1") || below("/v2") {
        Owner::Stripe
    } else if below("/orders") {
        Owner::Orders
    } else if below("/hooks") {
        Owner::Webhook
    } else {
        Owner::Nobody
    }
}

/// Returns whose the host is that a request names; a name that leads to this listener needs no proxy.
fn host_owner(head: &request::Parts) -> Option<Owner> {
    let host = head.headers.get(HOST)?.to_str().ok()?;
    played(host.rsplit_once(':').map_or(host, |(name, _)| name))
}

/// Returns the scope that a request to the proxy names for itself or for its tunnel: by header, else as the user of the proxy.
pub(crate) fn proxy_scope(head: &request::Parts) -> Result<Option<Scope>, InvalidScope> {
    let named = header_scope(head).or_else(|| credential_scope(head, PROXY_AUTHORIZATION));
    named.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(path: &str, headers: &[(&str, &str)]) -> Result<Route, InvalidScope> {
        let mut request = http::Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        route(&request.body(()).unwrap().into_parts().0, None)
    }

    fn went(path: &str, headers: &[(&str, &str)]) -> (Owner, Option<String>, String) {
        let route = routed(path, headers).unwrap();
        (route.owner, route.scope.map(|s| s.to_string()), route.path)
    }

    #[test]
    fn paths_have_owners() {
        for (path, owner) in [
            ("/", Owner::Suite),
            ("/_stats", Owner::Suite),
            ("/metrics", Owner::Suite),
            ("/v1/charges", Owner::Stripe),
            ("/v1", Owner::Stripe),
            ("/orders", Owner::Orders),
            ("/orders/17", Owner::Orders),
            ("/ordersx", Owner::Nobody),
            ("/hooks/a/b", Owner::Webhook),
            ("/v11/charges", Owner::Nobody),
        ] {
            assert_eq!(went(path, &[]), (owner, None, path.to_owned()));
        }
    }

    #[test]
    fn a_scope_comes_by_header_then_prefix_then_credential() {
        let alice = Some("alice".to_owned());
        let bearer = ("authorization", "Bearer sk_test_~carol");
        let basic = ("authorization", "Basic c2tfdGVzdF9+YWxpY2U6");
        assert_eq!(
            went("/~alice/_stats", &[]),
            (Owner::Suite, alice.clone(), "/_stats".into())
        );
        assert_eq!(went("/~alice", &[]), (Owner::Suite, alice.clone(), "/".into()));
        assert_eq!(went("/v1/a", &[basic]), (Owner::Stripe, alice.clone(), "/v1/a".into()));
        assert_eq!(went("/~alice/v1/a", &[bearer]).1, alice);
        assert_eq!(went("/~bob/v1/a", &[("x-ackdrop-scope", "alice"), bearer]).1, alice);
        assert_eq!(went("/v1/a", &[("authorization", "Bearer sk_test_51abc")]).1, None);
        for (path, headers) in [
            ("/~a%20b/v1/a", vec![]),
            ("/~/v1/a", vec![]),
            ("/v1/a", vec![("x-ackdrop-scope", "")]),
            ("/v1/a", vec![("authorization", "Bearer sk_test_~")]),
        ] {
            assert!(routed(path, &headers).is_err(), "{path}");
        }
    }

    #[test]
    fn an_intercepted_host_is_all_its_providers() {
        for host in ["api.stripe.com", "API.stripe.com:443"] {
            assert_eq!(
                went("/_stats", &[("host", host)]),
                (Owner::Stripe, None, "/_stats".into())
            );
            assert_eq!(went("/~a/x", &[("host", host)]), (Owner::Stripe, None, "/~a/x".into()));
        }
    }

    #[test]
    fn all_in_a_tunnel_is_its_owners_and_scopes_are_named_inside_before_outside() {
        let request = |headers: &[(&str, &str)]| {
            let mut request = http::Request::get("/~a/_stats").header("host", "example.test");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            request.body(()).unwrap().into_parts().0
        };
        let outside = request(&[("proxy-authorization", "Basic fmFsaWNlOg==")]);
        let tunnel = Tunnel {
            owner: Owner::Stripe,
            scope: proxy_scope(&outside).unwrap(),
        };
        let inside = |headers: &[(&str, &str)]| {
            let route = route(&request(headers), Some(&tunnel)).unwrap();
            assert_eq!((route.owner, &*route.path), (Owner::Stripe, "/~a/_stats"));
            route.scope.unwrap().to_string()
        };
        assert_eq!(inside(&[]), "alice");
        assert_eq!(inside(&[("authorization", "Bearer sk_test_~carol")]), "carol");
        assert_eq!(
            inside(&[("x-ackdrop-scope", "bob"), ("authorization", "Bearer sk_test_~carol")]),
            "bob"
        );
    }
}
