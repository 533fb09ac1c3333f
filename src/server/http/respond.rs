//! One request: routed, begun, read, carried out in a task of its own, and answered.

use std::sync::Arc;

use http::{Request, Response, StatusCode, request};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::proxied::{self, Met};
use super::route::{Owner, Route, Tunnel, route};
use crate::admin;
use crate::attempt::{HttpProvider, HttpRequest, Kind, Line, Outgoing, Whole, carry_out};
use crate::ledger::{Arrival, Fate, Outcome, Reply, secrets};
use crate::net::ending::Ending;
use crate::net::http::body::{self, Broken, Outbound};
use crate::net::http::{Answer, Connection, answer, faults_of, own};
use crate::server::Shared;
use crate::store::{Scope, Ticket};

/// Answers one request, or ends the connection. A request in a tunnel asks for no other.
pub(crate) async fn respond(
    shared: &Arc<Shared>,
    connection: &Connection,
    tunnel: Option<&Tunnel>,
    request: Request<Incoming>,
) -> Answer {
    connection.arrived();
    let (mut head, incoming) = request.into_parts();
    if tunnel.is_none() && proxied::is_asked(&head) {
        match proxied::meet(shared, connection, &mut head).await {
            Met::Here(tunnel) => return dispatch(shared, connection, tunnel.as_ref(), head, incoming).await,
            Met::Relayed(door, through) => {
                let request = Request::from_parts(head, incoming);
                return door.respond_through(connection, request, &through).await;
            }
            Met::Forward(target) => return Ok(proxied::forward(shared, &target, head, incoming).await),
            Met::Answered(answer) => return answer,
        }
    }
    dispatch(shared, connection, tunnel, head, incoming).await
}

/// Hands a request to whose it is.
async fn dispatch(
    shared: &Arc<Shared>,
    connection: &Connection,
    tunnel: Option<&Tunnel>,
    head: request::Parts,
    incoming: Incoming,
) -> Answer {
    let route = match route(&head, tunnel) {
        Ok(route) => route,
        Err(invalid) => {
            return Ok(own(admin::error(StatusCode::BAD_REQUEST, invalid.to_string())));
        }
    };
    let mocks = &shared.mocks;
    match route.owner {
        Owner::Suite => administer(shared, connection, route, head, incoming).await,
        Owner::Stripe => attempt(shared, connection, &mocks.stripe, route, head, incoming).await,
        Owner::Orders => attempt(shared, connection, &mocks.orders, route, head, incoming).await,
        Owner::Webhook => attempt(shared, connection, &mocks.webhook, route, head, incoming).await,
        Owner::Nobody => Ok(stray(shared, &route, &head)),
    }
}

/// Hands a request to the admin API, which stands outside the way of attempts and of faults.
async fn administer(
    shared: &Shared,
    connection: &Connection,
    route: Route,
    mut head: request::Parts,
    incoming: Incoming,
) -> Answer {
    let body = match body::read(incoming, admin::LARGEST_BODY, &shared.arriving, shared.limits.idle).await {
        Ok(body) => body,
        Err(Broken::Cut) => return Err(connection.end(Ending::Gone)),
        Err(broken) => {
            let mut response = own(admin::error(broken.status(), broken.text(admin::LARGEST_BODY)));
            let close = http::HeaderValue::from_static("close");
            response.headers_mut().insert(http::header::CONNECTION, close);
            return Ok(response);
        }
    };
    let query = head.uri.query().map_or(String::new(), |query| format!("?{query}"));
    let Ok(uri) = format!("{}{query}", route.path).parse() else {
        return Ok(own(admin::error(StatusCode::BAD_REQUEST, "the path cannot be read")));
    };
    head.uri = uri;
    head.extensions.insert(admin::NamedScope(route.scope));
    let request = Request::from_parts(head, axum::body::Body::from(body));
    match shared.admin.clone().oneshot(request).await {
        Ok(response) => Ok(own(response)),
        Err(never) => match never {},
    }
}

