//! Requests that no provider knows: counted, and the last paths kept, so that a wrong base URL shows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many paths are kept.
const KEPT: usize = 20;

/// Counts strays by scope; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Strays(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<HashMap<String, Seen>>,
    changed: watch::Sender<()>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    count: u64,
    last: VecDeque<String>,
}

impl Strays {
    /// Counts one; the line is cleaned of secrets. Past the number of worlds there may be, what scope it named is not kept.
    pub fn note(&self, scope: &str, line: &str) {
        let mut all = self.lock();
        let scope = if all.len() < 10_000 || all.contains_key(scope) {
            scope
        } else {
            "default"
        };
        let seen = all.entry(scope.to_owned()).or_default();
        seen.count += 1;
        if seen.last.len() == KEPT {
            seen.last.pop_front();
        }
        let line: String = line.chars().take(200).collect();
        seen.last.push_back(super::secrets::clean(&line).into_owned());
        drop(all);
        self.0.changed.send_replace(());
    }

    /// Returns how many there were, of one scope or of all.
    #[must_use]
    pub fn count(&self, scope: Option<&str>) -> u64 {
        self.of(scope, |seen| seen.count).sum()
    }

    /// Returns the last ones, oldest first.
    #[must_use]
    pub fn last(&self, scope: Option<&str>) -> Vec<String> {
        self.of(scope, |seen| seen.last.clone()).flatten().collect()
    }

    /// Forgets one scope, or all.
    pub fn reset(&self, scope: Option<&str>) {
        self.lock().retain(|name, _| scope.is_some_and(|scope| scope != name));
        self.0.changed.send_replace(());
    }

    /// Subscribes to changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    fn of<R>(&self, scope: Option<&str>, look: fn(&Seen) -> R) -> std::vec::IntoIter<R> {
        let seen = self.lock();
        let wanted = seen.iter().filter(|(name, _)| scope.is_none_or(|scope| scope == *name));
        wanted.map(|(_, seen)| look(seen)).collect::<Vec<_>>().into_iter()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
