//! The front door: a builder, a running suite, its addresses, and its stop. `serve`, `demo` and every test go through here.

mod addresses;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{self, Admin, Guard, Objects, Stats};
use crate::attempt::{About, Budget, Holds, Way, Wrong};
use crate::expect::{self, Options, Verdict};
use crate::faults::{self, Catalog, Known, Protocol, Rules};
use crate::ledger::{self, Ledger, Strays};
use crate::mocks::Mocks;
use crate::server::tls::{Authority, TlsError};
use crate::server::{Listener, Shared, TakenPort};
use crate::store::{Beginning, Scope, Store, TooManyScopes};

pub use addresses::Addresses;

pub use crate::server::smtp::{Mechanism, Offer};
pub use crate::server::{Kind, Limits, Listen};

/// How long a stop waits for what is still going on.
const STOP: Duration = Duration::from_millis(800);

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
    smtp: Offer,
    guard: Guard,
}

#[derive(Clone, Debug)]
struct GivenFault {
    source: faults::Source,
    place: String,
    text: String,
}

/// Is a running suite inside this process. It stops when dropped.
///
/// ```
/// use ackdrop::Suite;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let suite = Suite::builder().start().await?;
/// suite.add_fault(r#"{"mode": "drop-after-commit", "provider": "orders", "on": 1}"#)?;
///
/// let order = r#"{"reference": "order-17"}"#;
/// let request = format!("POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{order}", order.len());
/// let mut client = tokio::net::TcpStream::connect(suite.addresses().http().unwrap()).await?;
/// client.write_all(request.as_bytes()).await?;
/// let mut answer = Vec::new();
/// client.read_to_end(&mut answer).await?;
///
/// assert!(answer.is_empty(), "the answer was lost");
/// assert_eq!(suite.stats().effects["order"], 1, "and the order exists");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Suite {
    admin: Admin,
    addresses: Addresses,
}

/// Says why a suite cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address could not be taken.
    #[error(transparent)]
    Listen(#[from] TakenPort),
    /// The CA cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Rules that were given are wrong; each problem with its place.
    #[error("the fault rules are wrong\n{}", .0.join("\n"))]
    Faults(Vec<String>),
    /// The seed is wrong; each problem with its place.
    #[error("the seed is wrong\n{}", .0.join("\n"))]
    Seed(Vec<String>),
}

/// Says why a rule was not added.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FaultError(String);

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
        let mocks = Mocks::new(&ledger, self.orders_require_key);
        let providers: Arc<[&'static About]> = mocks.about().into();
        let catalog = Arc::new(catalog(&providers));
        let rules = self.rules(&catalog)?;
        let objects = Objects::default().and(&mocks.stripe).and(&mocks.orders);
        let beginning = self.beginning(&objects)?;
        let authority = Authority::open(self.ca.as_deref())?;
        let mut listeners = Vec::new();
        for (kind, listen) in self.listen {
            listeners.push(Listener::bind(kind, listen).await?);
        }
        let addresses = Addresses::of(&listeners);
        let admin = Admin {
            way: Way {
                store: Store::beginning_with(ledger, beginning),
                rules,
                holds: Holds::default(),
                stop: CancellationToken::new(),
                tasks: TaskTracker::new(),
                hang_cap: self.hang_cap,
            },
            providers,
            objects,
            catalog,
            strays: Strays::default(),
            ca: authority.pem().into(),
            guard: self.guard,
            addresses: Arc::new(OnceLock::from(serde_json::to_value(&addresses).unwrap_or_default())),
        };
        let shared = Arc::new(Shared {
            way: admin.way.clone(),
            mocks,
            admin: admin::router(admin.clone()),
            strays: admin.strays.clone(),
            arriving: Budget::new(self.arriving),
            limits: self.limits,
            smtp: self.smtp,
            authority,
            permits: Arc::new(tokio::sync::Semaphore::new(self.limits.connections)),
        });
        for listener in listeners {
            listener.serve(&shared);
        }
        Ok(Suite { admin, addresses })
    }

    /// Arms the rules that were given, in their order; all problems are reported together.
    fn rules(&self, catalog: &Catalog) -> Result<Rules, StartError> {
        let rules = Rules::new();
        let mut problems = Vec::new();
        for given in &self.faults {
            let armed = read_rules(&given.text, catalog)
                .and_then(|specs| rules.install(specs, given.source).map_err(|problems| lines(&problems)));
            if let Err(lines) = armed {
                problems.extend(lines.into_iter().map(|line| format!("{}: {line}", given.place)));
            }
        }
        if problems.is_empty() {
            Ok(rules)
        } else {
            Err(StartError::Faults(problems))
        }
    }

    /// Thinks out what worlds begin with.
    fn beginning(&self, objects: &Objects) -> Result<Beginning, StartError> {
        let Some((place, seed)) = &self.seed else {
            return Ok(Beginning::default());
        };
        let lines = |wrong: Vec<Wrong>| wrong.iter().map(|wrong| format!("{place}: {wrong}")).collect();
        admin::beginning(objects, seed).map_err(|wrong| StartError::Seed(lines(wrong)))
    }
}

