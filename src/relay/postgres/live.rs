//! One attempt: from the first statement of a transaction to the end of the answer that tells of its end.

use std::sync::Arc;

use bytes::Bytes;

use super::statement::Statement;
use super::transaction::{Decided, Writes};
use crate::attempt::{Held, fired};
use crate::faults::{Answer, Facts, Met, Point, Rules, Verdict, comparable_sql};
use crate::ledger::{Arrival, Outcome, Peer, Relayed, rfc3339, secrets};
use crate::relay::Relay;
use crate::store::{Decision, Scope, Stale, Ticket, TooManyScopes, Tx};

/// How much of the statements' text is kept for rules and for the journal, and of how many.
const TEXT: usize = 64 << 10;
const STATEMENTS: usize = 256;
/// How much of the first statement stands in the journal's line.
const LINE: usize = 200;

/// Is an attempt that is under way.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) ticket: Ticket,
    provider: &'static str,
    /// Whether a `pass` has won: no rule meets it any more.
    pub(super) exempt: bool,
    /// What a fault refuses the statement with that the server is about to refuse in its place.
    pub(super) refusal: Option<Answer>,
    /// Set when the transaction has ended: what becomes of the answer.
    pub(super) settled: Option<Settled>,
    operation: &'static str,
    operations: Vec<String>,
    sql: Vec<String>,
    text: String,
    met: Met,
    refused: bool,
}

/// Says what becomes of an answer.
#[derive(Debug)]
pub(super) enum Settled {
    /// As the rules said, if they did.
    Verdict(Option<Verdict>),
    /// The world was reset meanwhile.
    Stale,
}

impl Live {
    /// Begins an attempt.
    pub(super) fn begin(
        relay: &Relay,
        scope: &Scope,
        peer: Peer,
        statements: &[Statement],
    ) -> Result<Self, TooManyScopes> {
        let first = statements.iter().find(|s| !s.only_begins()).or(statements.first());
        let line: String = first.map_or("", |s| &*s.text).chars().take(LINE).collect();
        let line = clean(&line.split_whitespace().collect::<Vec<_>>().join(" "));
        let operation = first.map_or("other", Statement::operation);
        Self::begin_as(relay, scope, peer, operation, line)
    }

    /// Begins an attempt that stands for a connection which cannot be followed.
    pub(super) fn unseen(relay: &Relay, scope: &Scope, peer: Peer) -> Result<Self, TooManyScopes> {
        Self::begin_as(relay, scope, peer, "other", "(cannot be followed)".to_owned())
    }

    fn begin_as(
        relay: &Relay,
        scope: &Scope,
        peer: Peer,
        operation: &'static str,
        line: String,
    ) -> Result<Self, TooManyScopes> {
        let arrival = Arrival {
            provider: relay.about.name.into(),
            class: relay.about.class,
            operation: operation.into(),
            line,
            peer,
        };
        let ticket = relay.house.way.store.begin(scope, arrival)?;
        ticket.note(|entry| entry.relayed = Some(Box::new(Relayed::default())));
        Ok(Self {
            ticket,
            provider: relay.about.name,
            exempt: false,
            refusal: None,
            settled: None,
            operation,
            operations: Vec::new(),
            sql: Vec::new(),
            text: String::new(),
            met: Met::default(),
            refused: false,
        })
    }

    /// Takes statements for the rules after the commit, and for the journal.
    pub(super) fn take(&mut self, statements: &[Statement]) {
        for statement in statements {
            add(&mut self.operations, statement.operation().to_owned());
            if self.text.len() < TEXT && self.sql.len() < STATEMENTS {
                add(&mut self.sql, comparable_sql(&statement.text));
                if !self.text.is_empty() {
                    self.text.push_str(";\n");
                }
                self.text.push_str(&statement.text);
            }
        }
        let text = Bytes::from(clean(&self.text));
        let kept = self.ticket.ledger().keep(Bytes::new(), text, false);
        self.ticket.note(|entry| entry.request = Some(kept));
    }

    /// Asks the rules about statements before they are forwarded.
    pub(super) fn ask_before(&mut self, rules: &Rules, statements: &[Statement]) -> Result<Option<Verdict>, Stale> {
        if self.exempt {
            return Ok(None);
        }
        let operations: Vec<String> = statements.iter().map(|s| s.operation().to_owned()).collect();
        let sql: Vec<String> = statements.iter().map(|s| comparable_sql(&s.text)).collect();
        let Self {
            ticket,
            met,
            operation,
            provider,
            ..
        } = self;
        let scope = ticket.scope().name();
        let facts = Facts {
            operation: Some(operation),
            operations: &operations,
            sql: &sql,
            scope: Some(&scope),
            ..Facts::new(provider)
        };
        ticket.while_current(|_| rules.ask_again(Point::Before, &facts, &[], met))
    }

