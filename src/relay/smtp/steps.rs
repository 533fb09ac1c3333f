//! Where rules meet a session and its transactions before the dot. At the dot and at the commit they meet the attempt on its way.

use std::sync::Arc;

use super::SEND;
use super::session::Session;
use crate::attempt::{Held, Pause, Paused, fired};
use crate::faults::{Action, Answer, Facts, How, Loss, Point, Step, Verdict};
use crate::ledger::{Fate, Fired, Outcome, rfc3339};
use crate::net::ending::Ending;
use crate::net::smtp::speech::Speech;
use crate::store::{Scope, Stale};

/// Says how a transaction has met the rules at one step.
#[derive(Debug)]
pub(super) enum Met {
    /// It goes on.
    Go,
    /// It is refused, in the upstream's place.
    Refused(Speech),
    /// The upstream never sees it, and a gateway answers.
    Failed(Speech),
}

impl Session {
    /// Asks the rules at a step of the session, once a session; returns what is said in place of the upstream's reply.
    pub(super) async fn meet_session(&mut self, step: Step) -> Result<Option<Speech>, Ending> {
        if self.exempt || !self.asked.insert(step) {
            return Ok(None);
        }
        // Before a login only the relay's own scope is known.
        let scope = match step {
            Step::Auth | Step::Quit => Some(self.scope()),
            _ => self.relay.spec.scope.clone(),
        };
        let Some(verdict) = self.ask_session(step, scope.as_ref()) else {
            return Ok(None);
        };
        let Fired { rule, mode, .. } = fired(&verdict);
        let name = self.relay.about.name;
        tracing::info!(target: "attempt", "{name} session {} {mode} fault={rule} connection={}", step.as_str(), self.peer.connection);
        self.flush().await?;
        let over = self.relay.house.way.store.over(&self.scope());
        let pause = match verdict.action {
            Action::Pass => {
                self.exempt = true;
                return Ok(None);
            }
            Action::Fail(Loss::End(how)) => return Err(Ending::Fault(how, over)),
            Action::Fail(Loss::Gateway(answer)) | Action::Refuse(answer) => {
                return Ok(Some(self.refusal(&answer, step)));
            }
            Action::Hold { barrier } => Pause::Hold { barrier },
            Action::Delay(delay) => Pause::Delay(delay),
            Action::Drop(_) | Action::Error(_) | Action::Tamper(_) => return Ok(None),
        };
        let held = Held {
            scope: scope.map(|s| s.name()),
            operation: None,
            attempt: None,
            ..self.held(rule)
        };
        match self.pause(pause, held, &over).await {
            Paused::GoOn => Ok(None),
            Paused::Drop(how) => Err(Ending::Fault(how, over)),
            Paused::Left => Err(Ending::Gone),
            Paused::Over => Err(Ending::Close),
        }
    }

    /// Asks the rules at a step of the open transaction.
    pub(super) async fn meet(&mut self, step: Step, recipients: &[String], mark: u64) -> Result<Met, Ending> {
        let Some(verdict) = self.ask_rules(step, recipients, mark).map_err(|Stale| Ending::Close)? else {
            return Ok(Met::Go);
        };
        let Some(live) = &mut self.live else {
            return Ok(Met::Go);
        };
        let fired = fired(&verdict);
        let rule = Arc::clone(&fired.rule);
        live.ticket.note_fired(fired);
        let over = live.ticket.over().clone();
        let pause = match verdict.action {
            Action::Pass => {
                live.exempt = true;
                return Ok(Met::Go);
            }
            Action::Fail(Loss::End(how)) => return Err(self.fail(how).await),
            Action::Fail(Loss::Gateway(answer)) => return Ok(Met::Failed(self.refusal(&answer, step))),
            Action::Refuse(answer) => return Ok(Met::Refused(self.refusal(&answer, step))),
            Action::Hold { barrier } => Pause::Hold { barrier },
            Action::Delay(delay) => Pause::Delay(delay),
            Action::Drop(_) | Action::Error(_) | Action::Tamper(_) => return Ok(Met::Go),
        };
        self.flush().await?;
        let held = self.held(rule);
        match self.pause(pause, held, &over).await {
            Paused::GoOn => Ok(Met::Go),
            Paused::Drop(how) => Err(self.fail(how).await),
            Paused::Left => Err(Ending::Gone),
            Paused::Over => Err(Ending::Close),
        }
    }

    /// Loses the attempt before its dot: the upstream never has it. Replies owed to earlier commands leave first.
    async fn fail(&mut self, how: How) -> Ending {
        let Some(mut live) = self.live.take() else {
            return Ending::Close;
        };
        live.ticket.decide(Outcome::Failed);
        if let Err(gone) = self.flush().await {
            return gone;
        }
        live.ticket.finish(Fate::Withheld);
        Ending::Fault(how, live.ticket.over().clone())
    }

    fn ask_session(&self, step: Step, scope: Option<&Scope>) -> Option<Verdict> {
        let facts = Facts {
            scope: scope.map(Scope::as_str),
            step: Some(step),
            ..Facts::new(self.relay.about.name)
        };
        self.relay.house.way.rules.ask(Point::Before, &facts, &[])
    }

    fn ask_rules(&self, step: Step, recipients: &[String], mark: u64) -> Result<Option<Verdict>, Stale> {
        let Some(live) = self.live.as_ref().filter(|live| !live.exempt) else {
            return Ok(None);
        };
        let facts = Facts {
            operation: Some(SEND),
            scope: Some(live.ticket.scope().as_str()),
            sender: Some(&live.sender),
            recipients,
            step: Some(step),
            content_bytes: mark,
            ..Facts::new(self.relay.about.name)
        };
        let rules = &self.relay.house.way.rules;
        live.ticket
            .while_current(|_| rules.ask(Point::Before, &facts, &live.in_request))
    }

    fn held(&self, rule: Arc<str>) -> Held {
        let live = self.live.as_ref();
        Held {
            id: String::new(),
            scope: live.map(|live| live.ticket.scope().name()),
            provider: self.relay.about.name.into(),
            operation: live.map(|_| SEND.into()),
            attempt: live.map(|live| live.ticket.id()),
            key: None,
            point: Point::Before,
            rule,
            barrier: None,
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
        }
    }

    /// Speaks an injected refusal; what it leaves open is what a server would say at this step.
    fn refusal(&self, answer: &Answer, step: Step) -> Speech {
        let usual = match step {
            Step::Connect | Step::Greeting | Step::Ehlo | Step::Quit => 421,
            Step::Auth => 454,
            _ => 451,
        };
        let code = answer.status.unwrap_or(usual);
        match &answer.body {
            Some(text) => Speech::new(code, text.clone()),
            None => self.own(code, answer.code.as_deref().unwrap_or("a fault rule said so")),
        }
    }
}
