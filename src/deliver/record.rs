//! One try to send a letter, as it stands in the ledger.
//!
//! The receiver is the provider here: a 2xx head accepts, any other status refuses. Bytes that left without an answer are `unknown`, for
//! the receiver may have committed; `failed` is only what never left. The answer's fate is the other fact: it came whole, or it is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant as Deadline, timeout_at};

use super::{Courier, Found, Letter, Opened, Trouble};
use crate::ledger::{Answered, Arrival, Class, Fate, Outcome, Peer, Recorded, secrets};
use crate::store::{Decision, Scope, Store, Ticket, TooManyScopes, Tx};

/// Is one try to send a letter. Dropping it ends it, with an outcome and a fate.
#[derive(Debug)]
pub struct Try {
    ticket: Ticket,
    began: Instant,
    connected: Option<Instant>,
    witness: Option<Arc<dyn Witness>>,
    /// Whether the answer was kept back from whoever sends.
    withheld: bool,
}

/// Looks on as a try is decided, and does what belongs to that in the same transaction.
pub trait Witness: std::fmt::Debug + Send + Sync {
    /// Is asked once, right before the receiver's acceptance is committed: whether its answer is kept back from whoever sends. The try
    /// counts as accepted all the same.
    fn keeps_back(&self, ticket: &Ticket) -> bool;

    /// Does what belongs to the outcome; may be run again. `withheld` says that whoever sends does not learn of it.
    fn settle(&self, tx: &mut Tx<'_>, outcome: Outcome, withheld: bool);
}

/// Says how one try went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The id of the try in the journal.
    pub attempt: u64,
    /// What the receiver's side made of it.
    pub outcome: Outcome,
    /// What became of its answer.
    pub fate: Fate,
    /// The status, if an answer came.
    pub status: Option<StatusCode>,
    /// The headers of the answer.
    pub headers: HeaderMap,
    /// What was read of the answer's body.
    pub body: Bytes,
    /// Why there is no whole answer.
    pub trouble: Option<Trouble>,
    /// When what happened.
    pub times: Times,
}

/// Says when what happened to one try, each since the begin of the whole delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the moment it is named after")]
pub struct Times {
    pub connected: Option<Duration>,
    pub released: Option<Duration>,
    pub sent: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub done: Option<Duration>,
}

impl Report {
    /// Says whether the receiver accepted, whole answer or not.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.outcome == Outcome::Accepted
    }
}

impl Courier {
    /// Sends a letter once: enters the try into the ledger, resolves, judges, connects, sends, and reads the answer.
    ///
    /// # Errors
    ///
    /// Fails if the try would need one scope too many; all that goes wrong with the request itself is in the report.
    pub async fn deliver(&self, store: &Store, scope: &Scope, letter: &Letter) -> Result<Report, TooManyScopes> {
        let mut tried = Try::begin(store, scope, letter, Instant::now())?;
        let found = tried.unless_over(self, self.find(letter.target())).await;
        let opened = match found {
            Ok(found) => tried.open(self, &found).await,
            Err(trouble) => Err(trouble),
        };
        Ok(match opened {
            Ok(opened) => tried.carry(self, opened, letter).await,
            Err(trouble) => tried.fail(trouble),
        })
    }
}

impl Try {
    /// Enters a try into the ledger, before anything of it is done. `began` is the moment from which its times count.
    ///
    /// # Errors
    ///
    /// Fails if it would need one scope too many.
    pub fn begin(store: &Store, scope: &Scope, letter: &Letter, began: Instant) -> Result<Self, TooManyScopes> {
        let ticket = store.begin(scope, arrival(store, letter))?;
        Ok(Self::of(ticket, letter, began))
    }

