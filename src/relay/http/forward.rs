//! The errand of a relay: forward, then count what came of it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, StatusCode, request};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::time::Instant;

use super::client::{self, Came};
use super::download::{Download, flow};
use super::upload::{Received, Upload};
use super::{Door, headers, said};
use crate::attempt::{Asked, Errand, HttpRequest, Kind, Passing, Refusal, Settled, hash};
use crate::faults::{Rules, Verdict};
use crate::ledger::{Correlation, Outcome, Reply};
use crate::net::http::body::Broken;
use crate::store::{Decision, Stale, Ticket};

/// Is one request on its way to the upstream.
pub(super) struct Forward {
    door: Arc<Door>,
    asked: Asked<HttpRequest>,
    /// What is sent; none once it was.
    request: Option<(request::Parts, Upload)>,
    received: Arc<Received>,
}

/// Says that there is no answer of the upstream's.
struct Unanswered {
    outcome: Outcome,
    status: u16,
    why: String,
}

impl Forward {
    pub(super) fn new(
        door: Arc<Door>,
        asked: Asked<HttpRequest>,
        head: request::Parts,
        upload: Upload,
        received: Arc<Received>,
    ) -> Self {
        Self {
            door,
            asked,
            request: Some((head, upload)),
            received,
        }
    }

    /// Forwards, and waits for the head of the answer. Nobody's leaving ends it: a slow provider commits although its client gave up.
    async fn forward(&mut self) -> Result<Came, Unanswered> {
        let failed = |why: &str| Unanswered {
            outcome: Outcome::Failed,
            status: 502,
            why: why.to_owned(),
        };
        let (head, upload) = self.request.take().ok_or_else(|| failed("it was forwarded already"))?;
        let only_first = headers::wanted_upgrade(&head.headers).is_some();
        let mut request = self.request(head, upload).map_err(|why| failed(&why))?;
        let connection = capture_connection(&mut request);
        let mut sent = pin!(self.door.client.send(request, only_first));
        let stop = &self.door.relay.house.way.stop;
        tokio::select! {
            answer = &mut sent => answer.map_err(|error| self.unanswered(&error)),
            () = self.silence(connection) => Err(Unanswered {
                outcome: self.without_answer(),
                status: 504,
                why: format!("the upstream has not answered for {:?}", self.patience()),
            }),
            () = stop.cancelled() => Err(Unanswered {
                outcome: self.without_answer(),
                status: 503,
                why: "the suite stops".to_owned(),
            }),
        }
    }

    /// Makes what is sent.
    fn request(&self, head: request::Parts, upload: Upload) -> Result<Request<Upload>, String> {
        let spec = &self.door.relay.spec;
        let host = head.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
        let host = host.filter(|_| spec.keep_host);
        let path = &self.asked.whole.request.path;
        let uri = client::uri(&spec.upstream, host, path, head.uri.query())
            .map_err(|why| format!("the request cannot be forwarded: {why}"))?;
        let mut fields = head.headers;
        headers::request(&mut fields);
        let mut request = Request::new(upload);
        *request.method_mut() = head.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        let received = Arc::clone(&self.received);
        hyper::ext::on_informational(&mut request, move |answer| {
            if answer.status() == StatusCode::CONTINUE {
                received.wanted.cancel();
            }
        });
        Ok(request)
    }

    /// Says what it means that sending failed.
    fn unanswered(&self, error: &legacy::Error) -> Unanswered {
        let why = client::why(error);
        if error.is_connect() {
            let status = if client::timed_out(error) { 504 } else { 502 };
            let why = format!("cannot connect: {why}");
            return Unanswered {
                outcome: Outcome::Failed,
                status,
                why,
            };
        }
        Unanswered {
            outcome: self.without_answer(),
            status: match self.received.broken() {
                Some(broken) => broken.status().as_u16(),
                None => 502,
            },
            why: format!("the upstream did not answer: {why}"),
        }
    }

    /// Returns the outcome of what was sent and not answered: a request that never became whole is nobody's doubt.
    fn without_answer(&self) -> Outcome {
        match self.received.broken() {
            Some(Broken::Cut | Broken::Idle | Broken::Malformed) => Outcome::Incomplete,
            _ => Outcome::Unknown,
        }
    }

    fn patience(&self) -> Duration {
        let relay = &self.door.relay;
        relay.spec.timeout.unwrap_or(relay.house.limits.idle)
    }

