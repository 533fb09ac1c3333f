//! Ids and other texts that are made from what is there already, so that they need no memory.

use crate::attempt::hash;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

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
