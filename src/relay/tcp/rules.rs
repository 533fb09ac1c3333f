//! Where rules meet a connection.

use std::sync::Arc;

use super::CONNECTION;
use crate::attempt::Held;
use crate::faults::{Facts, Met, Point, Rules, Step, Verdict};
use crate::ledger::{Outcome, rfc3339};
use crate::store::{Decision, Stale, Ticket};

/// Asks the rules about one connection, at each place once.
#[derive(Debug)]
pub(super) struct Asking {
    provider: &'static str,
    scope: Arc<str>,
    before: Met,
    after: Met,
    /// How far the marks of each direction have been asked about.
    requested: u64,
    answered: u64,
    /// Whether a `pass` has won: no rule meets it any more.
    pub(super) exempt: bool,
}

impl Asking {
    pub(super) fn new(provider: &'static str, scope: Arc<str>) -> Self {
        Self {
            provider,
            scope,
            before: Met::default(),
            after: Met::default(),
            requested: 0,
            answered: 0,
            exempt: false,
        }
    }

    fn facts(&self, step: Step, mark: u64) -> Facts<'_> {
        Facts {
            operation: Some(CONNECTION),
            scope: Some(&self.scope),
            step: Some(step),
            is_tcp: true,
            content_bytes: mark,
            ..Facts::new(self.provider)
        }
    }

    /// Asks when the client is there.
    pub(super) fn connected(&mut self, rules: &Rules, ticket: &Ticket) -> Result<Option<Verdict>, Stale> {
        self.before(rules, ticket, Step::Connect, 0)
    }

    /// Returns after how many more bytes of the client the rules are to be asked.
    pub(super) fn next_mark(&self, rules: &Rules) -> Option<u64> {
        let marks = rules.marks(Step::Request).into_iter();
        let mut marks = marks.filter(|mark| !self.exempt && *mark > self.requested);
        marks.next()
    }

    /// Asks when so many bytes have gone up.
    pub(super) fn requested(&mut self, rules: &Rules, ticket: &Ticket, bytes: u64) -> Result<Option<Verdict>, Stale> {
        self.requested = bytes;
        self.before(rules, ticket, Step::Request, bytes)
    }

    fn before(&mut self, rules: &Rules, ticket: &Ticket, step: Step, mark: u64) -> Result<Option<Verdict>, Stale> {
        if self.exempt {
            return Ok(None);
        }
        let mut met = std::mem::take(&mut self.before);
        let facts = self.facts(step, mark);
        let asked = ticket.while_current(|_| rules.ask_again(Point::Before, &facts, &[], &mut met));
        self.before = met;
        asked
    }

    /// Accepts: bytes have come down that follow bytes which went up. Asks in the same moment.
    pub(super) async fn accept(&mut self, rules: &Rules, ticket: &mut Ticket) -> Result<Option<Verdict>, Stale> {
        let id = ticket.id().to_string();
        let mut met = std::mem::take(&mut self.after);
        let asking = &*self;
        let accepted = Decision {
            outcome: Outcome::Accepted,
            correlations: Vec::new(),
        };
        let counted = ticket.transact(
            |tx| tx.effect("connection", &id),
            |(), _| {
                let facts = Facts {
                    outcome: Some(Outcome::Accepted),
                    ..asking.facts(Step::Answer, 1)
                };
                let ask = || rules.ask_again(Point::After, &facts, &[], &mut met);
                (Some(accepted), (!asking.exempt).then(ask).flatten())
            },
        );
        let counted = counted.await;
        self.after = met;
        self.answered = 1;
        counted.map(|((), verdict)| verdict)
    }

    /// Asks when bytes come down that follow so many bytes up, about the next mark that was not asked about.
    pub(super) fn answered(&mut self, rules: &Rules, ticket: &Ticket, bytes: u64) -> Result<Option<Verdict>, Stale> {
        let asked = self.answered;
        let marks = rules.marks(Step::Answer).into_iter();
        for mark in marks.filter(|mark| (asked + 1..=bytes).contains(mark)) {
            if self.exempt {
                break;
            }
            let mut met = std::mem::take(&mut self.after);
            let facts = Facts {
                outcome: Some(Outcome::Accepted),
                ..self.facts(Step::Answer, mark)
            };
            let asked = ticket.while_current(|_| rules.ask_again(Point::After, &facts, &[], &mut met));
            self.after = met;
            self.answered = mark;
            if let Some(verdict) = asked? {
                return Ok(Some(verdict));
            }
        }
        self.answered = self.answered.max(bytes);
        Ok(None)
    }

    pub(super) fn held(&self, ticket: &Ticket, point: Point, rule: Arc<str>) -> Held {
        Held {
            id: String::new(),
            scope: Some(Arc::clone(&self.scope)),
            provider: self.provider.into(),
            operation: Some(CONNECTION.into()),
            attempt: Some(ticket.id()),
            key: None,
            point,
            rule,
            barrier: None,
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
        }
    }
}
