//! One SMTP session as a state machine: it eats bytes and yields events, and owns no socket.
//!
//! What an event says is what would be said if no rule meets it; whoever drives the session says it, or something else.

use super::Mechanism;
use super::auth::{Exchange, Turn};
use super::envelope::Envelope;
use super::event::{Event, Login, Options};
use crate::net::smtp::command::{self, Command, Rcpt, Unreadable};
use crate::net::smtp::content::Receiver;
use crate::net::smtp::lines::{self, Line, Lines};
use crate::net::smtp::speech::Speech;
use crate::store::Scope;

/// How many commands in a row may be wrong.
const MOST_WRONG: u32 = 20;

#[derive(Debug)]
enum State {
    Commands,
    Auth(Exchange),
    Content {
        receiver: Receiver,
        over: bool,
        last: bool,
        size: u64,
    },
    /// A chunk that nobody wants; what it is answered with.
    Skip {
        left: u64,
        then: Event,
    },
}

/// Is one session.
#[derive(Debug)]
pub(super) struct Session {
    options: Options,
    lines: Lines,
    state: State,
    helo: Option<String>,
    login: Option<Login>,
    secure: bool,
    wrong: u32,
    envelope: Option<Envelope>,
}

impl Session {
    /// Begins a session; `secure` if it is inside TLS from the start.
    pub(super) fn new(options: Options, secure: bool) -> Self {
        Self {
            options,
            lines: Lines::default(),
            state: State::Commands,
            helo: None,
            login: None,
            secure,
            wrong: 0,
            envelope: None,
        }
    }

