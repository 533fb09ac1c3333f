//! What is written in one transaction, as far as the wire tells, and when it counts.
//!
//! Writes are provisional until a boundary: the tag `COMMIT` accepts them, the tag `ROLLBACK` discards them, and `ReadyForQuery` with the
//! status `I` accepts them unless an error came before. A `CommandComplete` alone accepts nothing: what it speaks of is not visible yet.

use super::statement::{Statement, Verb};

/// How many savepoints are remembered.
const MOST_SAVEPOINTS: usize = 10_000;

/// Is what one transaction has written, if it commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// Rows, as tags count them; none if nothing was said of rows.
    pub(super) rows: Option<u64>,
    /// Writes that have no count on the wire.
    pub(super) uncounted: u64,
}

impl Writes {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Says how an attempt ended on the server's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// The transaction committed.
    Committed(Writes),
    /// It failed: the SQLSTATE.
    Failed { code: Box<str>, only_read: bool },
    /// It was rolled back with what it had written.
    RolledBack,
    /// It waits for COMMIT PREPARED, whoever says it.
    Prepared,
}

/// Follows one transaction; one of these serves all transactions of a connection, one after another.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Whether an attempt is under way.
    open: bool,
    writes: Writes,
    failed: Option<Box<str>>,
    rolled_back: bool,
    only_read: bool,
    savepoints: Vec<(Box<str>, Writes)>,
    forgot_savepoints: bool,
}

impl Transaction {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Notes that a statement is on its way; returns whether an attempt begins with it.
    pub(super) fn asks(&mut self, statement: Option<&Statement>) -> bool {
        let begins = !std::mem::replace(&mut self.open, true);
        if begins {
            self.only_read = true;
        }
        self.only_read &= statement.is_some_and(Statement::only_reads);
        begins
    }

    /// Takes a tag of a statement that is complete. `copied_in` says whether rows were copied to the server on the wire.
    pub(super) fn complete(
        &mut self,
        tag: &str,
        statement: Option<&Statement>,
        copied_in: Option<bool>,
    ) -> Option<Decided> {
        let count = tag.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
        let hidden = statement.is_some_and(|s| s.hidden);
        let verb = statement.map(|s| s.verb);
        match first_word(tag) {
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => {
                self.add(count);
                self.uncounted(hidden);
            }
            "COPY" if copied_in.unwrap_or(verb == Some(Verb::CopyFrom)) => self.add(count),
            "SELECT" => {
                // CREATE TABLE AS has this tag as well.
                let is_query = matches!(verb, None | Some(Verb::Select | Verb::Execute | Verb::Prepare(_)));
                self.uncounted(hidden || !is_query);
            }
            "COMMIT" if tag == "COMMIT PREPARED" => self.uncounted(true),
            "COMMIT" => return self.end(),
            "ROLLBACK" if tag == "ROLLBACK PREPARED" => {}
            "ROLLBACK" if verb == Some(Verb::RollbackTo) => self.roll_back_to(statement),
            "ROLLBACK" => {
                self.rolled_back = !self.writes.is_empty();
                self.writes = Writes::default();
                return self.end();
            }
            "SAVEPOINT" => self.save(statement),
            "RELEASE" => self.release(statement),
            "PREPARE" if tag == "PREPARE TRANSACTION" => {
                let open = std::mem::take(&mut *self).open;
                return open.then_some(Decided::Prepared);
            }
            "COPY" | "EXPLAIN" => self.uncounted(hidden),
            word => self.uncounted(writes(word, tag)),
        }
        None
    }

    /// Takes an error.
    pub(super) fn fail(&mut self, code: &str) {
        self.failed = Some(code.into());
    }

    /// Takes `ReadyForQuery` outside a transaction block: what was not said to have ended has ended now.
    pub(super) fn idle(&mut self) -> Option<Decided> {
        self.end()
    }

    fn end(&mut self) -> Option<Decided> {
        let ended = std::mem::take(self);
        if !ended.open {
            return None;
        }
        Some(match ended.failed {
            Some(code) => Decided::Failed {
                code,
                only_read: ended.only_read,
            },
            None if ended.rolled_back => Decided::RolledBack,
            None => Decided::Committed(ended.writes),
        })
    }

    fn add(&mut self, rows: Option<u64>) {
        let sum = self.writes.rows.get_or_insert(0);
        *sum = sum.saturating_add(rows.unwrap_or(0));
    }

    fn uncounted(&mut self, writes: bool) {
        self.writes.uncounted += u64::from(writes);
    }

    fn save(&mut self, statement: Option<&Statement>) {
        let name = statement.and_then(|s| s.name.clone());
        if self.savepoints.len() < MOST_SAVEPOINTS {
            self.savepoints.push((name.unwrap_or_default(), self.writes.clone()));
        } else {
            self.forgot_savepoints = true;
        }
    }

    fn release(&mut self, statement: Option<&Statement>) {
        if let Some(at) = self.savepoint(statement) {
            self.savepoints.truncate(at);
        }
    }

    fn roll_back_to(&mut self, statement: Option<&Statement>) {
        if let Some(at) = self.savepoint(statement) {
            // The savepoint itself stays.
            self.savepoints.truncate(at + 1);
            self.writes = self.savepoints[at].1.clone();
            self.failed = None;
        }
    }

    fn savepoint(&self, statement: Option<&Statement>) -> Option<usize> {
        let name = statement?.name.as_deref().unwrap_or_default();
        self.savepoints.iter().rposition(|(own, _)| **own == *name)
    }

    /// Says whether it has failed, and then whether it only read.
    pub(super) fn failed(&self) -> Option<bool> {
        self.failed.as_ref().filter(|_| self.open).map(|_| self.only_read)
    }

    /// Says whether it has lost count: there were more savepoints than are remembered.
    pub(super) fn lost_count(&self) -> bool {
        self.forgot_savepoints
    }
}

fn first_word(tag: &str) -> &str {
    tag.split(' ').next().unwrap_or_default()
}

/// Says whether a statement with this tag changes what others can see. What may change nothing, as CALL and DO may, is taken for a change.
fn writes(word: &str, tag: &str) -> bool {
    const READS: [&str; 25] = [
        "ANALYZE",
        "BEGIN",
        "CHECKPOINT",
        "CLOSE",
        "CLUSTER",
        "DEALLOCATE",
        "DECLARE",
        "DISCARD",
        "EMPTY",
        "EXECUTE",
        "FETCH",
        "LISTEN",
        "LOAD",
        "LOCK",
        "MOVE",
        "PREPARE",
        "REINDEX",
        "RESET",
        "SET",
        "SHOW",
        "START",
        "UNLISTEN",
        "VACUUM",
        "VALUES",
        "TABLE",
    ];
    !READS.contains(&word) && !tag.is_empty()
}
