//! What one statement is: its operation, what it does to a transaction, and what it writes unseen.

use std::sync::Arc;

/// Is one statement of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Its text from the first token on, or the first part of it.
    pub(super) text: Arc<str>,
    /// What it is.
    pub(super) verb: Verb,
    /// Whether it writes beside what its tag counts: a CTE that writes, `SELECT … INTO`, `EXPLAIN ANALYZE` of a write.
    pub(super) hidden: bool,
    /// The name in it: of a savepoint, or of a prepared statement.
    pub(super) name: Option<Box<str>>,
}

/// Says what a statement is, as far as a relay has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Insert,
    Update,
    Delete,
    Begin,
    Commit,
    Rollback,
    RollbackTo,
    Savepoint,
    Release,
    CopyFrom,
    CopyTo,
    Prepare(Prepared),
    Execute,
    Other,
}

/// Says what a statement is that was prepared by SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prepared {
    Select,
    Insert,
    Update,
    Delete,
    Other,
}

impl Statement {
    /// Returns the operation that rules and counts know.
    pub(super) fn operation(&self) -> &'static str {
        match self.verb {
            Verb::Select | Verb::CopyTo => "select",
            Verb::Insert | Verb::CopyFrom => "insert",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::Commit => "commit",
            _ => "other",
        }
    }

    /// Says whether it only begins a transaction: it asks for nothing yet.
    pub(super) fn only_begins(&self) -> bool {
        self.verb == Verb::Begin
    }

    /// Says whether a transaction ends with it, or may.
    pub(super) fn ends_transaction(&self) -> bool {
        matches!(self.verb, Verb::Commit | Verb::Rollback)
    }

    /// Says whether it asks for no change, so that its failure is a look-up that failed.
    pub(super) fn only_reads(&self) -> bool {
        matches!(self.verb, Verb::Select | Verb::CopyTo | Verb::Begin) && !self.hidden
    }

    /// Returns what `EXECUTE` of it runs.
    pub(super) fn executed(&self, by: &Self) -> Self {
        let verb = match self.verb {
            Verb::Prepare(Prepared::Select) => Verb::Select,
            Verb::Prepare(Prepared::Insert) => Verb::Insert,
            Verb::Prepare(Prepared::Update) => Verb::Update,
            Verb::Prepare(Prepared::Delete) => Verb::Delete,
            Verb::Prepare(Prepared::Other) => Verb::Other,
            verb => verb,
        };
        Self {
            text: Arc::clone(&by.text),
            verb,
            hidden: self.hidden,
            name: None,
        }
    }
}

/// Is one token of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'a> {
    /// A word, a number, a parameter's number.
    Word(&'a [u8]),
    /// A name in double quotes.
    Name(&'a [u8]),
    /// A text in single quotes.
    Text,
    /// Any other sign.
    Mark(u8),
}

/// Is a statement while it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Building {
    begun: bool,
    depth: u32,
    /// How deep `BEGIN ATOMIC`, the body of an SQL function, is nested: there a semicolon ends nothing.
    atomic: u32,
    first: Word,
    /// The first of SELECT, INSERT, … outside all parentheses.
    main: Word,
    last: Word,
    before_last: Word,
    /// How many tokens have come.
    tokens: u32,
    second: Option<Box<str>>,
    last_name: Option<Box<str>>,
    routine: bool,
    analyze: bool,
    writing_cte: bool,
    into: bool,
    to: bool,
    from: bool,
    two_phase: bool,
}

/// Is a word that says something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Word {
    #[default]
    None,
    Unknown,
    Open,
    Abort,
    Analyze,
    As,
    Atomic,
    Begin,
    Call,
    Case,
    Commit,
    Copy,
    Create,
    Declare,
    Delete,
    Do,
    End,
    Execute,
    Explain,
    From,
    Function,
    Insert,
    Into,
    Materialized,
    Merge,
    Prepare,
    Prepared,
    Procedure,
    Release,
    Rollback,
    Savepoint,
    Select,
    Start,
    Table,
    To,
    Transaction,
    Update,
    Values,
    With,
}

const WORDS: [(&str, Word); 37] = [
    ("abort", Word::Abort),
    ("analyse", Word::Analyze),
    ("analyze", Word::Analyze),
    ("as", Word::As),
    ("atomic", Word::Atomic),
    ("begin", Word::Begin),
    ("call", Word::Call),
    ("case", Word::Case),
    ("commit", Word::Commit),
    ("copy", Word::Copy),
    ("create", Word::Create),
    ("declare", Word::Declare),
    ("delete", Word::Delete),
    ("do", Word::Do),
    ("end", Word::End),
    ("execute", Word::Execute),
    ("explain", Word::Explain),
    ("from", Word::From),
    ("function", Word::Function),
    ("insert", Word::Insert),
    ("into", Word::Into),
    ("materialized", Word::Materialized),
    ("merge", Word::Merge),
    ("prepare", Word::Prepare),
    ("prepared", Word::Prepared),
    ("procedure", Word::Procedure),
    ("release", Word::Release),
    ("rollback", Word::Rollback),
    ("savepoint", Word::Savepoint),
    ("select", Word::Select),
    ("start", Word::Start),
    ("table", Word::Table),
    ("to", Word::To),
    ("transaction", Word::Transaction),
    ("update", Word::Update),
    ("values", Word::Values),
    ("with", Word::With),
];

