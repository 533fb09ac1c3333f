//! Follows one connection: eats the bytes of both sides in any pieces, and says what is to be asked, forwarded, decided and released.
//!
//! It owns no socket and waits for nothing. Memory is bounded: of rows, copied data and parameters it keeps nothing, of statements the
//! first part of their text.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Blind;
use super::expected::{Expected, Names};
use super::frames::{Frame, Frames, Message, message, text};
use super::scanner::Scanner;
use super::statement::{Statement, Verb};
use super::transaction::{Decided, Transaction};

/// How many statements one message may have.
const MOST_STATEMENTS: usize = 100_000;
/// How many messages may be unanswered: a client that never asks for answers cannot be followed for ever.
const MOST_EXPECTED: usize = 100_000;
/// What is sent in place of a refused statement: an error to every server, so that a transaction is aborted as the client is told.
const REFUSAL: &[u8] = b"ackdrop keeps this statement back\0";

/// Says what the client's bytes come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromClient {
    /// Forward these.
    Forward(Vec<u8>),
    /// Ask about these statements; then [`Follower::let_through`] or [`Follower::refuse`].
    Ask(Ask),
    /// The client takes its leave: forward these, and no more comes.
    Leave(Vec<u8>),
}

/// Is a question: may these statements go on?
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Whether an attempt begins.
    pub(super) begins: bool,
    /// The statements, as far as they have come.
    pub(super) statements: Vec<Statement>,
}

/// Says what the server's bytes come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromServer {
    /// These belong to the answer that is being held back.
    Answer(Vec<u8>),
    /// An attempt has begun with this statement, which came in one message with the transaction before it.
    Began(Statement),
    /// The attempt has ended on the server's side; its answer is not complete yet.
    Decided(Decided),
    /// An error that stands for the refusal of a fault; the client is to be told what the fault says.
    Refused,
    /// The client is to have what was held back: the answer is complete, or the server waits for the client.
    Release,
    /// The server says what the session's application is called.
    Application(String),
}

/// Follows one connection.
#[derive(Debug)]
pub(super) struct Follower {
    client: Frames,
    server: Frames,
    sent: VecDeque<Expected>,
    gates: usize,
    names: Names,
    transaction: Transaction,
    /// Whether the server takes rows from the client.
    copying_in: bool,
    /// Whether rows went in or out for the statement that is being answered.
    copied_in: Option<bool>,
    /// Whether an error makes the server pass over all until Sync.
    skipping: bool,
    login: bool,
    hides_binding: bool,
    /// Whether nothing was asked for since the last answer was complete: what comes now is an answer to nothing.
    between: bool,
    backslashes: bool,
    /// A message that waits for its turn, or for a verdict.
    pending: Option<Pending>,
    /// What reads the text of a message that has not come whole.
    scanning: Option<Scanning>,
    /// The rest of a message that was refused is thrown away.
    discarding: bool,
    out: VecDeque<FromServer>,
    /// What is said when the rest of a message has come.
    afterwards: Vec<FromServer>,
}

#[derive(Debug)]
struct Pending {
    message: Message,
    asked: Option<Expected>,
}

#[derive(Debug)]
struct Scanning {
    scanner: Scanner,
    /// Whether for a Parse, of which one statement is kept.
    parse: bool,
}

impl Follower {
    /// Follows a connection whose startup message was sent. Where a client outside TLS logs in to a server inside, it must not be offered
    /// a login that is bound to TLS: libpq takes that for an attack.
    pub(super) fn new(hides_binding: bool) -> Self {
        Self {
            hides_binding,
            client: Frames::new(looked_at_of_client),
            server: Frames::new(looked_at_of_server),
            sent: [Expected::Login].into(),
            gates: 0,
            names: Names::default(),
            transaction: Transaction::default(),
            copying_in: false,
            copied_in: None,
            skipping: false,
            login: true,
            between: true,
            backslashes: false,
            pending: None,
            scanning: None,
            discarding: false,
            out: VecDeque::new(),
            afterwards: Vec::new(),
        }
    }

    /// Says whether the client's next bytes may be looked at; if not, the server has to answer first.
    pub(super) fn listens(&self) -> bool {
        let waits = match &self.pending {
            Some(Pending { asked: Some(_), .. }) => true,
            Some(_) => self.login,
            None => false,
        };
        !waits && (self.gates == 0 || self.copying_in || self.client.is_in_message())
    }

    /// Says whether the server owes the end of an answer, and will give it without more from the client.
    pub(super) fn awaits_server(&self) -> bool {
        self.gates > 0 && !self.copying_in
    }

