//! The scope that a request names.

use base64::Engine as _;
use http::header::HeaderName;
use http::request;

use crate::store::{InvalidScope, Scope};

/// Splits `/~name` off.
pub(crate) fn split_prefix(path: &str) -> (Option<&str>, &str) {
    let Some(rest) = path.strip_prefix("/~") else {
        return (None, path);
    };
    match rest.find('/') {
        Some(slash) => (Some(&rest[..slash]), &rest[slash..]),
        None => (Some(rest), "/"),
    }
}

/// Reads the scope that a header names.
pub(crate) fn header_scope(head: &request::Parts) -> Option<Result<Scope, InvalidScope>> {
    let value = head.headers.get("x-ackdrop-scope")?;
    Some(Scope::parse(&String::from_utf8_lossy(value.as_bytes())))
}

/// Reads the scope that a credential carries: `sk_test_~alice` or `~alice`, as Bearer or as Basic's user name.
pub(crate) fn credential_scope(head: &request::Parts, header: HeaderName) -> Option<Result<Scope, InvalidScope>> {
    let value = head.headers.get(header)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    let user = if scheme.eq_ignore_ascii_case("basic") {
        let decoded = base64::engine::general_purpose::STANDARD
            .decode(credential.trim())
            .ok()?;
        let text = String::from_utf8(decoded).ok()?;
        text.split_once(':').map_or(text.clone(), |(user, _)| user.to_owned())
    } else {
        credential.trim().to_owned()
    };
    let name = ["sk_test_~", "rk_test_~", "pk_test_~", "~"]
        .iter()
        .find_map(|p| user.strip_prefix(p))?;
    Some(Scope::parse(name))
}
