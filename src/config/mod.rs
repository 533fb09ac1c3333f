//! From flags, environment and file to one validated value.
//!
//! [`settings`](self) is a table: a new setting is one row there and one field of [`Config`]. Flags, environment variables,
//! file keys, defaults and `--help` all follow from the row.

mod build;
mod given;
mod listen;
mod problem;
mod seed;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use self::given::environment;
pub use self::problem::{Problem, Problems};
pub use self::seed::Seed;
pub use self::settings::{SETTINGS, Setting};
pub use self::source::{Origin, Source};
pub use self::value::{Log, duration, size};
pub use crate::suite::AllowHost;
pub use crate::suite::Listen;
pub use crate::suite::{Mechanism, StripeWebhook};

/// Holds what the user asked for, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// HTTP listeners; none when turned off.
    pub http: Vec<Listen>,
    /// HTTPS listeners; none when turned off.
    pub https: Vec<Listen>,
    /// SMTP listeners; none when turned off.
    pub smtp: Vec<Listen>,
    /// SMTPS listeners; none when turned off.
    pub smtps: Vec<Listen>,
    /// Relays.
    pub relays: Vec<crate::relay::Spec>,
    /// Further authorities that relays trust.
    pub upstream_ca: Option<PathBuf>,
    /// Fault rules as they were written: those of the file first, then of flags, then of the environment.
    pub faults: Vec<Given>,
    /// What every world begins with.
    pub seed: Option<Seed>,
    /// The folder that keeps the certificate authority; none keeps it in memory.
    pub ca: Option<PathBuf>,
    /// The file that was read.
    pub config: Option<PathBuf>,
    /// How the log is written.
    pub log: Log,
    /// The login mechanisms that the mail sink offers.
    pub smtp_auth: Vec<Mechanism>,
    /// Whether the mail sink offers STARTTLS.
    pub smtp_starttls: bool,
    /// Host names under which changing admin calls are accepted, besides those that are safe.
    pub admin_host: Vec<String>,
    /// Hosts that deliveries may go to, besides loopback and private addresses.
    pub deliver_host: Vec<String>,
    /// Hosts to which clients of the forward proxy are let through.
    pub allow_host: Vec<AllowHost>,
    /// The token that guards the admin API; none leaves it open.
    pub admin_token: Option<Secret>,
    /// Whether orders are refused without an Idempotency-Key.
    pub orders_require_key: bool,
    /// By how much Stripe's search lags.
    pub stripe_search_lag: Duration,
    /// Where Stripe's events are delivered from the start.
    pub stripe_webhook: Vec<StripeWebhook>,
    /// What may be used up.
    pub limits: Limits,
}

/// Bounds what may be used up. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries that the journal keeps.
    pub journal_entries: u64,
    /// Memory for recorded bodies, mails and deliveries included.
    pub body_memory: u64,
    /// Memory for bodies that are still arriving.
    pub arriving_memory: u64,
    /// The largest HTTP request body.
    pub http_body: u64,
    /// The largest mail.
    pub mail_size: u64,
    /// Connections open at once.
    pub connections: u64,
    /// How long a connection may be silent.
    pub idle_timeout: Duration,
    /// How long a hang or a hold lasts at most.
    pub hang_cap: Duration,
}

/// Keeps a text together with the place where the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// What was written.
    pub text: String,
    /// Where.
    pub source: Source,
}

/// Keeps a text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The raw settings, by source. Tests pass maps; only [`environment`] reads the process's own.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// What flags gave, by the setting's name.
    pub flags: BTreeMap<&'static str, Vec<String>>,
    /// All variables whose names begin with `ACKDROP_`.
    pub env: BTreeMap<String, String>,
    /// The file's name, as the user gave it, and its text.
    pub file: Option<(PathBuf, String)>,
}

impl Config {
    /// Reads the file that flags or environment name, if any, and validates everything together.
    ///
    /// # Errors
    ///
    /// Fails with every problem there is, each with its source.
    pub fn load(flags: BTreeMap<&'static str, Vec<String>>, env: BTreeMap<String, String>) -> Result<Self, Problems> {
        let mut raw = Raw { flags, env, file: None };
        let unread = given::read_file(&mut raw).err();
        let mut problems = Vec::from_iter(unread);
        match Self::build(&raw, &mut problems) {
            config if problems.is_empty() => Ok(config),
            _ => Err(Problems::new(problems)),
        }
    }

    /// Validates the raw settings.
    ///
    /// # Errors
    ///
    /// Fails with every problem there is, each with its source.
    pub fn validate(raw: &Raw) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        match Self::build(raw, &mut problems) {
            config if problems.is_empty() => Ok(config),
            _ => Err(Problems::new(problems)),
        }
    }

    fn build(raw: &Raw, problems: &mut Vec<Problem>) -> Self {
        let mut config = Self::blank();
        let mut taken = listen::Taken::default();
        let given = given::collect(raw, problems);
        for setting in SETTINGS {
            let values = given.of(setting);
            setting.kind.apply(&mut config, &values, &mut taken, problems);
        }
        if config.listens_nowhere() && problems.is_empty() {
            problems.push(Problem::new(
                Source::flag("http"),
                "every listener is off: leave at least one of http, https, smtp and smtps on",
            ));
        }
        config
    }

    fn listens_nowhere(&self) -> bool {
        [&self.http, &self.https, &self.smtp, &self.smtps]
            .iter()
            .all(|listeners| listeners.is_empty())
    }

    /// Returns what the table's defaults are then written into.
    fn blank() -> Self {
        Self {
            http: Vec::new(),
            https: Vec::new(),
            smtp: Vec::new(),
            smtps: Vec::new(),
            relays: Vec::new(),
            upstream_ca: None,
            faults: Vec::new(),
            seed: None,
            ca: None,
            config: None,
            log: Log::Text,
            smtp_auth: Vec::new(),
            smtp_starttls: false,
            admin_host: Vec::new(),
            deliver_host: Vec::new(),
            allow_host: Vec::new(),
            admin_token: None,
            orders_require_key: false,
            stripe_search_lag: Duration::ZERO,
            stripe_webhook: Vec::new(),
            limits: Limits {
                journal_entries: 0,
                body_memory: 0,
                arriving_memory: 0,
                http_body: 0,
                mail_size: 0,
                connections: 0,
                idle_timeout: Duration::ZERO,
                hang_cap: Duration::ZERO,
            },
        }
    }
}

impl Default for Config {
    /// Returns the defaults of the table.
    fn default() -> Self {
        Self::validate(&Raw::default()).expect("the table's own defaults are valid")
    }
}

impl Secret {
    /// Wraps a text that is never to be shown.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for comparing.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
