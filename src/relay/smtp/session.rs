//! One client: the socket, the commands in their order, and the upstream's replies to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use super::super::Relay;
use super::link::{Link, Silent};
use super::replies::Heard;
use super::transaction::Live;
use crate::attempt::Outgoing;
use crate::faults::Step;
use crate::ledger::{Fate, Outcome, Peer};
use crate::net::ending::Ending;
use crate::net::smtp::command::{self, Command};
use crate::net::smtp::lines::Lines;
use crate::net::smtp::speech::Speech;
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::store::{Scope, Ticket};

/// Keywords that are not passed on: content must come by DATA to be followed.
const NOT_OFFERED: [&str; 2] = ["CHUNKING", "BINARYMIME"];

/// Is one client's session.
pub(super) struct Session {
    pub(super) relay: Arc<Relay>,
    pub(super) peer: Peer,
    /// The session with the upstream; none before the first, and after a fault has cost it.
    pub(super) link: Option<Link>,
    /// The attempt whose transaction is open.
    pub(super) live: Option<Live>,
    /// The steps at which rules were asked.
    pub(super) asked: BTreeSet<Step>,
    /// Whether a `pass` has won for the session.
    pub(super) exempt: bool,
    pub(super) helo: String,
    /// The scope that the client's login names.
    pub(super) login_scope: Option<Scope>,
    /// Whether the client has logged in to the upstream itself: nobody else could do that again.
    pub(super) logged_in: bool,
    pub(super) stream: Stream,
    pub(super) out: Vec<u8>,
    pub(super) owed: Vec<(Outgoing, u64)>,
    pub(super) lines: Lines,
    pub(super) input: Vec<u8>,
}

/// Serves one client to its end.
pub(in crate::relay) async fn serve(relay: Arc<Relay>, socket: Socket, peer: Peer) {
    let (stop, hang_cap) = (relay.stop.clone(), relay.house.way.hang_cap);
    let mut session = Session {
        relay,
        peer,
        link: None,
        live: None,
        asked: BTreeSet::new(),
        exempt: false,
        helo: String::new(),
        login_scope: None,
        logged_in: false,
        stream: Stream::Plain(socket),
        out: Vec::new(),
        owed: Vec::new(),
        lines: Lines::default(),
        input: Vec::new(),
    };
    let ending = match session.talk().await {
        Ok(()) => Ending::Close,
        Err(ending) => ending,
    };
    let Session { stream, live, owed, .. } = session;
    // What is still open or unsaid is lost, and says so before the connection's end can take its time.
    drop((live, owed));
    ending.apply(stream, &stop, hang_cap).await;
}

impl Session {
    async fn talk(&mut self) -> Result<(), Ending> {
        let mut refused = self.meet_session(Step::Connect).await?;
        if refused.is_none() {
            refused = self.meet_session(Step::Greeting).await?;
        }
        if let Some(speech) = refused {
            return self.leave(speech, None).await;
        }
        let relay = Arc::clone(&self.relay);
        match Link::open(&relay).await {
            Ok((link, greeting)) => {
                self.link = Some(link);
                self.say(&greeting.speech(), None).await?;
            }
            Err(silent) => return self.leave(self.own(421, &silent.to_string()), None).await,
        }
        while let Some(line) = self.line().await? {
            self.handle(&line).await?;
        }
        Ok(())
    }

    async fn handle(&mut self, line: &[u8]) -> Result<(), Ending> {
        match command::read(line) {
            Ok(Command::Ehlo(helo) | Command::Helo(helo)) => self.hello(line, helo).await,
            Ok(Command::Auth { mechanism, initial }) => self.auth(line, &mechanism, initial).await,
            Ok(Command::StartTls) => self.start_tls(line).await,
            Ok(Command::Mail(mail)) => self.mail(line, mail.sender).await,
            Ok(Command::Rcpt(rcpt)) => self.rcpt(line, rcpt.recipient).await,
            Ok(Command::Data) => self.data(line).await,
            Ok(Command::Bdat { .. }) => self.plain("BDAT", line).await,
            Ok(Command::Rset) => {
                let ended = self.interrupt();
                let heard = self.ask(line).await?;
                self.say(&heard.speech(), ended).await
            }
            Ok(Command::Quit) => self.quit(line).await,
            Ok(Command::Noop | Command::Vrfy | Command::Help) => self.pass_on(line).await,
            Err(unreadable) if unreadable.lost_count => self.plain("BDAT", line).await,
            // What the relay cannot read, the upstream may: a transaction must not begin unseen.
            Err(_) => match transaction_line(line) {
                Some((true, path)) => self.mail(line, path).await,
                Some((false, path)) => self.rcpt(line, path).await,
                None => self.pass_on(line).await,
            },
        }
    }

    /// Passes a line on of which nothing follows but a reply.
    async fn pass_on(&mut self, line: &[u8]) -> Result<(), Ending> {
        let heard = self.ask(line).await?;
        if (300..400).contains(&heard.code) {
            self.say(&heard.speech(), None).await?;
            return self.plain("what the upstream asks for", b"").await;
        }
        self.say(&heard.speech(), None).await
    }