    /// Counts what the transaction came to, and asks the rules about it in the same moment.
    pub(super) async fn decide(&mut self, rules: &Rules, decided: Decided) {
        let outcome = self.outcome(&decided);
        if let Some(note) = note(&decided, self.refused) {
            self.ticket.note(|entry| entry.notes.push(note));
        }
        let writes = match decided {
            Decided::Committed(writes) => writes,
            _ => Writes::default(),
        };
        let (exempt, id) = (self.exempt, self.ticket.id().to_string());
        let (operation, operations, sql) = (self.operation, &self.operations, &self.sql);
        let scope = self.ticket.scope().name();
        let provider = self.provider;
        let ask = || {
            let facts = Facts {
                operation: Some(operation),
                operations,
                sql,
                scope: Some(&scope),
                outcome: Some(outcome),
                ..Facts::new(provider)
            };
            rules.ask(Point::After, &facts, &[])
        };
        let asked = !exempt && outcome != Outcome::Incomplete;
        let correlations = Vec::new();
        let counted = self.ticket.transact(
            |tx| count(tx, &writes, &id),
            |(), _| (Some(Decision { outcome, correlations }), asked.then(ask).flatten()),
        );
        self.settled = Some(match counted.await {
            Ok(((), verdict)) => {
                if let Some(verdict) = &verdict {
                    self.ticket.note_fired(fired(verdict));
                }
                Settled::Verdict(verdict)
            }
            Err(Stale) => Settled::Stale,
        });
    }

    fn outcome(&self, decided: &Decided) -> Outcome {
        match decided {
            Decided::Committed(writes) if writes.is_empty() => Outcome::Read,
            Decided::Committed(_) => Outcome::Accepted,
            Decided::Failed { only_read: true, .. } if !self.refused => Outcome::Read,
            Decided::Failed { .. } => Outcome::Refused,
            Decided::RolledBack => Outcome::Incomplete,
            Decided::Prepared => Outcome::Unknown,
        }
    }

    /// Says that a fault refuses the statement.
    pub(super) fn refuse(&mut self, answer: Answer) {
        self.refusal = Some(answer);
        self.refused = true;
    }

    /// Says what is held, for a pause.
    pub(super) fn held(&self, point: Point, rule: Arc<str>) -> Held {
        Held {
            id: String::new(),
            scope: Some(self.ticket.scope().name()),
            provider: self.provider.into(),
            operation: Some(self.operation.into()),
            attempt: Some(self.ticket.id()),
            key: None,
            point,
            rule,
            barrier: None,
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
        }
    }
}

fn count(tx: &mut Tx<'_>, writes: &Writes, id: &str) {
    if let Some(rows) = writes.rows {
        tx.effects("row", id, rows);
    }
    if writes.uncounted > 0 {
        tx.effects("write", id, writes.uncounted);
    }
}

fn note(decided: &Decided, refused: bool) -> Option<String> {
    match decided {
        Decided::Failed { .. } if refused => None,
        Decided::Failed { code, .. } => Some(format!("the server said no: SQLSTATE {code}")),
        Decided::RolledBack => Some("rolled back with all that it had written".to_owned()),
        Decided::Prepared => Some("prepared for a commit in two phases, which may come from anybody".to_owned()),
        Decided::Committed(_) => None,
    }
}

fn add(list: &mut Vec<String>, text: String) {
    if list.len() < STATEMENTS && !list.contains(&text) {
        list.push(text);
    }
}

/// Takes secrets out of SQL: those of every text, and what stands behind PASSWORD.
fn clean(sql: &str) -> String {
    const WORD: &str = "password";
    let lower = sql.to_ascii_lowercase();
    let (mut out, mut at) = (String::with_capacity(sql.len()), 0);
    while let Some(found) = lower[at..].find(WORD) {
        let after = at + found + WORD.len();
        out.push_str(&sql[at..after]);
        at = after;
        let blank = sql[at..].len() - sql[at..].trim_start().len();
        let Some(literal) = sql[at + blank..].strip_prefix('\'') else {
            continue;
        };
        let end = literal.find('\'').unwrap_or(literal.len());
        out.push_str(&format!(" '{}'", secrets::mark(&literal.as_bytes()[..end])));
        at = (at + blank + 1 + end + 1).min(sql.len());
    }
    out.push_str(&sql[at..]);
    secrets::clean(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn passwords_in_sql_are_taken_out() {
        let said =
            clean("alter user bob password 'hunter2'; CREATE USER x PASSWORD\n'other' LOGIN; SELECT password FROM t");
        assert!(!said.contains("hunter2") && !said.contains("other"), "{said}");
        assert!(said.contains("' LOGIN; SELECT password FROM t"), "{said}");
        assert!(!clean("PASSWORD 'unfinished").contains("unfinished"));
    }
}
