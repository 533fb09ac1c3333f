//! What is answered: whether it holds, and the attempts that say why.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Expectation;
use super::evidence::gather;
use super::look::Look;
use super::subject::Subject;
use super::wait::Wait;
use crate::faults::View;
use crate::ledger::{Effect, Entry, Fate, Fired, Outcome};
use crate::store::Scope;

/// How many strays and rules are listed.
const LISTED: usize = 20;

/// Is what came of an expectation call.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Whether everything holds.
    pub holds: bool,
    /// What came of it, in one line.
    pub message: String,
    /// How the wait ended.
    pub ended: Ended,
    /// Each expectation, in the order given.
    pub expectations: Vec<Judged>,
    /// If everything holds: the attempts that were counted, in the order of their commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Attempt>>,
    /// How many earlier ones the evidence leaves out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
    /// If something was still going on at the end: those attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Attempts>,
    /// What may help to see why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How long it took.
    #[serde(serialize_with = "seconds")]
    pub waited: Duration,
}

/// Says how the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything held to the end.
    Held,
    /// The time was over.
    Timeout,
    /// Everything held, and then a late change broke it.
    Late {
        /// For how long it held.
        held: Duration,
    },
}

/// Is what came of one expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The expectation, as it was understood.
    pub text: String,
    /// What was counted.
    pub name: String,
    /// How it was compared.
    pub operator: &'static str,
    /// With what.
    pub expected: u64,
    /// The count.
    pub counted: u64,
    /// Whether it holds.
    pub holds: bool,
    /// If it does not: what made the difference.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// Says what made the difference.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The same for people, line by line.
    pub diff: Vec<String>,
    /// The attempts, in the order of their commit.
    #[serde(flatten)]
    pub attempts: Attempts,
    /// The rules, where rules are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<View>,
}

/// Lists attempts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Attempts {
    /// The last ones.
    pub attempts: Vec<Attempt>,
    /// How many earlier ones are left out.
    pub more: u64,
}

/// Shows one attempt.
#[derive(Clone, Debug, Serialize)]
#[expect(
    missing_docs,
    reason = "the fields are those of GET /_events, described in the README"
)]
pub struct Attempt {
    pub id: u64,
    pub scope: Arc<str>,
    pub provider: Arc<str>,
    pub operation: Arc<str>,
    pub line: String,
    pub key: Option<String>,
    pub outcome: Option<Outcome>,
    pub fate: Option<Fate>,
    pub duplicate: Option<&'static str>,
    pub effects: Vec<Effect>,
    pub fault: Option<Fired>,
    pub committed: Option<String>,
    /// Whether it is one of those that were counted, or only might have been.
    pub counts: bool,
    #[serde(skip)]
    pub(super) shown: String,
}

impl Serialize for Ended {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Held => "held",
            Self::Timeout => "timeout",
            Self::Late { .. } => "late",
        })
    }
}

impl Verdict {
    pub(super) fn of(wait: &Wait<'_>, look: &Look, ended: Ended, waited: Duration) -> Self {
        let mut judged: Vec<Judged> = wait.expectations.iter().map(|e| Judged::of(e, look)).collect();
        let mut verdict = Self {
            holds: ended == Ended::Held,
            message: String::new(),
            ended,
            expectations: Vec::new(),
            evidence: None,
            more: 0,
            in_flight: None,
            notes: Vec::new(),
            waited,
        };
        let (ledger, scope) = (wait.sources.store.ledger(), wait.options.scope.as_ref());
        if verdict.holds {
            let counted = |entry: &Entry| wait.expectations.iter().any(|e| e.counts(entry)).then_some(true);
            let found = gather(ledger, scope, &[counted]).remove(0);
            (verdict.evidence, verdict.more) = (Some(found.attempts), found.more);
        } else {
            let differences = differences(wait, look, &mut judged);
            for (judged, difference) in judged.iter_mut().filter(|judged| !judged.holds).zip(differences) {
                judged.difference = Some(difference);
            }
            if look.unfinished() > 0 {
                let open = |entry: &Entry| (!entry.closed()).then_some(true);
                verdict.in_flight = Some(gather(ledger, scope, &[open]).remove(0));
            }
            verdict.notes = notes(wait, look);
        }
        verdict.message = message(wait, look, ended, &judged, waited);
        verdict.expectations = judged;
        verdict
    }
}

