//! What is held back of an answer, and how much of it may leave before the answer is complete.
//!
//! An answer can be too large to be held. Then its rows leave, and never what says how a statement or the transaction ended: the client
//! must not read of a commit about which a rule is still to be asked.

/// How much of an answer is held back.
pub(super) const MOST: usize = 256 << 10;

/// Says what a piece of an answer is to whoever holds it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It says how a statement or the transaction ended.
    End,
    /// It goes on with a statement: rows, and what describes them.
    Body,
    /// It has to do with no statement, and may come at any time.
    Aside,
}

impl Part {
    /// Says what a message of this type is.
    pub(super) fn of(tag: u8) -> Self {
        match tag {
            b'C' | b'E' | b'Z' => Self::End,
            b'A' | b'N' | b'S' => Self::Aside,
            _ => Self::Body,
        }
    }
}

/// Is what is held back of an answer.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    /// How much of it may leave: all before the last end behind which nothing went on.
    free: usize,
    /// Where the last piece begins.
    last: usize,
}

impl Kept {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], part: Part) {
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let goes_on = match part {
            Part::Body => true,
            Part::Aside => self.free == self.last,
            Part::End => false,
        };
        if goes_on {
            self.free = self.bytes.len();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.bytes.len() > MOST
    }

    /// Takes out what may leave before the rest. Where nothing goes on behind many an end, the last piece alone is kept: the server has
    /// told of one end after the other, and only the last can be the transaction's.
    pub(super) fn spill(&mut self) -> Vec<u8> {
        let most = if self.free > 0 { self.free } else { self.last };
        let rest = self.bytes.split_off(most);
        self.free = 0;
        self.last = 0;
        std::mem::replace(&mut self.bytes, rest)
    }

    /// Takes all of it.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes pieces; returns what spills when the last has come, and what is left.
    fn spilt(pieces: &[(&str, Part)]) -> (String, String) {
        let mut kept = Kept::default();
        for (bytes, part) in pieces {
            kept.push(bytes.as_bytes(), *part);
        }
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(kept.spill()), text(kept.take()))
    }

    #[test]
    fn rows_leave_and_the_end_behind_them_stays() {
        use Part::{Aside, Body, End};
        for (pieces, left, stayed) in [
            (&[("rows", Body)][..], "rows", ""),
            (&[("rows", Body), ("end", End)], "rows", "end"),
            (&[("rows", Body), ("end", End), ("ready", End)], "rows", "endready"),
            (&[("rows", Body), ("end", End), ("note", Aside)], "rows", "endnote"),
            (&[("rows", Body), ("note", Aside), ("end", End)], "rowsnote", "end"),
            (
                &[("rows", Body), ("end", End), ("more", Body), ("end", End)],
                "rowsendmore",
                "end",
            ),
            (&[("one", End), ("two", End), ("three", End)], "onetwo", "three"),
            (&[("end", End), ("note", Aside)], "end", "note"),
        ] {
            assert_eq!(spilt(pieces), (left.into(), stayed.into()), "{pieces:?}");
        }
    }
}
