//! What is held now, and how it is let go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::{oneshot, watch};

use crate::faults::{How, Point};
use crate::ledger::secrets;

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

#[derive(Debug, Default)]
struct Shared {
    register: Mutex<Register>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Register {
    next: u64,
    held: BTreeMap<u64, (Held, oneshot::Sender<Release>)>,
}

/// Keeps a hold in the register until it is dropped.
#[derive(Debug)]
pub struct Hold {
    holds: Holds,
    number: u64,
    /// Says how the hold ends.
    pub release: oneshot::Receiver<Release>,
}

impl Holds {
    /// Enters a hold; its id is given here.
    pub fn enter(&self, mut held: Held) -> Hold {
        let (to, release) = oneshot::channel();
        let mut register = self.lock();
        register.next += 1;
        let number = register.next;
        held.id = format!("h{number}");
        held.key = held.key.map(|key| secrets::clean(&key).into());
        register.held.insert(number, (held, to));
        drop(register);
        self.changed();
        Hold {
            holds: self.clone(),
            number,
            release,
        }
    }

    /// Lists what is held, of one scope or all.
    #[must_use]
    pub fn list(&self, scope: Option<&str>) -> Vec<Held> {
        let register = self.lock();
        let held = register.held.values().map(|(held, _)| held);
        held.filter(|h| scope.is_none() || h.scope.as_deref() == scope)
            .cloned()
            .collect()
    }

    /// Lets one go; returns what was held, or none if there is no such hold.
    pub fn release(&self, id: &str, release: Release) -> Option<Held> {
        let number: u64 = id.strip_prefix('h')?.parse().ok()?;
        let (held, to) = self.lock().held.remove(&number)?;
        self.changed();
        to.send(release).ok().map(|()| held)
    }

    /// Subscribes to changes of the register.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    fn changed(&self) {
        self.0.changed.send_modify(|n| *n += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Register> {
        self.0.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.holds.lock().held.remove(&self.number).is_some() {
            self.holds.changed();
        }
    }
}
