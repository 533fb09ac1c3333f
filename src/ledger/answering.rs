//! Which answers are leaving right now.
//!
//! Bytes reach a client a moment before the ledger can say that they left. Whoever has read an answer and then asks for counts must find it
//! counted, so a reader of counts first waits for the answers that were already leaving, for a moment.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a reader waits. An answer that waits for its client is not leaving, so this bounds what the machine takes, not what clients do.
const MOMENT: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Answering {
    leaving: Mutex<BTreeSet<u64>>,
    ended: Notify,
}

impl Answering {
    pub(super) fn begin(&self, attempt: u64) {
        self.lock().insert(attempt);
    }

    pub(super) fn end(&self, attempt: u64) {
        if self.lock().remove(&attempt) {
            self.ended.notify_waiters();
        }
    }

    /// Waits for the end of the answers that are leaving now, for a moment.
    pub(super) async fn settle(&self) {
        let leaving = self.lock().clone();
        if leaving.is_empty() {
            return;
        }
        let settled = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if self.lock().is_disjoint(&leaving) {
                    return;
                }
                ended.await;
            }
        };
        drop(tokio::time::timeout(MOMENT, settled).await);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
