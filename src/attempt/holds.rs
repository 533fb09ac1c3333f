//! What is held now, how it is let go, and the barriers at which holds gather.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::{broadcast, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::notice::{Ended, Notice};
use crate::faults::{How, Point};
use crate::ledger::secrets;

/// How many notices wait for a slow reader; past it the oldest go.
const NOTICES: usize = 4_096;

/// Says what is held.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// The hold's id, `h1`, `h2`, …
    pub id: String,
    /// The scope; none for an SMTP session that has none yet.
    pub scope: Option<Arc<str>>,
    /// The provider.
    pub provider: Arc<str>,
    /// The operation; none before an SMTP session has an attempt.
    pub operation: Option<Arc<str>>,
    /// The attempt's id in the ledger.
    pub attempt: Option<u64>,
    /// The caller's name of the operation.
    pub key: Option<Arc<str>>,
    /// Before or after the commit.
    pub point: Point,
    /// The rule that holds it.
    pub rule: Arc<str>,
    /// Since when, RFC 3339.
    pub since: Option<String>,
    /// The barrier at which it waits, if it does; filled in by the register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<Gathered>,
}

/// Says how many have gathered at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gathered {
    /// How many are there.
    pub gathered: u16,
    /// How many it waits for.
    pub of: u16,
}

/// Says how a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Go on: commit if held before it, then answer.
    Answer,
    /// Lose the answer; held before the commit, nothing is committed.
    Drop(How),
}

/// Is the register of holds; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Holds(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    register: Mutex<Register>,
    changed: watch::Sender<u64>,
    notices: broadcast::Sender<Notice>,
}

#[derive(Debug, Default)]
struct Register {
    next: u64,
    held: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    held: Held,
    to: oneshot::Sender<Release>,
    /// Cancelled when its client has left, or its world was reset: it is not counted at a barrier any more.
    ends: [CancellationToken; 2],
}

/// Keeps a hold in the register until it is dropped.
#[derive(Debug)]
pub struct Hold {
    holds: Holds,
    number: u64,
    /// Why it ends, unless it is let go.
    pub(super) ended: Ended,
    /// Says how the hold ends.
    pub release: oneshot::Receiver<Release>,
}

impl Holds {
    /// Enters a hold; its id is given here. `ends` are cancelled when its client has left, or its world was reset.
    ///
    /// With a barrier, the one that fills it lets all go that have gathered there: the holds of one rule at one point in one scope.
    pub fn enter(&self, mut held: Held, barrier: Option<u16>, ends: [CancellationToken; 2]) -> Hold {
        let (to, release) = oneshot::channel();
        held.key = held.key.map(|key| secrets::clean(&key).into());
        held.barrier = barrier.map(|of| Gathered { gathered: 0, of });
        let mut register = self.lock();
        register.next += 1;
        let number = register.next;
        held.id = format!("h{number}");
        register.held.insert(number, Waiting { held, to, ends });
        let gathered = register.gathered(number);
        if let Some(held) = register.shown(number) {
            self.announce(held, None);
        }
        if let Some(all) = gathered {
            for number in all {
                self.let_go(&mut register, number, Release::Answer);
            }
        }
        drop(register);
        self.changed();
        Hold {
            holds: self.clone(),
            number,
            ended: Ended::Reset,
            release,
        }
    }

    /// Lists what is held, of one scope or all.
    #[must_use]
    pub fn list(&self, scope: Option<&str>) -> Vec<Held> {
        let register = self.lock();
        let counts = register.counts();
        let held = register.held.values().map(|waiting| waiting.shown(&counts));
        held.filter(|h| scope.is_none() || h.scope.as_deref() == scope)
            .collect()
    }

    /// Lets one go; returns what was held, or none if there is no such hold.
    pub fn release(&self, id: &str, release: Release) -> Option<Held> {
        let number: u64 = id.strip_prefix('h')?.parse().ok()?;
        let held = self.let_go(&mut self.lock(), number, release);
        self.changed();
        held
    }

