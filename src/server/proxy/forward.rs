//! A request in absolute form to an allowed host: forwarded on a connection of its own.

use std::io;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri, request};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::Target;
use crate::server::Shared;

/// Header fields that are about one connection, and not about what is carried (RFC 9110, section 7.6.1).
const OF_ONE_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Forwards a request, and returns what the host answers.
///
/// # Errors
///
/// Fails with a gateway's status and words if the host cannot be reached, or gives no answer.
pub(crate) async fn forward(
    shared: &Shared,
    target: &Target,
    head: request::Parts,
    body: Incoming,
) -> Result<Response<Incoming>, (StatusCode, String)> {
    if head.uri.scheme_str() == Some("https") {
        let text = format!("https is for tunnels: ask for CONNECT {target}");
        return Err((StatusCode::BAD_REQUEST, text));
    }
    let upstream = shared
        .proxy
        .reach(target)
        .await
        .map_err(|error| failed(target, &error))?;
    let handshake = http1::handshake(TokioIo::new(upstream)).await;
    let (mut sender, connection) = handshake.map_err(|error| failed(target, &io::Error::other(error)))?;
    let stop = shared.way.stop.clone();
    shared.way.tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            ended = connection => drop(ended),
        }
    });
    let sent = sender.send_request(outgoing(target, head, body));
    let mut response = match tokio::time::timeout(shared.limits.idle, sent).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(failed(target, &io::Error::other(error))),
        Err(_) => return Err(failed(target, &io::ErrorKind::TimedOut.into())),
    };
    clean(response.headers_mut());
    Ok(response)
}

/// Says that an allowed host could not be reached.
pub(crate) fn failed(target: &Target, error: &io::Error) -> (StatusCode, String) {
    let status = match error.kind() {
        io::ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    (status, format!("the proxy cannot reach {target}: {error}"))
}

fn outgoing(target: &Target, head: request::Parts, body: Incoming) -> Request<Incoming> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(body);
    *request.method_mut() = head.method;
    *request.uri_mut() = path.parse().unwrap_or(Uri::from_static("/"));
    let headers = request.headers_mut();
    *headers = head.headers;
    clean(headers);
    // The body is sent without waiting to be asked for it.
    headers.remove(header::EXPECT);
    let own: Vec<HeaderName> = headers
        .keys()
        .filter(|n| n.as_str().starts_with("x-ackdrop-"))
        .cloned()
        .collect();
    for name in own {
        headers.remove(name);
    }
    let text = target.to_string();
    let host = text.strip_suffix(":80").unwrap_or(&text);
    if let Ok(host) = HeaderValue::from_str(host) {
        headers.insert(header::HOST, host);
    }
    request
}

/// Takes off what is about one connection, those that `Connection` names too.
fn clean(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_ONE_HOP {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::clean;

    #[test]
    fn what_is_about_one_connection_is_taken_off() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("proxy-authorization", "Basic eA=="),
            ("upgrade", "websocket"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        clean(&mut headers);
        assert_eq!(headers.keys().map(|n| n.as_str()).collect::<Vec<_>>(), ["accept"]);
    }
}
