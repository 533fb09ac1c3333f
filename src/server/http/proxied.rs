//! A request that asks the listener to be its proxy: CONNECT, or the absolute form.

use std::sync::Arc;

use http::header::{self, HeaderValue};
use http::{Method, Response, StatusCode, Uri, request};
use hyper::body::Incoming;

use super::route::{Tunnel, proxy_scope};
use crate::admin;
use crate::net::http::body::Outbound;
use crate::net::http::{Answer, Connection, own};
use crate::relay::{Door, Through};
use crate::server::Shared;
use crate::server::proxy::{self, Behind, Inside, Target};
use crate::store::Scope;

/// Says how such a request goes on.
pub(super) enum Met {
    /// It is answered here: as one in a tunnel, or as one that names this listener itself.
    Here(Option<Tunnel>),
    /// It is a relay's.
    Relayed(Arc<Door>, Through),
    /// It goes to an allowed host.
    Forward(Target),
    /// It has its answer.
    Answered(Answer),
}

/// Says whether a request asks for a proxy.
pub(super) fn is_asked(head: &request::Parts) -> bool {
    head.method == Method::CONNECT || head.uri.authority().is_some()
}

/// Decides what becomes of a request to the proxy.
pub(super) async fn meet(shared: &Arc<Shared>, connection: &Connection, head: &mut request::Parts) -> Met {
    match find(head) {
        Err(wrong) => refused(StatusCode::BAD_REQUEST, wrong),
        Ok((target, scope)) if head.method == Method::CONNECT => connect(shared, connection, target, scope).await,
        Ok((target, scope)) => absolute(shared, connection, head, target, scope),
    }
}

/// Forwards a request to an allowed host, and answers what it answers.
pub(super) async fn forward(
    shared: &Shared,
    target: &Target,
    head: request::Parts,
    incoming: Incoming,
) -> Response<Outbound> {
    match proxy::forward(shared, target, head, incoming).await {
        Ok(response) => response.map(Outbound::Forwarded),
        Err((status, text)) => own(admin::error(status, text)),
    }
}

fn find(head: &request::Parts) -> Result<(Target, Option<Scope>), String> {
    let target = Target::of(head)?;
    let length = head.headers.get(header::CONTENT_LENGTH);
    let has_body = length.is_some_and(|length| length != "0") || head.headers.contains_key(header::TRANSFER_ENCODING);
    if head.method == Method::CONNECT && has_body {
        return Err("a CONNECT has no body: what follows its head is inside the tunnel".to_owned());
    }
    let scope = proxy_scope(head).map_err(|invalid| invalid.to_string())?;
    Ok((target, scope))
}

async fn connect(shared: &Arc<Shared>, connection: &Connection, target: Target, scope: Option<Scope>) -> Met {
    let (shared, peer) = (Arc::clone(shared), connection.peer);
    let ended = match shared.proxy.behind(&target) {
        Behind::Relayed(door) => connection.hand_over(move |stream| {
            let inside = Inside::Relayed(door, Through { scope });
            proxy::intercept(shared, stream, peer, target, inside)
        }),
        Behind::Played(owner) => connection.hand_over(move |stream| {
            let inside = Inside::Played(Tunnel { owner, scope });
            proxy::intercept(shared, stream, peer, target, inside)
        }),
        Behind::Refused => return turn_away(&shared, &target, scope),
        Behind::Allowed => match shared.proxy.reach(&target).await {
            Ok(upstream) => connection.hand_over(move |stream| async move {
                proxy::pass_through(&shared, stream, upstream, &target).await;
            }),
            Err(error) => {
                let (status, text) = proxy::failed(&target, &error);
                return refused(status, text);
            }
        },
    };
    Met::Answered(Err(ended))
}

fn absolute(
    shared: &Shared,
    connection: &Connection,
    head: &mut request::Parts,
    target: Target,
    scope: Option<Scope>,
) -> Met {
    let met = match shared.proxy.behind(&target) {
        Behind::Relayed(door) => Met::Relayed(door, Through { scope }),
        Behind::Played(owner) => Met::Here(Some(Tunnel { owner, scope })),
        Behind::Allowed => return Met::Forward(target),
        // Who asks for the listener itself through a proxy, which is the listener, is not sent away.
        Behind::Refused if connection.local.is_some_and(|local| target.is(local)) => Met::Here(None),
        Behind::Refused => return turn_away(shared, &target, scope),
    };
    // From here on it is as if it had come without a proxy.
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().unwrap_or(Uri::from_static("/"));
    if let Ok(host) = HeaderValue::from_str(&target.to_string()) {
        head.headers.insert(header::HOST, host);
    }
    head.headers.remove(header::PROXY_AUTHORIZATION);
    head.headers.remove("proxy-connection");
    met
}

/// Refuses a host that nobody allowed. Nothing was looked up for it, and nothing is.
fn turn_away(shared: &Shared, target: &Target, scope: Option<Scope>) -> Met {
    let name = target.to_string();
    shared.strays.refuse_host(scope.unwrap_or_default().as_str(), &name);
    tracing::info!("refused {name}: no such host is played or allowed");
    let text = format!(
        "`{name}` is no host that this suite plays, and nothing was sent there; to let its clients through, start ackdrop with --allow-host {}",
        target.host
    );
    refused(StatusCode::FORBIDDEN, text)
}

fn refused(status: StatusCode, text: String) -> Met {
    Met::Answered(Ok(own(admin::error(status, text))))
}