    async fn hello(&mut self, line: &[u8], helo: String) -> Result<(), Ending> {
        let mut ended = self.interrupt();
        if let Some(speech) = withheld(self.meet_session(Step::Ehlo).await, &mut ended)? {
            return self.say(&speech, ended).await;
        }
        self.helo = helo;
        let mut heard = self.ask(line).await?.without(&NOT_OFFERED);
        if heard.is_positive() && self.relay.spec.upstream.user.is_some() {
            let link = self.link.take().ok_or(Ending::Close)?;
            match link.log_in(line, heard).await {
                Ok((link, offer)) => {
                    self.link = Some(link);
                    heard = offer.without(&NOT_OFFERED).without(&["STARTTLS"]);
                }
                Err(silent) => return self.leave(self.own(421, &silent.to_string()), ended).await,
            }
        }
        self.say(&heard.speech(), ended).await
    }

    async fn quit(&mut self, line: &[u8]) -> Result<(), Ending> {
        let mut ended = self.interrupt();
        if let Some(speech) = withheld(self.meet_session(Step::Quit).await, &mut ended)? {
            return self.say(&speech, ended).await;
        }
        let heard = self.ask(line).await?;
        self.leave(heard.speech(), ended).await
    }

    /// Says a line to the upstream, which is connected anew where a fault has cost the last connection.
    pub(super) async fn ask(&mut self, line: &[u8]) -> Result<Heard, Ending> {
        let asked = match &mut self.link {
            Some(link) => link.ask(line).await,
            None => match self.connect_again().await {
                Ok(link) => self.link.insert(link).ask(line).await,
                Err(silent) => Err(silent),
            },
        };
        match asked {
            Ok(heard) => Ok(heard),
            Err(Silent::Foreign) => self.plain("what the upstream says", b"").await.and(Err(Ending::Close)),
            Err(silent) => {
                let ended = self.interrupt();
                let speech = self.own(421, &silent.to_string());
                self.leave(speech, ended).await.and(Err(Ending::Close))
            }
        }
    }

    async fn connect_again(&self) -> Result<Link, Silent> {
        let refuse = |text: &str| {
            Silent::NotLetIn(Heard {
                code: 421,
                lines: vec![text.to_owned()],
            })
        };
        if self.logged_in || matches!(self.stream, Stream::Tls(_)) {
            return Err(refuse(
                "a fault has cost the session that the client had begun; begin another",
            ));
        }
        let (mut link, _) = Link::open(&self.relay).await?;
        let hello = format!("EHLO {}\r\n", self.helo);
        let offer = link.ask(hello.as_bytes()).await?;
        Ok(link.log_in(hello.as_bytes(), offer).await?.0)
    }

    /// Relays what cannot be followed as it is, and says so in the ledger.
    async fn plain(&mut self, what: &str, line: &[u8]) -> Result<(), Ending> {
        let live = self.live.take().map(|live| live.ticket);
        let ticket = live.or_else(|| self.begin("").ok());
        let note = format!("{what} cannot be followed: from here on all is relayed as it is, and meets no rule");
        let mut ticket = ticket.ok_or(Ending::Close)?;
        ticket.note(|entry| entry.notes.push(note));
        ticket.decide(Outcome::Unknown);
        let (rules, provider) = (&self.relay.house.way.rules, self.relay.about.name);
        rules.blind(provider, &ticket.scope().name(), &format!("{what} cannot be followed"));
        self.flush().await?;
        let mut link = self.link.take().ok_or(Ending::Close)?;
        let (down, up) = (std::mem::take(&mut link.unread), [line, &self.input].concat());
        let (client, stop) = (&mut self.stream, self.relay.stop.clone());
        let joined = async {
            link.stream.write_all(&up).await?;
            client.write_all(&down).await?;
            tokio::io::copy_bidirectional(client, &mut link.stream).await
        };
        tokio::select! {
            _ = joined => {}
            () = stop.cancelled() => {}
        }
        ticket.finish(Fate::Answered);
        Err(Ending::Close)
    }

    /// Speaks for the relay itself.
    pub(super) fn own(&self, code: u16, why: &str) -> Speech {
        let class = code / 100;
        Speech::new(code, format!("{class}.3.0 relay `{}`: {why}", self.relay.spec.name))
    }

    /// Returns the scope that the login names, or the relay's own.
    pub(super) fn scope(&self) -> Scope {
        let scope = self.login_scope.clone();
        scope.or_else(|| self.relay.spec.scope.clone()).unwrap_or_default()
    }

    /// Takes the attempt whose transaction was ended before its dot.
    pub(super) fn interrupt(&mut self) -> Option<Ticket> {
        let mut ticket = self.live.take()?.ticket;
        ticket.decide(Outcome::Incomplete);
        Some(ticket)
    }
}

/// Gives an attempt that was ended by a command the fate of the reply to it, which a fault keeps back.
fn withheld<T>(met: Result<T, Ending>, ended: &mut Option<Ticket>) -> Result<T, Ending> {
    if let (Err(Ending::Fault(..)), Some(ticket)) = (&met, ended) {
        ticket.finish(Fate::Withheld);
    }
    met
}

/// Reads what a MAIL or RCPT line names, whatever else stands in it; says whether it is MAIL.
fn transaction_line(line: &[u8]) -> Option<(bool, String)> {
    let text = String::from_utf8_lossy(line.trim_ascii_end());
    let upper = text.to_ascii_uppercase();
    let is_mail = match &upper {
        line if line.starts_with("MAIL ") => true,
        line if line.starts_with("RCPT ") => false,
        _ => return None,
    };
    let (_, path) = text.split_once(':')?;
    let path = path.trim_start().trim_start_matches('<');
    let end = path.find(['>', ' ']).unwrap_or(path.len());
    Some((is_mail, path[..end].to_owned()))
}