impl Word {
    fn of(word: &[u8]) -> Self {
        let found = WORDS
            .iter()
            .find(|(text, _)| word.eq_ignore_ascii_case(text.as_bytes()));
        found.map_or(Self::Unknown, |(_, word)| *word)
    }

    fn modifies(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::Merge)
    }

    fn is_main(self) -> bool {
        self.modifies() || matches!(self, Self::Select | Self::Values | Self::Table | Self::Execute)
    }
}

impl Building {
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Says whether a semicolon would end the statement here.
    pub(super) fn may_end(&self) -> bool {
        self.depth == 0 && self.atomic == 0
    }

    /// Takes the next token.
    pub(super) fn take(&mut self, token: Token<'_>) {
        self.tokens += 1;
        let word = match token {
            Token::Word(text) => Word::of(text),
            Token::Mark(b'(') => Word::Open,
            _ => Word::Unknown,
        };
        let name = match token {
            Token::Word(text) => Some(String::from_utf8_lossy(text).to_lowercase()),
            Token::Name(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        if let Some(name) = name.filter(|_| self.takes_names()) {
            if self.tokens == 2 {
                self.second = Some(name.clone().into());
            }
            self.last_name = Some(name.into());
        }
        match token {
            Token::Mark(b'(') => self.depth += 1,
            Token::Mark(b')') => self.depth = self.depth.saturating_sub(1),
            _ => self.word(word),
        }
        self.before_last = std::mem::replace(&mut self.last, word);
    }

    /// Says whether names may matter: in a statement that has none to tell, none is kept.
    fn takes_names(&self) -> bool {
        use Word::{Abort, Execute, None, Prepare, Release, Rollback, Savepoint};
        let first = self.first;
        matches!(first, Abort | Execute | None | Prepare | Release | Rollback | Savepoint)
    }

    fn word(&mut self, word: Word) {
        if self.first == Word::None {
            self.first = word;
        }
        self.body_of_routine(word);
        // `( INSERT …` stands nowhere but in WITH and in COPY: a column may be called so, but not there.
        let opens = self.last == Word::Open && matches!(self.before_last, Word::As | Word::Materialized | Word::Copy);
        if word.modifies() && opens {
            self.writing_cte = true;
        }
        self.analyze |= word == Word::Analyze;
        if self.depth > 0 {
            return;
        }
        if word.is_main() && self.main == Word::None && self.first != Word::Create {
            self.main = word;
        }
        self.into |= word == Word::Into;
        self.two_phase |= word == Word::Prepared;
        match word {
            Word::From if !self.to => self.from = true,
            Word::To if !self.from => self.to = true,
            _ => {}
        }
    }

    fn body_of_routine(&mut self, word: Word) {
        match word {
            Word::Function | Word::Procedure => self.routine |= self.first == Word::Create,
            Word::Atomic if self.routine && self.last == Word::Begin => self.atomic = 1,
            Word::Case if self.atomic > 0 => self.atomic += 1,
            Word::End => self.atomic = self.atomic.saturating_sub(1),
            _ => {}
        }
    }

    /// Ends the statement; none if it has no token.
    pub(super) fn finish(self, text: Arc<str>) -> Option<Statement> {
        if !self.begun {
            return None;
        }
        let verb = self.verb();
        let selects = self.main == Word::Select && matches!(self.first, Word::Select | Word::With | Word::Prepare);
        let explained = self.first == Word::Explain && self.analyze;
        let hidden = match self.first {
            Word::Explain => explained && (self.main.modifies() || self.writing_cte || self.main == Word::Execute),
            _ => self.writing_cte || (selects && self.into),
        };
        let name = match verb {
            Verb::Savepoint | Verb::Release | Verb::RollbackTo => self.last_name,
            Verb::Prepare(_) | Verb::Execute => self.second,
            _ => None,
        };
        Some(Statement {
            text,
            verb,
            hidden,
            name,
        })
    }

    fn verb(&self) -> Verb {
        match self.first {
            Word::With => main_verb(self.main),
            Word::Select | Word::Values | Word::Table => Verb::Select,
            Word::Insert | Word::Update | Word::Delete => main_verb(self.first),
            Word::Begin | Word::Start => Verb::Begin,
            // COMMIT PREPARED ends no transaction of this session.
            Word::Commit | Word::End if !self.two_phase => Verb::Commit,
            Word::Rollback | Word::Abort if self.to => Verb::RollbackTo,
            Word::Rollback | Word::Abort if !self.two_phase => Verb::Rollback,
            Word::Savepoint => Verb::Savepoint,
            Word::Release => Verb::Release,
            Word::Copy if self.from => Verb::CopyFrom,
            Word::Copy => Verb::CopyTo,
            Word::Prepare if self.second.as_deref() != Some("transaction") => Verb::Prepare(prepared(self.main)),
            Word::Execute => Verb::Execute,
            _ => Verb::Other,
        }
    }
}

fn main_verb(word: Word) -> Verb {
    match word {
        Word::Insert => Verb::Insert,
        Word::Update => Verb::Update,
        Word::Delete => Verb::Delete,
        Word::Select | Word::Values | Word::Table => Verb::Select,
        _ => Verb::Other,
    }
}

fn prepared(word: Word) -> Prepared {
    match main_verb(word) {
        Verb::Insert => Prepared::Insert,
        Verb::Update => Prepared::Update,
        Verb::Delete => Prepared::Delete,
        Verb::Select => Prepared::Select,
        _ => Prepared::Other,
    }
}
