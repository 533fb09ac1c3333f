//! One connection: the sockets around the follower, and what is held back between them.
//!
//! The server's answers are held back until they are complete, so that a fault at the commit finds every byte of them here. What is too
//! large to be held leaves in part before; the ledger notes it. A client that leaves is not waited for, and cancels nothing: what the
//! server has been sent is followed to its end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use super::Blind;
use super::follower::{Follower, FromClient, FromServer};
use super::frames::{error, message};
use super::kept::{Kept, MOST, Part};
use super::live::Live;
use super::login::Opened;
use crate::attempt::{Held, Pause, Paused};
use crate::ledger::{Fate, Outcome, Peer};
use crate::net::ending::Ending;
use crate::net::stream::Stream;
use crate::relay::pipe::{FULL, Moved, Outgoing, Pipe, Reading};
use crate::relay::{Relay, SslMode};
use crate::store::{Scope, Ticket};

/// How long a server is given to take its leave.
const FAREWELL: Duration = Duration::from_millis(500);

/// Is one connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) relay: Arc<Relay>,
    pub(super) peer: Peer,
    pub(super) scope: Scope,
    pub(super) follower: Follower,
    pub(super) pipe: Pipe,
    /// The answer that is not complete, and whether a part of it has left already.
    pub(super) held: Kept,
    pub(super) leaked: bool,
    pub(super) live: Option<Live>,
    /// Attempts whose answer is on its way to the client, with where it ends.
    pub(super) leaving: VecDeque<Leaving>,
    /// Whether the client counts as gone: it gets no byte more.
    pub(super) gone: bool,
    client_ended: bool,
    server_ended: bool,
    server_told: bool,
    /// What stands for all that cannot be followed.
    blind: Option<Option<Ticket>>,
}

/// Is an attempt whose answer is on its way.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) ticket: Ticket,
    pub(super) fate: Fate,
    pub(super) bytes: u64,
    /// Which byte to the client is the last of it.
    pub(super) end: u64,
}

impl Connection {
    /// Takes a connection whose startup message was sent. One that is for replication is relayed and not followed.
    pub(super) fn new(
        relay: Arc<Relay>,
        client: Stream,
        peer: Peer,
        scope: Scope,
        opened: Opened,
        replicates: bool,
    ) -> Self {
        let mut to_client = Outgoing::default();
        to_client.push(&opened.said);
        let hides_binding = matches!(client, Stream::Plain(_)) && relay.spec.upstream.sslmode != SslMode::Disable;
        let mut connection = Self {
            relay,
            peer,
            scope,
            follower: Follower::new(hides_binding),
            pipe: Pipe {
                client: Some(client),
                server: opened.server,
                from_client: Vec::new(),
                from_server: Vec::new(),
                to_client,
                to_server: Outgoing::default(),
            },
            held: Kept::default(),
            leaked: false,
            live: None,
            leaving: VecDeque::new(),
            gone: false,
            client_ended: false,
            server_ended: false,
            server_told: false,
            blind: None,
        };
        if replicates {
            connection.stop_following(&Blind::new("it is for replication"));
        }
        connection
    }

    /// Relays to the end of the connection.
    pub(super) async fn run(mut self) {
        let stop = self.relay.house.way.stop.clone();
        let stopped = loop {
            if let Err(ending) = self.follow().await {
                self.end_client(ending);
            }
            if stop.is_cancelled() {
                break true;
            }
            if self.is_over() {
                break false;
            }
            if self.blind.is_some() && self.client_ended && !self.server_told && self.pipe.to_server.is_idle() {
                self.server_told = true;
                let _ = self.pipe.server.shutdown().await;
            }
            self.step(&stop).await;
        };
        self.conclude(stopped).await;
    }

    /// Lets the follower see all that came, and does what it says.
    async fn follow(&mut self) -> Result<(), Ending> {
        loop {
            self.follow_server().await?;
            if self.pipe.to_server.pending() > FULL || !self.follow_client().await? {
                return Ok(());
            }
        }
    }

    async fn follow_server(&mut self) -> Result<(), Ending> {
        let bytes = std::mem::take(&mut self.pipe.from_server);
        let mut input = &bytes[..];
        while self.blind.is_none() {
            match self.follower.server(&mut input) {
                Ok(None) => return Ok(()),
                Ok(Some(event)) => {
                    let done = self.server_said(event).await;
                    if done.is_err() {
                        self.pipe.from_server = input.to_vec();
                        return done;
                    }
                }
                Err(blind) => self.stop_following(&blind),
            }
        }
        self.say(input);
        Ok(())
    }

