//! Requests that no provider knows: counted, and the last paths kept, so that a wrong base URL shows. And hosts that the proxy refused.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many paths are kept.
const KEPT: usize = 20;
/// How many hosts are told apart in one scope.
const HOSTS: usize = 100;
/// Under this name the rest of them is counted.
const OTHER_HOSTS: &str = "others";

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
    hosts: BTreeMap<String, u64>,
}

impl Strays {
    /// Counts one; the line is cleaned of secrets. Past the number of worlds there may be, what scope it named is not kept.
    pub fn note(&self, scope: &str, line: &str) {
        let line: String = line.chars().take(200).collect();
        let line = super::secrets::clean(&line).into_owned();
        self.change(scope, |seen| {
            seen.count += 1;
            if seen.last.len() == KEPT {
                seen.last.pop_front();
            }
            seen.last.push_back(line);
        });
    }

    /// Counts a host that the proxy refused, with its port.
    pub fn refuse_host(&self, scope: &str, host: &str) {
        self.change(scope, |seen| {
            let known = seen.hosts.len() < HOSTS || seen.hosts.contains_key(host);
            let name = if known { host } else { OTHER_HOSTS };
            *seen.hosts.entry(name.to_owned()).or_default() += 1;
        });
    }

    /// Returns how often each host was refused, of one scope or of all.
    #[must_use]
    pub fn refused_hosts(&self, scope: Option<&str>) -> BTreeMap<String, u64> {
        let mut sum = BTreeMap::new();
        for (host, n) in self.of(scope, |seen| seen.hosts.clone()).flatten() {
            *sum.entry(host).or_default() += n;
        }
        sum
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

    fn change(&self, scope: &str, change: impl FnOnce(&mut Seen)) {
        let mut all = self.lock();
        let scope = if all.len() < 10_000 || all.contains_key(scope) {
            scope
        } else {
            "default"
        };
        change(all.entry(scope.to_owned()).or_default());
        drop(all);
        self.0.changed.send_replace(());
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

#[cfg(test)]
mod tests {
    use super::{HOSTS, Strays};

    #[test]
    fn hosts_are_counted_by_scope_and_bounded() {
        let strays = Strays::default();
        for n in 0..HOSTS + 7 {
            strays.refuse_host("a", &format!("h{n}:443"));
        }
        strays.refuse_host("a", "h0:443");
        strays.refuse_host("b", "h0:443");
        let of = |scope| strays.refused_hosts(scope);
        assert_eq!(
            (of(Some("a")).len(), of(Some("a"))["others"], of(Some("a"))["h0:443"]),
            (HOSTS + 1, 7, 2)
        );
        assert_eq!(
            (of(None)["h0:443"], of(Some("b"))["h0:443"], of(Some("c")).len()),
            (3, 1, 0)
        );
        strays.reset(Some("b"));
        assert_eq!((of(Some("b")).len(), strays.count(None)), (0, 0));
    }
}
