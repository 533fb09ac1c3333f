//! Which attempts a rule is about: those that come in, those that the suite sends, or both.
//!
//! What the suite sends meets only rules that name its provider or its operation, or whose mode has no other meaning: rules for what comes
//! in stay what they are when somebody asks to be told by webhook.

use super::catalog::Reach;
use super::condition::Field;
use super::facts::Facts;
use super::parse::Draft;
use super::reader::Reader;
use super::rule::{Mode, Point};

/// Modes that only what the suite sends can meet.
const SENT_ONLY: [Mode; 5] = [
    Mode::Duplicate,
    Mode::Reorder,
    Mode::Drop,
    Mode::BadSignature,
    Mode::StaleTimestamp,
];
/// Modes of those that say what an order says itself.
const NOT_ORDERED: [Mode; 2] = [Mode::Duplicate, Mode::Reorder];
/// Modes that it can meet besides.
const SENT_TOO: [Mode; 5] = [
    Mode::Pass,
    Mode::FailBeforeCommit,
    Mode::DropAfterCommit,
    Mode::HoldBeforeCommit,
    Mode::Delay,
];
/// Fields that speak of an answer of ours, or of a mail.
const NOT_SENT: [&str; 10] = [
    "how",
    "bytes",
    "status",
    "code",
    "headers",
    "body",
    "step",
    "sender",
    "recipient",
    "subject",
];

/// Says which attempts a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Direction {
    pub(super) incoming: bool,
    /// Those that the suite sends of itself.
    pub(super) sent: bool,
    /// Those that it sends because somebody has ordered them.
    pub(super) ordered: bool,
}

impl Direction {
    const INCOMING: Self = Self {
        incoming: true,
        sent: false,
        ordered: false,
    };
    const SENT: Self = Self {
        incoming: false,
        sent: true,
        ordered: true,
    };

    /// Says whether it holds for an attempt, by whether it is sent, to whose order, or comes in.
    pub(super) fn holds(self, facts: &Facts<'_>) -> bool {
        match (facts.sent, facts.ordered) {
            (false, _) => self.incoming,
            (true, true) => self.ordered,
            (true, false) => self.sent,
        }
    }
}

/// Finds out which attempts a rule is about, and refuses what these cannot meet.
pub(super) fn check(reader: &mut Reader<'_>, draft: &Draft, reach: Reach) -> Direction {
    let Some(mode) = draft.mode else {
        return Direction::INCOMING;
    };
    let named = draft.pattern(&Field::Provider).is_some() || draft.pattern(&Field::Operation).is_some();
    let of_sent = NOT_SENT.iter().filter(|field| reader.has(field)).copied();
    let foreign: Vec<&str> = of_sent.collect();
    if SENT_ONLY.contains(&mode) {
        if !reach.sent {
            let why = format!("mode {mode} is for what the suite sends itself, and this rule names what it is sent");
            reader.report_allowing("mode", why, ["with provider stripe-webhooks"]);
        }
        if reach.sent && !reach.unordered && NOT_ORDERED.contains(&mode) {
            let why = format!(
                "mode {mode} does not go with what is sent because somebody asks for it: the call itself says `copies` and `order`"
            );
            let allowed = SENT_ONLY
                .iter()
                .chain(&SENT_TOO)
                .filter(|mode| !NOT_ORDERED.contains(mode));
            reader.report_allowing("mode", why, allowed.map(|mode| mode.as_str()));
        }
        refuse(reader, mode, &foreign);
        return Direction {
            ordered: !NOT_ORDERED.contains(&mode),
            ..Direction::SENT
        };
    }
    if !reach.sent || !named {
        return Direction::INCOMING;
    }
    let after_delay = mode == Mode::Delay && draft.at == Some(Point::After);
    if reach.http || reach.smtp {
        let late = mode == Mode::Delay && draft.at.is_none();
        let sent = SENT_TOO.contains(&mode) && foreign.is_empty() && !after_delay && !late;
        return Direction {
            incoming: true,
            sent,
            ordered: sent,
        };
    }
    if !SENT_TOO.contains(&mode) {
        let why = format!("mode {mode} does not go with what the suite sends itself");
        let allowed = SENT_ONLY.iter().chain(&SENT_TOO);
        reader.report_allowing("mode", why, allowed.map(|mode| mode.as_str()));
    }
    if after_delay {
        reader.report_allowing("at", "what is sent can only be late before it is sent", ["before"]);
    }
    refuse(reader, mode, &foreign);
    Direction::SENT
}

fn refuse(reader: &mut Reader<'_>, mode: Mode, foreign: &[&str]) {
    for field in foreign {
        reader.report(
            field,
            format!("does not go with mode {mode} of what the suite sends itself"),
        );
    }
}
