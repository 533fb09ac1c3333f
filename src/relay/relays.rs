//! Which relays run: how one is started, listed and stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::http::Door;
use super::spec::{Spec, Wrong};
use super::tls::Roots;
use super::upstream::Scheme;
use super::{http, postgres, smtp, tcp};
use crate::attempt::About;
use crate::faults::Known;
use crate::net::House;
use crate::net::accept::{Listener, Place, Taken};
use crate::store::Scope;

/// How many relays may run at once.
pub const MAX_RELAYS: usize = 100;
/// How many names relays may have had; a name lives as long as the counts under it, for counts never forget.
const MAX_NAMES: usize = 1_000;

/// Is one relay.
#[derive(Debug)]
pub struct Relay {
    /// What was asked for.
    pub spec: Spec,
    /// What rules and counts know of it.
    pub about: &'static About,
    /// Where it really listens.
    pub addr: SocketAddr,
    /// What all connections share.
    pub house: House,
    /// Whom it trusts.
    pub roots: Roots,
    /// Cancelled when it is stopped, or the suite.
    pub stop: CancellationToken,
    /// The tasks that accept.
    listening: TaskTracker,
}

/// Is the register of relays; clones share it.
#[derive(Clone, Debug)]
pub struct Relays(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    house: House,
    roots: Roots,
    /// Names that are no relay's.
    mocks: Vec<&'static str>,
    register: Mutex<Register>,
}

#[derive(Debug, Default)]
struct Register {
    running: BTreeMap<Arc<str>, Arc<Relay>>,
    /// What serves the clients of those running that speak HTTP.
    doors: BTreeMap<Arc<str>, Arc<Door>>,
    /// Every relay that there was, also a stopped one.
    known: BTreeMap<Arc<str>, Kept>,
}

/// Is what stays of a relay when it was stopped.
#[derive(Clone, Debug)]
struct Kept {
    about: &'static About,
    scheme: Scheme,
    scope: Option<Scope>,
}

/// Says why a relay was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What was written is wrong.
    #[error(transparent)]
    Wrong(#[from] Wrong),
    /// It is none that can run beside what there is.
    #[error("{0}")]
    Refused(String),
    /// Its address could not be taken.
    #[error("the relay `{name}` cannot take {addr}: {source}; port 0 takes any free one", addr = taken.addr, source = taken.source)]
    Taken {
        /// Which relay.
        name: Arc<str>,
        /// Which address, and why.
        taken: Taken,
    },
}

/// Is a relay that listens, is known to rules, and does not serve yet.
#[derive(Debug)]
pub struct Bound {
    /// The relay.
    pub relay: Arc<Relay>,
    listener: Listener,
    /// What serves clients that speak HTTP.
    door: Option<Arc<Door>>,
}

impl Relays {
    /// Makes an empty register; no relay may be called as one of `mocks` is.
    #[must_use]
    pub fn new(house: House, roots: Roots, mocks: Vec<&'static str>) -> Self {
        Self(Arc::new(Shared {
            house,
            roots,
            mocks,
            register: Mutex::default(),
        }))
    }

    /// Starts a relay.
    ///
    /// # Errors
    ///
    /// Fails if there are too many, its name is another's, or its address is taken.
    pub async fn start(&self, spec: Spec) -> Result<Arc<Relay>, StartError> {
        let bound = self.bind(spec).await?;
        let relay = Arc::clone(&bound.relay);
        bound.serve();
        Ok(relay)
    }

    /// Takes a relay's address and makes its name known, so that rules can be armed for it before its first client comes.
    ///
    /// # Errors
    ///
    /// Fails if there are too many, its name is another's, or its address is taken.
    pub async fn bind(&self, spec: Spec) -> Result<Bound, StartError> {
        self.check(&self.lock(), &spec).map_err(StartError::Refused)?;
        let listener = Listener::bind(spec.listen).await;
        let listener = listener.map_err(|taken| StartError::Taken {
            name: Arc::clone(&spec.name),
            taken,
        })?;
        let mut register = self.lock();
        // Looked at again: another may have come first meanwhile.
        self.check(&register, &spec).map_err(StartError::Refused)?;
        let kept = register.known.get(&spec.name);
        let about = kept.map_or_else(|| about(&spec), |kept| kept.about);
        let relay = Arc::new(Relay {
            about,
            addr: listener.addr,
            house: self.0.house.clone(),
            roots: self.0.roots.clone(),
            stop: self.0.house.way.stop.child_token(),
            listening: TaskTracker::new(),
            spec,
        });
        let kept = Kept {
            about,
            scheme: relay.spec.upstream.scheme,
            scope: relay.spec.scope.clone(),
        };
        register.known.insert(Arc::clone(&relay.spec.name), kept);
        let name = Arc::clone(&relay.spec.name);
        let door = relay.spec.upstream.scheme.is_http();
        let door = door.then(|| Arc::new(Door::new(Arc::clone(&relay))));
        register
            .doors
            .extend(door.iter().map(|door| (Arc::clone(&name), Arc::clone(door))));
        register.running.insert(name, Arc::clone(&relay));
        drop(register);
        Ok(Bound { relay, listener, door })
    }

