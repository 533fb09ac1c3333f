//! The ticket with which an attempt changes its world.

use std::sync::Arc;

use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::tx::Tx;
use super::world::{State, World};
use super::{Scope, Shared, Stale};
use crate::ledger::{Arrival, Correlation, Effect, Entry, Fate, Fired, Ledger, Outcome};

/// Says what a closure's result is to the ledger.
#[derive(Debug)]
pub struct Decision {
    /// The outcome.
    pub outcome: Outcome,
    /// The values by which a duplicate is known.
    pub correlations: Vec<Correlation>,
}

/// Is one attempt's right to change its world, of one generation. Dropping it ends the attempt, whatever happened.
pub struct Ticket {
    shared: Arc<Shared>,
    world: Arc<World>,
    generation: u64,
    over: CancellationToken,
    id: u64,
    /// The outcome that the attempt has if nobody decides it.
    fallback: Outcome,
    decided: bool,
    finished: bool,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("scope", &self.world.scope)
            .field("generation", &self.generation)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Ticket {
    /// Counts an arrival, and enters it into the journal.
    pub(super) fn begin(shared: Arc<Shared>, world: Arc<World>, arrival: Arrival) -> Self {
        let begun = Self::begin_if(shared, world, arrival, |_| true);
        begun.expect("nothing is against it")
    }

    /// Counts an arrival that the suite makes itself, if the world wants it in that moment.
    pub(super) fn begin_if(
        shared: Arc<Shared>,
        world: Arc<World>,
        arrival: Arrival,
        wanted: impl FnOnce(&mut Tx<'_>) -> bool,
    ) -> Option<Self> {
        let ledger = &shared.ledger;
        let mut state = world.lock();
        let now = shared.now().saturating_add(state.clock);
        if !wanted(&mut Tx::new(&mut state, now)) {
            return None;
        }
        let id = ledger.next_id();
        state
            .book
            .begin(id, &arrival.provider, arrival.class, &arrival.operation);
        let generation = state.generation;
        let over = state.over.clone();
        ledger.enter(Entry {
            id,
            revision: 0,
            generation,
            scope: world.scope.name(),
            arrival,
            key: None,
            correlations: Vec::new(),
            duplicate: None,
            outcome: None,
            fate: None,
            effects: Vec::new(),
            fired: Vec::new(),
            notes: Vec::new(),
            arrived: OffsetDateTime::now_utc(),
            committed: None,
            answering: None,
            ended: None,
            sent: 0,
            request: None,
            answer: None,
            relayed: None,
        });
        drop(state);
        Some(Self {
            shared,
            world,
            generation,
            over,
            id,
            fallback: Outcome::Incomplete,
            decided: false,
            finished: false,
        })
    }

    /// Returns the attempt's id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the world's generation in which the attempt began.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the scope.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.world.scope
    }

    /// Returns the ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// Says which outcome the attempt has if it ends without a decision.
    pub fn set_fallback(&mut self, outcome: Outcome) {
        self.fallback = outcome;
    }

    /// Returns the token that a reset of the attempt's world cancels.
    #[must_use]
    pub fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Runs a question under the world's lock, unless the world was reset: what began before must not use up what was re-armed.
    /// Of what it does to its [`Tx`] only volatile reservations stay.
    ///
    /// # Errors
    ///
    /// Fails if the world was reset since the attempt began.
    pub fn while_current<R>(&self, ask: impl FnOnce(&mut Tx<'_>) -> R) -> Result<R, Stale> {
        let mut state = self.world.lock();
        if state.generation == self.generation {
            let now = self.shared.now().saturating_add(state.clock);
            Ok(ask(&mut Tx::new(&mut state, now)))
        } else {
            Err(Stale)
        }
    }

    /// Notes facts in the journal; changes no count.
    pub fn note(&self, change: impl FnOnce(&mut Entry)) {
        self.ledger().update(self.id, change);
    }

    /// Notes the rule that fired.
    pub fn note_fired(&self, fired: Fired) {
        self.note(|entry| {
            entry.fired.push(fired);
            entry.note_relayed(|relayed, now| relayed.fault = Some(now));
        });
    }

    /// Runs a closure over the world and commits what it changed, all or nothing.
    ///
    /// `seal` is called exactly once, on the final commit and before any other attempt can see it, with the closure's result and its
    /// effects: it decides the outcome (or leaves it open), and what it returns beside is handed to the caller.
    /// The closure may be run again and must have no other effect than on its [`Tx`].
    ///
    /// # Errors
    ///
    /// Fails if the world was reset since the attempt began; then nothing was changed.
    #[expect(clippy::unused_async, reason = "other backends suspend here; memory never does")]
    pub async fn transact<R, V>(
        &mut self,
        mut work: impl FnMut(&mut Tx<'_>) -> R,
        seal: impl FnOnce(&R, &[Effect]) -> (Option<Decision>, V),
    ) -> Result<(R, V), Stale> {
        let mut state = self.world.lock();
        if state.generation != self.generation {
            return Err(Stale);
        }
        let now = self.shared.now().saturating_add(state.clock);
        let mut tx = Tx::new(&mut state, now);
        let result = work(&mut tx);
        let commit = std::mem::take(&mut tx.commit);
        let (decision, verdict) = seal(&result, &commit.effects);
        if let Some(decision) = decision {
            let effects = commit.effects.clone();
            Self::decide_under(&self.shared.ledger, &mut state, self.id, decision, effects);
            self.decided = true;
        }
        self.world.apply(&mut state, commit);
        Ok((result, verdict))
    }

    /// Decides the outcome of an attempt that changed nothing.
    pub fn decide(&mut self, outcome: Outcome) {
        if self.decided {
            return;
        }
        self.decided = true;
        let mut state = self.world.lock();
        if state.generation == self.generation {
            let decision = Decision {
                outcome,
                correlations: Vec::new(),
            };
            Self::decide_under(&self.shared.ledger, &mut state, self.id, decision, Vec::new());
        }
    }

    /// Finishes the attempt: says what became of the answer.
    pub fn finish(&mut self, fate: Fate) {
        if self.finished {
            return;
        }
        self.finished = true;
        let mut state = self.world.lock();
        if state.generation == self.generation && state.book.finish(self.id, fate) {
            self.ledger().update(self.id, |entry| {
                entry.fate = Some(fate);
                entry.ended = Some(OffsetDateTime::now_utc());
            });
        }
        drop(state);
        self.ledger().answer_ends(self.id);
    }

    pub(crate) fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn decide_under(ledger: &Ledger, state: &mut State, id: u64, decision: Decision, effects: Vec<Effect>) {
        let Decision { outcome, correlations } = decision;
        if let Some(decided) = state.book.decide(id, outcome, &effects, &correlations) {
            ledger.update(id, |entry| {
                entry.outcome = Some(outcome);
                entry.effects = effects;
                entry.correlations = correlations;
                entry.duplicate = decided.duplicate;
                entry.committed = Some(OffsetDateTime::now_utc());
            });
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.decide(self.fallback);
        self.finish(Fate::Lost);
    }
}
