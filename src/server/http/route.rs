//! Where a request goes: decided from its head alone, before any router.

use http::header::HOST;
use http::{Method, request};

use crate::net::http::scope::{credential_scope, header_scope, split_prefix};
use crate::store::{InvalidScope, Scope};

/// The host whose requests are all Stripe's.
const STRIPE_HOST: &str = "api.stripe.com";

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

/// Routes a request by its head.
///
/// # Errors
///
/// Fails if it names a scope by a name that none can have.
pub(crate) fn route(head: &request::Parts) -> Result<Route, InvalidScope> {
    let full = head.uri.path();
    if head.method != Method::CONNECT && is_stripe_host(head) {
        let scope = header_scope(head).or_else(|| credential_scope(head)).transpose()?;
        return Ok(Route {
            owner: Owner::Stripe,
            scope,
            path: full.to_owned(),
        });
    }
    let (prefix, path) = split_prefix(full);
    let prefix = prefix.map(Scope::parse);
    let scope = header_scope(head)
        .or(prefix)
        .or_else(|| credential_scope(head))
        .transpose()?;
    let owner = if head.method == Method::CONNECT || head.uri.scheme().is_some() {
        Owner::Nobody
    } else {
        owner(path)
    };
    Ok(Route {
        owner,
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

fn is_stripe_host(head: &request::Parts) -> bool {
    // The absolute form says it again, and is the one that counts (RFC 9112, section 3.2.2).
    let host = head.uri.authority().map(http::uri::Authority::as_str);
    let host = host
        .or_else(|| head.headers.get(HOST)?.to_str().ok())
        .unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case(STRIPE_HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(path: &str, headers: &[(&str, &str)]) -> Result<Route, InvalidScope> {
        let mut request = http::Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        route(&request.body(()).unwrap().into_parts().0)
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
            ("http://example.test/v1/charges", Owner::Nobody),
        ] {
            assert_eq!(
                went(path, &[]),
                (owner, None, path.trim_start_matches("http://example.test").to_owned())
            );
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
        let absolute = |host: &str| went(&format!("http://{host}/v1/a"), &[("host", "api.stripe.com")]).0;
        assert_eq!(
            (absolute("api.stripe.com"), absolute("example.test")),
            (Owner::Stripe, Owner::Nobody)
        );
        let connect = http::Request::connect("api.stripe.com:443").header("host", "api.stripe.com:443");
        let connect = connect.body(()).unwrap().into_parts().0;
        assert_eq!(route(&connect).unwrap().owner, Owner::Nobody);
    }
}
