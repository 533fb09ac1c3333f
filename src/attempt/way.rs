//! The way of one attempt: identify, ask before, reserve, commit, ask after, answer. Each step is one room, and nothing goes back.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::asked::fired;
use super::errand::{Errand, Reserved, Settled};
use super::handled::Handled;
use super::holds::{Held, Holds};
use super::line::{Line, Outgoing, Passing};
use super::pause::{Pause, Paused};
use super::{Operation, Provider, Refusal};
use crate::faults::{Action, Answer, How, InRequest, Loss, Point, Rules, Verdict};
use crate::idempotency::Reservation;
use crate::ledger::{Content, Fate, Outcome, Reply, rfc3339};
use crate::store::{Stale, Store, Ticket};

/// Is what every attempt shares; clones share it.
#[derive(Clone, Debug)]
pub struct Way {
    /// All state.
    pub store: Store,
    /// The fault rules.
    pub rules: Rules,
    /// What is held.
    pub holds: Holds,
    /// Cancelled when the suite stops.
    pub stop: CancellationToken,
    /// All tasks of the suite.
    pub tasks: TaskTracker,
    /// How long a hang or a hold lasts at most.
    pub hang_cap: Duration,
}

/// Is one whole request, and how rules have met it so far.
#[derive(Debug)]
pub struct Whole<R> {
    /// The request.
    pub request: R,
    /// What it asks for.
    pub operation: &'static Operation,
    /// Rules that came in it.
    pub in_request: Vec<InRequest>,
    /// Whether a `pass` has won already: no rule meets it any more.
    pub exempt: bool,
}

/// Carries a whole request to a mock out, from its identification to its answer.
///
/// Runs in a task of its own: a client's leaving ends nothing but a hold before the commit.
pub async fn carry_out<P: Provider>(
    way: Way,
    provider: Arc<P>,
    whole: Whole<P::Request>,
    mut ticket: Ticket,
    line: Line,
) {
    ticket.set_fallback(Outcome::Failed);
    let handled = Handled::new(provider, whole, &ticket);
    walk(way, handled, ticket, line).await;
}

/// Walks the way with an errand, to its answer.
///
/// Runs in a task of its own: a client's leaving ends nothing but a hold before the commit.
pub async fn walk<E: Errand>(way: Way, errand: E, ticket: Ticket, line: Line) {
    let attempt = Attempt {
        way,
        errand,
        ticket,
        line,
        rule: "".into(),
    };
    attempt.run().await;
}

struct Attempt<E: Errand> {
    way: Way,
    errand: E,
    ticket: Ticket,
    line: Line,
    /// The rule that has fired last.
    rule: Arc<str>,
}

impl<E: Errand> Attempt<E> {
    async fn run(mut self) {
        let (errand, rules, id) = (&self.errand, &self.way.rules, self.ticket.id());
        let asked = self.ticket.while_current(|tx| {
            let verdict = errand.asked().ask_before(rules);
            if let Some(verdict) = &verdict {
                errand.reserve_at_once(tx, verdict, id);
            }
            verdict
        });
        let Ok(verdict) = asked else {
            return self.line.lose(How::Close, self.ticket);
        };
        let Some(verdict) = verdict else {
            return self.commit(None).await;
        };
        match verdict.action {
            Action::Hold { barrier } => return self.pause_before(Pause::Hold { barrier }, &verdict).await,
            Action::Delay(delay) => return self.pause_before(Pause::Delay(delay), &verdict).await,
            _ => self.fire(&verdict),
        }
        match verdict.action {
            Action::Fail(loss) => self.fail(loss),
            Action::Refuse(answer) => self.refuse(&answer).await,
            action => {
                self.errand.asked_mut().whole.exempt = matches!(action, Action::Pass);
                self.commit(None).await;
            }
        }
    }

    /// Notes the rule that fired.
    fn fire(&mut self, verdict: &Verdict) {
        self.rule = Arc::clone(&verdict.rule);
        self.ticket.note_fired(fired(verdict));
    }

    /// Fails before the commit: the provider never sees the request.
    fn fail(mut self, loss: Loss) {
        self.ticket.decide(Outcome::Failed);
        match loss {
            Loss::End(how) => self.line.lose(how, self.ticket),
            Loss::Gateway(answer) => {
                let reply = overridden(self.errand.gateway(&refusal(&answer)), &answer);
                self.answer(reply);
            }
        }
    }

    /// Refuses in the provider's own words; a status that the provider keeps under a key takes the way of the commit.
    async fn refuse(mut self, answer: &Answer) {
        let reply = overridden(self.errand.refuse(&refusal(answer)), answer);
        let Some(reply) = self.errand.keep(reply) else {
            return self.commit(None).await;
        };
        self.ticket.decide(self.errand.asked().refusal());
        self.answer(reply);
    }

    /// Reserves the key, if there is one, and waits. Who waits at a barrier reserves nothing: all that are let go race for the key.
    async fn pause_before(mut self, pause: Pause, verdict: &Verdict) {
        let gathers = matches!(pause, Pause::Hold { barrier: Some(_) });
        let reserved = if gathers {
            Ok(Reserved::Nothing)
        } else {
            self.errand.reserve(&mut self.ticket, &self.way.rules).await
        };
        // Noted after: who sees in the journal that it waits must find the key reserved.
        self.fire(verdict);
        let reservation = match reserved {
            Ok(Reserved::Nothing) => None,
            Ok(Reserved::Key(reservation)) => Some(reservation),
            Ok(Reserved::Settled(settled, verdict)) => return self.after(*settled, verdict).await,
            Err(Stale) => return self.line.lose(How::Close, self.ticket),
        };
        match self.pause(pause, Point::Before).await {
            Paused::GoOn => self.commit(reservation).await,
            Paused::Drop(how) => {
                self.ticket.decide(Outcome::Failed);
                drop(reservation);
                self.line.lose(how, self.ticket);
            }
            Paused::Left => {
                self.ticket.decide(Outcome::Incomplete);
                drop(reservation);
                self.line.lose(How::Close, self.ticket);
            }
            Paused::Over => self.line.lose(How::Close, self.ticket),
        }
    }

