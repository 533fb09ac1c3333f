//! The admin API under `/_`: one file a resource. Never behind the fault layer, and never counted.

mod about;
mod ask;
mod clock;
mod deliver;
mod events;
mod expect;
mod faults;
mod guard;
mod holds;
mod hooks;
mod mail;
mod objects;
mod relays;
mod reset;
mod seed;
mod stats;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::attempt::{About, SCHEDULE, Way};
use crate::deliver::Courier;
use crate::faults::{Catalog, Known, Protocol};
use crate::ledger::Strays;
use crate::relay::Relays;
use crate::store::Scope;

pub use deliver::DELIVERIES;
pub use expect::sources;
pub use guard::Guard;
pub use objects::Objects;
pub use reset::begin_anew;
pub use seed::beginning;
pub use stats::{Stats, stats};

/// How many bytes the body of an admin call may have.
pub const LARGEST_BODY: u64 = 10 << 20;

/// Is what the admin API looks at.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The way of attempts.
    pub way: Way,
    /// The mocks.
    pub mocks: Arc<[&'static About]>,
    /// The relays.
    pub relays: Relays,
    /// What can be put under a chosen id.
    pub objects: Objects,
    /// What sends requests outwards.
    pub courier: Courier,
    /// Requests that nobody knows.
    pub strays: Strays,
    /// The certificate of the suite's CA.
    pub ca: Arc<str>,
    /// Who may call.
    pub guard: Guard,
    /// Where the suite listens, by listener.
    pub addresses: Arc<OnceLock<Value>>,
}

impl Admin {
    /// Lists all providers, mocks first; a relay that was stopped stays, with its counts.
    #[must_use]
    pub fn providers(&self) -> Vec<&'static About> {
        self.mocks.iter().copied().chain(self.relays.about()).collect()
    }

    /// Lists what rules may name.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        catalog(&self.mocks, &self.relays)
    }
}

/// Lists what rules may name: these mocks, and these relays.
#[must_use]
pub fn catalog(mocks: &[&'static About], relays: &Relays) -> Catalog {
    let mocks = mocks.iter().map(|about| Known {
        name: about.name.to_owned(),
        protocol: if about.name == crate::mocks::MAIL {
            Protocol::Smtp
        } else if about.name == crate::mocks::WEBHOOKS {
            Protocol::Sent
        } else if about.name == DELIVERIES.name {
            Protocol::Ordered
        } else {
            Protocol::Http
        },
        operations: names(about, |name| name != SCHEDULE),
        unasked: names(about, |name| name == SCHEDULE),
        fixed_scope: None,
    });
    Catalog::new(mocks.chain(relays.known()).collect())
}

fn names(about: &About, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let names = about.operations.iter().map(|operation| operation.name);
    names.filter(|name| wanted(name)).map(str::to_owned).collect()
}

/// Names the scope that a request's path or header named; put into its extensions by the server.
#[derive(Clone, Debug)]
pub struct NamedScope(pub Option<Scope>);

#[cfg(test)]
impl Admin {
    /// Looks at a store, and at nothing else.
    fn over(store: crate::store::Store) -> Self {
        use crate::deliver::Allowed;

        let way = Way {
            store,
            rules: crate::faults::Rules::new(),
            holds: crate::attempt::Holds::default(),
            stop: tokio_util::sync::CancellationToken::new(),
            tasks: tokio_util::task::TaskTracker::new(),
            hang_cap: std::time::Duration::from_secs(1),
        };
        let house = crate::net::House {
            way: way.clone(),
            arriving: crate::attempt::Budget::new(0),
            limits: crate::net::Limits::default(),
            authority: crate::net::tls::Authority::open(None).expect("a CA in memory"),
            permits: Arc::new(tokio::sync::Semaphore::new(1)),
        };
        let roots = crate::relay::Roots::open(None).expect("public authorities");
        Self {
            way,
            mocks: Arc::new([]),
            relays: Relays::new(house, roots, Vec::new()),
            objects: Objects::default(),
            courier: Courier::new(Allowed::default(), []).expect("no certificate is wrong"),
            strays: Strays::default(),
            ca: "".into(),
            guard: Guard::default(),
            addresses: Arc::default(),
        }
    }
}

/// Makes the router of the admin API.
pub fn router(admin: Admin) -> Router {
    let guarded = axum::middleware::from_fn_with_state(admin.guard.clone(), guard::guard);
    Router::new()
        .route("/", get(about::index))
        .route("/_stats", get(stats::get))
        .route("/_deliver", post(deliver::deliver))
        .route("/_events", get(events::list))
        .route("/_events/stream", get(events::stream))
        .route("/_expect", post(expect::expect))
        .route("/_faults", get(faults::list).post(faults::add).delete(faults::clear))
        .route("/_faults/{id}", delete(faults::remove))
        .route("/_holds", get(holds::list))
        .route("/_holds/release", post(holds::release_all))
        .route("/_holds/{id}/release", post(holds::release))
        .route("/_hooks", get(hooks::get_list))
        .route("/_hooks/", get(hooks::get_list))
        .route(
            "/_hooks/{*target}",
            get(hooks::get_deliveries)
                .put(hooks::put_target)
                .delete(hooks::delete_target),
        )
        .route("/_mail", get(mail::list))
        .route("/_mail/{id}", get(mail::show))
        .route("/_mail/{id}/raw", get(mail::raw))
        .route("/_objects", get(objects::list))
        .route("/_objects/{provider}/{resource}/{id}", put(objects::put))
        .route("/_relays", get(relays::list).post(relays::start))
        .route("/_relays/{name}", get(relays::show).delete(relays::stop))
        .route("/_reset", post(reset::reset))
        .route("/_scopes", get(about::scopes))
        .route("/_clock", get(clock::get).post(clock::advance))
        .route("/_providers", get(about::providers))
        .route("/_addresses", get(about::addresses))
        .route("/_health", get(about::health))
        .route("/_ready", get(about::ready))
        .route("/_ca.pem", get(about::ca))
        .fallback(about::unknown)
        .method_not_allowed_fallback(about::wrong_method)
        // The server has read the body whole, within its limit.
        .layer(DefaultBodyLimit::disable())
        .layer(guarded)
        .with_state(admin)
}

/// Is a no of the admin API: `{"error": {"message": …}}`, with the single problems where there are several.
#[derive(Debug)]
pub struct Error {
    status: StatusCode,
    message: String,
    problems: Option<Value>,
}

/// Makes an error.
#[must_use]
pub fn error(status: StatusCode, message: impl Into<String>) -> Error {
    Error {
        status,
        message: message.into(),
        problems: None,
    }
}

impl Error {
    fn bad(message: impl Into<String>) -> Self {
        error(StatusCode::BAD_REQUEST, message)
    }

    /// Renders the body.
    #[must_use]
    pub fn body(&self) -> Bytes {
        let mut error = json!({"message": self.message});
        if let Some(problems) = &self.problems {
            error["problems"] = problems.clone();
        }
        format!("{}\n", json!({"error": error})).into()
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        (self.status, [("content-type", "application/json")], self.body()).into_response()
    }
}

/// Makes an answer of a JSON value, readable as it is.
fn answer<T: Serialize>(status: StatusCode, value: &T) -> Response {
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    (status, [("content-type", "application/json")], text).into_response()
}
