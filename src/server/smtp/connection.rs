//! One connection: the socket that feeds the session, and the replies in their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::event::{Event, Options};
use super::mail::Live;
use super::session::Session;
use crate::attempt::{Held, Outgoing, Pause, Paused};
use crate::faults::Step;
use crate::ledger::{Fate, Outcome, Peer};
use crate::net::accept::handshake;
use crate::net::ending::Ending;
use crate::net::smtp::speech::Speech;
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::server::Shared;
use crate::store::Ticket;

/// How many bytes are read at once.
const READ: usize = 16 * 1024;
/// How many recipients a mail may have.
const MAX_RECIPIENTS: usize = 1_000;

/// Is one connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) peer: Peer,
    pub(super) session: Session,
    /// The attempt whose transaction is open.
    pub(super) live: Option<Live>,
    /// The session's steps at which rules were asked.
    pub(super) asked: BTreeSet<Step>,
    /// Whether a `pass` has won for the session: no rule meets its steps any more.
    pub(super) exempt: bool,
    stream: Stream,
    /// Replies that have not left yet.
    out: Vec<u8>,
    /// Attempts whose last reply is among them.
    owed: Vec<(Outgoing, u64)>,
}

/// Says how to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// With the next byte.
    Go,
    /// Inside TLS; what was read in plaintext is thrown away.
    Secure,
}

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, socket: Socket, peer: Peer, inside_tls: bool) {
    let options = Options {
        max_mail: shared.limits.mail,
        max_recipients: MAX_RECIPIENTS,
        offer: shared.smtp.clone(),
    };
    let mut connection = Connection {
        peer,
        session: Session::new(options, inside_tls),
        live: None,
        asked: BTreeSet::new(),
        exempt: false,
        stream: Stream::Plain(socket),
        out: Vec::new(),
        owed: Vec::new(),
        shared,
    };
    let ending = connection.run(inside_tls).await;
    let Connection {
        shared,
        stream,
        live,
        owed,
        ..
    } = connection;
    // What is still open or unsaid is lost, and says so before the connection's end can take its time.
    drop((live, owed));
    ending.apply(stream, &shared.way.stop, shared.way.hang_cap).await;
}

impl Connection {
    async fn run(&mut self, inside_tls: bool) -> Ending {
        match self.talk(inside_tls).await {
            Ok(()) => Ending::Close,
            Err(ending) => ending,
        }
    }

    /// Talks until the client has left or the connection is to end otherwise.
    async fn talk(&mut self, inside_tls: bool) -> Result<(), Ending> {
        let refused = self.meet_session(Step::Connect).await?;
        if inside_tls {
            self.shake_hands().await?;
        }
        let refused = match refused {
            None => self.meet_session(Step::Greeting).await?,
            refused => refused,
        };
        if let Some(speech) = refused {
            return self.leave(speech, None).await;
        }
        self.say(&Speech::new(220, "ackdrop ESMTP ready"), None).await?;
        let mut buffer = vec![0; READ];
        loop {
            self.flush().await?;
            let read = self.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            let mut input = &buffer[..read];
            while let Some(event) = self.session.next(&mut input) {
                if self.handle(event).await? == Next::Secure {
                    // RFC 3207, section 4.2: what an attacker put behind STARTTLS must not be obeyed inside TLS.
                    input = &[];
                    self.shake_hands().await?;
                }
            }
        }
    }

    async fn handle(&mut self, event: Event) -> Result<Next, Ending> {
        match event {
            Event::Say(speech) => self.say(&speech, None).await?,
            Event::Leave(speech) => {
                let ended = self.interrupt();
                self.leave(speech, ended).await?;
            }
            Event::Hello(speech) => self.step(Step::Ehlo, speech).await?,
            Event::Auth(speech) => self.log_in(speech).await?,
            Event::Reset(speech) => {
                let ended = self.interrupt();
                self.say(&speech, ended).await?;
            }
            Event::Quit(speech) => self.step(Step::Quit, speech).await?,
            Event::StartTls(speech) => {
                let ended = self.interrupt();
                self.say(&speech, ended).await?;
                self.flush().await?;
                self.session.secure();
                return Ok(Next::Secure);
            }
            Event::Mail { line, speech, refused } => self.mail(&line, speech, refused).await?,
            Event::Rcpt { rcpt, speech } => self.rcpt(rcpt, speech).await?,
            Event::Data(speech) => self.data(speech).await?,
            Event::Chunk => self.first_chunk().await?,
            Event::Progress => self.progress().await?,
            Event::Nobody(speech) | Event::Refused(speech) => self.conclude(&speech, Outcome::Refused).await?,
            Event::Whole(mail) => self.deliver(mail).await?,
        }
        Ok(Next::Go)
    }