    async fn commit(mut self, reservation: Option<Reservation>) {
        let settled = self.errand.commit(&mut self.ticket, &self.way.rules).await;
        drop(reservation);
        match settled {
            Ok((settled, verdict)) => self.after(settled, verdict).await,
            Err(Stale) => self.line.lose(How::Close, self.ticket),
        }
    }

    /// Does what the rules said after the commit, then answers.
    async fn after(mut self, settled: Settled, verdict: Option<Verdict>) {
        let said = Said {
            reply: settled.reply,
            passing: settled.passing,
        };
        self.record(&said.reply);
        if let Some(verdict) = &verdict {
            self.fire(verdict);
        }
        if !said.reply.delay.is_zero() {
            match self.pause(Pause::Delay(said.reply.delay), Point::After).await {
                Paused::GoOn => {}
                _ => return self.line.lose(How::Close, self.ticket),
            }
        }
        let pause = match verdict.map(|v| v.action) {
            Some(Action::Drop(how)) => return self.drop_answer(said, how).await,
            Some(Action::Error(answer)) => {
                let reply = overridden(self.errand.gateway(&refusal(&answer)), &answer);
                if self.drain(said).await == Drained::Over {
                    return self.line.lose(How::Close, self.ticket);
                }
                return self.send(reply.into(), None, Fate::Withheld);
            }
            Some(Action::Hold { barrier }) => Pause::Hold { barrier },
            Some(Action::Delay(delay)) => Pause::Delay(delay),
            None | Some(Action::Pass | Action::Fail(_) | Action::Refuse(_) | Action::Tamper(_)) => {
                return self.send(said, None, Fate::Answered);
            }
        };
        match self.pause(pause, Point::After).await {
            Paused::GoOn => self.send(said, None, Fate::Answered),
            Paused::Drop(how) => self.drop_answer(said, how).await,
            Paused::Left | Paused::Over => self.line.lose(How::Close, self.ticket),
        }
    }

    /// Loses an answer, once whoever said it has said all of it.
    async fn drop_answer(self, said: Said, how: How) {
        match how {
            How::Truncate { bytes } => self.send(said, Some(bytes), Fate::Answered),
            how => {
                let how = match self.drain(said).await {
                    Drained::On => how,
                    Drained::Over => How::Close,
                };
                self.line.lose(how, self.ticket);
            }
        }
    }

    /// Takes in what still comes of an answer, until there is no more, or its time, its world or the suite is over; and lets it go.
    async fn drain(&self, said: Said) -> Drained {
        let Some(passing) = said.passing else {
            return Drained::On;
        };
        tokio::select! {
            biased;
            () = self.ticket.over().cancelled() => Drained::Over,
            () = self.way.stop.cancelled() => Drained::On,
            () = passing.drain() => Drained::On,
        }
    }

    /// Records a reply that did not come through the provider, and sends it.
    fn answer(self, reply: Reply) {
        self.record(&reply);
        self.send(reply.into(), None, Fate::Answered);
    }

    fn record(&self, reply: &Reply) {
        let answered = self.ticket.ledger().record(reply);
        self.ticket.note(|entry| entry.answer = Some(answered));
    }

    fn send(self, said: Said, cut: Option<u64>, whole: Fate) {
        let mut outgoing = Outgoing::new(said.reply, cut, whole, self.ticket);
        outgoing.passing = said.passing;
        self.line.answer(outgoing);
    }

    async fn pause(&self, pause: Pause, point: Point) -> Paused {
        let asked = self.errand.asked();
        let held = Held {
            id: String::new(),
            scope: Some(Arc::clone(&asked.scope)),
            provider: asked.about.name.into(),
            operation: Some(asked.whole.operation.name.into()),
            attempt: Some(self.ticket.id()),
            key: asked.name.clone(),
            point,
            rule: Arc::clone(&self.rule),
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
            barrier: None,
        };
        self.way.pause(pause, held, self.line.gone(), self.ticket.over()).await
    }
}

/// Is an answer before it is sent.
struct Said {
    reply: Reply,
    passing: Option<Box<Passing>>,
}

/// Says how it goes on when an answer was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drained {
    /// As the rule said.
    On,
    /// Not at all: the world was reset.
    Over,
}

impl From<Reply> for Said {
    fn from(reply: Reply) -> Self {
        Self { reply, passing: None }
    }
}

/// Says what a rule asks the provider, or the gateway before it, to speak of.
fn refusal(answer: &Answer) -> Refusal {
    Refusal {
        status: answer.status,
        code: answer.code.clone(),
    }
}

/// Puts what a rule says about an answer over what the provider would have said.
fn overridden(mut reply: Reply, answer: &Answer) -> Reply {
    reply.extra.extend(answer.headers.iter().cloned());
    if let Some(body) = &answer.body {
        reply.content = Content::Bytes(body.clone().into());
    }
    reply
}
