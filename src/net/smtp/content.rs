//! The content of a mail out of a stream of bytes: after DATA up to the dot, or in chunks of BDAT.

/// Receives content. What was taken is never taken back, so that its size only grows; smtp-proto's receiver takes a dot for content
/// until it knows better, and leaves one that a client did not stuff where RFC 5321, section 4.5.2, takes it out.
#[derive(Debug)]
pub(crate) enum Receiver {
    Data(At),
    Chunk { left: u64 },
}

/// Says where in a line the content stands. Only CRLF, a dot, CRLF is an end, so that a lone CR or LF smuggles nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Behind a CRLF, or at the beginning.
    Begin,
    /// Behind a dot that begins a line, and is no content.
    Dot,
    /// Behind such a dot and a CR, which may yet be content.
    DotCr,
    Middle,
    Cr,
}

impl Receiver {
    /// Receives what follows the 354.
    pub(crate) fn data() -> Self {
        Self::Data(At::Begin)
    }

    /// Receives a chunk of BDAT.
    pub(crate) fn chunk(size: u64) -> Self {
        Self::Chunk { left: size }
    }

    /// Takes content from the input; returns whether its end has come.
    pub(crate) fn ingest(&mut self, input: &mut &[u8], content: &mut Vec<u8>) -> bool {
        match self {
            Self::Data(at) => unstuff(at, input, content),
            Self::Chunk { left } => {
                let part = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                content.extend_from_slice(&input[..part]);
                *input = &input[part..];
                *left -= part as u64;
                *left == 0
            }
        }
    }
}

fn unstuff(at: &mut At, input: &mut &[u8], content: &mut Vec<u8>) -> bool {
    while let [byte, rest @ ..] = *input {
        if *at == At::Middle {
            let text = input.iter().position(|b| *b == b'\r').unwrap_or(input.len());
            content.extend_from_slice(&input[..text]);
            *input = &input[text..];
            if let [_, rest @ ..] = *input {
                content.push(b'\r');
                *input = rest;
                *at = At::Cr;
            }
            continue;
        }
        *input = rest;
        match (*at, byte) {
            (At::DotCr, b'\n') => return true,
            (At::Begin, b'.') => {
                *at = At::Dot;
                continue;
            }
            (At::Dot, b'\r') => {
                *at = At::DotCr;
                continue;
            }
            (At::DotCr, _) => content.push(b'\r'),
            _ => {}
        }
        content.push(*byte);
        *at = match (*at, byte) {
            (At::Cr, b'\n') => At::Begin,
            (_, b'\r') => At::Cr,
            _ => At::Middle,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stuffs a mail whose last line has its end, as a client does.
    fn stuffed(mail: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        let mut begins = true;
        for (i, byte) in mail.iter().enumerate() {
            if begins && *byte == b'.' {
                wire.push(b'.');
            }
            begins = *byte == b'\n' && i > 0 && mail[i - 1] == b'\r';
            wire.push(*byte);
        }
        wire.extend_from_slice(b".\r\n");
        wire
    }

    fn received(parts: &[&[u8]]) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut receiver = Receiver::data();
        let mut content = Vec::new();
        let mut rest = Vec::new();
        let mut over = false;
        for part in parts {
            let mut input = *part;
            if !over {
                over = receiver.ingest(&mut input, &mut content);
                assert!(over || input.is_empty());
            }
            rest.extend_from_slice(input);
        }
        over.then_some((content, rest))
    }

    #[test]
    fn an_empty_mail_ends_and_a_first_dot_is_taken_out() {
        assert_eq!(received(&[b".\r\n"]), Some((vec![], vec![])));
        assert_eq!(received(&[b".", b"\r", b"\n"]), Some((vec![], vec![])));
        assert_eq!(
            received(&[b"..x\r\n.\r\nQUIT\r\n"]),
            Some((b".x\r\n".to_vec(), b"QUIT\r\n".to_vec()))
        );
    }

    #[test]
    fn a_dot_that_begins_a_line_is_taken_out_whatever_follows() {
        let wire = b".x\r\n.\rx\r\n..\r\n.\n\r\n.\r\r\n.\r\n";
        let content = b"x\r\n\rx\r\n.\r\n\n\r\n\r\r\n";
        for cut in 0..=wire.len() {
            let parts = [&wire[..cut], &wire[cut..]];
            assert_eq!(received(&parts), Some((content.to_vec(), vec![])), "cut at {cut}");
        }
    }

    #[test]
    fn the_content_only_grows() {
        let (mut receiver, mut content) = (Receiver::data(), Vec::new());
        for byte in b".x\r\n..\r\nlast\r\n.\r\n" {
            let before = content.len();
            receiver.ingest(&mut [*byte].as_slice(), &mut content);
            assert!(content.len() >= before, "{content:?}");
        }
        assert_eq!(content, b"x\r\n.\r\nlast\r\n");
    }

    #[test]
    fn nothing_but_crlf_dot_crlf_ends_a_mail() {
        for smuggled in [
            "x\n.\nMAIL",
            "x\n.\r\nMAIL",
            "x\r.\rMAIL",
            "x\r.\r\nMAIL",
            "x\r\n.\rMAIL",
            "x\r\n.\nMAIL",
        ] {
            assert_eq!(received(&[smuggled.as_bytes()]), None, "{smuggled:?}");
            let whole = format!("{smuggled}\r\n.\r\n");
            let (content, rest) = received(&[whole.as_bytes()]).unwrap();
            assert!(content.ends_with(b"MAIL\r\n") && rest.is_empty(), "{smuggled:?}");
        }
    }

    #[test]
    fn a_chunk_is_counted_and_not_read() {
        let mut content = Vec::new();
        let mut receiver = Receiver::chunk(7);
        let mut input = b".\r\nQUIT\r\n".as_slice();
        assert!(receiver.ingest(&mut input, &mut content));
        assert_eq!(
            (content.as_slice(), input),
            (b".\r\nQUIT".as_slice(), b"\r\n".as_slice())
        );
        assert!(Receiver::chunk(0).ingest(&mut b"".as_slice(), &mut content));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_mail(
            lines in proptest::collection::vec("[.a\r\n]{0,6}", 0..8),
            cuts in proptest::collection::vec(0usize..120, 0..8),
        ) {
            let mail: Vec<u8> = lines.iter().flat_map(|l| [l.as_bytes(), b"\r\n"].concat()).collect();
            let mut wire = stuffed(&mail);
            wire.extend_from_slice(b"NOOP\r\n");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(wire.len())).chain([0, wire.len()]).collect();
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|w| &wire[w[0]..w[1]]).collect();
            prop_assert_eq!(received(&parts), Some((mail, b"NOOP\r\n".to_vec())));
        }
    }
}