    /// Says whether the server owes anything for an attempt.
    pub(super) fn owes(&self) -> bool {
        self.sent
            .iter()
            .any(|e| matches!(e, Expected::Query(_) | Expected::Execute(_) | Expected::Function))
    }

    /// Says whether the transaction under way has failed, and then whether it only read.
    pub(super) fn failed(&self) -> Option<bool> {
        self.transaction.failed()
    }

    /// Gives back what was taken of messages that are not whole yet: the client's and the server's.
    pub(super) fn give_back(&mut self) -> (Vec<u8>, Vec<u8>) {
        let pending = self.pending.take().map(|p| p.message.bytes);
        let mut client = pending.unwrap_or_default();
        client.extend(self.client.give_back());
        let mut server = Vec::new();
        for event in self.out.drain(..) {
            if let FromServer::Answer(bytes) = event {
                server.extend(bytes);
            }
        }
        server.extend(self.server.give_back());
        (client, server)
    }

    /// Eats bytes of the client; none if it needs more, or the server has to answer first.
    pub(super) fn client(&mut self, input: &mut &[u8]) -> Result<Option<FromClient>, Blind> {
        loop {
            if !self.listens() {
                return Ok(None);
            }
            if let Some(Pending { message, .. }) = self.pending.take() {
                return self.client_message(message).map(Some);
            }
            match self.client.next(input)? {
                None => return Ok(None),
                Some(Frame::Message(message)) if self.login && !matches!(message.tag(), b'p' | b'X') => {
                    self.pending = Some(Pending { message, asked: None });
                }
                Some(Frame::Message(message)) => return self.client_message(message).map(Some),
                Some(Frame::Rest(bytes, last)) => {
                    self.scan(bytes, last)?;
                    if self.discarding {
                        self.discarding = !last;
                        continue;
                    }
                    return Ok(Some(FromClient::Forward(bytes.to_vec())));
                }
            }
        }
    }

    /// Lets the statements that were asked about go on.
    pub(super) fn let_through(&mut self) -> Vec<u8> {
        let Some(Pending { message, asked }) = self.pending.take() else {
            return Vec::new();
        };
        let ends = matches!(&asked, Some(Expected::Execute(Some(s))) if s.ends_transaction());
        if let Some(expected) = asked {
            self.expect(expected);
        }
        let mut bytes = message.bytes;
        if ends {
            // The server keeps what it has to say until it is asked for it: this is how the commit is heard of before anything follows.
            bytes.extend(message_of(b'H'));
            self.expect(Expected::Flush);
        }
        bytes
    }

    /// Keeps the statements that were asked about back; what is returned makes the server say no in their place.
    pub(super) fn refuse(&mut self) -> Vec<u8> {
        let Some(Pending { message, .. }) = self.pending.take() else {
            return Vec::new();
        };
        let simple = message.tag() != b'E';
        self.discarding = !message.whole;
        self.scanning = None;
        self.expect(Expected::Refusal(simple));
        if simple {
            return super::frames::message(b'Q', REFUSAL);
        }
        let mut body = b"ackdrop refusal\0".to_vec();
        body.extend_from_slice(REFUSAL);
        body.extend([0, 0]);
        super::frames::message(b'P', &body)
    }

    /// Eats bytes of the server; none if it needs more.
    pub(super) fn server(&mut self, input: &mut &[u8]) -> Result<Option<FromServer>, Blind> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Ok(Some(event));
            }
            match self.server.next(input)? {
                None => return Ok(None),
                Some(Frame::Message(message)) => {
                    let whole = message.whole;
                    self.server_message(message)?;
                    if !whole {
                        let answer = self
                            .out
                            .iter()
                            .rposition(|event| matches!(event, FromServer::Answer(_)));
                        self.afterwards.extend(self.out.drain(answer.map_or(0, |at| at + 1)..));
                    }
                }
                Some(Frame::Rest(bytes, last)) => {
                    self.out.push_back(FromServer::Answer(bytes.to_vec()));
                    if last {
                        self.out.extend(self.afterwards.drain(..));
                    }
                }
            }
        }
    }
}