impl Suite {
    /// Begins to build a suite.
    pub fn builder() -> Builder {
        Builder {
            listen: Vec::new(),
            faults: Vec::new(),
            seed: None,
            ca: None,
            limits: Limits::default(),
            ledger: ledger::Limits::default(),
            arriving: 256 << 20,
            hang_cap: Duration::from_secs(30 * 60),
            orders_require_key: false,
            smtp: Offer::default(),
            guard: Guard::default(),
        }
    }

    /// Returns where it listens.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Counts all scopes.
    #[must_use]
    pub fn stats(&self) -> Stats {
        admin::stats(&self.admin, None)
    }

    /// Counts one scope.
    #[must_use]
    pub fn stats_of(&self, scope: &Scope) -> Stats {
        admin::stats(&self.admin, Some(scope))
    }

    /// Adds a rule, or a list of rules, in JSON or in the short form; returns their ids.
    ///
    /// # Errors
    ///
    /// Fails with all that is wrong; then no rule was added.
    pub fn add_fault(&self, text: &str) -> Result<Vec<Arc<str>>, FaultError> {
        let specs = read_rules(text, &self.admin.catalog).map_err(|lines| FaultError(lines.join("; ")))?;
        let views = self.admin.way.rules.install(specs, faults::Source::Api);
        let views = views.map_err(|problems| FaultError(lines(&problems).join("; ")))?;
        Ok(views.into_iter().map(|view| view.id.into()).collect())
    }

    /// Waits until what is expected holds and nothing is in flight any more, watches for late effects, and says what came of it.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let suite = ackdrop::Suite::builder().start().await?;
    /// let verdict = suite.expect(&["stripe.charge <= 1", "duplicates == 0"], &Default::default()).await?;
    /// assert!(verdict.holds, "{verdict}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if an expectation cannot be read, a limit is exceeded, or the suite stops.
    pub async fn expect(&self, texts: &[impl AsRef<str>], options: &Options) -> Result<Verdict, expect::Error> {
        expect::expect(&admin::sources(&self.admin), texts, options).await
    }

    /// Begins anew, one scope or all.
    pub fn reset(&self, scope: Option<&Scope>) {
        admin::begin_anew(&self.admin, scope);
    }

    /// Advances the clock on which keys expire, of one scope or of all.
    ///
    /// # Errors
    ///
    /// Fails if it would need one scope too many.
    pub fn advance(&self, scope: Option<&Scope>, by: Duration) -> Result<(), TooManyScopes> {
        let by = time::Duration::try_from(by).unwrap_or(time::Duration::MAX);
        self.admin.way.store.advance(scope, by)
    }

    /// Returns what is held, to list it and to let it go.
    #[must_use]
    pub fn holds(&self) -> &Holds {
        &self.admin.way.holds
    }

    /// Returns the journal, to read entries and to wait for changes.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.admin.way.store.ledger()
    }

    /// Returns the certificate of the suite's CA.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.admin.ca
    }

    /// Stops: accepts nothing more, lets go what is held and hung, and waits a moment for all of it; returns whether all ended.
    pub async fn stop(self) -> bool {
        let way = &self.admin.way;
        way.stop.cancel();
        way.tasks.close();
        tokio::time::timeout(STOP, way.tasks.wait()).await.is_ok()
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        self.admin.way.stop.cancel();
    }
}

fn catalog(providers: &[&'static About]) -> Catalog {
    let known = providers.iter().map(|about| Known {
        name: about.name.to_owned(),
        protocol: if about.name == crate::mocks::MAIL {
            Protocol::Smtp
        } else {
            Protocol::Http
        },
        operations: about.operations.iter().map(|o| o.name.to_owned()).collect(),
        fixed_scope: None,
    });
    Catalog::new(known.collect())
}

fn read_rules(text: &str, catalog: &Catalog) -> Result<Vec<faults::RuleSpec>, Vec<String>> {
    let rules = faults::read_rules(text).map_err(|line| vec![line])?;
    faults::parse_value(&Value::Array(rules), catalog).map_err(|problems| lines(&problems))
}

fn lines(problems: &[faults::Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}
