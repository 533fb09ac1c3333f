//! Recorded bodies, and the budget that they share: past it, the oldest are let go.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// How many bodies that are gone are never worth a sweep.
const FEW: usize = 1_000;

/// Holds the bytes that one attempt brought, or no longer.
#[derive(Clone, Debug)]
pub struct Body(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    size: u64,
    hash: [u8; 32],
    held: Mutex<Held>,
    total: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Held {
    head: Bytes,
    content: Option<Bytes>,
    /// Whether the head outlives the content: a mail stays listed with its headers.
    keep_head: bool,
}

impl Body {
    /// Returns how many bytes the content had.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns the SHA-256 of the content.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        self.0.hash
    }

    /// Returns the header block, empty if it was let go.
    #[must_use]
    pub fn head(&self) -> Bytes {
        self.0.lock().head.clone()
    }

    /// Returns the content, unless it was let go.
    #[must_use]
    pub fn content(&self) -> Option<Bytes> {
        self.0.lock().content.clone()
    }
}

impl Slot {
    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_go(&self) -> u64 {
        let mut held = self.lock();
        let Some(content) = held.content.take() else {
            return 0;
        };
        let freed = (content.len() + held.head.len()) as u64;
        // A head that is kept leaves the budget too: heads alone must never crowd out the next body.
        if !held.keep_head {
            held.head = Bytes::new();
        }
        self.total.fetch_sub(freed, Ordering::Relaxed);
        freed
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let held = self.lock();
        let left = held
            .content
            .as_ref()
            .map_or(0, |content| content.len() + held.head.len());
        self.total.fetch_sub(left as u64, Ordering::Relaxed);
    }
}

/// Keeps bodies within a budget.
#[derive(Debug)]
pub struct Bodies {
    limit: u64,
    total: Arc<AtomicU64>,
    trimmed: AtomicU64,
    queue: Mutex<Queue>,
}

/// Holds all bodies, oldest first. Those that are gone are taken out whenever there may be as many of them as of others, for one that
/// stays for long keeps its place before them.
#[derive(Debug, Default)]
struct Queue {
    slots: VecDeque<Weak<Slot>>,
    sweep_at: usize,
}

impl Queue {
    fn push(&mut self, slot: &Arc<Slot>) {
        if self.slots.len() >= self.sweep_at {
            self.slots.retain(|slot| slot.strong_count() > 0);
            self.sweep_at = 2 * self.slots.len() + FEW;
        }
        self.slots.push_back(Arc::downgrade(slot));
    }
}

impl Bodies {
    /// Makes an empty keeper with a budget in bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            total: Arc::default(),
            trimmed: AtomicU64::new(0),
            queue: Mutex::default(),
        }
    }

    /// Keeps a body; lets the oldest go while the budget is passed.
    ///
    /// `head` is its header block, kept for good if `keep_head`.
    pub fn keep(&self, head: Bytes, content: Bytes, keep_head: bool) -> Body {
        let whole = (content.len() as u64, Sha256::digest(&content).into());
        self.keep_part(head, content, whole, keep_head)
    }

    /// Keeps a part of a body of which size and hash are known; lets the oldest go while the budget is passed.
    pub fn keep_part(&self, head: Bytes, content: Bytes, (size, hash): (u64, [u8; 32]), keep_head: bool) -> Body {
        self.total
            .fetch_add((head.len() + content.len()) as u64, Ordering::Relaxed);
        let slot = Arc::new(Slot {
            size,
            hash,
            held: Mutex::new(Held {
                head,
                content: Some(content),
                keep_head,
            }),
            total: Arc::clone(&self.total),
        });
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push(&slot);
        let queue = &mut queue.slots;
        while let Some(oldest) = queue.front() {
            match oldest.upgrade() {
                None => {
                    queue.pop_front();
                }
                Some(oldest) if self.total.load(Ordering::Relaxed) > self.limit => {
                    queue.pop_front();
                    if oldest.let_go() > 0 {
                        self.trimmed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Some(_) => break,
            }
        }
        Body(slot)
    }

    /// Returns how many bytes are held.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Returns how many bodies were let go.
    #[must_use]
    pub fn trimmed(&self) -> u64 {
        self.trimmed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_budget_the_oldest_goes_first_and_keeps_what_it_should() {
        let bodies = Bodies::new(30);
        let first = bodies.keep(Bytes::from_static(b"head"), Bytes::from_static(b"0123456789"), true);
        let second = bodies.keep(Bytes::new(), Bytes::from_static(b"0123456789"), false);
        let third = bodies.keep(Bytes::new(), Bytes::from_static(b"0123456789"), false);
        assert_eq!(first.content(), None);
        assert_eq!(first.head(), "head");
        assert_eq!((first.size(), first.hash()), (10, second.hash()));
        assert!(second.content().is_some() && third.content().is_some());
        assert_eq!((bodies.total(), bodies.trimmed()), (20, 1));
    }

    #[test]
    fn bodies_that_are_gone_take_no_room_behind_one_that_stays() {
        let bodies = Bodies::new(1_000);
        let keep = || bodies.keep(Bytes::new(), Bytes::from_static(b"0123456789"), false);
        let stays = keep();
        for _ in 0..20_000 {
            drop(keep());
        }
        assert!(bodies.queue.lock().unwrap().slots.len() <= FEW + 2);
        assert!(stays.content().is_some());
    }

    #[test]
    fn a_dropped_body_gives_its_bytes_back() {
        let bodies = Bodies::new(100);
        drop(bodies.keep(Bytes::new(), Bytes::from_static(b"0123456789"), false));
        assert_eq!((bodies.total(), bodies.trimmed()), (0, 0));
        let huge = bodies.keep(Bytes::new(), Bytes::from(vec![0; 200]), false);
        assert_eq!((huge.content(), bodies.total()), (None, 0));
    }
}
