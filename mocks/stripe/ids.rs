//! Ids and other texts that are made from what is there already, so that they need no memory.

use std::sync::Arc;

use crate::attempt::hash;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Says how what a call makes is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ids<'i> {
    /// By chance.
    Random,
    /// As was chosen, by prefix; what has no id there gets one that is always the same beside the first.
    Chosen(&'i [(&'static str, &'i str)]),
}

impl<'i> Ids<'i> {
    /// Returns the id that was chosen for this prefix.
    pub(crate) fn chosen(self, prefix: &str) -> Option<&'i str> {
        let Self::Chosen(chosen) = self else { return None };
        chosen.iter().find(|(own, _)| *own == prefix).map(|(_, id)| *id)
    }

    /// Returns the id of what is made now, unless it is left to chance.
    pub(crate) fn made(self, prefix: &str) -> Option<Arc<str>> {
        let Self::Chosen(chosen) = self else { return None };
        let own = chosen.iter().find(|(own, _)| *own == prefix);
        Some(match (own, chosen.first()) {
            (Some((_, id)), _) => (*id).into(),
            (None, Some((_, first))) => beside(prefix, first),
            (None, None) => return None,
        })
    }
}

/// Makes the id of what comes along with an object that has this one.
pub(crate) fn beside(prefix: &str, id: &str) -> Arc<str> {
    format!("{prefix}{}", letters(&[b"beside", id.as_bytes()], 24)).into()
}

/// Makes letters and digits from a hash of the parts: the same from the same.
pub(crate) fn letters(parts: &[&[u8]], length: usize) -> String {
    let bytes = hash(parts.iter().copied());
    let letter = |i: usize| {
        let mixed = usize::from(bytes[i % 16]) + usize::from(bytes[(i * 7 + 3) % 16]) * (i / 16 + 1);
        char::from(LETTERS[mixed % LETTERS.len()])
    };
    (0..length).map(letter).collect()
}

/// Makes the id of something that belongs to one object only, from that object's id: `ch_1` has the card `card_1`.
pub(crate) fn sibling(prefix: &str, id: &str) -> String {
    let rest = id.split_once('_').map_or(id, |(_, rest)| rest);
    format!("{prefix}{rest}")
}