fn stray(shared: &Shared, route: &Route, head: &request::Parts) -> Response<Outbound> {
    let scope = route.scope.clone().unwrap_or_default();
    let line = format!("{} {}", head.method, head.uri);
    shared.strays.note(scope.as_str(), &line);
    tracing::info!("unmatched {}", secrets::clean(&line));
    let text = format!(
        "nothing is served at `{}`: Stripe-like calls begin with /v1, orders with /orders, webhook targets with /hooks/, the suite's own with /_",
        secrets::clean(&route.path)
    );
    own(admin::error(StatusCode::NOT_FOUND, text))
}

/// Takes a provider's request from its head to the end of its answer.
async fn attempt<P: HttpProvider>(
    shared: &Arc<Shared>,
    connection: &Connection,
    provider: &Arc<P>,
    route: Route,
    head: request::Parts,
    incoming: Incoming,
) -> Answer {
    let in_request = match faults_of(&head) {
        Ok(faults) => faults,
        Err(problem) => return Ok(own(admin::error(StatusCode::BAD_REQUEST, problem))),
    };
    let about = provider.about();
    let operation = provider.route(&head.method, &route.path);
    let line = format!(
        "{} {}",
        head.method,
        head.uri.path_and_query().map_or("/", |p| p.as_str())
    );
    let arrival = Arrival {
        provider: about.name.into(),
        class: about.class,
        operation: operation.name.into(),
        line: secrets::clean(&line).into_owned(),
        peer: connection.peer,
    };
    let base = base(connection, &head, route.scope.as_ref());
    let ticket = match shared.way.store.begin(&route.scope.unwrap_or_default(), arrival) {
        Ok(ticket) => ticket,
        Err(full) => {
            return Ok(own(admin::error(StatusCode::SERVICE_UNAVAILABLE, full.to_string())));
        }
    };
    let body = match body::read(incoming, shared.limits.http_body, &shared.arriving, shared.limits.idle).await {
        Ok(body) => body,
        Err(broken) => return turn_away(shared, connection, ticket, operation.kind, broken),
    };
    let request = HttpRequest {
        operation,
        method: head.method,
        path: route.path,
        query: head.uri.query().unwrap_or_default().to_owned(),
        base,
        headers: head.headers,
        body,
    };
    let whole = Whole {
        request,
        operation,
        in_request,
        exempt: false,
    };
    let (line, delivery) = Line::new(connection.gone.clone());
    shared
        .way
        .tasks
        .spawn(carry_out(shared.way.clone(), Arc::clone(provider), whole, ticket, line));
    let read = CancellationToken::new();
    read.cancel();
    connection.wait(delivery, &read).await
}

/// Returns what stands before a path by which the client of a request reaches the same world without naming it otherwise.
fn base(connection: &Connection, head: &request::Parts, scope: Option<&Scope>) -> String {
    let host = head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let scheme = if connection.secure { "https" } else { "http" };
    let prefix = scope.filter(|scope| **scope != Scope::default());
    let prefix = prefix.map_or(String::new(), |scope| format!("/~{scope}"));
    format!("{scheme}://{}{prefix}", host.unwrap_or("localhost"))
}

/// Answers a request whose body did not become whole; nothing was looked at, so there is no effect.
fn turn_away(shared: &Shared, connection: &Connection, mut ticket: Ticket, kind: Kind, broken: Broken) -> Answer {
    if broken == Broken::Cut {
        return Err(connection.end(Ending::Gone));
    }
    ticket.decide(match (broken, kind) {
        (Broken::Idle | Broken::Malformed, _) => Outcome::Incomplete,
        (_, Kind::Read) => Outcome::Read,
        (_, Kind::Write) => Outcome::Refused,
    });
    let error = admin::error(broken.status(), broken.text(shared.limits.http_body));
    let reply = Reply::new(broken.status().as_u16(), error.body())
        .header("content-type", "application/json")
        .header("connection", "close");
    Ok(answer(connection, Outgoing::new(reply, None, Fate::Answered, ticket)))
}
