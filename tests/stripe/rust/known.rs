//! The differences that are the SDK's own, each with its reason; one that is none any more is an error too.

use std::collections::BTreeSet;

pub(crate) struct Known {
    rows: Vec<&'static str>,
    used: BTreeSet<&'static str>,
}

impl Known {
    pub(crate) fn open() -> Self {
        let lines = include_str!("known.tsv").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            rows: lines.filter_map(|line| line.split('\t').next()).collect(),
            used: BTreeSet::new(),
        }
    }

    /// Tells whether a row names this: a file, a space, and the place in it.
    pub(crate) fn explains(&mut self, name: &str) -> bool {
        let found: Vec<_> = self.rows.iter().copied().filter(|row| matches(row, name)).collect();
        self.used.extend(&found);
        !found.is_empty()
    }

    pub(crate) fn idle(&self) -> impl Iterator<Item = &'static str> {
        self.rows.iter().copied().filter(|row| !self.used.contains(row))
    }
}

/// Matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    name.char_indices()
        .map(|(at, _)| at)
        .chain([name.len()])
        .any(|at| matches(rest, &name[at..]))
}
