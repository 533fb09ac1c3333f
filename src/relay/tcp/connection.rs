//! One connection: its two directions, and what ends them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::CONNECTION;
use super::rules::Asking;
use crate::attempt::{Pause, Paused, fired};
use crate::faults::{Action, How, Loss, Point, Verdict};
use crate::ledger::{Arrival, Fate, Outcome, Peer, Relayed};
use crate::net::ending::Ending;
use crate::net::socket::Socket;
use crate::net::stream::Stream;
use crate::relay::Relay;
use crate::relay::pipe::{FULL, Moved, Outgoing, Pipe, Reading, Wire};
use crate::store::Ticket;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// Serves one client to its end.
pub(super) async fn serve(relay: Arc<Relay>, socket: Socket, peer: Peer) {
    let scope = relay.spec.scope.clone().unwrap_or_default();
    let arrival = Arrival {
        provider: relay.about.name.into(),
        class: relay.about.class,
        operation: CONNECTION.into(),
        line: format!("connection to {}", relay.spec.upstream),
        peer,
    };
    let way = relay.house.way.clone();
    let client = Stream::Plain(socket);
    let ticket = match way.store.begin(&scope, arrival) {
        Ok(ticket) => ticket,
        Err(full) => {
            tracing::warn!("relay {}: {full}", relay.spec.name);
            return Ending::Close.apply(client, &way.stop, way.hang_cap).await;
        }
    };
    ticket.note(|entry| entry.relayed = Some(Box::new(Relayed::default())));
    let opening = Opening {
        asking: Asking::new(relay.about.name, scope.name()),
        relay,
        ticket,
    };
    opening.run(client).await;
}

/// Is a connection of which the upstream knows nothing yet.
struct Opening {
    relay: Arc<Relay>,
    ticket: Ticket,
    asking: Asking,
}

impl Opening {
    async fn run(mut self, client: Stream) {
        let way = self.relay.house.way.clone();
        if let Err(ending) = self.ask(&client).await {
            drop(self);
            return ending.apply(client, &way.stop, way.hang_cap).await;
        }
        let connected = tokio::select! {
            () = way.stop.cancelled() => return,
            connected = connect(&self.relay) => connected,
        };
        match connected {
            Ok(server) => Connection::new(self, client, server).run().await,
            Err(why) => {
                let Self { mut ticket, .. } = self;
                ticket.note(|entry| entry.notes.push(format!("no connection to the upstream: {why}")));
                ticket.decide(Outcome::Failed);
                ticket.finish(Fate::Answered);
                Ending::Close.apply(client, &way.stop, way.hang_cap).await;
            }
        }
    }

    async fn ask(&mut self, client: &Stream) -> Result<(), Ending> {
        let way = self.relay.house.way.clone();
        let Some(verdict) = self
            .asking
            .connected(&way.rules, &self.ticket)
            .map_err(|_| Ending::Close)?
        else {
            return Ok(());
        };
        self.ticket.note_fired(fired(&verdict));
        let pause = match verdict.action {
            Action::Hold { barrier } => Pause::Hold { barrier },
            Action::Delay(delay) => Pause::Delay(delay),
            Action::Pass => {
                self.asking.exempt = true;
                return Ok(());
            }
            action => return Err(self.fail(loss(&action))),
        };
        let held = self.asking.held(&self.ticket, Point::Before, verdict.rule);
        match waited(&self.relay, pause, held, client, self.ticket.over()).await {
            Paused::GoOn => Ok(()),
            Paused::Drop(how) => Err(self.fail(how)),
            Paused::Left => Err(Ending::Gone),
            Paused::Over => Err(Ending::Close),
        }
    }

    fn fail(&mut self, how: How) -> Ending {
        self.ticket.decide(Outcome::Failed);
        self.ticket.finish(Fate::Withheld);
        Ending::Fault(how, self.ticket.over().clone())
    }
}

