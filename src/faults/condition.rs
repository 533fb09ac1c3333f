//! Matching: which attempts a rule is about, and by what another one missed it.

use std::borrow::Cow;

use super::facts::Facts;
use super::view::NearMiss;
use super::wildcard::Pattern;
use crate::ledger::{Outcome, secrets};

/// How much of a value a near miss repeats.
const SHOWN: usize = 200;
const SECRET: &str = "(secret)";

/// Holds one condition of a rule.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) field: Field,
    pub(super) wanted: Wanted,
}

/// Names what a condition is about. In the order of what looking costs, which is the order of asking.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Provider,
    Operation,
    Scope,
    Method,
    Path,
    Key,
    Sender,
    Recipient,
    Subject,
    Outcome,
    /// In lower case.
    Header(String),
    /// A JSON pointer.
    Json(String),
}

/// Says what a condition wants.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Text(Pattern),
    Outcome(Outcome),
    /// What an after-rule wants that names no outcome: an answer that tells of an effect.
    Committed,
}

/// Says how an attempt missed a rule: by one condition known to fail, or after how many that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    After(usize),
    ByOne,
}

/// Points to the first condition that failed.
pub(super) struct Miss<'r, 'f> {
    condition: &'r Condition,
    seen: Seen<'f>,
    /// How many conditions held before it.
    held: usize,
    /// Whether all others are known to hold.
    alone: bool,
}

/// Checks conditions, cheapest first, and stops as soon as no more is to be learnt.
pub(super) fn check<'r, 'f>(conditions: &'r [Condition], facts: &Facts<'f>) -> Result<(), Miss<'r, 'f>> {
    let mut first: Option<Miss<'r, 'f>> = None;
    for (held, condition) in conditions.iter().enumerate() {
        if let Some(miss) = &mut first
            && condition.field.is_dear()
            && !miss.condition.field.is_dear()
        {
            miss.alone = false;
            break;
        }
        let seen = condition.field.see(facts);
        if condition.wanted.is_met(&seen) {
            continue;
        }
        if let Some(miss) = &mut first {
            miss.alone = false;
            break;
        }
        first = Some(Miss {
            condition,
            seen,
            held,
            alone: true,
        });
    }
    first.map_or(Ok(()), Err)
}

/// Tells whether these conditions need the body of a provider's attempts.
pub(super) fn looks_into_body(conditions: &[Condition], provider: &str) -> bool {
    let is_other = |condition: &Condition| match (&condition.field, &condition.wanted) {
        (Field::Provider, Wanted::Text(pattern)) => !pattern.matches(provider),
        _ => false,
    };
    conditions.iter().any(|condition| condition.field.is_dear()) && !conditions.iter().any(is_other)
}

/// Tells whether nothing that is known already speaks against these conditions: provider and scope.
pub(super) fn may_be_about(conditions: &[Condition], facts: &Facts<'_>) -> bool {
    let mut known = conditions
        .iter()
        .filter(|condition| matches!(condition.field, Field::Provider | Field::Scope));
    known.all(|condition| condition.wanted.is_met(&condition.field.see(facts)))
}

impl Miss<'_, '_> {
    pub(super) fn nearness(&self) -> Nearness {
        if self.alone {
            Nearness::ByOne
        } else {
            Nearness::After(self.held)
        }
    }

    pub(super) fn near_miss(&self) -> NearMiss {
        let field = &self.condition.field;
        let got = self.seen.text();
        let hidden = field.is_secret();
        NearMiss {
            field: field.name(),
            wanted: if hidden {
                SECRET.to_owned()
            } else {
                shown(&self.condition.wanted.text())
            },
            got: got.map(|got| {
                if hidden {
                    SECRET.to_owned()
                } else {
                    shown(&secrets::clean(&got))
                }
            }),
        }
    }
}

impl Field {
    /// Tells whether looking means to parse the body.
    fn is_dear(&self) -> bool {
        matches!(self, Self::Json(_))
    }

    /// Tells whether the value may open something.
    fn is_secret(&self) -> bool {
        const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-api-key"];
        const MEMBERS: [&str; 6] = ["password", "secret", "token", "cvc", "api_key", "authorization"];
        match self {
            Self::Header(name) => HEADERS.contains(&name.as_str()),
            Self::Json(pointer) => {
                let member = pointer.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
                MEMBERS.iter().any(|secret| member.contains(secret))
            }
            _ => false,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Provider => "provider".to_owned(),
            Self::Operation => "operation".to_owned(),
            Self::Scope => "scope".to_owned(),
            Self::Method => "method".to_owned(),
            Self::Path => "path".to_owned(),
            Self::Key => "key".to_owned(),
            Self::Sender => "sender".to_owned(),
            Self::Recipient => "recipient".to_owned(),
            Self::Subject => "subject".to_owned(),
            Self::Outcome => "outcome".to_owned(),
            Self::Header(name) => format!("header.{name}"),
            Self::Json(pointer) => format!("json.{pointer}"),
        }
    }

    fn see<'f>(&self, facts: &Facts<'f>) -> Seen<'f> {
        let text = |text: Option<&'f str>| Seen::Text(text.map(Cow::Borrowed));
        match self {
            Self::Provider => text(Some(facts.provider)),
            Self::Operation => text(facts.operation),
            Self::Scope => text(facts.scope),
            Self::Method => text(facts.method),
            Self::Path => text(facts.path),
            Self::Key => text(facts.key),
            Self::Sender => text(facts.sender),
            Self::Subject => text(facts.subject),
            Self::Recipient => Seen::Texts(Cow::Borrowed(facts.recipients)),
            Self::Outcome => Seen::Outcome(facts.outcome, facts.from_accepted),
            Self::Header(name) => Seen::Texts(Cow::Owned((facts.headers)(name))),
            Self::Json(pointer) => Seen::Text((facts.json)(pointer).map(Cow::Owned)),
        }
    }
}

impl Wanted {
    fn is_met(&self, seen: &Seen<'_>) -> bool {
        match (self, seen) {
            (Self::Text(pattern), Seen::Text(text)) => text.as_deref().is_some_and(|text| pattern.matches(text)),
            (Self::Text(pattern), Seen::Texts(texts)) => texts.iter().any(|text| pattern.matches(text)),
            (Self::Outcome(wanted), Seen::Outcome(got, _)) => *got == Some(*wanted),
            (Self::Committed, Seen::Outcome(got, from_accepted)) => match got {
                Some(Outcome::Accepted) => true,
                Some(Outcome::Replayed) => *from_accepted,
                _ => false,
            },
            (Self::Text(_), Seen::Outcome(..))
            | (Self::Outcome(_) | Self::Committed, Seen::Text(_) | Seen::Texts(_)) => false,
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(pattern) => Cow::Borrowed(pattern.as_str()),
            Self::Outcome(outcome) => Cow::Borrowed(outcome.as_str()),
            Self::Committed => Cow::Borrowed("accepted, or replayed from an accepted record"),
        }
    }
}

/// Holds what an attempt had to show for a field.
enum Seen<'f> {
    Text(Option<Cow<'f, str>>),
    Texts(Cow<'f, [String]>),
    Outcome(Option<Outcome>, bool),
}

impl Seen<'_> {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => text.as_deref().map(str::to_owned),
            Self::Texts(texts) => (!texts.is_empty()).then(|| texts.join(", ")),
            Self::Outcome(Some(Outcome::Replayed), false) => {
                Some("replayed from a record that was not accepted".to_owned())
            }
            Self::Outcome(outcome, _) => outcome.map(|outcome| outcome.as_str().to_owned()),
        }
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
