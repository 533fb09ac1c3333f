//! Where rules meet a session and its transactions before the dot. At the dot and at the commit they meet the attempt on its way.

use super::connection::Connection;
use crate::attempt::{Held, Pause, Paused, Provider as _, Refusal, fired};
use crate::faults::{Action, Answer, Facts, How, Loss, Point, Step, Verdict};
use crate::ledger::{Fate, Fired, Outcome, rfc3339};
use crate::mocks::smtp;
use crate::net::ending::Ending;
use crate::net::smtp::speech::Speech;
use crate::store::{Scope, Stale};

/// Says how a transaction has met the rules at one step.
#[derive(Debug)]
pub(super) enum Met {
    /// It goes on.
    Go,
    /// The provider says no.
    Refused(Speech),
    /// The provider never sees it, and a gateway answers.
    Failed(Speech),
}

impl Connection {
    /// Asks the rules at a step of the session, once a session; returns what is said in place of the usual.
    pub(super) async fn meet_session(&mut self, step: Step) -> Result<Option<Speech>, Ending> {
        if self.exempt || !self.asked.insert(step) {
            return Ok(None);
        }
        let scope = matches!(step, Step::Auth | Step::Quit).then(|| self.scope());
        let Some(verdict) = self.ask_session(step, scope.as_ref()) else {
            return Ok(None);
        };
        let Fired { rule, mode, .. } = fired(&verdict);
        tracing::info!(target: "attempt", "smtp session {} {mode} fault={rule} connection={}", step.as_str(), self.peer.connection);
        self.flush().await?;
        let over = self.shared.way.store.over(&self.scope());
        let pause = match verdict.action {
            Action::Pass => {
                self.exempt = true;
                return Ok(None);
            }
            Action::Fail(Loss::End(how)) => return Err(Ending::Fault(how, over)),
            Action::Fail(Loss::Gateway(answer)) | Action::Refuse(answer) => return Ok(Some(refusal(&answer, step))),
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
        // A mail from before a reset must not use up a rule that was armed again: it ends, as it would at its dot.
        let asked = self.ask(step, recipients, mark).map_err(|Stale| Ending::Close)?;
        let Some(verdict) = asked else {
            return Ok(Met::Go);
        };
        let Some(live) = &mut self.live else {
            return Ok(Met::Go);
        };
        let fired = fired(&verdict);
        let rule = std::sync::Arc::clone(&fired.rule);
        live.ticket.note_fired(fired);
        let over = live.ticket.over().clone();
        let pause = match verdict.action {
            Action::Pass => {
                live.exempt = true;
                return Ok(Met::Go);
            }
            Action::Fail(Loss::End(how)) => return Err(self.fail(how).await),
            Action::Fail(Loss::Gateway(answer)) => return Ok(Met::Failed(refusal(&answer, step))),
            Action::Refuse(answer) => return Ok(Met::Refused(refusal(&answer, step))),
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

    /// Loses the attempt before its dot: the provider never saw it. Replies owed to earlier commands leave first.
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
            ..Facts::new(self.provider())
        };
        self.shared.way.rules.ask(Point::Before, &facts, &[])
    }

    fn ask(&self, step: Step, recipients: &[String], mark: u64) -> Result<Option<Verdict>, Stale> {
        let Some(live) = self.live.as_ref().filter(|live| !live.exempt) else {
            return Ok(None);
        };
        let facts = Facts {
            operation: Some(super::mail::OPERATION),
            scope: Some(live.ticket.scope().as_str()),
            sender: self.session.envelope().map(|e| e.sender()),
            recipients,
            step: Some(step),
            content_bytes: mark,
            ..Facts::new(self.provider())
        };
        let rules = &self.shared.way.rules;
        live.ticket
            .while_current(|_| rules.ask(Point::Before, &facts, &live.in_request))
    }

    fn held(&self, rule: std::sync::Arc<str>) -> Held {
        let live = self.live.as_ref();
        Held {
            id: String::new(),
            scope: live.map(|live| live.ticket.scope().name()),
            provider: self.provider().into(),
            operation: live.map(|_| super::mail::OPERATION.into()),
            attempt: live.map(|live| live.ticket.id()),
            key: None,
            point: Point::Before,
            rule,
            since: rfc3339(Some(time::OffsetDateTime::now_utc())),
            barrier: None,
        }
    }

    /// Returns the scope that the login names.
    pub(super) fn scope(&self) -> Scope {
        let login = self.session.login();
        login.and_then(|login| login.scope.clone()).unwrap_or_default()
    }

    fn provider(&self) -> &'static str {
        self.shared.mocks.smtp.about().name
    }
}

/// Speaks an injected refusal; what it leaves open is what a server would say at this step.
fn refusal(answer: &Answer, step: Step) -> Speech {
    let usual = match step {
        Step::Connect | Step::Greeting | Step::Ehlo | Step::Quit => 421,
        Step::Auth => 454,
        _ => 451,
    };
    let refusal = Refusal {
        status: answer.status.or(Some(usual)),
        code: answer.code.clone(),
    };
    let mut reply = smtp::refusal(&refusal);
    if let Some(text) = &answer.body {
        reply.content = crate::ledger::Content::Bytes(text.clone().into());
    }
    Speech::of(&reply)
}