    /// Enters a try into the ledger if the world wants it in that moment.
    pub fn begin_if(
        store: &Store,
        scope: &Scope,
        letter: &Letter,
        began: Instant,
        wanted: impl FnOnce(&mut Tx<'_>) -> bool,
    ) -> Option<Self> {
        let ticket = store.begin_if(scope, arrival(store, letter), wanted)?;
        Some(Self::of(ticket, letter, began))
    }

    fn of(mut ticket: Ticket, letter: &Letter, began: Instant) -> Self {
        ticket.set_fallback(Outcome::Failed);
        let (key, recorded) = (letter.key.clone(), letter.recorded.clone());
        ticket.note(|entry| {
            entry.key = key;
            entry.request = Some(recorded);
        });
        Self {
            ticket,
            began,
            connected: None,
            witness: None,
            withheld: false,
        }
    }

    /// Lets somebody look on as it is decided.
    #[must_use]
    pub fn watched(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Returns the right to change the world that it has.
    pub fn ticket(&mut self) -> &mut Ticket {
        &mut self.ticket
    }

    /// Opens the connection.
    ///
    /// # Errors
    ///
    /// Fails if none of the addresses takes it, or the suite ends it first.
    pub async fn open(&mut self, courier: &Courier, found: &Found) -> Result<Opened, Trouble> {
        let opened = self.unless_over(courier, courier.open(found)).await?;
        self.connected = Some(Instant::now());
        let address = opened.address();
        self.ticket.note(|entry| entry.arrival.peer.address = address);
        Ok(opened)
    }

    /// Ends a try of which nothing was sent.
    #[must_use]
    pub fn fail(mut self, trouble: Trouble) -> Report {
        self.ticket.decide(Outcome::Failed);
        let seen = Seen {
            trouble: Some(trouble),
            ..Seen::default()
        };
        self.end(seen, Outcome::Failed)
    }

    /// Ends a try of which nothing was sent, and tells who looks on.
    pub async fn give_up(mut self, trouble: Trouble, letter: &Letter) -> Report {
        self.conclude(Outcome::Failed, letter).await;
        self.fail(trouble)
    }

    /// Ends a try of which nothing is sent because a fault keeps it back.
    pub async fn keep_back(mut self, letter: &Letter) -> Report {
        self.withheld = true;
        self.conclude(Outcome::Failed, letter).await;
        self.end(Seen::default(), Outcome::Failed)
    }

    /// Sends the letter now, and reads the answer.
    pub async fn carry(mut self, courier: &Courier, opened: Opened, letter: &Letter) -> Report {
        // Whatever ends it from here on, something may have left.
        self.ticket.set_fallback(Outcome::Unknown);
        let released = Instant::now();
        let deadline = Deadline::now() + courier.patience();
        let meter = opened.meter();
        let mut seen = Seen::default();
        let answer = courier.in_time(deadline, opened.send(&letter.parcel));
        let outcome = match self.unless_over(courier, answer).await {
            Ok(head) => {
                let outcome = match head.status.is_success() {
                    true => Outcome::Accepted,
                    false => Outcome::Refused,
                };
                self.conclude(outcome, letter).await;
                (seen.status, seen.headers) = (Some(head.status), head.headers.clone());
                let mut read = BytesMut::new();
                let rest = courier.in_time(deadline, head.rest(&mut read));
                seen.trouble = self.unless_over(courier, rest).await.err();
                seen.body = read.freeze();
                outcome
            }
            Err(trouble) => {
                seen.trouble = Some(trouble);
                let sent = meter.marks().anything_sent();
                let outcome = if sent { Outcome::Unknown } else { Outcome::Failed };
                self.conclude(outcome, letter).await;
                outcome
            }
        };
        let marks = meter.marks();
        let since = |moment: Instant| moment.saturating_duration_since(self.began);
        seen.times = Times {
            connected: None,
            released: Some(since(released)),
            sent: marks.sent.map(since),
            first_byte: marks.first_byte.map(since),
            done: Some(self.began.elapsed()),
        };
        self.end(seen, outcome)
    }

    /// Counts the outcome: with the head of its answer the receiver has committed, or refused.
    async fn conclude(&mut self, outcome: Outcome, letter: &Letter) {
        let accepted = outcome == Outcome::Accepted;
        let witness = self.witness.take();
        if let Some(witness) = witness.as_ref().filter(|_| accepted) {
            self.withheld = witness.keeps_back(&self.ticket);
        }
        let (withheld, effect) = (self.withheld, letter.sender.effect);
        let correlations = if accepted { vec![letter.correlation] } else { Vec::new() };
        let decision = Decision { outcome, correlations };
        let decided = self.ticket.transact(
            |tx| {
                if accepted {
                    let id = letter.key.clone().unwrap_or_else(|| tx.new_id("dlv_"));
                    tx.effect(effect, &id);
                }
                if let Some(witness) = &witness {
                    witness.settle(tx, outcome, withheld);
                }
            },
            |(), _| (Some(decision), ()),
        );
        // A reset came first: then it changes nothing there any more, and the receiver's word stands in the report alone.
        let _ = decided.await;
    }

    fn end(mut self, mut seen: Seen, outcome: Outcome) -> Report {
        let fate = match seen.trouble {
            _ if self.withheld => Fate::Withheld,
            None => Fate::Answered,
            Some(_) => Fate::Lost,
        };
        let answer = seen.status.map(|status| self.record(status, &seen));
        let note = seen.trouble.as_ref().map(ToString::to_string);
        let size = seen.body.len() as u64;
        self.ticket.note(|entry| {
            entry.answer = answer;
            entry.sent = size;
            entry.notes.extend(note.map(|note| secrets::clean(&note).into_owned()));
        });
        self.ticket.finish(fate);
        seen.times.connected = self.connected.map(|at| at.saturating_duration_since(self.began));
        Report {
            attempt: self.ticket.id(),
            outcome,
            fate,
            status: seen.status,
            headers: seen.headers,
            body: seen.body,
            trouble: seen.trouble,
            times: seen.times,
        }
    }

    fn record(&self, status: StatusCode, seen: &Seen) -> Answered {
        let body = Bytes::from(secrets::clean_bytes(&seen.body).into_owned());
        Answered {
            status: status.as_u16(),
            headers: secrets::clean_head(&seen.headers),
            content: Recorded::Body(self.ticket.ledger().keep(Bytes::new(), body, false)),
        }
    }

    /// Waits for what is done, unless the suite stops or the scope is reset first.
    ///
    /// # Errors
    ///
    /// Fails as what is done fails, or says that it was stopped.
    pub async fn unless_over<T>(
        &self,
        courier: &Courier,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        tokio::select! {
            biased;
            () = self.ticket.over().cancelled() => Err(Trouble::stopped()),
            () = courier.stop().cancelled() => Err(Trouble::stopped()),
            done = work => done,
        }
    }
}

impl Courier {
    async fn in_time<T>(
        &self,
        deadline: Deadline,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let done = timeout_at(deadline, work).await;
        done.unwrap_or_else(|_| Err(self.late("answer")))
    }
}

fn arrival(store: &Store, letter: &Letter) -> Arrival {
    Arrival {
        provider: letter.sender.provider.into(),
        class: Class::KeyAdvisory,
        operation: letter.sender.operation.into(),
        line: letter.line.clone(),
        peer: Peer {
            // Known only once it is connected.
            address: ([0, 0, 0, 0], letter.target.port()).into(),
            connection: store.ledger().next_connection(),
        },
    }
}

/// Gathers what was seen of an answer.
#[derive(Debug, Default)]
struct Seen {
    status: Option<StatusCode>,
    headers: HeaderMap,
    body: Bytes,
    trouble: Option<Trouble>,
    times: Times,
}
