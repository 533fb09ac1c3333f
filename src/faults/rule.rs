//! The words of a rule, and of the verdict it gives.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::condition::Condition;
use super::direction::Direction;
use super::facts::Facts;
use super::occasion::On;
use super::word::words;

/// Holds one rule that was read and found right. Made by [`parse_json`](super::parse_json).
#[derive(Clone, Debug)]
pub struct RuleSpec {
    /// The rule as given, its mode under its canonical name.
    pub(super) given: Map<String, Value>,
    /// Cheapest first; all of them must hold.
    pub(super) conditions: Vec<Condition>,
    /// The one scope it is bound to. A pattern over scopes, like no scope at all, belongs to none.
    pub(super) owner: Option<String>,
    pub(super) direction: Direction,
    pub(super) mode: Mode,
    pub(super) action: Action,
    pub(super) point: Point,
    pub(super) step: Option<Step>,
    /// How many bytes bring on a `mid-data` or `request` rule, or must have been asked for an `answer` rule.
    pub(super) mark: u64,
    pub(super) on: On,
    pub(super) expires_in: Option<Duration>,
}

impl RuleSpec {
    /// Tells whether the rule is asked at this point and step at all.
    ///
    /// A rule without a step stands where its mode acts: for mail that is the dot, or the commit.
    pub(super) fn is_asked(&self, point: Point, facts: &Facts<'_>) -> bool {
        if self.point != point || !self.direction.holds(facts) {
            return false;
        }
        match (self.step, facts.step) {
            (Some(own), Some(at)) if own.has_mark() => own == at && self.mark == facts.content_bytes,
            (Some(own), at) => at == Some(own),
            (None, None) => true,
            (None, Some(Step::Answer)) => facts.content_bytes == 1,
            (None, Some(at)) if facts.is_tcp => at == Step::Connect,
            (None, Some(at)) => at == point.mail_step(),
        }
    }
}

words! {
    /// Names what a rule does.
    pub enum Mode {
        /// Lets the attempt through, past every other rule.
        Pass = "pass",
        /// Loses the request before the provider sees it.
        FailBeforeCommit = "fail-before-commit",
        /// Loses the answer after the provider committed.
        DropAfterCommit = "drop-after-commit",
        /// Answers with an error after the provider committed.
        ErrorAfterCommit = "error-after-commit",
        /// Holds the attempt before the commit until it is released.
        HoldBeforeCommit = "hold-before-commit",
        /// Holds the answer after the commit until it is released.
        HoldAfterCommit = "hold-after-commit",
        /// Is late, before or after the commit.
        Delay = "delay",
        /// Gives the provider's own refusal.
        Refuse = "refuse",
        /// Sends several copies at once.
        Duplicate = "duplicate",
        /// Sends only when others that came later have been.
        Reorder = "reorder",
        /// Sends it never, nor again.
        Drop = "drop",
        /// Signs with a secret that is not the receiver's.
        BadSignature = "bad-signature",
        /// Signs as of a time that is long past.
        StaleTimestamp = "stale-timestamp",
    }
}

words! {
    /// Names when rules are asked.
    pub enum Point {
        /// At arrival, before anything is committed.
        Before = "before",
        /// Once, with the final commit, the outcome among the facts.
        After = "after",
    }
}

words! {
    /// Names a step of an SMTP session, in the order in which they come, or of a connection over TCP.
    pub enum Step {
        /// The connection was accepted.
        Connect = "connect",
        /// The greeting is about to be sent.
        Greeting = "greeting",
        /// The first EHLO or HELO of the session.
        Ehlo = "ehlo",
        /// The first AUTH of the session.
        Auth = "auth",
        /// QUIT.
        Quit = "quit",
        /// A MAIL line: an attempt begins.
        Mail = "mail",
        /// A RCPT line.
        Rcpt = "rcpt",
        /// The DATA command.
        Data = "data",
        /// Some of the content arrived.
        MidData = "mid-data",
        /// All of the content arrived, nothing is committed.
        Dot = "dot",
        /// The mail is stored.
        Commit = "commit",
        /// Bytes of a connection over TCP are about to go up.
        Request = "request",
        /// The first bytes come down that follow bytes which went up.
        Answer = "answer",
    }
}

impl Point {
    /// Returns the step at which a rule that names none meets a mail.
    pub(super) fn mail_step(self) -> Step {
        match self {
            Self::Before => Step::Dot,
            Self::After => Step::Commit,
        }
    }
}

impl Step {
    /// Tells whether the step belongs to the session and not to an attempt.
    ///
    /// `on` counts sessions there, so each such step is to be asked at most once a session.
    #[must_use]
    pub fn is_session(self) -> bool {
        self <= Self::Quit
    }

    /// Tells whether bytes are counted there.
    pub(super) fn has_mark(self) -> bool {
        matches!(self, Self::MidData | Self::Request | Self::Answer)
    }

    /// Returns the point at which rules for this step are asked.
    #[must_use]
    pub fn point(self) -> Point {
        if matches!(self, Self::Commit | Self::Answer) {
            Point::After
        } else {
            Point::Before
        }
    }
}

/// Says what is done with one attempt, and which rule said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The rule's id: `f1`, or `header`, `mail-header`, `recipient` for a rule that came in the request.
    pub rule: Arc<str>,
    /// The rule's mode.
    pub mode: Mode,
    /// What to do.
    pub action: Action,
}

/// Says what to do with one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing, here and at every later point and step of this attempt: rules are not to be asked for it again.
    Pass,
    /// Lose the request; nothing is committed and nothing saved under a key.
    Fail(Loss),
    /// Answer with the provider's own refusal; saved under a key where the provider would.
    Refuse(Answer),
    /// Hold until released.
    Hold {
        /// How many gather until all of them go in one instant; none where each waits for its own release.
        barrier: Option<u16>,
    },
    /// Be late.
    Delay(Duration),
    /// Lose the answer; the effect stays.
    Drop(How),
    /// Answer with an error; the effect stays.
    Error(Answer),
    /// Tamper with what the suite sends itself.
    Tamper(Tamper),
}

/// Says what is done to a request that the suite sends itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tamper {
    /// It is sent in so many copies at once.
    Copies(u32),
    /// It waits until so many others have been sent to the same receiver, but not longer than this.
    Behind(u32, Duration),
    /// It is never sent.
    Never,
    /// Its signature is of another secret.
    WrongSecret,
    /// It is signed as if it were so old.
    Aged(Duration),
}

/// Says how a request is lost before the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection ends; never by [`How::Truncate`], for there is no answer.
    End(How),
    /// A gateway answers in the provider's place.
    Gateway(Answer),
}

/// Says how an answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// An orderly end: FIN.
    Close,
    /// RST.
    Reset,
    /// Silence until the client leaves.
    Hang,
    /// The first bytes of the answer, then FIN.
    Truncate {
        /// How many bytes of the plaintext answer are sent.
        bytes: u64,
    },
}

/// Says what an injected answer contains; what is absent the provider fills in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status or SMTP reply code.
    pub status: Option<u16>,
    /// The provider's error code.
    pub code: Option<String>,
    /// Header fields to set, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, or the text of an SMTP reply.
    pub body: Option<String>,
}

impl How {
    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Reset => "reset",
            Self::Hang => "hang",
            Self::Truncate { .. } => "truncate",
        }
    }
}
