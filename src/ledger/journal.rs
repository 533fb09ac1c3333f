//! The bounded journal, and the one place to wait for a change in it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

use super::answering::Answering;
use super::{Answered, Bodies, Body, Content, Entry, Recorded, Reply, secrets};

/// Bounds of what the ledger keeps; no count ever changes by them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries of the journal.
    pub entries: usize,
    /// Bytes of all recorded bodies, mail and deliveries included.
    pub bodies: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 100_000,
            bodies: 256 << 20,
        }
    }
}

/// Is the handle of the journal; clones share it.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ids: AtomicU64,
    connections: AtomicU64,
    journal: Mutex<Journal>,
    bodies: Bodies,
    answering: Answering,
    limit: usize,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Journal {
    entries: BTreeMap<u64, Entry>,
    /// Each entry once, by its last change: a reader that was away finds all it missed.
    by_revision: BTreeMap<u64, u64>,
    /// The entries of each world: a reset of ten thousand worlds must not search the journal for each of them.
    by_scope: HashMap<Arc<str>, BTreeSet<u64>>,
    revision: u64,
    trimmed: u64,
}

impl Journal {
    /// Lets the oldest entry go.
    fn trim(&mut self) -> Option<Entry> {
        let (id, old) = self.entries.pop_first()?;
        self.by_revision.remove(&old.revision);
        if let Some(ids) = self.by_scope.get_mut(&old.scope) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_scope.remove(&old.scope);
            }
        }
        self.trimmed += 1;
        Some(old)
    }
}

impl Ledger {
    /// Makes an empty ledger.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Shared {
            ids: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            journal: Mutex::default(),
            bodies: Bodies::new(limits.bodies),
            answering: Answering::default(),
            limit: limits.entries.max(1),
            changed: watch::Sender::new(0),
        }))
    }

    /// Returns the next attempt's id.
    #[must_use]
    pub fn next_id(&self) -> u64 {
        self.0.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the next connection's number.
    #[must_use]
    pub fn next_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes that the first byte of an attempt's answer leaves now.
    pub fn answer_begins(&self, id: u64) {
        self.0.answering.begin(id);
        let now = time::OffsetDateTime::now_utc();
        self.update(id, |entry| entry.answering = Some(now));
    }

    /// Notes that an attempt's answer waits for its client to read: nobody can have read all of it.
    pub fn answer_stalls(&self, id: u64) {
        self.0.answering.end(id);
    }

    /// Notes that an attempt's answer leaves again.
    pub fn answer_goes_on(&self, id: u64) {
        self.0.answering.begin(id);
    }

    /// Notes that an attempt's answer has left, or never will.
    pub fn answer_ends(&self, id: u64) {
        self.0.answering.end(id);
    }

    /// Waits, for a moment at most, until the answers that are leaving now have been counted.
    pub async fn settle_answers(&self) {
        self.0.answering.settle().await;
    }

    /// Enters an attempt; the oldest entry goes when there are too many.
    pub fn enter(&self, mut entry: Entry) {
        let mut dropped = None;
        let revision = {
            let mut journal = self.lock();
            journal.revision += 1;
            entry.revision = journal.revision;
            journal.by_revision.insert(entry.revision, entry.id);
            journal
                .by_scope
                .entry(Arc::clone(&entry.scope))
                .or_default()
                .insert(entry.id);
            journal.entries.insert(entry.id, entry);
            if journal.entries.len() > self.0.limit {
                dropped = journal.trim();
            }
            journal.revision
        };
        drop(dropped);
        self.0.changed.send_replace(revision);
    }

    /// Changes an entry, unless it was trimmed; whoever waits for a change is woken in any case, for the counts never forget an attempt.
    pub fn update(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        let (revision, closed) = {
            let mut journal = self.lock();
            let revision = journal.revision + 1;
            let Some(entry) = journal.entries.get_mut(&id) else {
                drop(journal);
                return self.0.changed.send_modify(|_| {});
            };
            let was_closed = entry.closed();
            change(entry);
            let closed = (!was_closed && entry.closed()).then(|| entry.log_line());
            let old = std::mem::replace(&mut entry.revision, revision);
            journal.revision = revision;
            journal.by_revision.remove(&old);
            journal.by_revision.insert(revision, id);
            (revision, closed)
        };
        if let Some(line) = closed {
            tracing::info!("{line}");
        }
        self.0.changed.send_replace(revision);
    }

    /// Forgets the entries of a world's earlier generations.
    pub fn forget(&self, scope: &str) {
        let mut gone = Vec::new();
        let revision = {
            let mut journal = self.lock();
            for id in journal.by_scope.remove(scope).unwrap_or_default() {
                if let Some(entry) = journal.entries.remove(&id) {
                    journal.by_revision.remove(&entry.revision);
                    gone.push(entry);
                }
            }
            journal.revision += 1;
            journal.revision
        };
        drop(gone);
        self.0.changed.send_replace(revision);
    }

    /// Returns the entries that `wanted` accepts and that changed after `since`, in the order of their last change, at most `limit`; and
    /// the revision up to which it has looked, from which the next look goes on.
    pub fn changed_since(&self, since: u64, limit: usize, wanted: impl Fn(&Entry) -> bool) -> (Vec<Entry>, u64) {
        let journal = self.lock();
        let changed = journal.by_revision.range(since.saturating_add(1)..);
        let changed = changed.filter_map(|(_, id)| journal.entries.get(id));
        let entries: Vec<Entry> = changed.filter(|entry| wanted(entry)).take(limit).cloned().collect();
        let looked = if entries.len() == limit {
            entries.last().map_or(since, |last| last.revision)
        } else {
            journal.revision.max(since)
        };
        (entries, looked)
    }

    /// Shows every entry to a closure, in the order of arrival, under the journal's lock.
    pub fn each(&self, look: impl FnMut(&Entry)) {
        self.lock().entries.values().for_each(look);
    }

    /// Returns the entry of an attempt.
    #[must_use]
    pub fn entry(&self, id: u64) -> Option<Entry> {
        self.lock().entries.get(&id).cloned()
    }

    /// Subscribes to the journal's revision: it grows with every change, and none is missed.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Returns how many entries and how many bodies were let go.
    #[must_use]
    pub fn trimmed(&self) -> (u64, u64) {
        (self.lock().trimmed, self.0.bodies.trimmed())
    }

    /// Keeps a body within the budget.
    #[must_use]
    pub fn keep(&self, head: Bytes, content: Bytes, keep_head: bool) -> Body {
        self.0.bodies.keep(head, content, keep_head)
    }

    /// Keeps a part of a body within the budget, with size and hash of the whole.
    #[must_use]
    pub fn keep_part(&self, head: Bytes, part: Bytes, size: u64, hash: [u8; 32]) -> Body {
        self.0.bodies.keep_part(head, part, (size, hash), false)
    }

    /// Makes the record of an answer.
    #[must_use]
    pub fn record(&self, reply: &Reply) -> Answered {
        let mut headers = String::new();
        for (name, value) in reply.all_headers() {
            headers.push_str(name);
            headers.push_str(": ");
            headers.push_str(&secrets::clean_header(name, value));
            headers.push('\n');
        }
        let content = match &reply.content {
            Content::Bytes(bytes) => Recorded::Body(self.keep(Bytes::new(), bytes.clone(), false)),
            view @ Content::View(_) => Recorded::Content(view.clone()),
        };
        Answered {
            status: reply.status,
            headers,
            content,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.0.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
