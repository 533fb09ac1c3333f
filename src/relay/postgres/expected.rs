//! What the server still owes: one entry a message that it answers, in the order in which they were sent.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::statement::Statement;

/// Is one message that the server will answer.
#[derive(Debug)]
pub(super) enum Expected {
    /// The login, up to the first `ReadyForQuery`.
    Login,
    Parse(Box<str>, Arc<Statement>),
    Bind(Box<str>, Option<Arc<Statement>>),
    Describe,
    /// Of a statement (`S`) or a portal (`P`).
    Close(u8, Box<str>),
    Execute(Option<Arc<Statement>>),
    /// A simple query: its statements that are not answered yet.
    Query(VecDeque<Statement>),
    Function,
    Sync,
    /// The client's own, or one that was put in to hear of a commit in time.
    Flush,
    /// What was sent in place of a statement that a fault refuses; whether as a simple query.
    Refusal(bool),
}

impl Expected {
    /// Says whether nothing more is sent before it is answered.
    ///
    /// So it is known, at each statement, whether it begins a transaction; the server answers in order in any case.
    pub(super) fn is_gate(&self) -> bool {
        use Expected::{Flush, Function, Query, Refusal, Sync};
        matches!(self, Query(_) | Function | Sync | Flush | Refusal(_))
    }

    /// Says whether it is a part of the extended protocol, of which nothing more is carried out after an error until Sync.
    pub(super) fn is_extended(&self) -> bool {
        use Expected::{Function, Login, Query, Refusal, Sync};
        !matches!(self, Login | Query(_) | Function | Sync | Refusal(true))
    }
}

/// Remembers what names mean.
#[derive(Debug, Default)]
pub(super) struct Names {
    statements: HashMap<Box<str>, Arc<Statement>>,
    portals: HashMap<Box<str>, Option<Arc<Statement>>>,
}

impl Names {
    /// How many names are remembered, of each kind.
    pub(super) const MOST: usize = 10_000;

    /// Says whether there are more names than are remembered.
    pub(super) fn are_too_many(&self) -> bool {
        self.statements.len() > Self::MOST || self.portals.len() > Self::MOST
    }

    pub(super) fn prepare(&mut self, name: Box<str>, statement: Arc<Statement>) {
        self.statements.insert(name, statement);
    }

    pub(super) fn bind(&mut self, name: Box<str>, statement: Option<Arc<Statement>>) {
        self.portals.insert(name, statement);
    }

    pub(super) fn close(&mut self, kind: u8, name: &str) {
        if kind == b'S' {
            self.statements.remove(name);
        } else {
            self.portals.remove(name);
        }
    }

    /// Forgets the portals: the transaction in which they lived has ended.
    pub(super) fn end_transaction(&mut self) {
        self.portals.clear();
    }

    /// Returns the statement of a name, also of one whose Parse is not answered yet.
    pub(super) fn statement(&self, name: &str, sent: &VecDeque<Expected>) -> Option<Arc<Statement>> {
        let sent = sent.iter().rev().find_map(|expected| match expected {
            Expected::Parse(own, statement) if **own == *name => Some(statement),
            _ => None,
        });
        sent.or_else(|| self.statements.get(name)).map(Arc::clone)
    }

    /// Returns the statement of a portal, also of one whose Bind is not answered yet.
    pub(super) fn portal(&self, name: &str, sent: &VecDeque<Expected>) -> Option<Arc<Statement>> {
        let sent = sent.iter().rev().find_map(|expected| match expected {
            Expected::Bind(own, statement) if **own == *name => Some(statement),
            _ => None,
        });
        sent.or_else(|| self.portals.get(name)).cloned().flatten()
    }
}
