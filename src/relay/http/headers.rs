//! What of a head is passed on: all but what belongs to one connection (RFC 9110, section 7.6.1), and what was meant for us.

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue};

/// Fields that belong to one connection, whether or not `Connection` names them.
const OF_A_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// Begins the names of what is meant for the suite.
const OURS: &str = "x-ackdrop-";

/// Takes off a request what is not the upstream's to see. An asked-for upgrade, and the wish for trailers, are asked for anew.
pub(super) fn request(headers: &mut HeaderMap) {
    let upgrade = wanted_upgrade(headers);
    let trailers = tokens(headers, &header::TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    strip(headers);
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(OURS))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
    headers.remove(header::HOST);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if let Some(upgrade) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, upgrade);
    }
}

/// Takes off an answer what is not the client's to see; one that agrees to an upgrade agrees for us too.
pub(super) fn response(head: &mut http::response::Parts) {
    let upgrade = (head.status == http::StatusCode::SWITCHING_PROTOCOLS)
        .then(|| head.headers.get(header::UPGRADE).cloned())
        .flatten();
    strip(&mut head.headers);
    if let Some(upgrade) = upgrade {
        head.headers
            .insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        head.headers.insert(header::UPGRADE, upgrade);
    }
    head.version = http::Version::HTTP_11;
}

/// Returns the protocol that a request asks to go on with.
pub(super) fn wanted_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = tokens(headers, &header::CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"));
    asked.then(|| headers.get(header::UPGRADE).cloned()).flatten()
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &header::CONNECTION)
        .filter_map(|token| token.parse().ok())
        .collect();
    for name in named.iter().chain(&OF_A_CONNECTION) {
        headers.remove(name);
    }
}

fn tokens<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        pairs.iter().map(pair).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_belongs_to_a_connection_or_to_us_is_not_passed_on() {
        let mut sent = headers(&[
            ("host", "a"),
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("te", "gzip"),
            ("x-ackdrop-fault", "pass"),
            ("x-ackdrop-scope", "alice"),
            ("trailer", "x-sum"),
            ("accept", "*/*"),
            ("authorization", "Bearer x"),
        ]);
        request(&mut sent);
        assert_eq!(names(&sent), ["accept", "authorization", "trailer"]);
    }

    #[test]
    fn an_upgrade_and_the_wish_for_trailers_are_asked_for_anew() {
        let mut sent = headers(&[
            ("connection", "keep-alive, Upgrade, TE"),
            ("upgrade", "websocket"),
            ("te", "trailers"),
        ]);
        request(&mut sent);
        assert_eq!(names(&sent), ["connection", "te", "upgrade"]);
        assert_eq!(sent["connection"], "upgrade");
    }
}