    /// Lists the running relays by name.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Relay>> {
        self.lock().running.values().cloned().collect()
    }

    /// Returns a running relay.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Relay>> {
        self.lock().running.get(name).cloned()
    }

    /// Returns what serves the clients of a host that is a running HTTP relay's upstream. One whose upstream has that very port comes
    /// first; else the two ports that URLs leave out, 80 and 443, are one host's; among equals the first name.
    pub(crate) fn door_to(&self, host: &str, port: u16) -> Option<Arc<Door>> {
        const LEFT_OUT: [u16; 2] = [80, 443];
        let register = self.lock();
        let of_host = || register.doors.values().filter(|door| door.leads_to(host));
        let exact = of_host().find(|door| door.port() == port);
        let near = || of_host().find(|door| LEFT_OUT.contains(&port) && LEFT_OUT.contains(&door.port()));
        exact.or_else(near).cloned()
    }

    /// Stops a relay; returns it, or none if none of that name runs. What is under way goes on to its end, and its counts stay.
    /// Its address is free when this comes back.
    pub async fn stop(&self, name: &str) -> Option<Arc<Relay>> {
        let relay = {
            let mut register = self.lock();
            register.doors.remove(name);
            register.running.remove(name)?
        };
        relay.stop.cancel();
        relay.listening.close();
        relay.listening.wait().await;
        Some(relay)
    }

    /// Lists what counts know of every relay that there was.
    #[must_use]
    pub fn about(&self) -> Vec<&'static About> {
        self.lock().known.values().map(|kept| kept.about).collect()
    }

    /// Lists what rules may name.
    #[must_use]
    pub fn known(&self) -> Vec<Known> {
        let register = self.lock();
        let known = register.known.values().map(|kept| Known {
            name: kept.about.name.to_owned(),
            protocol: kept.scheme.protocol(),
            operations: kept.about.operations.iter().map(|o| o.name.to_owned()).collect(),
            unasked: Vec::new(),
            fixed_scope: kept.scope.as_ref().map(ToString::to_string),
        });
        known.collect()
    }

    fn check(&self, register: &Register, spec: &Spec) -> Result<(), String> {
        let name = &spec.name;
        if self.0.mocks.contains(&&**name) {
            return Err(format!("`{name}` is a mock's name; call the relay otherwise"));
        }
        if register.running.contains_key(name) {
            return Err(format!(
                "a relay `{name}` runs already; stop it first, or call this one otherwise"
            ));
        }
        if register.running.len() >= MAX_RELAYS {
            return Err(format!("{MAX_RELAYS} relays run already, and no more are started"));
        }
        match register.known.get(name) {
            Some(kept)
                if kept.about.class != spec.class || kept.scheme.operations() != spec.upstream.scheme.operations() =>
            {
                Err(format!(
                    "there was a relay `{name}` of another class or protocol, and its counts are kept under that name; call this one otherwise"
                ))
            }
            None if register.known.len() >= MAX_NAMES => {
                Err(format!("relays have had {MAX_NAMES} names already; take one of them"))
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.0.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bound {
    /// Serves until the relay or the suite is stopped; each connection in a task of its own.
    pub fn serve(self) {
        let Self { relay, listener, door } = self;
        let place = Place {
            house: relay.house.clone(),
            name: format!("relay {}", relay.spec.name).into(),
            stop: relay.stop.clone(),
            listening: relay.listening.clone(),
        };
        if let Some(door) = door {
            listener.serve(&place, move |socket, peer| http::serve(Arc::clone(&door), socket, peer));
            return;
        }
        match relay.spec.upstream.scheme {
            Scheme::Http | Scheme::Https => {} // Has a door.
            Scheme::Smtp | Scheme::Smtps => {
                listener.serve(&place, move |socket, peer| {
                    smtp::serve(Arc::clone(&relay), socket, peer)
                });
            }
            Scheme::Postgres => {
                listener.serve(&place, move |socket, peer| {
                    postgres::serve(Arc::clone(&relay), socket, peer)
                });
            }
            Scheme::Tcp => listener.serve(&place, move |socket, peer| tcp::serve(Arc::clone(&relay), socket, peer)),
        }
    }
}

impl Relay {
    /// Returns what clients call.
    #[must_use]
    pub fn url(&self) -> String {
        match self.spec.upstream.scheme {
            Scheme::Http | Scheme::Https if self.spec.tls => format!("https://{}", self.addr),
            Scheme::Http | Scheme::Https => format!("http://{}", self.addr),
            Scheme::Smtp | Scheme::Smtps => format!("smtp://{}", self.addr),
            Scheme::Postgres => format!("postgres://{}", self.addr),
            Scheme::Tcp => format!("tcp://{}", self.addr),
        }
    }

    /// Renders it as `GET /_relays` shows it.
    #[must_use]
    pub fn render(&self) -> Value {
        let Spec {
            name,
            upstream,
            class,
            scope,
            ..
        } = &self.spec;
        json!({
            "name": name,
            "address": self.addr.to_string(),
            "upstream": upstream.to_string(),
            "class": class,
            "scope": scope,
            "operations": self.about.operations,
        })
    }
}

/// Describes a new relay. It is kept for good, as its counts are; there are never more than there may be names.
fn about(spec: &Spec) -> &'static About {
    Box::leak(Box::new(About {
        name: Box::leak(spec.name.to_string().into_boxed_str()),
        class: spec.class,
        operations: spec.upstream.scheme.operations(),
    }))
}