impl Judged {
    fn of(expectation: &Expectation, look: &Look) -> Self {
        let (counted, expected, holds) = look.judge(expectation);
        let (name, operator) = match expectation {
            Expectation::Count { subject, operator, .. } => (subject.to_string(), operator.as_str()),
            Expectation::AllFaultsFired => ("faults".into(), "all fired"),
        };
        Self {
            text: expectation.to_string(),
            name,
            operator,
            expected,
            counted,
            holds,
            difference: None,
        }
    }
}

impl Expectation {
    fn counts(&self, entry: &Entry) -> bool {
        match self {
            Self::Count { subject, .. } => subject.counts(entry),
            Self::AllFaultsFired => Subject::FaultsFired.counts(entry),
        }
    }

    /// Says whether more than was counted is wanted.
    fn wants_more(&self, counted: u64) -> bool {
        match self {
            Self::Count { operator, number, .. } => operator.wants_more(counted, *number),
            Self::AllFaultsFired => true,
        }
    }
}

/// Finds what made the difference for each expectation that does not hold.
fn differences(wait: &Wait<'_>, look: &Look, judged: &mut [Judged]) -> Vec<Difference> {
    let pairs = wait.expectations.iter().zip(judged.iter());
    let failed: Vec<(&Expectation, u64)> = pairs.filter(|(_, j)| !j.holds).map(|(e, j)| (e, j.counted)).collect();
    let question = |&(expectation, counted): &(&Expectation, u64)| {
        let expectation = *expectation;
        move |entry: &Entry| match expectation {
            Expectation::AllFaultsFired => None,
            Expectation::Count { subject, .. } if subject.counts(entry) => Some(true),
            Expectation::Count { subject, .. } if expectation.wants_more(counted) && subject.misses(entry) => {
                Some(false)
            }
            Expectation::Count { .. } => None,
        }
    };
    let questions: Vec<_> = failed.iter().map(question).collect();
    let scope = wait.options.scope.as_ref();
    let found = gather(wait.sources.store.ledger(), scope, &questions);
    let each = failed.into_iter().zip(found);
    each.map(|((expectation, counted), attempts)| difference(wait, look, expectation, counted, attempts))
        .collect()
}

fn difference(wait: &Wait<'_>, look: &Look, expectation: &Expectation, counted: u64, attempts: Attempts) -> Difference {
    let rules = rules(wait, expectation, counted);
    let mut diff = vec![match expectation {
        Expectation::Count { operator, number, .. } => {
            format!("expected {}, counted {counted}", operator.wanted(*number))
        }
        Expectation::AllFaultsFired if look.rules.is_empty() => no_rule(wait.options.scope.as_ref()),
        Expectation::AllFaultsFired => {
            format!(
                "expected every rule to have fired, {counted} of {} did",
                look.rules.len()
            )
        }
    }];
    if attempts.more > 0 {
        diff.push(format!("({} earlier ones are left out)", attempts.more));
    }
    diff.extend(attempts.attempts.iter().map(Attempt::text));
    diff.extend(rules.iter().map(rule_text));
    if let Expectation::Count {
        subject: Subject::Unmatched,
        ..
    } = expectation
    {
        let last = wait.sources.strays.last(wait.options.scope.as_ref().map(Scope::as_str));
        let shown = last.len().saturating_sub(LISTED);
        diff.extend(last.into_iter().skip(shown));
    }
    Difference { diff, attempts, rules }
}

