//! What was asked, as the provider understood it and as rules can match it.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value;

use super::way::Whole;
use super::{About, Describe, Kind};
use crate::faults::{Action, Facts, Loss, Point, Rules, Step, Verdict};
use crate::ledger::{Fired, Hash, Outcome};

/// Holds what was asked, whoever carries it out; nothing here changes but by `pass`.
#[derive(Debug)]
pub struct Asked<R> {
    /// Of whom.
    pub about: &'static About,
    /// What for, and how rules have met it so far.
    pub whole: Whole<R>,
    /// The caller's name of the operation.
    pub name: Option<Arc<str>>,
    /// What the `on` of a rule in a request counts by where there is no name.
    pub content: Hash,
    /// The scope.
    pub scope: Arc<str>,
}

impl<R: Describe> Asked<R> {
    /// Returns the outcome of a no: a look-up stays a look-up.
    #[must_use]
    pub fn refusal(&self) -> Outcome {
        match self.whole.operation.kind {
            Kind::Read => Outcome::Read,
            Kind::Write => Outcome::Refused,
        }
    }

    /// Asks the rules before anything is committed.
    #[must_use]
    pub fn ask_before(&self, rules: &Rules) -> Option<Verdict> {
        if self.whole.exempt {
            return None;
        }
        self.facts(Point::Before, None, |facts| {
            rules.ask(Point::Before, facts, &self.whole.in_request)
        })
    }

    /// Asks the rules about a commit that is final and that nobody can see yet.
    #[must_use]
    pub fn ask_after(&self, rules: &Rules, outcome: Outcome, from_accepted: bool) -> Option<Verdict> {
        if self.whole.exempt {
            return None;
        }
        self.facts(Point::After, Some((outcome, from_accepted)), |facts| {
            rules.ask(Point::After, facts, &self.whole.in_request)
        })
    }

    /// Lays the facts out for the rules.
    fn facts<T>(&self, point: Point, settled: Option<(Outcome, bool)>, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
        let request = &self.whole.request;
        let body: OnceCell<Option<Value>> = OnceCell::new();
        let json = |pointer: &str| {
            let body = body.get_or_init(|| request.json()).as_ref()?;
            body.pointer(pointer).map(text)
        };
        let mail_step = match point {
            Point::Before => Step::Dot,
            Point::After => Step::Commit,
        };
        ask(&Facts {
            provider: self.about.name,
            operation: Some(self.whole.operation.name),
            scope: Some(&self.scope),
            method: request.method(),
            path: request.path(),
            key: self.name.as_deref(),
            headers: &|name| request.header(name),
            sender: request.sender(),
            recipients: request.recipients(),
            subject: request.subject(),
            json: &json,
            outcome: settled.map(|(outcome, _)| outcome),
            from_accepted: settled.is_some_and(|(_, from_accepted)| from_accepted),
            step: R::IS_MAIL.then_some(mail_step),
            content_bytes: 0,
            sent: false,
            ordered: false,
            content: self.counted_by(),
        })
    }

    /// Returns what the `on` of a rule in a request counts by: the key; for a mail, and where there is no key, the content.
    fn counted_by(&self) -> [u8; 16] {
        match &self.name {
            Some(name) if !R::IS_MAIL => super::hash([name.as_bytes()]),
            _ => self.content,
        }
    }
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Notes a verdict for the ledger.
#[must_use]
pub fn fired(verdict: &Verdict) -> Fired {
    let how = match &verdict.action {
        Action::Fail(Loss::End(how)) | Action::Drop(how) => Some(how.as_str()),
        Action::Fail(Loss::Gateway(_)) | Action::Error(_) => Some("status"),
        _ => None,
    };
    Fired {
        rule: Arc::clone(&verdict.rule),
        mode: verdict.mode.as_str(),
        how,
    }
}