async fn connect(relay: &Relay) -> io::Result<Box<dyn Wire>> {
    let upstream = &relay.spec.upstream;
    let patience = relay.spec.timeout.unwrap_or(CONNECT).min(CONNECT);
    let dialled = tokio::time::timeout(patience, TcpStream::connect((upstream.host.as_str(), upstream.port)));
    match dialled.await {
        Ok(stream) => {
            let stream = stream?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it took longer than {patience:?}"),
        )),
    }
}

/// Waits on purpose. A client that only has no more to say is still there.
async fn waited(
    relay: &Relay,
    pause: Pause,
    held: crate::attempt::Held,
    client: &Stream,
    over: &CancellationToken,
) -> Paused {
    let gone = CancellationToken::new();
    let socket = client.socket();
    let watched = async {
        socket.broken().await;
        gone.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        paused = relay.house.way.pause(pause, held, &gone, over) => paused,
        () = watched => Paused::Left,
    }
}

/// Is a connection to both sides.
struct Connection {
    relay: Arc<Relay>,
    ticket: Ticket,
    asking: Asking,
    pipe: Pipe,
    up: u64,
    down: u64,
    accepted: bool,
    up_direction: Direction,
    down_direction: Direction,
    /// How much of the answer passes before its direction is cut.
    allowed: Option<u64>,
    client_gone: bool,
}

/// Is one direction, from its source to its end.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The source has said its last byte.
    source_ended: bool,
    /// A fault lets no byte more through.
    cut: bool,
    /// The other side was told that there is no more.
    told: bool,
}

impl Direction {
    fn is_ending(self) -> bool {
        self.source_ended || self.cut
    }
}

impl Connection {
    fn new(opening: Opening, client: Stream, server: Box<dyn Wire>) -> Self {
        let Opening { relay, ticket, asking } = opening;
        Self {
            relay,
            ticket,
            asking,
            pipe: Pipe {
                client: Some(client),
                server,
                from_client: Vec::new(),
                from_server: Vec::new(),
                to_client: Outgoing::default(),
                to_server: Outgoing::default(),
            },
            up: 0,
            down: 0,
            accepted: false,
            up_direction: Direction::default(),
            down_direction: Direction::default(),
            allowed: None,
            client_gone: false,
        }
    }

    async fn run(mut self) {
        let way = self.relay.house.way.clone();
        let ending = self.relay_all(&way.stop).await;
        let (up, down) = (self.up, self.down);
        self.ticket.note(|entry| {
            entry.sent = down;
            entry.note_relayed(|relayed, _| (relayed.up, relayed.down) = (up, down));
        });
        if !self.accepted {
            self.ticket.decide(self.without_answer());
        }
        let Self { pipe, ticket, .. } = self;
        // What has no fate yet is lost.
        drop(ticket);
        if let Some(client) = pipe.client {
            drop(pipe.server);
            ending.apply(client, &way.stop, way.hang_cap).await;
        }
    }

    fn without_answer(&self) -> Outcome {
        if self.up > 0 {
            Outcome::Unknown
        } else {
            Outcome::Incomplete
        }
    }

    async fn relay_all(&mut self, stop: &CancellationToken) -> Ending {
        loop {
            let moved = async {
                self.upwards().await?;
                self.downwards().await
            };
            if let Err(ending) = moved.await {
                return ending;
            }
            self.tell_ends().await;
            if self.up_direction.told && self.down_direction.told {
                return Ending::Close;
            }
            if stop.is_cancelled() {
                return Ending::Close;
            }
            self.step(stop).await;
            if self.client_gone && self.down_direction.source_ended {
                return Ending::Gone;
            }
        }
    }

    /// Passes on what the client said, up to the next mark, and asks there.
    async fn upwards(&mut self) -> Result<(), Ending> {
        let bytes = std::mem::take(&mut self.pipe.from_client);
        let mut rest = &bytes[..];
        while !rest.is_empty() && !self.up_direction.cut {
            let rules = self.relay.house.way.rules.clone();
            let mark = self.asking.next_mark(&rules).filter(|mark| *mark > self.up);
            let room = mark.and_then(|mark| usize::try_from(mark - self.up).ok());
            let (piece, more) = rest.split_at(room.unwrap_or(rest.len()).min(rest.len()));
            rest = more;
            self.pipe.to_server.push(piece);
            self.up += piece.len() as u64;
            self.ticket.set_fallback(Outcome::Unknown);
            if mark == Some(self.up) {
                let asked = self.asking.requested(&rules, &self.ticket, self.up);
                if let Some(verdict) = asked.map_err(|_| Ending::Close)? {
                    self.before(verdict).await?;
                }
            }
        }
        Ok(())
    }

