//! The line between an attempt, which runs in a task of its own, and the connection that waits for its answer.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::faults::How;
use crate::ledger::{Fate, Reply};
use crate::store::Ticket;

/// Is what an attempt hands to its connection, once.
#[derive(Debug)]
pub enum Delivery {
    /// Send this.
    Answer(Outgoing),
    /// Send nothing: end the connection so.
    Lose {
        /// How; never by truncation, for that sends something.
        how: How,
        /// Ends a hang: the attempt's world was reset.
        over: CancellationToken,
    },
}

/// Is an answer on its way, with the right to say what became of it. Dropped on the way, it is lost.
#[derive(Debug)]
pub struct Outgoing {
    /// What is sent; of an answer that passes through, what was recorded of it at once.
    pub reply: Reply,
    /// The answer as it comes, if it passes through a relay.
    pub passing: Option<Box<Passing>>,
    /// After how many bytes of the plaintext answer it is cut off; a cut at or past its length sends all of it, and then ends.
    pub cut: Option<u64>,
    /// The fate if all of it left: answered, or withheld if it is not the provider's own.
    pub whole: Fate,
    ticket: Ticket,
}

impl Outgoing {
    /// Joins an answer with the ticket of its attempt.
    #[must_use]
    pub fn new(reply: Reply, cut: Option<u64>, whole: Fate, ticket: Ticket) -> Self {
        Self {
            reply,
            passing: None,
            cut,
            whole,
            ticket,
        }
    }

    /// Notes that the first byte leaves now.
    pub fn begin(&self) {
        self.ticket.ledger().answer_begins(self.ticket.id());
    }

    /// Notes that it waits for a client that reads slowly.
    pub fn stall(&self) {
        self.ticket.ledger().answer_stalls(self.ticket.id());
    }

    /// Notes that it leaves again.
    pub fn go_on(&self) {
        self.ticket.ledger().answer_goes_on(self.ticket.id());
    }

    /// Finishes: all of it was handed to the kernel.
    pub fn sent_whole(self, bytes: u64) {
        let fate = self.whole;
        self.finish(fate, bytes);
    }

    /// Finishes: it was cut off where it should be.
    pub fn sent_cut(self, bytes: u64) {
        self.finish(Fate::Withheld, bytes);
    }

    fn finish(mut self, fate: Fate, bytes: u64) {
        self.ticket.note(|entry| entry.sent = bytes);
        self.ticket.finish(fate);
    }
}

/// Is the body of an answer that passes through.
pub type Flow = BoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Is an answer that passes through a relay: its head, and its body as it comes.
#[derive(Debug)]
pub struct Passing {
    /// The head, fit for the client.
    pub head: http::response::Parts,
    /// The body; whoever made it takes in what is left of it when it is dropped.
    pub body: Flow,
    /// How long a fault waits for its end.
    pub patience: Duration,
}

impl Passing {
    /// Takes in what still comes. Some answers never end: of such a one the rest is left to whoever made it.
    pub async fn drain(mut self) {
        let drained = async {
            while let Some(Ok(_)) = self.body.frame().await {
                // A body that always has more is no reason for its task to hold a thread for ever.
                tokio::task::consume_budget().await;
            }
        };
        drop(tokio::time::timeout(self.patience, drained).await);
    }
}

/// Is the attempt's end of the line.
#[derive(Debug)]
pub struct Line {
    to: oneshot::Sender<Delivery>,
    gone: CancellationToken,
}

impl Line {
    /// Makes a line; `gone` is cancelled by the connection when its client leaves before the first byte of the answer.
    #[must_use]
    pub fn new(gone: CancellationToken) -> (Self, oneshot::Receiver<Delivery>) {
        let (to, from) = oneshot::channel();
        (Self { to, gone }, from)
    }

    /// Returns the token that says that the client is gone.
    #[must_use]
    pub fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Answers. If the connection is no more, the answer is lost.
    pub fn answer(self, outgoing: Outgoing) {
        drop(self.to.send(Delivery::Answer(outgoing)));
    }

    /// Loses the answer; withheld, if the client was still there.
    pub fn lose(self, how: How, mut ticket: Ticket) {
        let there = !self.gone.is_cancelled() && !self.to.is_closed();
        ticket.finish(if there { Fate::Withheld } else { Fate::Lost });
        let over = ticket.over().clone();
        drop(self.to.send(Delivery::Lose { how, over }));
    }
}
