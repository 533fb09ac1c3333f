//! The client's messages: what is passed, what is asked about, and what the server will owe for it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::Blind;
use super::super::expected::Expected;
use super::super::frames::{Message, text};
use super::super::scanner::Scanner;
use super::super::statement::{Statement, Verb};
use super::{Ask, Follower, FromClient, MOST_EXPECTED, MOST_STATEMENTS, Pending, Scanning, cut};

impl Follower {
    pub(super) fn client_message(&mut self, message: Message) -> Result<FromClient, Blind> {
        let tag = message.tag();
        if self.copying_in {
            return self.copied(tag, message);
        }
        match tag {
            b'X' => return Ok(FromClient::Leave(message.bytes)),
            // A password, or rows of a copy that has ended in an error: the server passes over these.
            b'p' | b'd' | b'c' | b'f' => {}
            b'S' => {
                self.skipping = false;
                self.expect(Expected::Sync);
            }
            b'Q' | b'P' | b'B' | b'D' | b'C' | b'E' | b'F' | b'H' if self.skipping => {}
            b'Q' => return self.query(message),
            b'E' => return self.execute(message),
            b'P' => self.parse(&message)?,
            b'B' => {
                let mut body = message.body();
                let (portal, statement) = (name(&mut body)?, name(&mut body)?);
                let statement = self.names.statement(&statement, &self.sent);
                self.expect(Expected::Bind(portal, statement));
            }
            b'D' => self.expect(Expected::Describe),
            b'C' => {
                let (kind, mut rest) = message.body().split_first().ok_or_else(cut)?;
                let closed = name(&mut rest)?;
                self.expect(Expected::Close(*kind, closed));
            }
            b'F' => return Ok(self.ask(message, Expected::Function, Vec::new())),
            b'H' => self.expect(Expected::Flush),
            _ => return Err(self.unknown("client", tag)),
        }
        if self.sent.len() > MOST_EXPECTED {
            return Err(Blind::new(format!(
                "more than {MOST_EXPECTED} messages wait for answers that nobody asks for"
            )));
        }
        Ok(FromClient::Forward(message.bytes))
    }

    /// Takes a message while rows are copied in: the server passes over Flush and Sync.
    pub(super) fn copied(&mut self, tag: u8, message: Message) -> Result<FromClient, Blind> {
        match tag {
            b'd' | b'H' | b'S' => {}
            b'c' | b'f' => self.copying_in = false,
            b'X' => return Ok(FromClient::Leave(message.bytes)),
            _ => return Err(self.unknown("client, in the middle of a COPY,", tag)),
        }
        Ok(FromClient::Forward(message.bytes))
    }

    pub(super) fn query(&mut self, message: Message) -> Result<FromClient, Blind> {
        let mut scanner = Scanner::new(self.backslashes);
        let mut statements = VecDeque::new();
        scanner.feed(message.body(), |statement| statements.push_back(statement));
        if message.whole {
            statements.extend(scanner.finish());
        } else {
            let known: Vec<Statement> = statements.iter().cloned().chain(scanner.so_far()).collect();
            self.scanning = Some(Scanning { scanner, parse: false });
            return Ok(self.ask_or_pass(message, &statements, &known));
        }
        let known: Vec<Statement> = statements.iter().cloned().collect();
        self.check_count(statements.len())?;
        Ok(self.ask_or_pass(message, &statements, &known))
    }

    pub(super) fn ask_or_pass(
        &mut self,
        message: Message,
        statements: &VecDeque<Statement>,
        known: &[Statement],
    ) -> FromClient {
        let known: Vec<Statement> = known.iter().map(|s| self.resolved(s)).collect();
        let statements = statements.iter().map(|s| self.resolved(s)).collect();
        let expected = Expected::Query(statements);
        if known.iter().all(Statement::only_begins) {
            self.expect(expected);
            return FromClient::Forward(message.bytes);
        }
        self.ask(message, expected, known)
    }

    pub(super) fn execute(&mut self, message: Message) -> Result<FromClient, Blind> {
        let mut body = message.body();
        let portal = name(&mut body)?;
        let statement = self.names.portal(&portal, &self.sent);
        let statement = statement.map(|s| match s.verb {
            Verb::Execute => Arc::new(self.resolved(&s)),
            _ => s,
        });
        if statement.as_ref().is_some_and(|s| s.only_begins()) {
            self.expect(Expected::Execute(statement));
            return Ok(FromClient::Forward(message.bytes));
        }
        let known = statement.iter().map(|s| (**s).clone()).collect();
        Ok(self.ask(message, Expected::Execute(statement), known))
    }

