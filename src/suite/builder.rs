//! The settings of a suite, and its start.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{
    Addresses, AllowHost, Connect, Kind, Limits, Listen, Offer, StartError, StripeWebhook, Suite, lines, read_rules,
};
use crate::admin::{self, Admin, Guard, Objects};
use crate::attempt::{About, Budget, Clockwork, Holds, Postman, Way, Wrong};
use crate::deliver::{Allowed, Courier};
use crate::faults::{self, Catalog, Rules};
use crate::ledger::{self, Ledger, Strays};
use crate::mocks::Mocks;
use crate::mocks::stripe::Stripe;
use crate::net::House;
use crate::net::tls::Authority;
use crate::relay::{Bound, Relays, Roots, Spec};
use crate::server::{Direct, Listener, Proxy, Shared};
use crate::store::{Beginning, Store};

/// Gathers the settings of a suite; made by [`Suite::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    listen: Vec<(Kind, Listen)>,
    faults: Vec<GivenFault>,
    seed: Option<(String, Value)>,
    ca: Option<PathBuf>,
    limits: Limits,
    ledger: ledger::Limits,
    arriving: u64,
    hang_cap: Duration,
    orders_require_key: bool,
    stripe: Stripe,
    smtp: Offer,
    guard: Guard,
    allowed: Allowed,
    stripe_webhooks: Vec<StripeWebhook>,
    let_through: Vec<AllowHost>,
    connector: Option<Arc<dyn Connect>>,
    relays: Vec<Spec>,
    upstream_ca: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct GivenFault {
    source: faults::Source,
    place: String,
    text: String,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            faults: Vec::new(),
            seed: None,
            ca: None,
            limits: Limits::default(),
            ledger: ledger::Limits::default(),
            arriving: 256 << 20,
            hang_cap: Duration::from_secs(30 * 60),
            orders_require_key: false,
            stripe: Stripe::default(),
            smtp: Offer::default(),
            guard: Guard::default(),
            allowed: Allowed::default(),
            stripe_webhooks: Vec::new(),
            let_through: Vec::new(),
            connector: None,
            relays: Vec::new(),
            upstream_ca: None,
        }
    }
}

impl Builder {
    /// Listens at one more address.
    pub fn listen(mut self, kind: Kind, listen: Listen) -> Self {
        self.listen.push((kind, listen));
        self
    }

    /// Arms a rule from the start, in JSON or in the short form; re-armed by a reset. `place` says where it was written.
    pub fn fault(mut self, source: faults::Source, place: impl Into<String>, text: impl Into<String>) -> Self {
        let (place, text) = (place.into(), text.into());
        self.faults.push(GivenFault { source, place, text });
        self
    }

    /// Lets every world begin with these objects, and again after each reset: `{"stripe": {"customers": {"cus_123": {}}}}`; under
    /// `scopes` stands what single scopes have beside. `place` says where it was written.
    pub fn seed(mut self, place: impl Into<String>, objects: Value) -> Self {
        self.seed = Some((place.into(), objects));
        self
    }

    /// Keeps the CA in a folder.
    pub fn ca(mut self, dir: impl Into<PathBuf>) -> Self {
        self.ca = Some(dir.into());
        self
    }

    /// Runs one more relay.
    pub fn relay(mut self, spec: Spec) -> Self {
        self.relays.push(spec);
        self
    }

