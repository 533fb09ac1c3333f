//! One request: begun from its head, carried out in a task of its own, and answered.

use std::sync::Arc;

use http::{Method, Request, StatusCode, request};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use super::forward::Forward;
use super::upload::{Received, Upload};
use super::{Door, Through, said};
use crate::attempt::{Asked, Describe as _, HttpRequest, Line, Whole, walk};
use crate::ledger::{Arrival, Relayed, secrets};
use crate::net::ending::Ending;
use crate::net::http::body::Broken;
use crate::net::http::scope::{credential_scope, header_scope, split_prefix};
use crate::net::http::{Answer, Connection, faults_of, own};
use crate::store::{InvalidScope, Scope, Ticket};

/// How much of a body is read ahead for rules that look into it.
const LOOKED_INTO: usize = 1 << 20;

/// Answers one request, or ends the connection.
pub(super) async fn respond(
    door: &Arc<Door>,
    connection: &Connection,
    request: Request<Incoming>,
    through: Option<&Through>,
) -> Answer {
    connection.arrived();
    let (head, incoming) = request.into_parts();
    let no = |status, why: &str| Ok(own(said::no(&door.relay, status, why)));
    if head.method == Method::CONNECT {
        return no(
            StatusCode::METHOD_NOT_ALLOWED,
            "CONNECT is for the suite's HTTP listener",
        );
    }
    let (scope, path) = match named(door, &head, through) {
        Ok(named) => named,
        Err(invalid) => return no(StatusCode::BAD_REQUEST, &invalid.to_string()),
    };
    let in_request = match faults_of(&head) {
        Ok(faults) => faults,
        Err(problem) => return no(StatusCode::BAD_REQUEST, &problem),
    };
    let operation = door.operation(&head.method);
    let query = head.uri.query().unwrap_or_default().to_owned();
    let ticket = match door
        .relay
        .house
        .way
        .store
        .begin(&scope, arrival(door, connection, &head, operation.name))
    {
        Ok(ticket) => ticket,
        Err(full) => return no(StatusCode::SERVICE_UNAVAILABLE, &full.to_string()),
    };
    let request = HttpRequest {
        operation,
        method: head.method.clone(),
        path,
        query,
        base: String::new(),
        headers: head.headers.clone(),
        body: bytes::Bytes::new(),
    };
    let whole = Whole {
        request,
        operation,
        in_request,
        exempt: false,
    };
    attempt(door, connection, ticket, whole, head, incoming).await
}

/// Sends a request whose head was understood on the way of all attempts.
async fn attempt(
    door: &Arc<Door>,
    connection: &Connection,
    ticket: Ticket,
    mut whole: Whole<HttpRequest>,
    head: request::Parts,
    incoming: Incoming,
) -> Answer {
    let house = &door.relay.house;
    let read = CancellationToken::new();
    let recorded = ticket
        .ledger()
        .keep(whole.request.recordable().0, bytes::Bytes::new(), false);
    ticket.note(|entry| {
        entry.request = Some(recorded);
        entry.relayed = Some(Box::new(Relayed::default()));
    });
    let received = Received::new(&ticket, whole.request.recordable().0);
    let mut upload = Upload::new(incoming, &head, Arc::clone(&received), house, &read);
    if house.way.rules.look_into_bodies(door.relay.about.name) {
        match upload.look_ahead(LOOKED_INTO).await {
            Ok(Some(body)) => whole.request.body = body,
            Ok(None) => ticket.note(|entry| {
                entry
                    .notes
                    .push("the body is larger than 1 MiB: no rule has looked into it".into());
            }),
            Err(Broken::Cut) => return Err(connection.end(Ending::Gone)),
            Err(broken) => return Err(turn_away(connection, ticket, broken)),
        }
    }
    let name = name(door, &head);
    ticket.note(|entry| entry.key.clone_from(&name));
    let asked = Asked {
        about: door.relay.about,
        content: crate::attempt::hash([head.method.as_str().as_bytes(), head.uri.to_string().as_bytes()]),
        scope: ticket.scope().name(),
        whole,
        name,
    };
    let (line, delivery) = Line::new(connection.gone.clone());
    let cut = received.left.clone();
    let forward = Forward::new(Arc::clone(door), asked, head, upload, received);
    let (way, gone) = (house.way.clone(), connection.gone.clone());
    house.way.tasks.spawn(async move {
        let (ledger, id) = (ticket.ledger().clone(), ticket.id());
        let noted = async {
            gone.cancelled().await;
            ledger.update(id, |entry| {
                entry.note_relayed(|relayed, now| _ = relayed.client_left.get_or_insert(now));
            });
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = noted => {}
            () = walk(way, forward, ticket, line) => {}
        }
    });
    let cut = async {
        cut.cancelled().await;
        connection.left();
        std::future::pending().await
    };
    tokio::select! {
        // Its body ended before its attempt did: whoever has left in the middle of a request is told nothing of it.
        biased;
        never = cut => never,
        answer = connection.wait(delivery, &read) => answer,
    }
}

/// Ends a request that broke off while it was being looked into.
fn turn_away(connection: &Connection, mut ticket: Ticket, broken: Broken) -> crate::net::http::Ended {
    let text = broken.text(LOOKED_INTO as u64);
    ticket.note(|entry| entry.notes.push(text));
    ticket.decide(crate::ledger::Outcome::Incomplete);
    connection.end(Ending::Close)
}

fn arrival(door: &Door, connection: &Connection, head: &request::Parts, operation: &'static str) -> Arrival {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    Arrival {
        provider: door.relay.about.name.into(),
        class: door.relay.about.class,
        operation: operation.into(),
        line: secrets::clean(&format!("{} {path}", head.method)).into_owned(),
        peer: connection.peer,
    }
}

/// Finds the scope that a request names, else that of its way through the proxy, else the relay's own; and the path without the scope's
/// prefix. Who knows nothing of the relay writes no prefix: then all of the path is the upstream's.
fn named(door: &Door, head: &request::Parts, through: Option<&Through>) -> Result<(Scope, String), InvalidScope> {
    let (prefix, path) = match through {
        None => split_prefix(head.uri.path()),
        Some(_) => (None, head.uri.path()),
    };
    let scope = header_scope(head)
        .or_else(|| prefix.map(Scope::parse))
        .or_else(|| credential_scope(head, http::header::AUTHORIZATION))
        .transpose()?;
    let scope = scope
        .or_else(|| through?.scope.clone())
        .or_else(|| door.relay.spec.scope.clone());
    Ok((scope.unwrap_or_default(), path.to_owned()))
}

/// Returns the caller's name of the operation.
fn name(door: &Door, head: &request::Parts) -> Option<Arc<str>> {
    let value = head.headers.get(&door.relay.spec.key)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into())
}