    async fn server_said(&mut self, event: FromServer) -> Result<(), Ending> {
        match event {
            FromServer::Answer(bytes, part) => self.hold(&bytes, part).await?,
            FromServer::Refused => {
                let refusal = self.live.as_mut().and_then(|live| live.refusal.take());
                let bytes = super::verdict::refusal(&refusal.unwrap_or_default());
                self.hold(&bytes, Part::End).await?;
            }
            FromServer::Began(statement) => {
                let live = Live::begin(&self.relay, &self.scope, self.peer, std::slice::from_ref(&statement));
                if let Ok(mut live) = live {
                    live.ticket.set_fallback(Outcome::Unknown);
                    live.take(&[statement]);
                    let note = "came in one message with the transaction before it, so that no rule was asked before the commit";
                    live.ticket.note(|entry| entry.notes.push(note.to_owned()));
                    self.live = Some(live);
                }
            }
            FromServer::Decided(decided) => {
                if let Some(live) = &mut self.live {
                    live.decide(&self.relay.house.way.rules, decided).await;
                }
            }
            FromServer::Release => self.release().await?,
            FromServer::Application(name) => self.change_scope(&name),
        }
        Ok(())
    }

    /// Returns whether the client said something that the server may have to be heard about again.
    async fn follow_client(&mut self) -> Result<bool, Ending> {
        let bytes = std::mem::take(&mut self.pipe.from_client);
        let mut input = &bytes[..];
        while self.blind.is_none() {
            match self.follower.client(&mut input) {
                Ok(None) => {
                    self.pipe.from_client = input.to_vec();
                    return Ok(false);
                }
                Ok(Some(FromClient::Forward(bytes))) => self.forward_bytes(&bytes),
                Ok(Some(FromClient::Leave(bytes))) => {
                    self.forward_bytes(&bytes);
                    self.client_ended = true;
                    self.server_told = true;
                    return Ok(false);
                }
                Ok(Some(FromClient::Ask(ask))) => self.ask(&ask).await?,
                Err(blind) => {
                    self.pipe.from_client = input.to_vec();
                    self.stop_following(&blind);
                    return Ok(true);
                }
            }
        }
        self.forward_bytes(input);
        Ok(false)
    }

    /// Keeps the server's bytes back until their answer is complete, as far as there is room.
    async fn hold(&mut self, bytes: &[u8], part: Part) -> Result<(), Ending> {
        self.held.push(bytes, part);
        if !self.held.is_too_large() {
            return Ok(());
        }
        if self.live.as_ref().is_some_and(|live| live.settled.is_some()) {
            // It is decided what the client may have; what still comes belongs to no statement.
            return self.release().await;
        }
        if let Some(live) = self.live.as_ref().filter(|_| !self.leaked) {
            let note = format!("the answer is longer than {MOST} bytes: its beginning left before the commit was seen");
            live.ticket.note(|entry| entry.notes.push(note));
        }
        self.leaked = true;
        let early = self.held.spill();
        self.say(&early);
        Ok(())
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        if let Some(live) = &self.live {
            live.ticket.note(|entry| {
                entry.note_relayed(|relayed, now| {
                    relayed.down += bytes.len() as u64;
                    relayed.first_byte.get_or_insert(now);
                    relayed.last_byte = Some(now);
                });
            });
        }
        if !self.gone {
            self.pipe.to_client.push(bytes);
        }
    }

    pub(super) fn forward_bytes(&mut self, bytes: &[u8]) {
        if let Some(live) = &self.live {
            live.ticket.note(|entry| {
                entry.note_relayed(|relayed, now| {
                    relayed.up += bytes.len() as u64;
                    relayed.request_end = Some(now);
                });
            });
        }
        self.pipe.to_server.push(bytes);
    }

    /// Moves to the scope that the session's new name says, between two transactions.
    fn change_scope(&mut self, application: &str) {
        let named = application.strip_prefix('~').and_then(|name| Scope::parse(name).ok());
        if let Some(scope) = named {
            self.scope = scope;
        }
    }

