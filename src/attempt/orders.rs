//! What somebody orders to be sent, met by fault rules: each try before it goes, and again when its receiver has accepted.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::asked::fired;
use super::{Pause, Paused, Seal, Way, sent};
use crate::deliver::{Gate, Going, Letter, Parcel, Try, Witness};
use crate::faults::{Action, Tamper, Verdict};
use crate::ledger::Outcome;
use crate::store::{Ticket, Tx};

/// Asks the rules about the tries of one order.
#[derive(Debug)]
pub struct Orders<S> {
    way: Way,
    sealer: S,
}

/// Signs what is sent of an order otherwise than it was.
pub trait Sealer: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Returns the same with another signature; none if it has none.
    fn reseal(&self, parcel: &Parcel, seal: Seal) -> Option<Parcel>;
}

/// Asks the rules about a receiver's acceptance.
#[derive(Debug)]
struct Judge {
    way: Way,
    letter: Arc<Letter>,
}

impl<S: Sealer> Orders<S> {
    /// Makes one for an order, with what signs it.
    #[must_use]
    pub fn new(way: &Way, sealer: S) -> Self {
        Self {
            way: way.clone(),
            sealer,
        }
    }

    /// Signs a letter as a rule wants it; what has no signature goes as it is, and the journal says so.
    fn resealed(&self, tried: &mut Try, letter: &Letter, seal: Seal) -> Arc<Letter> {
        match self.sealer.reseal(letter.parcel(), seal) {
            Some(parcel) => letter.repacked(parcel).into(),
            None => {
                let note = "it is not signed, so that the rule has changed nothing";
                tried.ticket().note(|entry| entry.notes.push(note.into()));
                letter.clone().into()
            }
        }
    }

    /// Lets a try wait as the rule says, and goes on with it or ends it.
    fn wait(&self, mut tried: Try, letter: Arc<Letter>, pause: Pause, verdict: &Verdict) -> Going {
        let (way, held) = (self.way.clone(), sent::held(tried.ticket(), &letter, verdict));
        let over = tried.ticket().over().clone();
        let waiting = async move {
            // Nobody waits for it who could leave.
            match way.pause(pause, held, &CancellationToken::new(), &over).await {
                // What was over while it waited finds that out where it goes on.
                Paused::GoOn | Paused::Left | Paused::Over => Ok((tried, letter)),
                Paused::Drop(_) => Err(tried.keep_back(&letter).await),
            }
        };
        Going::Alone(waiting.boxed())
    }
}

impl<S: Sealer> Gate for Orders<S> {
    fn ask(&self, mut tried: Try, letter: &Arc<Letter>) -> Going {
        let letter = Arc::clone(letter);
        let verdict = sent::ask(&self.way.rules, tried.ticket(), &letter, None, true).flatten();
        if let Some(verdict) = &verdict {
            tried.ticket().note_fired(fired(verdict));
        }
        let action = verdict.as_ref().map(|verdict| verdict.action.clone());
        if action != Some(Action::Pass) {
            let (way, letter) = (self.way.clone(), Arc::clone(&letter));
            tried = tried.watched(Arc::new(Judge { way, letter }));
        }
        let pause = match action {
            Some(Action::Fail(_) | Action::Tamper(Tamper::Never)) => {
                return Going::Alone(async move { Err(tried.keep_back(&letter).await) }.boxed());
            }
            Some(Action::Tamper(Tamper::WrongSecret)) => {
                let letter = self.resealed(&mut tried, &letter, Seal::WrongSecret);
                return Going::Together(tried, letter);
            }
            Some(Action::Tamper(Tamper::Aged(age))) => {
                let age = time::Duration::try_from(age).unwrap_or(time::Duration::MAX);
                let letter = self.resealed(&mut tried, &letter, Seal::Aged(age));
                return Going::Together(tried, letter);
            }
            Some(Action::Delay(delay)) => Some(Pause::Delay(delay)),
            Some(Action::Hold { barrier }) => Some(Pause::Hold { barrier }),
            _ => None,
        };
        match (pause, verdict) {
            (Some(pause), Some(verdict)) => self.wait(tried, letter, pause, &verdict),
            _ => Going::Together(tried, letter),
        }
    }
}

impl Witness for Judge {
    fn keeps_back(&self, ticket: &Ticket) -> bool {
        let asked = sent::ask(&self.way.rules, ticket, &self.letter, Some(Outcome::Accepted), true);
        let Some(Some(verdict)) = asked else { return false };
        ticket.note_fired(fired(&verdict));
        matches!(verdict.action, Action::Drop(_))
    }

    fn settle(&self, _: &mut Tx<'_>, _: Outcome, _: bool) {}
}
