//! Where rules meet an attempt: before a statement is forwarded, and when the answer that tells of the commit is complete.

use super::connection::Connection;
use super::follower::Ask;
use super::frames::error;
use super::live::{Live, Settled};
use crate::attempt::{Pause, Paused, fired};
use crate::faults::{Action, Answer, How, Loss, Point, Verdict};
use crate::ledger::{Fate, Outcome};
use crate::net::ending::Ending;
use crate::store::Ticket;

/// What a refusal says that names no code: the transaction may be tried again.
const REFUSED: &str = "40001";
/// What an error after the commit says that names no code: the connection failed.
const FAILED: &str = "08006";

impl Connection {
    /// Begins the attempt if there is none, asks the rules, and forwards the statements or does not.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Result<(), Ending> {
        let mut live = match self.live.take() {
            Some(live) => live,
            None => match Live::begin(&self.relay, &self.scope, self.peer, &ask.statements) {
                Ok(live) => live,
                Err(full) => {
                    self.say(&error("FATAL", "53400", &full.to_string()));
                    self.flush().await;
                    return Err(Ending::Close);
                }
            },
        };
        live.take(&ask.statements);
        let asked = live.ask_before(&self.relay.house.way.rules, &ask.statements);
        self.live = Some(live);
        match asked {
            Err(stale) => {
                tracing::debug!("{stale}");
                self.live = None;
                Err(Ending::Close)
            }
            Ok(None) => {
                self.forward();
                Ok(())
            }
            Ok(Some(verdict)) => self.before(verdict).await,
        }
    }

    fn forward(&mut self) {
        if let Some(live) = &mut self.live {
            live.ticket.set_fallback(Outcome::Unknown);
        }
        let bytes = self.follower.let_through();
        self.forward_bytes(&bytes);
    }

    async fn before(&mut self, verdict: Verdict) -> Result<(), Ending> {
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        live.ticket.note_fired(fired(&verdict));
        let pause = match verdict.action {
            Action::Pass => {
                live.exempt = true;
                self.forward();
                return Ok(());
            }
            Action::Fail(Loss::End(how)) => return Err(self.fail(how).await),
            Action::Fail(Loss::Gateway(answer)) | Action::Refuse(answer) => {
                live.refuse(answer);
                let bytes = self.follower.refuse();
                self.forward_bytes(&bytes);
                return Ok(());
            }
            Action::Hold { barrier } => Pause::Hold { barrier },
            Action::Delay(delay) => Pause::Delay(delay),
            Action::Drop(_) | Action::Error(_) | Action::Tamper(_) => {
                self.forward();
                return Ok(());
            }
        };
        let held = live.held(Point::Before, verdict.rule);
        let over = live.ticket.over().clone();
        match self.pause(pause, held, &over).await {
            Paused::GoOn => {
                self.forward();
                Ok(())
            }
            Paused::Drop(how) => Err(self.fail(how).await),
            Paused::Left => {
                if let Some(Live { mut ticket, .. }) = self.live.take() {
                    ticket.decide(Outcome::Incomplete);
                }
                Err(Ending::Gone)
            }
            Paused::Over => {
                self.live = None;
                Err(Ending::Close)
            }
        }
    }

    /// Loses the attempt before its statement was forwarded; what the transaction has done so far is rolled back with the connection.
    async fn fail(&mut self, how: How) -> Ending {
        self.flush().await;
        let Some(Live { mut ticket, .. }) = self.live.take() else {
            return Ending::Close;
        };
        ticket.decide(Outcome::Failed);
        self.withhold(ticket, how)
    }

    /// Lets the client have what was held back, unless the rules say otherwise about the attempt that ends with it.
    pub(super) async fn release(&mut self) -> Result<(), Ending> {
        if self.live.as_ref().is_none_or(|live| live.settled.is_none()) {
            let held = self.held.take();
            self.say(&held);
            return Ok(());
        }
        let leaked = std::mem::take(&mut self.leaked);
        let Some(live) = self.live.take() else {
            return Ok(());
        };
        let mut held = self.held.take();
        let verdict = match &live.settled {
            Some(Settled::Verdict(verdict)) => verdict.clone(),
            _ => return Err(self.withhold(live.ticket, How::Close)),
        };
        let (pause, rule) = match verdict.map(|verdict| (verdict.action, verdict.rule)) {
            Some((Action::Drop(how), _)) => return Err(self.drop_answer(live.ticket, &held, how).await),
            Some((Action::Error(answer), _)) => {
                let no = failure(&answer);
                self.say(&no);
                self.leave(live.ticket, no.len() as u64, Fate::Withheld);
                self.flush().await;
                return Err(Ending::Close);
            }
            Some((Action::Hold { barrier }, rule)) => (Pause::Hold { barrier }, rule),
            Some((Action::Delay(delay), rule)) => (Pause::Delay(delay), rule),
            _ => {
                self.deliver(live.ticket, &held);
                return Ok(());
            }
        };
        let over = live.ticket.over().clone();
        let what = live.held(Point::After, rule);
        let paused = self.pause(pause, what, &over).await;
        match paused {
            Paused::GoOn => self.deliver(live.ticket, &held),
            Paused::Drop(how) => return Err(self.drop_answer(live.ticket, &held, how).await),
            // What is dropped is lost.
            Paused::Left => held.clear(),
            Paused::Over => return Err(self.withhold(live.ticket, How::Close)),
        }
        self.leaked = leaked && !self.held.is_empty();
        Ok(())
    }

    fn deliver(&mut self, ticket: Ticket, answer: &[u8]) {
        ticket.note(|entry| {
            entry.note_relayed(|relayed, now| {
                relayed.down += answer.len() as u64;
                relayed.first_byte.get_or_insert(now);
                relayed.last_byte = Some(now);
            });
        });
        self.say(answer);
        self.leave(ticket, answer.len() as u64, Fate::Answered);
    }

    async fn drop_answer(&mut self, mut ticket: Ticket, answer: &[u8], how: How) -> Ending {
        self.flush().await;
        let How::Truncate { bytes } = how else {
            return self.withhold(ticket, how);
        };
        let most = usize::try_from(bytes).unwrap_or(usize::MAX).min(answer.len());
        let fate = if most < answer.len() {
            Fate::Withheld
        } else {
            Fate::Answered
        };
        let over = ticket.over().clone();
        self.say(&answer[..most]);
        if self.gone {
            ticket.finish(Fate::Lost);
        }
        self.leave(ticket, most as u64, fate);
        self.flush().await;
        Ending::Fault(How::Truncate { bytes: most as u64 }, over)
    }

    /// Loses the answer, if there is still somebody to lose it.
    fn withhold(&mut self, mut ticket: Ticket, how: How) -> Ending {
        self.look_for_client();
        ticket.finish(if self.gone { Fate::Lost } else { Fate::Withheld });
        Ending::Fault(how, ticket.over().clone())
    }

    /// Notes a client that has left and was not looked for since.
    fn look_for_client(&mut self) {
        use futures_util::FutureExt as _;
        let socket = self.pipe.client.as_ref().map(crate::net::stream::Stream::socket);
        if socket.is_some_and(|socket| socket.left().now_or_never().is_some()) {
            self.lose_client();
        }
    }
}

/// Speaks a refusal as the server would.
pub(super) fn refusal(answer: &Answer) -> Vec<u8> {
    spoken("ERROR", answer, REFUSED, "the statement was refused")
}

fn failure(answer: &Answer) -> Vec<u8> {
    spoken("FATAL", answer, FAILED, "the connection failed")
}

fn spoken(severity: &str, answer: &Answer, code: &str, text: &str) -> Vec<u8> {
    let code = answer.code.as_deref().unwrap_or(code);
    error(severity, code, answer.body.as_deref().unwrap_or(text))
}