    async fn before(&mut self, verdict: Verdict) -> Result<(), Ending> {
        self.ticket.note_fired(fired(&verdict));
        // What came before the mark has gone up.
        self.flush_up().await;
        match verdict.action {
            Action::Pass => self.asking.exempt = true,
            Action::Fail(Loss::End(How::Truncate { .. })) => self.up_direction.cut = true,
            Action::Hold { barrier } => return self.wait(Pause::Hold { barrier }, Point::Before, verdict.rule).await,
            Action::Delay(delay) => return self.wait(Pause::Delay(delay), Point::Before, verdict.rule).await,
            action => return Err(self.withhold(loss(&action))),
        }
        Ok(())
    }

    /// Passes on what the server said; the first that follows something which the client said accepts.
    async fn downwards(&mut self) -> Result<(), Ending> {
        if self.pipe.from_server.is_empty() {
            return Ok(());
        }
        let rules = self.relay.house.way.rules.clone();
        self.ticket.note(|entry| {
            entry.note_relayed(|relayed, now| {
                relayed.first_byte.get_or_insert(now);
                relayed.last_byte = Some(now);
            });
        });
        if self.up > 0 && !self.accepted {
            self.accepted = true;
            let accepted = self.asking.accept(&rules, &mut self.ticket).await;
            if let Some(verdict) = accepted.map_err(|_| Ending::Close)? {
                self.after(verdict).await?;
            }
        }
        while self.accepted {
            let asked = self.asking.answered(&rules, &self.ticket, self.up);
            match asked.map_err(|_| Ending::Close)? {
                Some(verdict) => self.after(verdict).await?,
                None => break,
            }
        }
        let bytes = std::mem::take(&mut self.pipe.from_server);
        let most = self.allowed.map_or(bytes.len(), |allowed| {
            usize::try_from(allowed).unwrap_or(usize::MAX).min(bytes.len())
        });
        if !self.client_gone && !self.down_direction.cut {
            self.pipe.to_client.push(&bytes[..most]);
            self.down += most as u64;
        }
        if let Some(allowed) = &mut self.allowed {
            *allowed -= most as u64;
            self.down_direction.cut |= *allowed == 0;
        }
        Ok(())
    }

    async fn after(&mut self, verdict: Verdict) -> Result<(), Ending> {
        self.ticket.note_fired(fired(&verdict));
        match verdict.action {
            Action::Pass => self.asking.exempt = true,
            Action::Drop(How::Truncate { bytes }) => {
                self.allowed = Some(bytes);
                self.down_direction.cut = bytes == 0;
            }
            Action::Hold { barrier } => return self.wait(Pause::Hold { barrier }, Point::After, verdict.rule).await,
            Action::Delay(delay) => return self.wait(Pause::Delay(delay), Point::After, verdict.rule).await,
            action => {
                self.flush_down().await;
                return Err(self.withhold(loss(&action)));
            }
        }
        Ok(())
    }

    async fn wait(&mut self, pause: Pause, point: Point, rule: Arc<str>) -> Result<(), Ending> {
        self.flush_down().await;
        let held = self.asking.held(&self.ticket, point, rule);
        let over = self.ticket.over().clone();
        let Some(client) = &self.pipe.client else {
            return Err(Ending::Gone);
        };
        match waited(&self.relay, pause, held, client, &over).await {
            Paused::GoOn => Ok(()),
            Paused::Drop(how) => Err(self.withhold(how)),
            Paused::Left if point == Point::After => {
                self.lose_client();
                Ok(())
            }
            Paused::Left => Err(Ending::Gone),
            Paused::Over => Err(Ending::Close),
        }
    }