    /// Lets relays trust the certificates of this PEM file too, beside the public authorities.
    pub fn upstream_ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.upstream_ca = Some(file.into());
        self
    }

    /// Bounds what one client may make the suite hold.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Bounds what the ledger keeps.
    pub fn ledger(mut self, limits: ledger::Limits) -> Self {
        self.ledger = limits;
        self
    }

    /// Bounds the bytes of bodies that are arriving at once.
    pub fn arriving(mut self, bytes: u64) -> Self {
        self.arriving = bytes;
        self
    }

    /// Bounds how long a hang or a hold lasts.
    pub fn hang_cap(mut self, cap: Duration) -> Self {
        self.hang_cap = cap;
        self
    }

    /// Makes orders refuse a call without an Idempotency-Key.
    pub fn orders_require_key(mut self, required: bool) -> Self {
        self.orders_require_key = required;
        self
    }

    /// Lets Stripe's search find what was written only so long after, on the scope's clock.
    pub fn stripe_search_lag(mut self, lag: Duration) -> Self {
        self.stripe.search_lag = time::Duration::try_from(lag).unwrap_or(time::Duration::MAX);
        self
    }

    /// Sets what SMTP sessions offer.
    pub fn smtp(mut self, offer: Offer) -> Self {
        self.smtp = offer;
        self
    }

    /// Guards the admin API: with a token, if one is given, and with host names under which changes are taken besides local ones.
    pub fn admin(mut self, token: Option<&str>, hosts: &[String]) -> Self {
        self.guard = Guard::new(token, hosts);
        self
    }

    /// Lets what the suite sends go to these hosts too, by name or by address, besides loopback and private addresses.
    pub fn deliver_hosts(mut self, hosts: &[String]) -> Self {
        self.allowed = Allowed::new(hosts);
        self
    }

    /// Delivers Stripe's events there from the start, in every scope.
    pub fn stripe_webhook(mut self, webhook: StripeWebhook) -> Self {
        self.stripe_webhooks.push(webhook.with_secret());
        self
    }

    /// Lets clients of the proxy through to one more host, or to all below one. Any other that the suite does not play is refused.
    pub fn allow_host(mut self, host: AllowHost) -> Self {
        self.let_through.push(host);
        self
    }

    /// Reaches allowed hosts by this, and not as the system does.
    pub fn connector(mut self, connector: Arc<dyn Connect>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Starts the suite. Without any listener named, all four are on free ports of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// Fails if an address is taken, the CA cannot be used, or a rule or the seed is wrong; then nothing is left running.
    pub async fn start(mut self) -> Result<Suite, StartError> {
        if self.listen.is_empty() {
            let any = Listen {
                both_loopbacks: false,
                ..Listen::ANY_LOOPBACK
            };
            self.listen = [Kind::Http, Kind::Https, Kind::Smtp, Kind::Smtps]
                .map(|kind| (kind, any))
                .into();
        }
        let ledger = Ledger::new(self.ledger);
        self.stripe.allowed = self.allowed.clone();
        let mocks = Mocks::new(&ledger, self.stripe.clone(), self.orders_require_key);
        let mut about = mocks.about();
        about.push(&admin::DELIVERIES);
        let about: Arc<[&'static About]> = about.into();
        let objects = Objects::default().and(&mocks.stripe).and(&mocks.orders);
        let beginning = self.beginning(&objects)?;
        let stop = CancellationToken::new();
        let house = House {
            way: Way {
                store: Store::beginning_with(ledger, beginning),
                rules: Rules::new(),
                holds: Holds::default(),
                stop,
                tasks: TaskTracker::new(),
                hang_cap: self.hang_cap,
            },
            arriving: Budget::new(self.arriving),
            limits: self.limits,
            authority: Authority::open(self.ca.as_deref())?,
            permits: Arc::new(tokio::sync::Semaphore::new(self.limits.connections)),
        };
        let courier =
            Courier::new(std::mem::take(&mut self.allowed), [house.authority.pem()])?.until(house.way.stop.clone());
        let names = about.iter().map(|about| about.name).collect();
        let relays = Relays::new(house.clone(), Roots::open(self.upstream_ca.as_deref())?, names);
        let mut bound = Vec::new();
        for spec in std::mem::take(&mut self.relays) {
            bound.push(relays.bind(spec).await?);
        }
        self.arm(&house.way.rules, &admin::catalog(&about, &relays))?;
        let proxy = Proxy {
            allowed: std::mem::take(&mut self.let_through).into(),
            connector: self.connector.take().unwrap_or_else(|| Arc::new(Direct)),
            relays: relays.clone(),
        };
        let mut listeners = Vec::new();
        for (kind, listen) in std::mem::take(&mut self.listen) {
            listeners.push(Listener::bind(kind, listen).await?);
        }
        let guard = self.guard.exposed(listeners.iter().any(Listener::is_exposed));
        let addresses = Addresses::of(&listeners);
        let admin = Admin {
            way: house.way.clone(),
            mocks: about,
            relays,
            objects,
            courier,
            strays: Strays::default(),
            ca: house.authority.pem().into(),
            guard,
            addresses: Arc::new(OnceLock::from(serde_json::to_value(&addresses).unwrap_or_default())),
        };
        let shared = Arc::new(Shared {
            house,
            mocks,
            admin: admin::router(admin.clone()),
            strays: admin.strays.clone(),
            smtp: self.smtp,
            proxy,
        });
        let clockwork = Clockwork::default()
            .and(&shared.mocks.stripe)
            .and_wake(Postman::new(&shared.mocks.stripe_webhooks, &admin.courier));
        admin.way.tasks.spawn(clockwork.run(admin.way.clone()));
        for listener in listeners {
            listener.serve(&shared);
        }
        bound.into_iter().for_each(Bound::serve);
        Ok(Suite {
            admin,
            addresses,
            stripe_webhooks: self.stripe_webhooks,
        })
    }

    /// Arms the rules that were given, in their order; all problems are reported together.
    fn arm(&self, rules: &Rules, catalog: &Catalog) -> Result<(), StartError> {
        let mut problems = Vec::new();
        for given in &self.faults {
            let armed = read_rules(&given.text, catalog)
                .and_then(|specs| rules.install(specs, given.source).map_err(|problems| lines(&problems)));
            if let Err(lines) = armed {
                problems.extend(lines.into_iter().map(|line| format!("{}: {line}", given.place)));
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(StartError::Faults(problems))
        }
    }

    /// Thinks out what worlds begin with: the webhook endpoints, and then the seed.
    fn beginning(&self, objects: &Objects) -> Result<Beginning, StartError> {
        let seed = |place: &str, wrong: Vec<Wrong>| {
            let lines = wrong.iter().map(|wrong| format!("{place}: {wrong}"));
            StartError::Seed(lines.collect())
        };
        let mut beginning = Beginning::default();
        for (at, webhook) in self.stripe_webhooks.iter().enumerate() {
            let id = format!("we_ackdrop{}", at + 1);
            let path = ["stripe", "webhook_endpoints", id.as_str()];
            let put = beginning.arrange(None, |tx| objects.put(tx, path, &webhook.fields()));
            put.map_err(|wrong| seed("stripe_webhook", wrong))?;
        }
        match &self.seed {
            Some((place, given)) => admin::beginning(beginning, objects, given).map_err(|wrong| seed(place, wrong)),
            None => Ok(beginning),
        }
    }
}
