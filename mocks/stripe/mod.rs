//! A Stripe-like provider: what it takes, what it answers, and how it keeps its keys. See `README.md` beside this file.
//!
//! In reading order: `call` reads a request, `routes` is the table of operations, `operations` carries them out over `objects`
//! (and `payment`, where money moves) and tell of it by `events`, `answer` gives headers, `failure` is the error envelope. `due` is what
//! happens later by itself, `seed` the table of what can be put under a chosen id.

mod answer;
mod billing;
mod books;
mod call;
mod cards;
mod credentials;
mod currency;
mod decimal;
mod declines;
mod dispute;
mod due;
mod events;
mod expand;
mod failure;
mod form;
mod ids;
mod kind;
mod list;
mod metadata;
mod objects;
mod operations;
mod params;
mod payment;
mod refusal;
mod routes;
mod scene;
mod search;
mod seed;
#[cfg(test)]
mod tests;
mod v2;
pub(crate) mod webhooks;

use std::sync::Arc;

use time::Duration;

use crate::attempt::{About, Conflict, HttpProvider, HttpRequest, Identified, Operation, Provider, Refusal};
use crate::deliver::Allowed;
use crate::idempotency::Record;
use crate::ledger::{Reply, View};
use crate::store::Tx;

pub use call::Call;
use failure::Outcome;
use ids::Ids;
use objects::{Page, Request, Thing};
use params::Params;
use scene::{Answer, Origin, Scene};
pub use webhooks::Webhooks;

/// Is the provider; all its state stands in the store.
#[derive(Clone, Debug, Default)]
pub struct Stripe {
    /// By how much a search lags behind what was written, on the world's clock.
    pub search_lag: Duration,
    /// Where webhooks may go.
    pub allowed: Allowed,
}

impl Provider for Stripe {
    type Request = HttpRequest;
    type Call = Call;

    fn about(&self) -> &'static About {
        &routes::ABOUT
    }

    fn identify(&self, request: &HttpRequest) -> Identified<Call> {
        call::identify(request)
    }

    fn handle(&self, tx: &mut Tx<'_>, request: &HttpRequest, call: &Call) -> Reply {
        tx.enter(&call.account);
        let reply = match self.carry_out(tx, request, call) {
            Ok(reply) => reply,
            Err(failure) => answer::failure(&failure, call),
        };
        answer::executed(reply, request, call)
    }

    fn conflict(&self, request: &HttpRequest, call: &Call, conflict: &Conflict<'_>) -> Reply {
        answer::unsaved(
            answer::failure(&refusal::conflict(request, call, conflict), call),
            request,
            call,
        )
    }

    fn replay(&self, request: &HttpRequest, call: &Call, record: &Record) -> Reply {
        answer::replayed(record, request, call)
    }

    fn refuse(&self, request: &HttpRequest, call: &Call, refusal: &Refusal) -> Reply {
        let failure = refusal::injected(refusal);
        let reply = answer::executed(answer::failure(&failure, call), request, call);
        match reply.status {
            429 => reply.header("retry-after", "1"),
            _ => reply,
        }
    }

    fn keeps(&self, call: &Call, status: u16) -> bool {
        answer::is_kept(call, status)
    }

    fn reference(&self, call: &Call) -> Arc<str> {
        Arc::clone(&call.request_id)
    }
}

impl HttpProvider for Stripe {
    fn route(&self, method: &http::Method, path: &str) -> &'static Operation {
        routes::find(method, path).map_or_else(routes::unrecognized, |matched| matched.operation)
    }
}

impl Stripe {
    /// Carries a call out: all that can be checked without the world comes first.
    fn carry_out(&self, tx: &mut Tx<'_>, request: &HttpRequest, call: &Call) -> Outcome<Reply> {
        let matched = routes::find(&request.method, &request.path).ok_or_else(|| refusal::unrecognized(request))?;
        let route = matched.route;
        let params = Params::new(&call.fields);
        params.check(matched.parameters, !call.v2)?;
        let paths = expand::read(&params, route.shows, route.list)?;
        let paths: Vec<_> = paths.iter().map(Vec::as_slice).collect();
        let decode = |id| percent_encoding::percent_decode_str(id).decode_utf8_lossy();
        let (id, parent) = (decode(matched.id), decode(matched.parent));
        let mut scene = Scene {
            tx,
            params,
            id: &id,
            parent: &parent,
            base: &request.base,
            origin: Origin::Request(Request {
                id: Arc::clone(&call.request_id),
                idempotency_key: call.key.clone(),
            }),
            search_lag: self.search_lag,
            ids: Ids::Random,
            allowed: &self.allowed,
        };
        let answer = (route.run)(&mut scene);
        // What is wrong with a request may be found after the first objects were put: nothing of them stays.
        if let Err(failure) = &answer
            && matches!(failure.status, 400 | 404)
        {
            scene.tx.discard();
        }
        events::trim(scene.tx);
        search::note(scene.tx, self.search_lag);
        let (tx, answer) = (&*scene.tx, answer?);
        let page = |data: Vec<Thing>, has_more, next: Option<Option<String>>| Page {
            url: request.path.as_str().into(),
            has_more,
            data: data.into_iter().map(|t| expand::expand(tx, t, &paths)).collect(),
            next: next.map(|token| token.map(Into::into)),
        };
        let view = |view: Arc<dyn View>| Reply::view(200, view);
        Ok(match answer {
            Answer::One(thing) => view(Arc::new(expand::expand(tx, thing, &paths))),
            Answer::Page { data, has_more } => view(Arc::new(page(data, has_more, None))),
            Answer::Found { data, next_page } => view(Arc::new(page(data, next_page.is_some(), Some(next_page)))),
            Answer::Html(page) => Reply::new(200, page).header("content-type", "text/html; charset=utf-8"),
            Answer::Redirect(to) => Reply::new(303, "").header("location", to),
        })
    }
}