    /// Answers EHLO or QUIT, each of which ends a transaction.
    async fn step(&mut self, step: Step, speech: Speech) -> Result<(), Ending> {
        let ended = self.interrupt();
        match self.meet_session(step).await {
            Ok(refused) => {
                if refused.is_some() && step == Step::Ehlo {
                    self.session.forget_hello();
                }
                self.say(&refused.unwrap_or(speech), ended).await
            }
            Err(ending) => Err(withhold(ended, ending)),
        }
    }

    async fn log_in(&mut self, speech: Speech) -> Result<(), Ending> {
        let refused = self.meet_session(Step::Auth).await?;
        if refused.is_some() {
            self.session.log_out();
        }
        self.say(&refused.unwrap_or(speech), None).await
    }

    /// Takes the attempt whose transaction was ended before its dot.
    pub(super) fn interrupt(&mut self) -> Option<Ticket> {
        let mut ticket = self.live.take()?.ticket;
        ticket.decide(Outcome::Incomplete);
        Some(ticket)
    }

    /// Puts a reply behind those that have not left; with it, an attempt that it ends. A reply that says so ends the connection.
    pub(super) async fn say(&mut self, speech: &Speech, ended: Option<Ticket>) -> Result<(), Ending> {
        self.out.extend_from_slice(&speech.bytes());
        if let Some(ticket) = ended {
            self.owe(speech, ticket);
        }
        if !speech.ends() {
            return Ok(());
        }
        let ended = self.interrupt();
        drop(ended);
        self.flush().await?;
        Err(Ending::Close)
    }

    /// Ties an attempt's fate to a reply that is being said.
    pub(super) fn owe(&mut self, speech: &Speech, ticket: Ticket) {
        let reply = speech.to_reply();
        let answered = ticket.ledger().record(&reply);
        ticket.note(|entry| entry.answer = Some(answered));
        let outgoing = Outgoing::new(reply, None, Fate::Answered, ticket);
        self.owed.push((outgoing, speech.bytes().len() as u64));
    }

    /// Says a last word, and ends.
    async fn leave(&mut self, speech: Speech, ended: Option<Ticket>) -> Result<(), Ending> {
        self.say(&speech, ended).await?;
        self.flush().await?;
        Err(Ending::Close)
    }

    /// Hands the replies to the kernel: only then has anything been answered.
    pub(super) async fn flush(&mut self) -> Result<(), Ending> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let owed = std::mem::take(&mut self.owed);
        if !owed.is_empty() && self.socket().left().now_or_never().is_some() {
            return Err(Ending::Gone);
        }
        owed.iter().for_each(|(outgoing, _)| outgoing.begin());
        self.write(&out).await?;
        for (outgoing, bytes) in owed {
            outgoing.sent_whole(bytes);
        }
        Ok(())
    }

    /// Writes bytes and flushes them.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Ending> {
        let stream = &mut self.stream;
        let written = async {
            stream.write_all(bytes).await?;
            stream.flush().await
        };
        tokio::select! {
            biased;
            written = tokio::time::timeout(self.shared.limits.idle, written) => match written {
                Ok(Ok(())) => Ok(()),
                _ => Err(Ending::Gone),
            },
            () = self.shared.way.stop.cancelled() => Err(Ending::Gone),
        }
    }

    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Ending> {
        let idle = self.shared.limits.idle;
        let read = tokio::select! {
            () = self.shared.way.stop.cancelled() => return Err(Ending::Close),
            read = tokio::time::timeout(idle, self.stream.read(buffer)) => read,
        };
        match read {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(_)) => Err(Ending::Gone),
            Err(_) => {
                let ended = self.interrupt();
                let speech = Speech::new(421, "4.4.2 Nothing came for too long");
                self.leave(speech, ended).await?;
                Ok(0)
            }
        }
    }

    async fn shake_hands(&mut self) -> Result<(), Ending> {
        let socket = self.stream.socket();
        match handshake(&[], Stream::Plain(socket), &self.shared).await {
            Some(stream) => {
                self.stream = stream;
                Ok(())
            }
            None => Err(Ending::Gone),
        }
    }

    /// Returns the socket; to be dropped before the connection ends.
    pub(super) fn socket(&self) -> Socket {
        self.stream.socket()
    }

    /// Waits on purpose, and watches meanwhile for the client's leaving.
    pub(super) async fn pause(&self, pause: Pause, held: Held, over: &CancellationToken) -> Paused {
        let gone = CancellationToken::new();
        let socket = self.socket();
        let watched = async {
            socket.left().await;
            gone.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            paused = self.shared.way.pause(pause, held, &gone, over) => paused,
            () = watched => Paused::Left,
        }
    }
}

/// Gives an attempt that was ended by a command the fate of the reply to it, which a fault keeps back.
pub(super) fn withhold(ended: Option<Ticket>, ending: Ending) -> Ending {
    if let (Some(mut ticket), Ending::Fault(..)) = (ended, &ending) {
        ticket.finish(Fate::Withheld);
    }
    ending
}
