//! The budget of bodies that are still arriving.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bounds how many bytes of bodies may be arriving at once; clones share it.
#[derive(Clone, Debug)]
pub struct Budget {
    left: Arc<AtomicU64>,
}

/// Is what one body has taken of the budget; given back when dropped.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    taken: u64,
}

impl Budget {
    /// Makes a budget in bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self {
            left: Arc::new(AtomicU64::new(bytes)),
        }
    }

    /// Makes an empty share.
    #[must_use]
    pub fn share(&self) -> Share {
        Share {
            budget: self.clone(),
            taken: 0,
        }
    }
}

impl Share {
    /// Takes more; returns whether there was enough.
    #[must_use]
    pub fn take(&mut self, bytes: u64) -> bool {
        let left = &self.budget.left;
        let enough = left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .is_ok();
        if enough {
            self.taken += bytes;
        }
        enough
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_given_back_and_never_more_than_there_is() {
        let budget = Budget::new(10);
        let mut one = budget.share();
        let mut two = budget.share();
        assert!(one.take(7) && !two.take(4) && two.take(3));
        drop(one);
        assert!(two.take(7) && !two.take(1));
    }
}
