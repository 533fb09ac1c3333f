//! Follows one connection: eats the bytes of both sides in any pieces, and says what is to be asked, forwarded, decided and released.
//!
//! It owns no socket and waits for nothing. Memory is bounded: of rows, copied data and parameters it keeps nothing, of statements the
//! first part of their text.

mod of_client;
mod of_server;

use std::collections::VecDeque;

use super::Blind;
use super::expected::{Expected, Names};
use super::frames::{Frame, Frames, Message, message};
use super::kept::Part;
use super::scanner::Scanner;
use super::statement::Statement;
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
    Answer(Vec<u8>, Part),
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
    /// What the server's last message is to the answer.
    part: Part,
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
            part: Part::Body,
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
            if let FromServer::Answer(bytes, _) = event {
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
                            .rposition(|event| matches!(event, FromServer::Answer(..)));
                        self.afterwards.extend(self.out.drain(answer.map_or(0, |at| at + 1)..));
                    }
                }
                Some(Frame::Rest(bytes, last)) => {
                    self.out.push_back(FromServer::Answer(bytes.to_vec(), self.part));
                    if last {
                        self.out.extend(self.afterwards.drain(..));
                    }
                }
            }
        }
    }
}

fn cut() -> Blind {
    Blind::new("a message ends in the middle")
}

fn message_of(tag: u8) -> Vec<u8> {
    message(tag, &[])
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
