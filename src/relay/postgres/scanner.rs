//! Reads the text of statements, byte by byte: where one ends, what it is, and whether it writes without a count on the wire.

use std::sync::Arc;

use super::statement::{Building, Statement, Token};

/// How much of one statement's text is kept.
const LONGEST_TEXT: usize = 16 << 10;
/// How many bytes of a word tell what it is; PostgreSQL itself cuts names at 63.
const LONGEST_WORD: usize = 63;

/// Splits the text of a message into statements as the server does; memory is bounded by what is kept of each.
#[derive(Debug)]
pub(super) struct Scanner {
    state: State,
    /// Whether a backslash escapes in every string: `standard_conforming_strings` is off.
    backslashes: bool,
    word: Vec<u8>,
    /// What is kept of the statement's text; begins with its first token.
    text: Vec<u8>,
    building: Building,
}

#[derive(Debug)]
enum State {
    Between,
    Word,
    Quoted {
        escapes: bool,
        after_backslash: bool,
    },
    Name,
    LineComment,
    Comment {
        depth: u32,
        before: u8,
    },
    DollarTag(Vec<u8>),
    Dollar {
        tag: Vec<u8>,
        matched: usize,
    },
    /// After a `-` or `/` that may begin a comment.
    Maybe(u8),
}

impl Scanner {
    /// Begins a text.
    pub(super) fn new(backslashes: bool) -> Self {
        Self {
            state: State::Between,
            backslashes,
            word: Vec::new(),
            text: Vec::new(),
            building: Building::default(),
        }
    }

    /// Reads a piece of the text; hands each statement that ends in it to `done`.
    pub(super) fn feed(&mut self, piece: &[u8], mut done: impl FnMut(Statement)) {
        for &byte in piece {
            if let Some(statement) = self.step(byte) {
                done(statement);
            }
        }
    }

    /// Returns what the unfinished statement is, as far as it was read.
    pub(super) fn so_far(&self) -> Option<Statement> {
        let mut building = self.building.clone();
        if let State::Word = self.state {
            building.take(Token::Word(&self.word));
        }
        building.finish(self.kept())
    }

    /// Ends the text; returns its last statement, if there is one.
    pub(super) fn finish(mut self) -> Option<Statement> {
        self.end_word();
        self.end_statement()
    }

    fn step(&mut self, byte: u8) -> Option<Statement> {
        if self.building.has_begun() && self.text.len() < LONGEST_TEXT {
            self.text.push(byte);
        }
        match &mut self.state {
            State::Quoted {
                escapes,
                after_backslash,
            } => {
                if *after_backslash {
                    *after_backslash = false;
                } else if *escapes && byte == b'\\' {
                    *after_backslash = true;
                } else if byte == b'\'' {
                    self.state = State::Between;
                }
            }
            State::Name if byte == b'"' => {
                self.building.take(Token::Name(&self.word));
                self.word.clear();
                self.state = State::Between;
            }
            State::Name => self.push_to_word(byte),
            State::LineComment => {
                if byte == b'\n' {
                    self.state = State::Between;
                }
            }
            State::Comment { depth, before } => {
                let pair = (std::mem::replace(before, byte), byte);
                match pair {
                    (b'*', b'/') if *depth == 1 => self.state = State::Between,
                    (b'*', b'/') => (*depth, *before) = (*depth - 1, 0),
                    (b'/', b'*') => (*depth, *before) = (*depth + 1, 0),
                    _ => {}
                }
            }
            State::Dollar { tag, matched } => {
                *matched = match (byte, *matched) {
                    (b'$', n) if n == tag.len() + 1 => {
                        self.state = State::Between;
                        return None;
                    }
                    (b'$', _) => 1,
                    (byte, n) if n > 0 && tag.get(n - 1) == Some(&byte) => n + 1,
                    _ => 0,
                };
            }
            State::DollarTag(tag) => match byte {
                b'$' => {
                    let tag = std::mem::take(tag);
                    self.state = State::Dollar { tag, matched: 0 };
                }
                _ if is_word(byte) && !(tag.is_empty() && byte.is_ascii_digit()) && tag.len() < LONGEST_WORD => {
                    tag.push(byte);
                }
                _ => {
                    self.state = State::Between;
                    return self.open(byte);
                }
            },
            State::Maybe(first) => {
                let pair = (*first, byte);
                match pair {
                    (b'-', b'-') => self.state = State::LineComment,
                    (b'/', b'*') => self.state = State::Comment { depth: 1, before: 0 },
                    _ => {
                        self.begin(byte);
                        self.building.take(Token::Mark(pair.0));
                        self.state = State::Between;
                        return self.open(byte);
                    }
                }
            }
            State::Word if is_word(byte) || byte == b'$' => self.push_to_word(byte),
            State::Word => {
                if byte == b'\'' && self.word.eq_ignore_ascii_case(b"e") {
                    self.word.clear();
                    self.quote(true);
                    return None;
                }
                self.end_word();
                self.state = State::Between;
                return self.open(byte);
            }
            State::Between => return self.open(byte),
        }
        None
    }

    /// Reads a byte between tokens.
    fn open(&mut self, byte: u8) -> Option<Statement> {
        match byte {
            b'-' | b'/' => self.state = State::Maybe(byte),
            b';' if self.building.may_end() => {
                if self.text.last() == Some(&b';') {
                    self.text.pop();
                }
                return self.end_statement();
            }
            _ if byte.is_ascii_whitespace() || byte == 0 => {}
            _ => {
                self.begin(byte);
                match byte {
                    b'\'' => {
                        self.building.take(Token::Text);
                        self.quote(self.backslashes);
                    }
                    b'"' => self.state = State::Name,
                    b'$' => self.state = State::DollarTag(Vec::new()),
                    _ if is_word(byte) => {
                        self.push_to_word(byte);
                        self.state = State::Word;
                    }
                    _ => self.building.take(Token::Mark(byte)),
                }
            }
        }
        None
    }

    /// Keeps text from the first token on: comments before it say nothing.
    fn begin(&mut self, byte: u8) {
        if !self.building.has_begun() {
            self.building.begin();
            self.text.push(byte);
        }
    }

    fn quote(&mut self, escapes: bool) {
        self.state = State::Quoted {
            escapes,
            after_backslash: false,
        };
    }

    fn push_to_word(&mut self, byte: u8) {
        if self.word.len() < LONGEST_WORD {
            self.word.push(byte);
        }
    }

    fn end_word(&mut self) {
        if let State::Word = self.state {
            self.building.take(Token::Word(&self.word));
            self.word.clear();
        }
    }

    fn end_statement(&mut self) -> Option<Statement> {
        let text = self.kept();
        self.text.clear();
        std::mem::take(&mut self.building).finish(text)
    }

    fn kept(&self) -> Arc<str> {
        String::from_utf8_lossy(self.text.trim_ascii_end()).into()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
