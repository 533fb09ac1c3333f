//! The server's messages: what is complete, what has failed, and what the client may have.

use std::sync::Arc;

use super::super::Blind;
use super::super::expected::{Expected, Names};
use super::super::frames::{Message, message, text};
use super::super::kept::Part;
use super::super::statement::Verb;
use super::{Follower, FromServer, cut};

impl Follower {
    pub(super) fn server_message(&mut self, message: Message) -> Result<(), Blind> {
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

    pub(super) fn of_login(&mut self, tag: u8, mut message: Message) -> Result<(), Blind> {
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
    pub(super) fn begin_next(&mut self) {
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

    pub(super) fn completed(&mut self, message: Message) -> Result<(), Blind> {
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

    pub(super) fn error(&mut self, message: Message) -> Result<(), Blind> {
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

    pub(super) fn ready(&mut self, message: Message) -> Result<(), Blind> {
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
    pub(super) fn pass_flushes(&mut self) {
        while let Some(Expected::Flush) = self.sent.front() {
            self.pop();
            self.out.push_back(FromServer::Release);
            self.between = self.sent.is_empty();
        }
    }

    pub(super) fn parameter(&mut self, mut body: &[u8]) {
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

    pub(super) fn answer(&mut self, message: Message) {
        self.part = Part::of(message.tag());
        self.out.push_back(FromServer::Answer(message.bytes, self.part));
    }

    pub(super) fn pop(&mut self) -> Option<Expected> {
        let popped = self.sent.pop_front()?;
        self.gates -= usize::from(popped.is_gate());
        Some(popped)
    }

    pub(super) fn out_of_turn(&self, tag: u8) -> Blind {
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