    pub(super) fn ask(&mut self, message: Message, expected: Expected, statements: Vec<Statement>) -> FromClient {
        let was_open = self.transaction.is_open();
        if statements.is_empty() {
            self.transaction.asks(None);
        }
        for statement in statements.iter().filter(|s| !s.only_begins()) {
            self.transaction.asks(Some(statement));
        }
        self.pending = Some(Pending {
            message,
            asked: Some(expected),
        });
        FromClient::Ask(Ask {
            begins: !was_open,
            statements,
        })
    }

    /// Returns what an EXECUTE runs; all else is what it is.
    pub(super) fn resolved(&self, statement: &Statement) -> Statement {
        let prepared = match (statement.verb, statement.name.as_deref()) {
            (Verb::Execute, Some(name)) => self.names.statement(name, &self.sent),
            _ => None,
        };
        prepared.map_or_else(|| statement.clone(), |prepared| prepared.executed(statement))
    }

    pub(super) fn parse(&mut self, message: &Message) -> Result<(), Blind> {
        let mut body = message.body();
        let name = name(&mut body)?;
        let mut scanner = Scanner::new(self.backslashes);
        let end = body.iter().position(|byte| *byte == 0);
        let mut first = None;
        scanner.feed(&body[..end.unwrap_or(body.len())], |statement| {
            _ = first.get_or_insert(statement)
        });
        let statement = match (first, end) {
            (Some(first), _) => Some(first),
            (None, Some(_)) => scanner.finish(),
            (None, None) => {
                let so_far = scanner.so_far();
                self.scanning = Some(Scanning { scanner, parse: true });
                so_far
            }
        };
        let statement = statement.unwrap_or_else(empty);
        self.expect(Expected::Parse(name, Arc::new(statement)));
        Ok(())
    }

    /// Reads more of a text that did not come whole.
    pub(super) fn scan(&mut self, bytes: &[u8], last: bool) -> Result<(), Blind> {
        let Some(Scanning { scanner, parse }) = &mut self.scanning else {
            return Ok(());
        };
        let end = bytes.iter().position(|byte| *byte == 0);
        let mut more = Vec::new();
        scanner.feed(&bytes[..end.unwrap_or(bytes.len())], |statement| more.push(statement));
        let parse = *parse;
        if end.is_some() || last {
            let scanner = self.scanning.take().map(|s| s.scanner);
            more.extend(scanner.and_then(Scanner::finish));
        }
        let more: Vec<Statement> = more.iter().map(|s| self.resolved(s)).collect();
        for statement in more.iter().filter(|s| !parse && !s.only_begins()) {
            if self.transaction.is_open() {
                self.transaction.asks(Some(statement));
            }
        }
        let count = match self.sent.back_mut() {
            Some(Expected::Query(statements)) if !parse => {
                statements.extend(more);
                statements.len()
            }
            Some(Expected::Parse(_, statement)) if parse => {
                if let Some(whole) = more.into_iter().next() {
                    *statement = Arc::new(whole);
                }
                1
            }
            _ => 0,
        };
        self.check_count(count)
    }

    #[expect(clippy::unused_self, reason = "stands with the other checks of a message")]
    pub(super) fn check_count(&self, statements: usize) -> Result<(), Blind> {
        if statements > MOST_STATEMENTS {
            return Err(Blind::new(format!(
                "more than {MOST_STATEMENTS} statements came in one message"
            )));
        }
        Ok(())
    }

    pub(super) fn expect(&mut self, expected: Expected) {
        self.gates += usize::from(expected.is_gate());
        self.between = false;
        self.sent.push_back(expected);
    }

    #[expect(clippy::unused_self, reason = "stands with the other checks of a message")]
    pub(super) fn unknown(&self, whose: &str, tag: u8) -> Blind {
        Blind::new(format!(
            "a message of the {whose} has the unexpected type {:?}",
            char::from(tag)
        ))
    }
}

fn empty() -> Statement {
    Statement {
        text: "".into(),
        verb: Verb::Other,
        hidden: false,
        name: None,
    }
}

fn name(body: &mut &[u8]) -> Result<Box<str>, Blind> {
    let name = text(body).ok_or_else(|| Blind::new("a name in a message is too long, or has no end"))?;
    Ok(String::from_utf8_lossy(name).into())
}
