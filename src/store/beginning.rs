//! What worlds begin with: objects that are there before anybody has made one.

use std::collections::HashMap;

use time::OffsetDateTime;

use super::Scope;
use super::tx::{Commit, Tx};
use super::world::State;

/// Holds what every world begins with, and what single worlds begin with beside it.
///
/// All of it was carried out once, when it was gathered; a world takes over the versions, so that beginning cannot fail.
#[derive(Default)]
pub struct Beginning {
    every: Draft,
    scopes: HashMap<Scope, Draft>,
}

/// Is a world as it is being thought out, and the one commit that leads there.
struct Draft {
    state: State,
    commit: Commit,
}

impl Beginning {
    /// Carries a closure out on what every world begins with, or on one scope's world: all it changed, or, where it fails, nothing.
    /// Effects are none: nobody asked for them. What every world has must stand before a scope's own is added.
    ///
    /// # Errors
    ///
    /// Fails as the closure does.
    pub fn arrange<R, E>(
        &mut self,
        scope: Option<&Scope>,
        work: impl FnOnce(&mut Tx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let draft = match scope {
            None => &mut self.every,
            Some(scope) => self.scopes.entry(scope.clone()).or_insert_with(|| {
                let mut draft = Draft::default();
                draft.state.apply(self.every.commit.clone());
                draft
            }),
        };
        let mut tx = Tx::new(&mut draft.state, OffsetDateTime::now_utc());
        let result = work(&mut tx)?;
        let commit = std::mem::take(&mut tx.commit);
        draft.commit.extend(commit.clone());
        draft.state.apply(commit);
        Ok(result)
    }

    /// Makes a world's first state of this generation.
    pub(super) fn state(&self, scope: &Scope, generation: u64) -> State {
        let mut state = State::new(generation);
        state.apply(self.every.commit.clone());
        if let Some(own) = self.scopes.get(scope) {
            state.apply(own.commit.clone());
        }
        state
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            state: State::new(0),
            commit: Commit::default(),
        }
    }
}

impl std::fmt::Debug for Beginning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beginning")
            .field("changes", &self.every.commit.changes.len())
            .field("scopes", &self.scopes.len())
            .finish()
    }
}
