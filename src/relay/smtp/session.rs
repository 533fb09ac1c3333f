//! One client: the socket, the commands in their order, and the upstream's replies to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::super::Relay;
use super::link::{Link, Silent};
use super::replies::Heard;
use super::transaction::Live;
use crate::attempt::{Held, Outgoing, Pause, Paused};
use crate::faults::Step;
use crate::ledger::{Fate, Outcome, Peer};
use crate::net::accept::handshake;
use crate::net::ending::Ending;
use crate::net::smtp::command::{self, Command};
use crate::net::smtp::lines::{self, Line, Lines};
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
    login_scope: Option<Scope>,
    /// Whether the client has logged in to the upstream itself: nobody else could do that again.
    logged_in: bool,
    stream: Stream,
    out: Vec<u8>,
    owed: Vec<(Outgoing, u64)>,
    lines: Lines,
    input: Vec<u8>,
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

    /// Lets a client log in: to the upstream, or, where the relay has logged in itself, with whatever it says.
    async fn auth(&mut self, line: &[u8], mechanism: &str, initial: Option<String>) -> Result<(), Ending> {
        if let Some(speech) = self.meet_session(Step::Auth).await? {
            return self.say(&speech, None).await;
        }
        if self.relay.spec.upstream.user.is_some() {
            return self.take_any_login(mechanism, initial).await;
        }
        let mut heard = self.ask(line).await?;
        while heard.code == 334 {
            self.say(&heard.speech(), None).await?;
            let Some(line) = self.line().await? else {
                return Err(Ending::Gone);
            };
            heard = self.ask(&line).await?;
        }
        self.logged_in |= heard.is_positive();
        self.say(&heard.speech(), None).await
    }

    async fn take_any_login(&mut self, mechanism: &str, initial: Option<String>) -> Result<(), Ending> {
        let prompts: &[&str] = match (mechanism, &initial) {
            ("PLAIN", Some(_)) => &[],
            ("PLAIN", None) => &[""],
            ("LOGIN", Some(_)) => &["UGFzc3dvcmQ6"],
            ("LOGIN", None) => &["VXNlcm5hbWU6", "UGFzc3dvcmQ6"],
            _ => {
                let speech = self.own(504, "only PLAIN and LOGIN are taken here");
                return self.say(&speech, None).await;
            }
        };
        let mut said: Vec<String> = initial.into_iter().collect();
        for prompt in prompts {
            self.say(&Speech::new(334, *prompt), None).await?;
            let Some(line) = self.line().await? else {
                return Err(Ending::Gone);
            };
            said.push(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
        }
        self.login_scope = said.first().and_then(|first| scope_of(mechanism, first));
        self.say(
            &Speech::new(235, "2.7.0 The relay has logged in itself, and takes any login"),
            None,
        )
        .await
    }

    async fn start_tls(&mut self, line: &[u8]) -> Result<(), Ending> {
        let ended = self.interrupt();
        let heard = self.ask(line).await?;
        if heard.code != 220 {
            return self.say(&heard.speech(), ended).await;
        }
        let link = self.link.take().ok_or(Ending::Close)?;
        match link.secure().await {
            Ok(link) => self.link = Some(link),
            Err(silent) => return self.leave(self.own(421, &silent.to_string()), ended).await,
        }
        self.say(&heard.speech(), ended).await?;
        self.flush().await?;
        // RFC 3207, section 4.2: what stands behind STARTTLS must not be obeyed inside TLS.
        (self.input, self.lines) = (Vec::new(), Lines::default());
        let socket = self.stream.socket();
        match handshake(&[], socket, &self.relay.house).await {
            Some(stream) => {
                self.stream = stream;
                Ok(())
            }
            None => Err(Ending::Gone),
        }
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

    /// Reads the next line of the client; none if it has left.
    async fn line(&mut self) -> Result<Option<Vec<u8>>, Ending> {
        loop {
            let mut input = self.input.as_slice();
            let line = self.lines.next(&mut input, lines::CREDENTIAL);
            self.input = input.to_vec();
            match line {
                Some(Line::Whole(line)) => return Ok(Some(line)),
                Some(Line::TooLong) => self.say(&Speech::new(500, "5.5.6 The line is too long"), None).await?,
                None => {
                    if !self.read().await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Takes what has been read.
    pub(super) fn input(&mut self) -> &mut Vec<u8> {
        &mut self.input
    }

    /// Reads more; the replies that are owed leave first. Returns whether the client is still there.
    pub(super) async fn read(&mut self) -> Result<bool, Ending> {
        self.flush().await?;
        let mut buffer = vec![0; 16 * 1024];
        let idle = self.relay.house.limits.idle;
        let read = tokio::select! {
            () = self.relay.stop.cancelled() => return Err(Ending::Close),
            read = tokio::time::timeout(idle, self.stream.read(&mut buffer)) => read,
        };
        match read {
            Ok(Ok(read)) => {
                self.input.extend_from_slice(&buffer[..read]);
                Ok(read > 0)
            }
            Ok(Err(_)) => Err(Ending::Gone),
            Err(_) => {
                let ended = self.interrupt();
                let speech = Speech::new(421, "4.4.2 Nothing came for too long");
                self.leave(speech, ended).await.map(|()| false)
            }
        }
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
        drop(self.interrupt());
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
    pub(super) async fn leave(&mut self, speech: Speech, ended: Option<Ticket>) -> Result<(), Ending> {
        self.say(&speech, ended).await?;
        self.flush().await?;
        Err(Ending::Close)
    }

    /// Hands the replies to the kernel: only then has anything been answered.
    pub(super) async fn flush(&mut self) -> Result<(), Ending> {
        if self.out.is_empty() {
            return Ok(());
        }
        let (out, owed) = (std::mem::take(&mut self.out), std::mem::take(&mut self.owed));
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
            written = tokio::time::timeout(self.relay.house.limits.idle, written) => match written {
                Ok(Ok(())) => Ok(()),
                _ => Err(Ending::Gone),
            },
            () = self.relay.stop.cancelled() => Err(Ending::Gone),
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
            paused = self.relay.house.way.pause(pause, held, &gone, over) => paused,
            () = watched => Paused::Left,
        }
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

/// Finds the scope that the first word of a login carries.
fn scope_of(mechanism: &str, first: &str) -> Option<Scope> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(first.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let user = match mechanism {
        "PLAIN" => text.split('\0').nth(1)?,
        _ => &text,
    };
    Scope::parse(user.strip_prefix('~')?).ok()
}
