//! A map that holds only so many entries.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Maps keys to cheap handles; past its bound the entry that came first goes.
pub(super) struct Bounded<K, V> {
    most: usize,
    entries: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> Bounded<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            entries: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.entries.get(key).cloned()
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.entries.insert(key.clone(), value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }

    pub(super) fn get_or_insert(&mut self, key: K, make: impl FnOnce(&K) -> V) -> V {
        if let Some(known) = self.get(&key) {
            return known;
        }
        let value = make(&key);
        self.insert(key, value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::Bounded;

    #[test]
    fn the_oldest_goes_when_the_bound_is_passed() {
        let mut names = Bounded::new(2);
        for name in ["a", "b", "b", "c"] {
            names.insert(name, name.len());
        }
        assert_eq!(
            [names.get(&"a"), names.get(&"b"), names.get(&"c")],
            [None, Some(1), Some(1)]
        );
        assert_eq!((names.entries.len(), names.order.len()), (2, 2));
    }

    #[test]
    fn what_is_known_is_not_made_again() {
        let mut names = Bounded::new(2);
        assert_eq!(names.get_or_insert("a", |_| 1), 1);
        assert_eq!(names.get_or_insert("a", |_| 2), 1);
    }
}
