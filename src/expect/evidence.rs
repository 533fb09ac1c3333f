//! The attempts concerned, out of the journal, in the order of their commit.

use std::sync::Arc;

use super::verdict::{Attempt, Attempts};
use crate::ledger::{Effect, Entry, Ledger, rfc3339, secrets};
use crate::store::Scope;

/// How many attempts are listed; the last ones, for it is they that were too many.
const LISTED: usize = 20;

/// Finds attempts for several questions at once. A question says whether an attempt is concerned, and whether it is one of those counted.
pub(super) fn gather<Q>(ledger: &Ledger, scope: Option<&Scope>, questions: &[Q]) -> Vec<Attempts>
where
    Q: Fn(&Entry) -> Option<bool>,
{
    let mut found = vec![Vec::new(); questions.len()];
    ledger.each(|entry| {
        if scope.is_some_and(|scope| scope.as_str() != &*entry.scope) {
            return;
        }
        for (question, found) in questions.iter().zip(&mut found) {
            if let Some(counts) = question(entry) {
                found.push((entry.committed.is_none(), entry.committed, entry.id, counts));
            }
        }
    });
    found.into_iter().map(|found| listed(ledger, found)).collect()
}

fn listed<K: Ord>(ledger: &Ledger, mut found: Vec<(bool, K, u64, bool)>) -> Attempts {
    found.sort_unstable();
    let more = found.len().saturating_sub(LISTED);
    let last = found[more..].iter();
    Attempts {
        more: more as u64,
        attempts: last
            .filter_map(|(_, _, id, counts)| Some(Attempt::of(&ledger.entry(*id)?, *counts)))
            .collect(),
    }
}

impl Attempt {
    fn of(entry: &Entry, counts: bool) -> Self {
        Self {
            id: entry.id,
            scope: Arc::clone(&entry.scope),
            provider: Arc::clone(&entry.arrival.provider),
            operation: Arc::clone(&entry.arrival.operation),
            line: entry.arrival.line.clone(),
            key: entry.key.as_deref().map(|key| secrets::clean(key).into_owned()),
            outcome: entry.outcome,
            fate: entry.fate,
            duplicate: entry.duplicate,
            effects: entry.effects.clone(),
            fault: entry.fired.last().cloned(),
            committed: rfc3339(entry.committed),
            counts,
            shown: shown(entry),
        }
    }

    /// Writes the attempt on one line.
    #[must_use]
    pub fn text(&self) -> String {
        let counts = if self.counts { "" } else { " (not counted)" };
        format!("#{} {}{counts}", self.id, self.shown)
    }
}

fn shown(entry: &Entry) -> String {
    let held = !entry.closed() && entry.fired.last().is_some_and(|fired| fired.mode.starts_with("hold"));
    let effect = |effect: &Effect| match effect.count {
        1 => format!("{} {}", effect.kind, effect.id),
        count => format!("{count} {} {}", effect.kind, effect.id),
    };
    let effects: Vec<String> = entry.effects.iter().map(effect).collect();
    let mut shown = entry.log_line();
    if held {
        shown.push_str(" held");
    }
    if !effects.is_empty() {
        shown.push_str(&format!(": {}", effects.join(", ")));
    }
    shown
}