/// The client's side.
impl Follower {
    fn client_message(&mut self, message: Message) -> Result<FromClient, Blind> {
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
    fn copied(&mut self, tag: u8, message: Message) -> Result<FromClient, Blind> {
        match tag {
            b'd' | b'H' | b'S' => {}
            b'c' | b'f' => self.copying_in = false,
            b'X' => return Ok(FromClient::Leave(message.bytes)),
            _ => return Err(self.unknown("client, in the middle of a COPY,", tag)),
        }
        Ok(FromClient::Forward(message.bytes))
    }

    fn query(&mut self, message: Message) -> Result<FromClient, Blind> {
        let mut scanner = Scanner::new(self.backslashes);
        let mut statements = VecDeque::new();
        scanner.feed(message.body(), |statement| statements.push_back(statement));
        if message.whole {
            statements.extend(scanner.finish());
        } else {
            let known = statements.iter().cloned().chain(scanner.so_far()).collect();
            self.scanning = Some(Scanning { scanner, parse: false });
            return Ok(self.ask_or_pass(message, statements, known));
        }
        let known = statements.iter().cloned().collect();
        self.check_count(statements.len())?;
        Ok(self.ask_or_pass(message, statements, known))
    }

    fn ask_or_pass(&mut self, message: Message, statements: VecDeque<Statement>, known: Vec<Statement>) -> FromClient {
        let known: Vec<Statement> = known.into_iter().map(|s| self.resolved(s)).collect();
        let statements = statements.into_iter().map(|s| self.resolved(s)).collect();
        let expected = Expected::Query(statements);
        if known.iter().all(Statement::only_begins) {
            self.expect(expected);
            return FromClient::Forward(message.bytes);
        }
        self.ask(message, expected, known)
    }

    fn execute(&mut self, message: Message) -> Result<FromClient, Blind> {
        let mut body = message.body();
        let portal = name(&mut body)?;
        let statement = self.names.portal(&portal, &self.sent);
        let statement = statement.map(|s| match s.verb {
            Verb::Execute => Arc::new(self.resolved((*s).clone())),
            _ => s,
        });
        if statement.as_ref().is_some_and(|s| s.only_begins()) {
            self.expect(Expected::Execute(statement));
            return Ok(FromClient::Forward(message.bytes));
        }
        let known = statement.iter().map(|s| (**s).clone()).collect();
        Ok(self.ask(message, Expected::Execute(statement), known))
    }

    fn ask(&mut self, message: Message, expected: Expected, statements: Vec<Statement>) -> FromClient {
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
    fn resolved(&self, statement: Statement) -> Statement {
        let prepared = match (statement.verb, statement.name.as_deref()) {
            (Verb::Execute, Some(name)) => self.names.statement(name, &self.sent),
            _ => None,
        };
        prepared.map_or_else(|| statement.clone(), |prepared| prepared.executed(&statement))
    }

    fn parse(&mut self, message: &Message) -> Result<(), Blind> {
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
    fn scan(&mut self, bytes: &[u8], last: bool) -> Result<(), Blind> {
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
        let more: Vec<Statement> = more.into_iter().map(|s| self.resolved(s)).collect();
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
    fn check_count(&self, statements: usize) -> Result<(), Blind> {
        if statements > MOST_STATEMENTS {
            return Err(Blind::new(format!(
                "more than {MOST_STATEMENTS} statements came in one message"
            )));
        }
        Ok(())
    }

    fn expect(&mut self, expected: Expected) {
        self.gates += usize::from(expected.is_gate());
        self.between = false;
        self.sent.push_back(expected);
    }

    #[expect(clippy::unused_self, reason = "stands with the other checks of a message")]
    fn unknown(&self, whose: &str, tag: u8) -> Blind {
        Blind::new(format!(
            "a message of the {whose} has the unexpected type {:?}",
            char::from(tag)
        ))
    }
}

/// The server's side.
impl Follower {
    fn server_message(&mut self, message: Message) -> Result<(), Blind> {
        let tag = message.tag();
        if self.login {
            return self.of_login(tag, message);
        }
        if matches!(tag, b'T' | b'D' | b'C' | b'E' | b'G' | b'H' | b'I') {
            self.begin_next();
        }
        let body = message.body().to_vec();
        match tag {
            // Something that has to do with no statement, and may come at any time.
            b'N' | b'A' => {}
            b'S' => self.parameter(&body),
            b'D' | b'd' | b't' | b'V' => {}
            b'T' | b'n' => {
                if let Some(Expected::Describe) = self.sent.front() {
                    self.pop();
                }
            }
            b'c' => {}
            b'1' => match self.pop() {
                Some(Expected::Parse(name, statement)) => self.names.prepare(name, statement),
                _ => return Err(self.out_of_turn(tag)),
            },
            b'2' => match self.pop() {
                Some(Expected::Bind(name, statement)) => self.names.bind(name, statement),
                _ => return Err(self.out_of_turn(tag)),
            },
            b'3' => match self.pop() {
                Some(Expected::Close(kind, name)) => self.names.close(kind, &name),
                _ => return Err(self.out_of_turn(tag)),
            },
            b's' => match self.pop() {
                Some(Expected::Execute(_)) => {}
                _ => return Err(self.out_of_turn(tag)),
            },
            b'I' => match self.sent.front() {
                Some(Expected::Execute(_)) => _ = self.pop(),
                Some(Expected::Query(_)) => {}
                _ => return Err(self.out_of_turn(tag)),
            },
            b'C' => return self.completed(message),
            b'E' => return self.error(message),
            b'G' => {
                self.copying_in = true;
                self.copied_in = Some(true);
                // The server passes over these while it copies.
                while self.sent.len() > 1 {
                    let last = self.sent.pop_back();
                    self.gates -= usize::from(last.is_some_and(|e| e.is_gate()));
                }
                self.answer(message);
                self.out.push_back(FromServer::Release);
                return Ok(());
            }
            b'H' => self.copied_in = Some(false),
            b'Z' => return self.ready(message),
            b'W' => {
                return Err(Blind::new(
                    "the connection turned to COPY in both directions, as replication does",
                ));
            }
            _ => return Err(self.unknown("server", tag)),
        }
        if self.names.are_too_many() {
            let why = format!("there are more than {} prepared statements or portals", Names::MOST);
            return Err(Blind::new(why));
        }
        self.answer(message);
        self.pass_flushes();
        if self.sent.is_empty() && self.between {
            self.out.push_back(FromServer::Release);
        }
        Ok(())
    }

    fn of_login(&mut self, tag: u8, mut message: Message) -> Result<(), Blind> {
        match tag {
            b'R' if self.hides_binding && message.whole => message = without_binding(message),
            b'R' | b'K' | b'N' | b'A' | b'E' | b'v' => {}
            b'S' => {
                let body = message.body().to_vec();
                self.parameter(&body);
            }
            b'Z' => {
                self.pop();
                self.login = false;
            }
            _ => return Err(self.unknown("server, before it was ready,", tag)),
        }
        self.answer(message);
        self.out.push_back(FromServer::Release);
        Ok(())
    }

    /// Begins the attempt of a statement that came in one message with a transaction that has ended before it.
    fn begin_next(&mut self) {
        let Some(Expected::Query(statements)) = self.sent.front() else {
            return;
        };
        let Some(statement) = statements.front().filter(|s| !s.only_begins()) else {
            return;
        };
        if self.transaction.is_open() {
            return;
        }
        self.transaction.asks(Some(statement));
        let statement = statement.clone();
        // The answer to the transaction before is complete with this.
        self.out.push_back(FromServer::Release);
        self.out.push_back(FromServer::Began(statement));
    }

    fn completed(&mut self, message: Message) -> Result<(), Blind> {
        let mut body = message.body();
        let tag = text(&mut body).ok_or_else(cut)?;
        let tag = String::from_utf8_lossy(tag).into_owned();
        let statement = match self.sent.front_mut() {
            Some(Expected::Query(statements)) => match statements.pop_front() {
                Some(statement) => Some(Arc::new(statement)),
                None => {
                    return Err(Blind::new(format!(
                        "the server completed a statement ({tag}) that nobody sent"
                    )));
                }
            },
            Some(Expected::Execute(_)) => match self.pop() {
                Some(Expected::Execute(statement)) => statement,
                _ => None,
            },
            _ => return Err(self.out_of_turn(b'C')),
        };
        let copied_in = self.copied_in.take();
        let decided = self.transaction.complete(&tag, statement.as_deref(), copied_in);
        if self.transaction.lost_count() {
            return Err(Blind::new("there are too many savepoints"));
        }
        if let Some(statement) = statement.filter(|s| matches!(s.verb, Verb::Prepare(_)))
            && let Some(name) = &statement.name
            && tag == "PREPARE"
        {
            self.names.prepare(name.clone(), statement);
        }
        self.answer(message);
        self.out.extend(decided.map(FromServer::Decided));
        self.pass_flushes();
        Ok(())
    }

    fn error(&mut self, message: Message) -> Result<(), Blind> {
        let mut fields = message.body();
        let mut code = String::new();
        while let Some((field, rest)) = fields.split_first().filter(|(field, _)| **field != 0) {
            fields = rest;
            let Some(value) = text(&mut fields) else { break };
            if *field == b'C' {
                code = String::from_utf8_lossy(value).into_owned();
            }
        }
        self.copying_in = false;
        self.copied_in = None;
        let refused = match self.sent.front_mut() {
            None => false,
            Some(Expected::Query(statements)) => {
                statements.clear();
                false
            }
            Some(Expected::Refusal(_)) => true,
            Some(_) => false,
        };
        if self.transaction.is_open() {
            self.transaction.fail(&code);
        }
        if self.sent.front().is_some_and(Expected::is_extended) {
            while self.sent.front().is_some_and(|e| !matches!(e, Expected::Sync)) {
                self.pop();
            }
            self.skipping = self.sent.is_empty();
        }
        if refused && message.whole {
            self.out.push_back(FromServer::Refused);
        } else {
            self.answer(message);
        }
        if self.gates == 0 {
            self.out.push_back(FromServer::Release);
            self.between = true;
        }
        Ok(())
    }

    fn ready(&mut self, message: Message) -> Result<(), Blind> {
        match self.pop() {
            Some(Expected::Query(_) | Expected::Function | Expected::Sync | Expected::Refusal(true)) => {}
            _ => return Err(self.out_of_turn(b'Z')),
        }
        let status = message.body().first().copied();
        self.answer(message);
        match status {
            Some(b'I') => {
                self.names.end_transaction();
                self.out.extend(self.transaction.idle().map(FromServer::Decided));
            }
            Some(b'T' | b'E') => {}
            _ => return Err(Blind::new("the server is ready in no state that is known")),
        }
        self.out.push_back(FromServer::Release);
        self.between = self.sent.is_empty();
        self.pass_flushes();
        Ok(())
    }

    /// Lets go what waits for a Flush: all that was asked for before it has been answered.
    fn pass_flushes(&mut self) {
        while let Some(Expected::Flush) = self.sent.front() {
            self.pop();
            self.out.push_back(FromServer::Release);
            self.between = self.sent.is_empty();
        }
    }

    fn parameter(&mut self, mut body: &[u8]) {
        let (Some(name), Some(value)) = (text(&mut body), text(&mut body)) else {
            return;
        };
        match name {
            b"standard_conforming_strings" => self.backslashes = value == b"off",
            b"application_name" => {
                let name = String::from_utf8_lossy(value).into_owned();
                self.out.push_back(FromServer::Application(name));
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: Message) {
        self.out.push_back(FromServer::Answer(message.bytes));
    }

    fn pop(&mut self) -> Option<Expected> {
        let popped = self.sent.pop_front()?;
        self.gates -= usize::from(popped.is_gate());
        Some(popped)
    }

    fn out_of_turn(&self, tag: u8) -> Blind {
        let expected = self.sent.front().map_or("nothing", |e| match e {
            Expected::Login => "the login",
            Expected::Query(_) => "a query",
            Expected::Sync => "Sync",
            _ => "another message",
        });
        Blind::new(format!(
            "the server's message of type {:?} came where the answer to {expected} was due",
            char::from(tag)
        ))
    }
}

/// Takes the mechanisms out of an offer that are bound to TLS.
fn without_binding(offer: Message) -> Message {
    let Some(mut mechanisms) = offer.body().strip_prefix(&[0, 0, 0, 10]) else {
        return offer;
    };
    let mut body = vec![0, 0, 0, 10];
    while let Some(name) = text(&mut mechanisms).filter(|name| !name.is_empty()) {
        if !name.ends_with(b"-PLUS") {
            body.extend_from_slice(name);
            body.push(0);
        }
    }
    body.push(0);
    Message {
        bytes: message(b'R', &body),
        whole: true,
    }
}

fn message_of(tag: u8) -> Vec<u8> {
    message(tag, &[])
}

fn empty() -> Statement {
    Statement {
        text: "".into(),
        verb: Verb::Other,
        hidden: false,
        name: None,
    }
}

fn cut() -> Blind {
    Blind::new("a message ends in the middle")
}

fn name(body: &mut &[u8]) -> Result<Box<str>, Blind> {
    let name = text(body).ok_or_else(|| Blind::new("a name in a message is too long, or has no end"))?;
    Ok(String::from_utf8_lossy(name).into())
}

fn looked_at_of_client(tag: u8) -> usize {
    match tag {
        b'Q' | b'P' => 64 << 10,
        b'B' | b'D' | b'C' | b'E' => 4 << 10,
        _ => 0,
    }
}

fn looked_at_of_server(tag: u8) -> usize {
    match tag {
        b'C' => 256,
        b'E' | b'S' | b'R' => 4 << 10,
        b'Z' => 1,
        _ => 0,
    }
}
