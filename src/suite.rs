//! The front door: a builder, a running suite, its addresses, and its stop. `serve`, `demo` and every test go through here.

mod addresses;
mod builder;
mod stripe_webhook;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::admin::{self, Admin, Stats};
use crate::attempt::Holds;
use crate::deliver::NoRoots;
use crate::expect::{self, Options, Verdict};
use crate::faults::{self, Catalog};
use crate::ledger::Ledger;
use crate::net::tls::TlsError;
use crate::relay::{self, Relays};
use crate::server::TakenPort;
use crate::store::{Scope, TooManyScopes};

pub use addresses::Addresses;
pub use builder::Builder;
pub use stripe_webhook::StripeWebhook;

pub use crate::net::{Limits, Listen};
pub use crate::server::smtp::{Mechanism, Offer};
pub use crate::server::{AllowHost, Connect, Direct, Kind};

/// How long a stop waits for what is still going on.
const STOP: Duration = Duration::from_millis(800);

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
    stripe_webhooks: Vec<StripeWebhook>,
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
    /// What outgoing requests should trust cannot be used.
    #[error(transparent)]
    Trusted(#[from] NoRoots),
    /// Rules that were given are wrong; each problem with its place.
    #[error("the fault rules are wrong\n{}", .0.join("\n"))]
    Faults(Vec<String>),
    /// The seed is wrong; each problem with its place.
    #[error("the seed is wrong\n{}", .0.join("\n"))]
    Seed(Vec<String>),
    /// A relay cannot start.
    #[error(transparent)]
    Relay(#[from] relay::StartError),
    /// The file of further authorities cannot be used.
    #[error(transparent)]
    Roots(#[from] relay::RootsError),
}

/// Says why a rule was not added.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FaultError(String);

impl Suite {
    /// Begins to build a suite.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns where it listens.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Lists the webhook endpoints that every scope has from its begin, each with its secret.
    #[must_use]
    pub fn stripe_webhooks(&self) -> &[StripeWebhook] {
        &self.stripe_webhooks
    }

    /// Returns the relays, to list, start and stop them.
    #[must_use]
    pub fn relays(&self) -> &Relays {
        &self.admin.relays
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
        let specs = read_rules(text, &self.admin.catalog()).map_err(|lines| FaultError(lines.join("; ")))?;
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

    /// Advances the clock on which keys expire and what is due later is done, of one scope or of all. [`caught_up`](Self::caught_up) waits
    /// for what thereby became due.
    ///
    /// # Errors
    ///
    /// Fails if it would need one scope too many.
    pub fn advance(&self, scope: Option<&Scope>, by: Duration) -> Result<(), TooManyScopes> {
        let by = time::Duration::try_from(by).unwrap_or(time::Duration::MAX);
        self.admin.way.store.advance(scope, by)
    }

    /// Waits until all that is due by now has been done, in one scope or in all.
    pub async fn caught_up(&self, scope: Option<&Scope>) {
        self.admin.way.caught_up(scope).await;
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

fn read_rules(text: &str, catalog: &Catalog) -> Result<Vec<faults::RuleSpec>, Vec<String>> {
    let rules = faults::read_rules(text).map_err(|line| vec![line])?;
    faults::parse_value(&Value::Array(rules), catalog).map_err(|problems| lines(&problems))
}

fn lines(problems: &[faults::Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}
