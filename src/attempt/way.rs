//! The way of one attempt: identify, ask before, reserve, commit, ask after, answer. Each step is one room, and nothing goes back.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::asked::{Asked, fired};
use super::holds::{Held, Holds};
use super::line::{Line, Outgoing};
use super::pass::{Settled, Until, pass_through, reserve_to_wait};
use super::pause::{Pause, Paused};
use super::{Describe as _, Operation, Provider, Refusal};
use crate::faults::{Action, Answer, How, InRequest, Loss, Point, Rules, Verdict};
use crate::idempotency::Reservation;
use crate::ledger::{Content, Fate, Outcome, Reply, rfc3339};
use crate::store::{Decision, Stale, Store, Ticket};

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

/// Carries a whole request out, from its identification to its answer.
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
    let identified = provider.identify(&whole.request);
    let recorded = identified.recorded.clone().unwrap_or_else(|| {
        let (head, body) = whole.request.recordable();
        ticket.ledger().keep(head, body, false)
    });
    ticket.note(|entry| {
        entry.key.clone_from(&identified.name);
        entry.request = Some(recorded);
    });
    let scope = ticket.scope().name();
    let asked = Asked {
        provider,
        whole,
        identified,
        scope,
    };
    Attempt {
        way,
        asked,
        ticket,
        line,
        injected: None,
        rule: "".into(),
    }
    .run()
    .await;
}

struct Attempt<P: Provider> {
    way: Way,
    asked: Asked<P>,
    ticket: Ticket,
    line: Line,
    /// A refusal that a fault asked for and that the provider keeps under its key.
    injected: Option<Reply>,
    /// The rule that has fired last.
    rule: Arc<str>,
}

impl<P: Provider> Attempt<P> {
    async fn run(mut self) {
        let (asked, rules, id) = (&self.asked, &self.way.rules, self.ticket.id());
        let asked = self.ticket.while_current(|tx| {
            let verdict = asked.ask_before(rules);
            reserve_to_wait(tx, asked, verdict.as_ref(), id);
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
                self.asked.whole.exempt = matches!(action, Action::Pass);
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
                let reply = overridden(self.asked.provider.gateway(&refusal(&answer)), &answer);
                self.answer(reply, None, Fate::Answered);
            }
        }
    }

    /// Refuses in the provider's own words; a status that the provider keeps under a key takes the way of the commit.
    async fn refuse(mut self, answer: &Answer) {
        let Asked {
            provider,
            whole,
            identified,
            ..
        } = &self.asked;
        let refusal = refusal(answer);
        let reply = overridden(provider.refuse(&whole.request, &identified.call, &refusal), answer);
        if identified.key.is_some() && provider.keeps(reply.status) {
            self.injected = Some(reply);
            return self.commit(None).await;
        }
        self.ticket.decide(self.asked.refusal());
        self.answer(reply, None, Fate::Answered);
    }

    /// Reserves the key, if there is one, and waits. Who waits at a barrier reserves nothing: all that are let go race for the key.
    async fn pause_before(mut self, pause: Pause, verdict: &Verdict) {
        let mut reserved = None;
        let gathers = matches!(pause, Pause::Hold { barrier: Some(_) });
        if let Some(key) = self.asked.key().filter(|_| !gathers).cloned() {
            reserved = Some((self.settle(Until::Reserved).await, key));
        }
        // Noted after: who sees in the journal that it waits must find the key reserved.
        self.fire(verdict);
        let reservation = match reserved {
            None => None,
            Some((Ok((None, _)), key)) => Some(Reservation::guard(&self.ticket, &key)),
            Some((Ok((Some(settled), verdict)), _)) => return self.after(settled, verdict).await,
            Some((Err(Stale), _)) => return self.line.lose(How::Close, self.ticket),
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
        let settled = self.settle(Until::Committed).await;
        drop(reservation);
        match settled {
            Ok((Some(settled), verdict)) => self.after(settled, verdict).await,
            Ok((None, _)) | Err(Stale) => self.line.lose(How::Close, self.ticket),
        }
    }

    /// Passes through the provider in one transact: the key, the objects, the saved answer, the count, and the rules' word on it.
    async fn settle(&mut self, until: Until) -> Result<(Option<Settled>, Option<Verdict>), Stale> {
        let id = self.ticket.id();
        let (asked, injected, rules) = (&self.asked, self.injected.as_ref(), &self.way.rules);
        let settled = self.ticket.transact(
            |tx| pass_through(tx, asked, injected, until, id),
            |settled, _| {
                let Some(settled) = settled else {
                    return (None, None);
                };
                let outcome = settled.outcome;
                let verdict = asked.ask_after(rules, outcome, settled.from_accepted);
                let correlations = asked.identified.correlations.clone();
                (Some(Decision { outcome, correlations }), verdict)
            },
        );
        settled.await
    }

    /// Does what the rules said after the commit, then answers.
    async fn after(mut self, settled: Settled, verdict: Option<Verdict>) {
        let reply = settled.reply;
        self.record(&reply);
        if let Some(verdict) = &verdict {
            self.fire(verdict);
        }
        if !reply.delay.is_zero() {
            match self.pause(Pause::Delay(reply.delay), Point::After).await {
                Paused::GoOn => {}
                _ => return self.line.lose(How::Close, self.ticket),
            }
        }
        let pause = match verdict.map(|v| v.action) {
            Some(Action::Drop(how)) => return self.drop_answer(reply, how),
            Some(Action::Error(answer)) => {
                let reply = overridden(self.asked.provider.gateway(&refusal(&answer)), &answer);
                return self.send(reply, None, Fate::Withheld);
            }
            Some(Action::Hold { barrier }) => Pause::Hold { barrier },
            Some(Action::Delay(delay)) => Pause::Delay(delay),
            None | Some(Action::Pass | Action::Fail(_) | Action::Refuse(_) | Action::Tamper(_)) => {
                return self.send(reply, None, Fate::Answered);
            }
        };
        match self.pause(pause, Point::After).await {
            Paused::GoOn => self.send(reply, None, Fate::Answered),
            Paused::Drop(how) => self.drop_answer(reply, how),
            Paused::Left | Paused::Over => self.line.lose(How::Close, self.ticket),
        }
    }

    fn drop_answer(self, reply: Reply, how: How) {
        match how {
            How::Truncate { bytes } => self.send(reply, Some(bytes), Fate::Answered),
            how => self.line.lose(how, self.ticket),
        }
    }

    /// Records a reply that did not come through the provider, and sends it.
    fn answer(self, reply: Reply, cut: Option<u64>, whole: Fate) {
        self.record(&reply);
        self.send(reply, cut, whole);
    }

    fn record(&self, reply: &Reply) {
        let answered = self.ticket.ledger().record(reply);
        self.ticket.note(|entry| entry.answer = Some(answered));
    }

    fn send(self, reply: Reply, cut: Option<u64>, whole: Fate) {
        self.line.answer(Outgoing::new(reply, cut, whole, self.ticket));
    }

    async fn pause(&self, pause: Pause, point: Point) -> Paused {
        let held = Held {
            id: String::new(),
            scope: Some(Arc::clone(&self.asked.scope)),
            provider: self.asked.provider.about().name.into(),
            operation: Some(self.asked.whole.operation.name.into()),
            attempt: Some(self.ticket.id()),
            key: self.asked.identified.name.clone(),
            point,
            rule: Arc::clone(&self.rule),
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
            barrier: None,
        };
        self.way.pause(pause, held, self.line.gone(), self.ticket.over()).await
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
