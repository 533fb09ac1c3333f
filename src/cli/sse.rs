//! Server-sent events, from bytes.

/// Splits a stream of bytes into the data of events.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    line: Vec<u8>,
    data: Option<String>,
}

/// Says that a line grew past all measure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

const LONGEST_EVENT: usize = 64 << 20;

impl Decoder {
    /// Takes bytes in any split and returns the data of every event that they complete.
    pub(super) fn ingest(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut complete = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            complete.extend(self.end_line());
        }
        self.line.extend_from_slice(rest);
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held > LONGEST_EVENT {
            Err(TooLong)
        } else {
            Ok(complete)
        }
    }

    /// Takes a whole line; an empty one ends the event.
    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            return self.data.take();
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            let data = String::from_utf8_lossy(data.strip_prefix(b" ").unwrap_or(data));
            match &mut self.data {
                Some(known) => {
                    known.push('\n');
                    known.push_str(&data);
                }
                None => self.data = Some(data.into_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Decoder;

    const STREAM: &[u8] =
        b": hello\n\nid: 1\ndata: {\"a\":1}\n\ndata:two\r\ndata: lines\r\n\r\nevent: x\n\ndata: unfinished\n";

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_events(cut in 0..STREAM.len(), other in 0..STREAM.len()) {
            let (from, to) = (cut.min(other), cut.max(other));
            let mut decoder = Decoder::default();
            let mut events = Vec::new();
            for part in [&STREAM[..from], &STREAM[from..to], &STREAM[to..]] {
                events.extend(decoder.ingest(part).unwrap());
            }
            prop_assert_eq!(events, ["{\"a\":1}", "two\nlines"]);
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut decoder = Decoder::default();
        let block = vec![b'x'; 1 << 20];
        let first = (0..100).find(|_| decoder.ingest(&block).is_err());
        assert_eq!(first, Some(64));
    }
}