/// Returns the rules that an expectation is about.
fn rules(wait: &Wait<'_>, expectation: &Expectation, counted: u64) -> Vec<View> {
    let wanted: fn(&View) -> bool = match expectation {
        Expectation::AllFaultsFired => |rule| rule.fired == 0,
        Expectation::Count {
            subject: Subject::FaultsArmed,
            ..
        } => |rule| rule.armed,
        Expectation::Count {
            subject: Subject::FaultsFired,
            ..
        } if expectation.wants_more(counted) => |rule| rule.fired == 0,
        Expectation::Count { .. } => return Vec::new(),
    };
    let scope = wait.options.scope.as_ref().map(Scope::as_str);
    let rules = wait.sources.rules.list(scope).into_iter();
    rules.filter(wanted).take(LISTED).collect()
}

fn no_rule(scope: Option<&Scope>) -> String {
    match scope {
        None => "there is no rule that could fire".into(),
        Some(scope) => format!("no rule names the scope `{scope}`; one without a scope belongs to none"),
    }
}

/// Writes a rule as one would type it, and why it did not fire.
fn rule_text(rule: &View) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut text = format!("{} {}", rule.id, rule.rule.get("mode").map(word).unwrap_or_default());
    for (name, value) in rule.rule.iter().filter(|(name, _)| *name != "mode") {
        text.push_str(&format!("; {name}={}", word(value)));
    }
    text.push_str(&format!(": matched {}, fired {}", rule.matched, rule.fired));
    if rule.expired {
        text.push_str(", expired");
    }
    if let Some(miss) = &rule.near_miss {
        let got = miss.got.as_deref().unwrap_or("nothing");
        text.push_str(&format!(
            "; nearly matched: {} should be {}, was {got}",
            miss.field, miss.wanted
        ));
    }
    text
}

/// Says what else may be the cause.
fn notes(wait: &Wait<'_>, look: &Look) -> Vec<String> {
    let mut notes = Vec::new();
    let lacking = |expectation: &Expectation| {
        let (counted, _, holds) = look.judge(expectation);
        !holds && expectation.wants_more(counted)
    };
    if look.unmatched > 0 && wait.expectations.iter().any(lacking) {
        let last = wait.sources.strays.last(wait.options.scope.as_ref().map(Scope::as_str));
        let last = last.last().map(|line| format!(": {line}")).unwrap_or_default();
        notes.push(format!(
            "requests that no provider knows: {}, the last{last}",
            look.unmatched
        ));
    }
    if let (trimmed @ 1.., _) = wait.sources.store.ledger().trimmed() {
        notes.push(format!(
            "the journal has let {trimmed} attempts go, which are counted but not listed"
        ));
    }
    notes
}

fn message(wait: &Wait<'_>, look: &Look, ended: Ended, judged: &[Judged], waited: Duration) -> String {
    let all = judged.len();
    let failed = judged.iter().filter(|judged| !judged.holds).count();
    let waited = shown(waited);
    match ended {
        Ended::Held if all == 1 => format!("it holds, after {waited}"),
        Ended::Held => format!("all {all} expectations hold, after {waited}"),
        Ended::Late { held } => {
            let held = shown(held);
            format!("everything held, and {held} later {failed} of {all} expectations did not any more")
        }
        Ended::Timeout if failed > 0 => format!("{failed} of {all} expectations failed, after {waited}"),
        Ended::Timeout if look.unfinished() > 0 => {
            let open = match look.unfinished() {
                1 => "an attempt is".to_owned(),
                open => format!("{open} attempts are"),
            };
            format!("everything holds, but {open} still going on after {waited}, and may yet change it")
        }
        Ended::Timeout => {
            let settle = shown(wait.settle);
            format!(
                "everything holds, but something changed all the time: nothing was quiet for {settle} within {waited}"
            )
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for judged in &self.expectations {
            if let Some(Difference { diff, .. }) = &judged.difference {
                write!(f, "\n{}: {}", judged.text, diff.join("\n  "))?;
            }
        }
        for attempt in self.in_flight.iter().flat_map(|open| &open.attempts) {
            write!(f, "\nstill going on: {}", attempt.text())?;
        }
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

fn shown(length: Duration) -> String {
    format!("{:.3}s", length.as_secs_f64())
}

fn seconds<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(*length))
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