    /// Reads and writes once, and notes what that says of either side.
    async fn step(&mut self, stop: &CancellationToken) {
        let open = !self.client_ended && self.pipe.to_server.pending() < FULL;
        let reading = Reading {
            client: open && self.pipe.from_client.is_empty() && (self.blind.is_some() || self.follower.listens()),
            server: !self.server_ended && self.pipe.to_client.pending() < FULL,
        };
        let watched = (!reading.client && !self.gone)
            .then(|| self.pipe.client.as_ref().map(Stream::socket))
            .flatten();
        let left = async {
            match watched {
                Some(socket) => socket.left().await,
                None => std::future::pending().await,
            }
        };
        let idle = self.relay.house.limits.idle;
        let silence = self.relay.spec.timeout.filter(|_| self.follower.awaits_server());
        let (owes_client, owed) = (self.pipe.to_client.pending() > 0, silence.is_some());
        let moved = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            moved = self.pipe.step(reading) => moved,
            () = left => Moved::ClientBroke,
            () = tokio::time::sleep(idle), if owes_client => Moved::ClientBroke,
            () = tokio::time::sleep(silence.unwrap_or_default()), if owed => Moved::ServerEnded,
        };
        match moved {
            Moved::On => {}
            Moved::ClientEnded => self.client_ended = true,
            Moved::ClientBroke => {
                // Seen while it was not read: what it had sent before is still carried out.
                self.client_ended |= reading.client;
                self.lose_client();
            }
            Moved::ServerEnded => self.server_ended = true,
            Moved::ServerBroke => self.pipe.to_server.clear(),
        }
        self.settle();
    }

    /// Ends the attempts whose answers have left.
    pub(super) fn settle(&mut self) {
        while let Some(first) = self.leaving.front() {
            if first.end > self.pipe.to_client.left {
                return;
            }
            if let Some(Leaving {
                mut ticket,
                fate,
                bytes,
                ..
            }) = self.leaving.pop_front()
            {
                ticket.note(|entry| entry.sent = bytes);
                ticket.finish(fate);
            }
        }
    }

    /// Counts the client as gone: nothing more is said to it.
    pub(super) fn lose_client(&mut self) {
        if std::mem::replace(&mut self.gone, true) {
            return;
        }
        self.pipe.to_client.clear();
        self.held.take();
        self.leaving.clear();
        if let Some(live) = &self.live {
            live.ticket
                .note(|entry| entry.note_relayed(|relayed, now| relayed.client_left = Some(now)));
        }
    }

    /// Ends the client's side so; what the server was sent goes on.
    fn end_client(&mut self, ending: Ending) {
        self.client_ended = true;
        self.lose_client();
        if let Some(stream) = self.pipe.client.take() {
            let way = &self.relay.house.way;
            let (stop, cap) = (way.stop.clone(), way.hang_cap);
            way.tasks.spawn(async move { ending.apply(stream, &stop, cap).await });
        }
    }

    /// Writes all that is on its way to the client.
    pub(super) async fn flush(&mut self) {
        let reading = Reading {
            client: false,
            server: false,
        };
        let patience = self.relay.house.limits.idle;
        while !self.gone && !self.pipe.to_client.is_idle() {
            let moved = tokio::time::timeout(patience, self.pipe.step(reading)).await;
            match moved {
                Ok(Moved::On) => {}
                Ok(Moved::ServerBroke) => self.pipe.to_server.clear(),
                _ => self.lose_client(),
            }
        }
        self.settle();
    }

    /// Waits on purpose; whoever left meanwhile is noted.
    pub(super) async fn pause(&mut self, pause: Pause, held: Held, over: &CancellationToken) -> Paused {
        self.flush().await;
        let left = CancellationToken::new();
        if self.gone {
            left.cancel();
        }
        let socket = self.pipe.client.as_ref().map(Stream::socket);
        let watched = async {
            if let Some(socket) = socket {
                socket.left().await;
                left.cancel();
            }
            std::future::pending::<()>().await;
        };
        let paused = tokio::select! {
            paused = self.relay.house.way.pause(pause, held, &left, over) => paused,
            () = watched => Paused::Left,
        };
        if left.is_cancelled() {
            self.lose_client();
        }
        paused
    }

    /// Gives up following: from here on bytes pass as they come, and no rule meets them.
    fn stop_following(&mut self, blind: &Blind) {
        let (client, server) = self.follower.give_back();
        let rest = std::mem::take(&mut self.pipe.from_client);
        self.forward_bytes(&client);
        self.forward_bytes(&rest);
        let held = self.held.take();
        self.say(&held);
        self.say(&server);
        let live = self.live.take();
        let live = live.map_or_else(|| Live::unseen(&self.relay, &self.scope, self.peer).ok(), Some);
        let ticket = live.map(|live| {
            let mut ticket = live.ticket;
            let note = format!(
                "this connection cannot be followed any more, and no rule meets it: {}",
                blind.why
            );
            ticket.note(|entry| entry.notes.push(note));
            ticket.decide(Outcome::Unknown);
            ticket
        });
        let rules = &self.relay.house.way.rules;
        rules.blind(self.relay.about.name, self.scope.as_str(), &blind.why);
        tracing::warn!(
            "relay {}: cannot follow connection {}: {}",
            self.relay.spec.name,
            self.peer.connection,
            blind.why
        );
        self.blind = Some(ticket);
    }

    fn is_over(&self) -> bool {
        if self.server_ended {
            return true;
        }
        let unsaid = self.pipe.to_server.pending() > 0;
        let awaited = match self.blind {
            Some(_) => !self.gone,
            None => self.follower.awaits_server(),
        };
        self.client_ended && !unsaid && !awaited
    }

    /// Ends both sides, and the attempt that is still under way.
    async fn conclude(mut self, stopped: bool) {
        if self.server_ended && !self.gone && !stopped {
            self.say_last().await;
        }
        let broke = self.server_ended || stopped;
        if let Some(Live { mut ticket, .. }) = self.live.take() {
            ticket.decide(self.cut_off(broke));
            ticket.finish(if self.gone || !stopped {
                Fate::Lost
            } else {
                Fate::Withheld
            });
        }
        if let Some(Some(mut ticket)) = self.blind.take() {
            self.flush().await;
            ticket.finish(if self.gone { Fate::Lost } else { Fate::Answered });
        }
        self.leaving.clear();
        if !self.server_ended {
            let _ = tokio::time::timeout(FAREWELL, self.take_leave()).await;
        }
        let Self { pipe, relay, .. } = self;
        if let Some(stream) = pipe.client {
            let way = &relay.house.way;
            Ending::Close.apply(stream, &way.stop, way.hang_cap).await;
        }
    }

    /// Says what the server said last; if it left in the middle of an attempt, that it did.
    async fn say_last(&mut self) {
        if self.live.as_ref().is_some_and(|live| live.settled.is_some()) {
            if let Err(ending) = self.release().await {
                self.end_client(ending);
            }
            return self.flush().await;
        }
        let outcome = self.cut_off(true);
        if self.held.is_empty() && self.live.is_some() {
            let name = &self.relay.spec.name;
            let why = format!("relay {name}: the server ended the connection");
            self.held = Kept::of(error("FATAL", "08006", &why));
        }
        let held = self.held.take();
        self.say(&held);
        if let Some(Live { mut ticket, .. }) = self.live.take() {
            ticket.decide(outcome);
            self.leave(ticket, held.len() as u64, Fate::Answered);
        }
        self.flush().await;
    }

    /// Says what an attempt comes to that was cut off: nothing is known of what may have been carried out.
    fn cut_off(&self, broke: bool) -> Outcome {
        match self.follower.failed() {
            Some(true) => Outcome::Read,
            Some(false) => Outcome::Refused,
            None if broke && self.follower.owes() => Outcome::Unknown,
            None => Outcome::Incomplete,
        }
    }

    /// Takes leave of the server: what is not committed is rolled back.
    async fn take_leave(&mut self) {
        if !self.server_told {
            self.pipe.to_server.push(&message(b'X', &[]));
        }
        let reading = Reading {
            client: false,
            server: false,
        };
        while !self.pipe.to_server.is_idle() {
            if let Moved::ServerBroke = self.pipe.step(reading).await {
                return;
            }
        }
        let _ = self.pipe.server.shutdown().await;
    }

    /// Puts an attempt among those whose answer is on its way.
    pub(super) fn leave(&mut self, ticket: Ticket, bytes: u64, fate: Fate) {
        if self.gone {
            // Dropped, it is lost.
            return;
        }
        ticket.ledger().answer_begins(ticket.id());
        let end = self.pipe.to_client.put;
        self.leaving.push_back(Leaving {
            ticket,
            fate,
            bytes,
            end,
        });
    }
}
