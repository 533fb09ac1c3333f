//! Expectations over counts: `stripe.charge == 1`, `duplicates == 0`, `faults all fired`.
//!
//! In reading order: `grammar` (text to syntax, with the place of whatever is wrong), `vocabulary` (what names mean, and the nearest ones),
//! `subject` (what is counted), `look` (all counts in one moment), `wait` (until everything holds, then on), `evidence` (the attempts
//! concerned), `verdict` (what is answered).

mod evidence;
mod grammar;
mod look;
mod problem;
mod subject;
#[cfg(test)]
mod tests;
mod verdict;
mod vocabulary;
mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::attempt::About;
use crate::faults::Rules;
use crate::ledger::Strays;
use crate::store::{Scope, Store};

pub use grammar::Operator;
pub use problem::Problem;
pub use subject::{Subject, Tally};
pub use verdict::{Attempt, Attempts, Difference, Ended, Judged, Verdict};
use vocabulary::Vocabulary;

/// How many expectations one call may have.
pub const MAX_EXPECTATIONS: usize = 100;
/// How long one call may wait, and how long it may watch.
pub const LONGEST: Duration = Duration::from_secs(600);
/// How long a call waits if nobody says.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How long it must be quiet if nobody says.
pub const SETTLE: Duration = Duration::from_millis(500);

/// Is what one expectation says. Verdicts on single intents will be variants of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// `NAME OPERATOR NUMBER`.
    Count {
        /// What is counted.
        subject: Subject,
        /// How it is compared.
        operator: Operator,
        /// With what.
        number: u64,
    },
    /// `faults all fired`: there is a rule, and each has fired at least once.
    AllFaultsFired,
}

/// Says what is looked at, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The world alone that is looked at; without one, the sum of all.
    pub scope: Option<Scope>,
    /// How long to wait until everything holds and is settled.
    pub timeout: Duration,
    /// For how long nothing may change before a count is believed; half a second (or the timeout, if that is shorter) if none is given.
    pub settle: Option<Duration>,
    /// How long to go on looking for late effects.
    pub watch: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: None,
            timeout: TIMEOUT,
            settle: None,
            watch: Duration::ZERO,
        }
    }
}

/// Is where the counts come from; clones look at the same.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The worlds.
    pub store: Store,
    /// The fault rules.
    pub rules: Rules,
    /// Requests that nobody knows.
    pub strays: Strays,
    /// The providers, which say what there is to name.
    pub providers: Arc<[&'static About]>,
    /// Cancelled when the suite stops.
    pub stop: CancellationToken,
}

/// Says why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Expectations that cannot be read, each with its place.
    #[error("{}", lines(.0))]
    Problems(Vec<Problem>),
    /// What was asked for is outside the limits.
    #[error("{0}")]
    Limits(String),
    /// The suite stops.
    #[error("the suite stops, and what was expected is undecided")]
    Stopping,
}

/// Waits until everything that is expected holds, nothing is in flight and nothing has changed for a while; then goes on looking for late
/// effects; and says what came of it, with the attempts concerned.
///
/// A held attempt and an answer that its client has not read yet are open and keep it waiting; a withheld answer, a hang included, is at its
/// end. An expectation that cannot hold while nothing is in flight (`stripe.open == 1`) lifts that.
///
/// # Errors
///
/// Fails if an expectation cannot be read, a limit is exceeded, or the suite stops.
pub async fn expect(sources: &Sources, texts: &[impl AsRef<str>], options: &Options) -> Result<Verdict, Error> {
    let expectations = read(texts, &sources.providers)?;
    let settle = check(options)?;
    wait::Wait {
        sources,
        options,
        settle,
        expectations: &expectations,
    }
    .run()
    .await
}

/// Reads expectations; what is wrong with any of them is reported together.
///
/// # Errors
///
/// Fails if there are none, too many, or some that cannot be read.
pub fn read(texts: &[impl AsRef<str>], providers: &[&'static About]) -> Result<Vec<Expectation>, Error> {
    if texts.is_empty() {
        let text = "nothing is expected; an expectation looks like `stripe.charge == 1`";
        return Err(Error::Limits(text.into()));
    }
    if texts.len() > MAX_EXPECTATIONS {
        let text = format!("{} expectations are more than {MAX_EXPECTATIONS}", texts.len());
        return Err(Error::Limits(text));
    }
    let vocabulary = Vocabulary::new(providers);
    let mut expectations = Vec::with_capacity(texts.len());
    let mut problems = Vec::new();
    for (index, text) in texts.iter().map(AsRef::as_ref).enumerate() {
        match vocabulary.read(text) {
            Ok(expectation) => expectations.push(expectation),
            Err(fault) => problems.push(Problem::new(index, text, fault)),
        }
    }
    if problems.is_empty() {
        Ok(expectations)
    } else {
        Err(Error::Problems(problems))
    }
}

/// Checks the times, and returns for how long it must be quiet.
fn check(options: &Options) -> Result<Duration, Error> {
    for (name, length) in [("timeout", options.timeout), ("watch", options.watch)] {
        if length > LONGEST {
            return Err(Error::Limits(format!("`{name}` is longer than 10m")));
        }
    }
    match options.settle {
        None => Ok(SETTLE.min(options.timeout)),
        Some(settle) if settle <= options.timeout => Ok(settle),
        Some(_) => {
            let text = "`settle` is longer than `timeout`, so that nothing could ever hold";
            Err(Error::Limits(text.into()))
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count {
                subject,
                operator,
                number,
            } => write!(f, "{subject} {operator} {number}"),
            Self::AllFaultsFired => f.write_str("faults all fired"),
        }
    }
}