    /// Comes back when the upstream has been silent for too long since it was last sent something. Before it is connected it owes nothing:
    /// how long that may take is bounded elsewhere.
    async fn silence(&self, mut connection: CaptureConnection) {
        connection.wait_for_connection_metadata().await;
        let (connected, patience) = (Instant::now(), self.patience());
        loop {
            let now = Instant::now();
            let end = self.received.owed_since().unwrap_or(now).max(connected) + patience;
            if end <= now {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }

    /// Reads an outcome from the head of an answer.
    fn outcome(&self, status: StatusCode, fields: &HeaderMap) -> Outcome {
        if self.asked.whole.operation.kind == Kind::Read {
            return Outcome::Read;
        }
        match status.as_u16() {
            400.. => Outcome::Refused,
            _ if fields.contains_key(&self.door.relay.spec.replayed) => Outcome::Replayed,
            _ => Outcome::Accepted,
        }
    }

    /// Returns by what a duplicate is known: the key, else method, path and body.
    fn correlations(&self) -> Vec<Correlation> {
        let relay = self.door.relay.about.name.as_bytes();
        let request = &self.asked.whole.request;
        let by_key = self.asked.name.as_ref().map(|name| Correlation {
            by: "key",
            hash: hash([relay, b"key", name.as_bytes()]),
        });
        let by_content = || {
            let body = self.received.hash()?;
            let parts = [request.method.as_str(), &request.path, &request.query].map(str::as_bytes);
            Some(Correlation {
                by: "content",
                hash: hash([relay, b"content"].into_iter().chain(parts).chain([&body[..]])),
            })
        };
        by_key.or_else(by_content).into_iter().collect()
    }

    /// Makes the answer that passes through.
    fn pass(&self, came: Came, ticket: &Ticket) -> Settled {
        let (mut head, incoming) = came.into_parts();
        let outcome = self.outcome(head.status, &head.headers);
        let house = &self.door.relay.house;
        ticket.note(|entry| entry.note_relayed(|relayed, now| relayed.first_byte = Some(now)));
        self.received.answered.cancel();
        let record = (ticket.ledger().clone(), ticket.id());
        let download = Download::new(
            incoming,
            Arc::clone(&self.received),
            record,
            (self.patience(), house.way.hang_cap),
            house.way.tasks.clone(),
            house.way.stop.clone(),
        );
        headers::response(&mut head);
        let mut reply = Reply::new(head.status.as_u16(), "");
        reply.extra = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        Settled {
            reply,
            passing: Some(Box::new(Passing {
                head,
                body: flow(download),
                patience: self.patience(),
            })),
            outcome,
            from_accepted: outcome == Outcome::Replayed,
        }
    }

    fn speak(&self, refusal: &Refusal, usual: u16) -> Reply {
        let why = refusal.code.as_deref().unwrap_or("a fault rule said so");
        said::reply(&self.door.relay, refusal.status.unwrap_or(usual), why)
    }
}

impl Errand for Forward {
    type Request = HttpRequest;

    fn asked(&self) -> &Asked<HttpRequest> {
        &self.asked
    }

    fn asked_mut(&mut self) -> &mut Asked<HttpRequest> {
        &mut self.asked
    }

    fn refuse(&self, refusal: &Refusal) -> Reply {
        self.speak(refusal, 400)
    }

    fn gateway(&self, asked: &Refusal) -> Reply {
        self.speak(asked, 502)
    }

    async fn commit(&mut self, ticket: &mut Ticket, rules: &Rules) -> Result<(Settled, Option<Verdict>), Stale> {
        ticket.set_fallback(Outcome::Unknown);
        let settled = match self.forward().await {
            Ok(came) => self.pass(came, ticket),
            Err(Unanswered { outcome, status, why }) => {
                ticket.note(|entry| entry.notes.push(why.clone()));
                Settled {
                    reply: said::reply(&self.door.relay, status, &why),
                    passing: None,
                    outcome,
                    from_accepted: false,
                }
            }
        };
        let (outcome, from_accepted) = (settled.outcome, settled.from_accepted);
        let (asked, correlations) = (&self.asked, self.correlations());
        let ((), verdict) = ticket
            .transact(
                |tx| {
                    if outcome == Outcome::Accepted {
                        let id = tx.new_id("req_");
                        tx.effect("request", &id);
                    }
                },
                |(), _| {
                    let reached = !matches!(outcome, Outcome::Failed | Outcome::Incomplete);
                    let verdict = reached
                        .then(|| asked.ask_after(rules, outcome, from_accepted))
                        .flatten();
                    (Some(Decision { outcome, correlations }), verdict)
                },
            )
            .await?;
        Ok((settled, verdict))
    }
}
