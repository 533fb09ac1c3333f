//! What is handed to hyper as an answer.

use axum::response::IntoResponse;
use http::{Response, StatusCode, request};

use super::body::Outbound;
use super::{Connection, Ended, Next};
use crate::attempt::{Outgoing, Passing};
use crate::faults::{InRequest, parse_header};

/// Answers, or ends the connection.
pub(crate) type Answer = Result<Response<Outbound>, Ended>;

/// Hands an answer to hyper, and to the gauge that measures it.
pub(crate) fn answer(connection: &Connection, mut outgoing: Outgoing) -> Response<Outbound> {
    if let Some(passing) = outgoing.passing.take() {
        connection.gauge.begin(outgoing);
        return pass_on(connection, *passing);
    }
    let reply = &outgoing.reply;
    let bytes = reply.content.bytes();
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.all_headers() {
        response = response.header(name, value);
    }
    connection.gauge.begin(outgoing);
    let body = |bytes| Outbound::Measured {
        bytes,
        gauge: connection.gauge.clone(),
    };
    let bytes = (!bytes.is_empty()).then_some(bytes);
    response.body(body(bytes)).unwrap_or_else(|_| {
        // A header that a user gave and that cannot be sent: said, never swallowed.
        let text = "the answer that was set for this has a header that cannot be sent";
        let text = format!("{}\n", serde_json::json!({"error": {"message": text}}));
        let mut response = Response::new(body(Some(text.into())));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// Passes an answer on as it comes. One that agrees to another protocol takes the connection with it.
fn pass_on(connection: &Connection, passing: Passing) -> Response<Outbound> {
    let mut response = Response::from_parts(passing.head, ());
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        *connection.next() = Some(Next::Upgrade(hyper::upgrade::on(&mut response)));
    }
    response.map(|()| Outbound::Passing {
        body: passing.body,
        gauge: connection.gauge.clone(),
    })
}

/// Makes an answer of the suite's own, which no attempt waits for.
pub(crate) fn own(response: impl IntoResponse) -> Response<Outbound> {
    response.into_response().map(Outbound::Own)
}

/// Reads the rules that a request brings.
///
/// # Errors
///
/// Fails with words that say what is wrong with the first that cannot be read.
pub(crate) fn faults_of(head: &request::Parts) -> Result<Vec<InRequest>, String> {
    let values = head.headers.get_all("x-ackdrop-fault").iter();
    let parsed = values.map(|value| parse_header(&String::from_utf8_lossy(value.as_bytes())));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|problem| format!("X-Ackdrop-Fault: {problem}"))
}