    /// Lets all of one scope, or all, go in one instant; returns what was held.
    pub fn release_all(&self, scope: Option<&str>, release: Release) -> Vec<Held> {
        let mut register = self.lock();
        let of = |waiting: &Waiting| scope.is_none() || waiting.held.scope.as_deref() == scope;
        let all = register.held.iter().filter(|(_, waiting)| of(waiting));
        let all: Vec<u64> = all.map(|(number, _)| *number).collect();
        let all = all
            .into_iter()
            .filter_map(|number| self.let_go(&mut register, number, release))
            .collect();
        drop(register);
        self.changed();
        all
    }

    /// Subscribes to changes of the register.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Subscribes to what is told of each hold: that it begins, and how it ends. Returns with it what is held now.
    #[must_use]
    pub fn notices(&self) -> (Vec<Held>, broadcast::Receiver<Notice>) {
        let notices = self.0.notices.subscribe();
        (self.list(None), notices)
    }

    fn let_go(&self, register: &mut Register, number: u64, release: Release) -> Option<Held> {
        let held = register.shown(number)?;
        let waiting = register.held.remove(&number)?;
        waiting.to.send(release).ok()?;
        self.announce(held.clone(), Some(release.into()));
        Some(held)
    }

    /// Told under the lock, so that nobody hears of an end before its beginning.
    fn announce(&self, held: Held, ended: Option<Ended>) {
        // Without a reader there is nobody to tell.
        drop(self.0.notices.send(Notice { held, ended }));
    }

    fn changed(&self) {
        self.0.changed.send_modify(|n| *n += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.0.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            register: Mutex::default(),
            changed: watch::Sender::default(),
            notices: broadcast::Sender::new(NOTICES),
        }
    }
}

/// Tells barriers apart: the rule, its point and size, and the scope, for scopes do not meet.
type Barrier = (Arc<str>, Point, u16, Option<Arc<str>>);

impl Register {
    /// Returns all that wait at the barrier of this one, if it is full.
    fn gathered(&self, number: u64) -> Option<Vec<u64>> {
        let barrier = self.held.get(&number)?.barrier()?;
        let there = self
            .held
            .iter()
            .filter(|(_, waiting)| waiting.is_there() && waiting.barrier().as_ref() == Some(&barrier));
        let there: Vec<u64> = there.map(|(number, _)| *number).collect();
        (there.len() >= usize::from(barrier.2)).then_some(there)
    }

    fn counts(&self) -> HashMap<Barrier, u16> {
        let mut counts = HashMap::new();
        for barrier in self.held.values().filter(|w| w.is_there()).filter_map(Waiting::barrier) {
            *counts.entry(barrier).or_default() += 1;
        }
        counts
    }

    fn shown(&self, number: u64) -> Option<Held> {
        let waiting = self.held.get(&number)?;
        let counts = match waiting.held.barrier {
            Some(_) => self.counts(),
            None => HashMap::new(),
        };
        Some(waiting.shown(&counts))
    }
}

impl Waiting {
    fn is_there(&self) -> bool {
        !self.ends.iter().any(CancellationToken::is_cancelled)
    }

    fn barrier(&self) -> Option<Barrier> {
        let Held { rule, point, scope, .. } = &self.held;
        let of = self.held.barrier?.of;
        Some((Arc::clone(rule), *point, of, scope.clone()))
    }

    fn shown(&self, counts: &HashMap<Barrier, u16>) -> Held {
        let mut held = self.held.clone();
        if let (Some(gathered), Some(barrier)) = (&mut held.barrier, self.barrier()) {
            gathered.gathered = counts.get(&barrier).copied().unwrap_or_default();
        }
        held
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut register = self.holds.lock();
        let Some(held) = register.shown(self.number) else {
            return;
        };
        register.held.remove(&self.number);
        self.holds.announce(held, Some(self.ended));
        drop(register);
        self.holds.changed();
    }
}