    fn withhold(&mut self, how: How) -> Ending {
        if !self.accepted {
            self.ticket.decide(self.without_answer());
        }
        self.ticket
            .finish(if self.client_gone { Fate::Lost } else { Fate::Withheld });
        Ending::Fault(how, self.ticket.over().clone())
    }

    /// Tells each side that the other has no more to say, when all that it said has been passed on.
    async fn tell_ends(&mut self) {
        if self.up_direction.is_ending() && !self.up_direction.told && self.pipe.to_server.is_idle() {
            self.up_direction.told = true;
            let _ = self.pipe.server.shutdown().await;
        }
        if self.down_direction.is_ending() && !self.down_direction.told && self.pipe.to_client.is_idle() {
            self.down_direction.told = true;
            if let Some(client) = &mut self.pipe.client {
                let _ = client.shutdown().await;
            }
            if !self.client_gone {
                let fate = if self.down_direction.cut {
                    Fate::Withheld
                } else {
                    Fate::Answered
                };
                if !self.accepted && self.up_direction.told {
                    self.ticket.decide(self.without_answer());
                }
                self.finish(fate);
            }
        }
    }

    fn finish(&mut self, fate: Fate) {
        let down = self.down;
        self.ticket.note(|entry| entry.sent = down);
        self.ticket.finish(fate);
    }

    async fn step(&mut self, stop: &CancellationToken) {
        let reading = Reading {
            client: !self.up_direction.source_ended && !self.client_gone && self.pipe.to_server.pending() < FULL,
            server: !self.down_direction.source_ended && self.pipe.to_client.pending() < FULL,
        };
        let idle = self.relay.house.limits.idle;
        let (owes, gone) = (self.pipe.to_client.pending() > 0, self.client_gone);
        let moved = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            moved = self.pipe.step(reading) => moved,
            () = tokio::time::sleep(idle), if owes => Moved::ClientBroke,
            // An answer that nobody reads is waited for as long as one that somebody does.
            () = tokio::time::sleep(idle), if gone => Moved::ServerEnded,
        };
        match moved {
            Moved::On => {}
            Moved::ClientEnded => self.up_direction.source_ended = true,
            Moved::ClientBroke => self.lose_client(),
            Moved::ServerEnded => self.down_direction.source_ended = true,
            Moved::ServerBroke => {
                self.pipe.to_server.clear();
                self.up_direction.cut = true;
            }
        }
        if self.up_direction.cut {
            self.pipe.from_client.clear();
        }
    }

    /// Counts the client as gone: what it said still goes up, and what comes down is counted and thrown away.
    fn lose_client(&mut self) {
        self.client_gone = true;
        self.up_direction.source_ended = true;
        self.pipe.to_client.clear();
        self.ticket
            .note(|entry| entry.note_relayed(|relayed, now| relayed.client_left = Some(now)));
    }

    async fn flush_up(&mut self) {
        self.flush(|pipe| pipe.to_server.is_idle()).await;
    }

    async fn flush_down(&mut self) {
        self.flush(|pipe| pipe.to_client.is_idle()).await;
    }

    async fn flush(&mut self, done: impl Fn(&Pipe) -> bool) {
        let reading = Reading {
            client: false,
            server: false,
        };
        let patience = self.relay.house.limits.idle;
        while !done(&self.pipe) {
            match tokio::time::timeout(patience, self.pipe.step(reading)).await {
                Ok(Moved::On) => {}
                Ok(Moved::ServerBroke) => self.pipe.to_server.clear(),
                Ok(Moved::ClientBroke) | Err(_) => self.lose_client(),
                Ok(Moved::ClientEnded | Moved::ServerEnded) => return,
            }
        }
    }
}

/// Says how a connection is lost by a rule that may have been written for those who have words.
fn loss(action: &Action) -> How {
    match action {
        Action::Fail(Loss::End(how)) | Action::Drop(how) => *how,
        _ => How::Close,
    }
}