    /// Takes from the input up to the next event; none if more must come first.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Option<Event> {
        match std::mem::replace(&mut self.state, State::Commands) {
            State::Commands => match self.lines.next(input, lines::COMMAND)? {
                Line::Whole(line) => Some(self.command(&line)),
                Line::TooLong => Some(self.wrong(Speech::new(500, "5.5.6 The line is too long"))),
            },
            State::Auth(exchange) => match self.lines.next(input, lines::CREDENTIAL) {
                None => {
                    self.state = State::Auth(exchange);
                    None
                }
                Some(Line::Whole(line)) => Some(self.turn(exchange.turn(line.trim_ascii_end()))),
                Some(Line::TooLong) => Some(self.wrong(Speech::new(500, "5.5.6 The line is too long"))),
            },
            State::Content {
                receiver,
                over,
                last,
                size,
            } => self.content(input, receiver, (over, last, size)),
            State::Skip { left, then } => {
                let part = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
                *input = &input[part..];
                let left = left - part as u64;
                if left == 0 {
                    return Some(then);
                }
                self.state = State::Skip { left, then };
                None
            }
        }
    }

    /// Returns the login.
    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Takes a login back.
    pub(super) fn log_out(&mut self) {
        self.login = None;
    }

    /// Takes an EHLO or HELO back.
    pub(super) fn forget_hello(&mut self) {
        self.helo = None;
    }

    /// Returns the transaction.
    pub(super) fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// Adds a recipient.
    pub(super) fn add(&mut self, rcpt: Rcpt) {
        if let Some(envelope) = &mut self.envelope {
            envelope.add(rcpt);
        }
    }

    /// Lets the content come.
    pub(super) fn open(&mut self) {
        self.state = State::Content {
            receiver: Receiver::data(),
            over: false,
            last: true,
            size: 0,
        };
    }

    /// Ends the transaction at once.
    pub(super) fn forget(&mut self) {
        self.envelope = None;
    }

    /// Refuses the mail whose content is coming: it is read to its end, dropped, and answered so.
    pub(super) fn refuse_content(&mut self, speech: Speech) {
        if let Some(envelope) = &mut self.envelope {
            envelope.refuse(speech);
        }
    }

    /// Begins anew inside TLS: nothing that came in plaintext counts (RFC 3207, section 4.2).
    pub(super) fn secure(&mut self) {
        *self = Self::new(self.options.clone(), true);
    }

    fn command(&mut self, line: &[u8]) -> Event {
        let command = match command::read(line) {
            Ok(command) => command,
            Err(Unreadable {
                speech,
                lost_count: true,
            }) => return Event::Leave(speech),
            Err(Unreadable { speech, .. }) => return self.wrong(speech),
        };
        match self.obey(command) {
            Ok(event) => {
                self.wrong = 0;
                event
            }
            Err(speech) => self.wrong(speech),
        }
    }

    /// Carries out a command, or says why not now.
    fn obey(&mut self, command: Command) -> Result<Event, Speech> {
        match command {
            Command::Ehlo(host) => Ok(Event::Hello(self.hello(host, true))),
            Command::Helo(host) => Ok(Event::Hello(self.hello(host, false))),
            Command::Auth { mechanism, initial } => self.auth(&mechanism, initial.as_deref()),
            Command::Mail(mail) => self.mail(mail),
            Command::Rcpt(rcpt) => self.rcpt(rcpt),
            Command::Data => self.data(),
            Command::Bdat { size, last } => Ok(self.chunk(size, last)),
            Command::StartTls => self.start_tls(),
            Command::Rset => {
                self.envelope = None;
                Ok(Event::Reset(Speech::new(250, "2.0.0 Ok")))
            }
            Command::Quit => {
                self.envelope = None;
                Ok(Event::Quit(Speech::new(221, "2.0.0 Bye")))
            }
            Command::Noop => Ok(Event::Say(Speech::new(250, "2.0.0 Ok"))),
            Command::Vrfy => Ok(Event::Say(Speech::new(
                252,
                "2.1.5 Nobody is looked up, and every mail is taken",
            ))),
            Command::Help => Ok(Event::Say(Speech::new(214, "2.0.0 A mail sink; see RFC 5321"))),
        }
    }

    fn hello(&mut self, host: String, extended: bool) -> Speech {
        self.envelope = None;
        let mut lines = vec![format!("ackdrop greets {host}")];
        self.helo = Some(host);
        if extended {
            lines.push("PIPELINING".to_owned());
            lines.push(format!("SIZE {}", self.options.max_mail));
            lines.extend(["8BITMIME", "SMTPUTF8", "CHUNKING", "ENHANCEDSTATUSCODES"].map(ToOwned::to_owned));
            if self.offers_tls() {
                lines.push("STARTTLS".to_owned());
            }
            let names: Vec<&str> = self.options.offer.mechanisms.iter().map(|m| m.as_str()).collect();
            if !names.is_empty() {
                lines.push(format!("AUTH {}", names.join(" ")));
            }
        }
        Speech::lines(250, &lines)
    }

    fn offers_tls(&self) -> bool {
        self.options.offer.starttls && !self.secure
    }

    fn start_tls(&mut self) -> Result<Event, Speech> {
        if self.secure {
            return Err(Speech::new(503, "5.5.1 TLS is on already"));
        }
        if !self.offers_tls() {
            return Err(Speech::new(502, "5.5.1 STARTTLS is not offered"));
        }
        Ok(Event::StartTls(Speech::new(220, "2.0.0 Ready to start TLS")))
    }

    fn auth(&mut self, mechanism: &str, initial: Option<&str>) -> Result<Event, Speech> {
        if self.helo.is_none() {
            return Err(Speech::new(503, "5.5.1 Say EHLO first"));
        }
        if self.login.is_some() || self.envelope.is_some() {
            return Err(Speech::new(503, "5.5.1 One login a session, and not within a mail"));
        }
        let mechanism = Mechanism::parse(mechanism).filter(|m| self.options.offer.mechanisms.contains(m));
        let Some(mechanism) = mechanism else {
            return Err(Speech::new(504, "5.5.4 This mechanism is not offered"));
        };
        Ok(self.turn(Exchange::begin(mechanism, initial)))
    }

    fn turn(&mut self, turn: Turn) -> Event {
        match turn {
            Turn::Ask(exchange, speech) => {
                self.state = State::Auth(exchange);
                Event::Say(speech)
            }
            Turn::Out(speech) => self.wrong(speech),
            Turn::In(user) => match user.strip_prefix('~').map(Scope::parse).transpose() {
                Ok(scope) => {
                    self.login = Some(Login { user, scope });
                    Event::Auth(Speech::new(235, "2.7.0 Authentication succeeded"))
                }
                Err(invalid) => self.wrong(Speech::new(535, format!("5.7.8 {invalid}"))),
            },
        }
    }

    fn mail(&mut self, mail: command::Mail) -> Result<Event, Speech> {
        if self.helo.is_none() {
            return Err(Speech::new(503, "5.5.1 Say EHLO first"));
        }
        let limit = self.options.max_mail;
        let refused = mail.size.is_some_and(|size| size > limit);
        let line = mail.line.clone();
        self.envelope = (!refused).then(|| Envelope::new(mail));
        let speech = if refused {
            Speech::new(552, format!("5.3.4 A mail may have {limit} bytes and no more"))
        } else {
            Speech::new(250, "2.1.0 Ok")
        };
        Ok(Event::Mail { line, speech, refused })
    }

    fn rcpt(&mut self, rcpt: Rcpt) -> Result<Event, Speech> {
        match &self.envelope {
            None => Err(Speech::new(503, "5.5.1 Say MAIL first")),
            Some(envelope) if envelope.chunked => Err(Speech::new(503, "5.5.1 Content has begun to come")),
            Some(envelope) if envelope.recipients().len() >= self.options.max_recipients => {
                Ok(Event::Say(Speech::new(452, "4.5.3 Too many recipients")))
            }
            Some(_) => Ok(Event::Rcpt {
                rcpt,
                speech: Speech::new(250, "2.1.5 Ok"),
            }),
        }
    }

    fn data(&mut self) -> Result<Event, Speech> {
        match &self.envelope {
            None => Err(Speech::new(503, "5.5.1 Say MAIL first")),
            Some(envelope) if envelope.chunked => Err(Speech::new(503, "5.5.1 Go on with BDAT")),
            Some(envelope) if envelope.recipients().is_empty() => {
                self.envelope = None;
                Ok(Event::Nobody(nobody()))
            }
            Some(_) => Ok(Event::Data(Speech::new(354, "End with a dot on a line of its own"))),
        }
    }

    fn chunk(&mut self, size: u64, last: bool) -> Event {
        let then = match &mut self.envelope {
            None => Event::Say(Speech::new(503, "5.5.1 Say MAIL first")),
            Some(envelope) if envelope.recipients().is_empty() => {
                self.envelope = None;
                Event::Nobody(nobody())
            }
            Some(envelope) => {
                let receiver = Receiver::chunk(size);
                let over = size == 0;
                self.state = State::Content {
                    receiver,
                    over,
                    last,
                    size,
                };
                let first = !std::mem::replace(&mut envelope.chunked, true);
                return if first { Event::Chunk } else { Event::Progress };
            }
        };
        if size == 0 {
            return then;
        }
        self.state = State::Skip { left: size, then };
        Event::Progress
    }

    fn content(
        &mut self,
        input: &mut &[u8],
        mut receiver: Receiver,
        (over, last, size): (bool, bool, u64),
    ) -> Option<Event> {
        let envelope = self.envelope.as_mut()?;
        if !over {
            let ready = !input.is_empty();
            let over = ready && envelope.receive(self.options.max_mail, |content| receiver.ingest(input, content));
            self.state = State::Content {
                receiver,
                over,
                last,
                size,
            };
            return ready.then_some(Event::Progress);
        }
        if let Some(speech) = envelope.refusal() {
            let speech = speech.clone();
            self.envelope = None;
            return Some(Event::Refused(speech));
        }
        if !last {
            return Some(Event::Say(Speech::new(250, format!("2.0.0 {size} octets received"))));
        }
        let envelope = self.envelope.take()?;
        let user = self.login.as_ref().map(|l| l.user.clone());
        Some(Event::Whole(
            envelope.into_mail(self.helo.clone().unwrap_or_default(), user),
        ))
    }

    /// Counts a wrong command; too many in a row end the session.
    fn wrong(&mut self, speech: Speech) -> Event {
        self.wrong += 1;
        if self.wrong < MOST_WRONG {
            Event::Say(speech)
        } else {
            Event::Leave(Speech::new(421, "4.7.0 Too many errors"))
        }
    }
}

fn nobody() -> Speech {
    Speech::new(554, "5.5.1 No valid recipients")
}

#[cfg(test)]
mod tests;
