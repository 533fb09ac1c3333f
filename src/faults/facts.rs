//! What is known of an attempt when rules are asked.

use std::fmt;

use super::rule::Step;
use crate::ledger::Outcome;

/// Tells what is known of an attempt, or of an SMTP session, when rules are asked.
///
/// The look-ups are called under the rules' lock: they must not ask rules themselves, nor wait.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The provider's name.
    pub provider: &'a str,
    /// The operation.
    pub operation: Option<&'a str>,
    /// The operations of a database transaction's statements: a rule may name any of them.
    pub operations: &'a [String],
    /// The scope; none before an SMTP session has one.
    pub scope: Option<&'a str>,
    /// The HTTP method.
    pub method: Option<&'a str>,
    /// The path, without a scope's prefix.
    pub path: Option<&'a str>,
    /// The caller's key.
    pub key: Option<&'a str>,
    /// Looks up all values of a header field of the request or the mail, whatever the name's case.
    pub headers: &'a dyn Fn(&str) -> Vec<String>,
    /// The envelope's sender; empty for the null sender.
    pub sender: Option<&'a str>,
    /// The envelope's recipients; at [`Step::Rcpt`] the one that is being asked about.
    pub recipients: &'a [String],
    /// The mail's subject.
    pub subject: Option<&'a str>,
    /// The texts of a database transaction's statements: a rule may be about any of them.
    pub sql: &'a [String],
    /// Looks up a JSON pointer in the body, as text. Called only when every cheaper condition holds.
    pub json: &'a dyn Fn(&str) -> Option<String>,
    /// The outcome; known only after the commit.
    pub outcome: Option<Outcome>,
    /// Whether a replay is one of an accepted record.
    pub from_accepted: bool,
    /// The step of SMTP or TCP; none for all else.
    pub step: Option<Step>,
    /// Whether the attempt is a connection over TCP.
    pub is_tcp: bool,
    /// How many bytes arrived, at [`Step::MidData`], [`Step::Request`] and [`Step::Answer`]: the mark that was reached.
    pub content_bytes: u64,
    /// Whether it is what the suite itself sends.
    pub sent: bool,
    /// Whether it sends it because somebody has ordered that, and said how often and in which order.
    pub ordered: bool,
    /// What the `on` of a rule in a request counts by: a hash of the key, or of the content where there is none.
    pub content: [u8; 16],
}

impl<'a> Facts<'a> {
    /// Makes facts of which nothing but the provider is known.
    #[must_use]
    pub fn new(provider: &'a str) -> Self {
        Self {
            provider,
            operation: None,
            operations: &[],
            scope: None,
            method: None,
            path: None,
            key: None,
            headers: &no_headers,
            sender: None,
            recipients: &[],
            subject: None,
            sql: &[],
            json: &no_json,
            outcome: None,
            from_accepted: false,
            step: None,
            is_tcp: false,
            content_bytes: 0,
            sent: false,
            ordered: false,
            content: [0; 16],
        }
    }
}

fn no_headers(_: &str) -> Vec<String> {
    Vec::new()
}

fn no_json(_: &str) -> Option<String> {
    None
}

impl fmt::Debug for Facts<'_> {
    /// Shows no look-up, and no key: either may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("provider", &self.provider)
            .field("operation", &self.operation)
            .field("scope", &self.scope)
            .field("step", &self.step)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
