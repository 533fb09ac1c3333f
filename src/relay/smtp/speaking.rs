//! A client's socket: lines in, replies out, and which attempts they answer.

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::session::Session;
use crate::attempt::{Held, Outgoing, Pause, Paused};
use crate::ledger::Fate;
use crate::net::ending::Ending;
use crate::net::smtp::lines::{self, Line};
use crate::net::smtp::speech::Speech;
use crate::net::socket::Socket;
use crate::store::Ticket;

impl Session {
    /// Reads the next line of the client; none if it has left.
    pub(super) async fn line(&mut self) -> Result<Option<Vec<u8>>, Ending> {
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
