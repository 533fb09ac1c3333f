//! Command lines out of a stream of bytes, whatever way the bytes were cut.

/// How long a command line may be, its end included.
pub(crate) const COMMAND: usize = 4096;
/// How long a line of an AUTH exchange may be (RFC 4954, section 4).
pub(crate) const CREDENTIAL: usize = 12_288;

/// Collects one line at a time; holds no more bytes than the longest line allowed.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
    /// The line at hand is too long; its bytes are dropped up to its end.
    too_long: bool,
}

/// Is one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// With its end.
    Whole(Vec<u8>),
    /// It was longer than lines may be, and is gone.
    TooLong,
}

impl Lines {
    /// Says whether no part of a line is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.too_long
    }

    /// Takes the next line from the input; none if its end has not come yet.
    pub(crate) fn next(&mut self, input: &mut &[u8], longest: usize) -> Option<Line> {
        let end = input.iter().position(|b| *b == b'\n').map(|n| n + 1);
        let (part, rest) = input.split_at(end.unwrap_or(input.len()));
        *input = rest;
        if self.held.len() + part.len() > longest {
            self.too_long = true;
            self.held = Vec::new();
        }
        if !self.too_long {
            self.held.extend_from_slice(part);
        }
        end?;
        if std::mem::take(&mut self.too_long) {
            return Some(Line::TooLong);
        }
        Some(Line::Whole(std::mem::take(&mut self.held)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &[&[u8]], longest: usize) -> (Vec<Line>, usize) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let mut most = 0;
        for part in parts {
            let mut input = *part;
            while !input.is_empty() {
                found.extend(lines.next(&mut input, longest));
                most = most.max(lines.held.len());
            }
        }
        (found, most)
    }

    #[test]
    fn a_line_too_long_is_dropped_and_the_next_is_whole() {
        let (found, most) = all(&[&[b'x'; 10_000], &[b'y'; 10_000], b"\r\nNOOP\r\n"], COMMAND);
        assert_eq!(found, [Line::TooLong, Line::Whole(b"NOOP\r\n".to_vec())]);
        assert!(most <= COMMAND, "{most}");
        let longest = [vec![b'x'; COMMAND - 2], b"\r\n".to_vec()].concat();
        assert_eq!(all(&[&longest], COMMAND).0, [Line::Whole(longest.clone())]);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_lines(bytes in "[ab\r\n]{0,80}", cuts in proptest::collection::vec(0usize..80, 0..6)) {
            let bytes = bytes.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(all(&parts, 10).0, all(&[bytes], 10).0);
        }
    }
}
