//! Cuts a stream of bytes into messages: each one's head and as much of its body as is looked at, then the rest as it comes.

use super::Blind;

/// How long a message may be; the server itself takes no longer one.
const LONGEST: u32 = 1 << 30;
/// Bytes before the body: the tag and the length.
const HEAD: usize = 5;

/// Cuts one direction of a connection into messages.
#[derive(Debug)]
pub(super) struct Frames {
    /// How much of a message's body is looked at, by its tag.
    keep: fn(u8) -> usize,
    /// The message that is coming, as far as it is looked at.
    coming: Vec<u8>,
    /// How many bytes of the last message are still to pass unseen.
    rest: u32,
}

/// Is a piece of the stream; all pieces one after another are the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    /// A message begins: its head, and what is looked at of its body.
    Message(Message),
    /// More of the last message's body; whether it is the last of it.
    Rest(&'a [u8], bool),
}

/// Is a message as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// The bytes, the head with them.
    pub(super) bytes: Vec<u8>,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

impl Message {
    pub(super) fn tag(&self) -> u8 {
        self.bytes[0]
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[HEAD..]
    }
}

impl Frames {
    /// Looks at as much of each message as `keep` says.
    pub(super) fn new(keep: fn(u8) -> usize) -> Self {
        Self {
            keep,
            coming: Vec::new(),
            rest: 0,
        }
    }

    /// Takes the next piece from the input; none if more bytes are needed.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Frame<'a>>, Blind> {
        if self.rest > 0 {
            let most = usize::try_from(self.rest).unwrap_or(usize::MAX);
            let piece = take(input, most);
            if piece.is_empty() {
                return Ok(None);
            }
            self.rest -= u32::try_from(piece.len()).unwrap_or(self.rest);
            return Ok(Some(Frame::Rest(piece, self.rest == 0)));
        }
        if !self.fill(input, HEAD) {
            return Ok(None);
        }
        let (tag, length) = (self.coming[0], length(&self.coming[1..HEAD]));
        if !(4..=LONGEST).contains(&length) {
            return Err(Blind::new(format!(
                "a message of type {tag:#04x} says that it is {length} bytes long"
            )));
        }
        let body = usize::try_from(length - 4).unwrap_or(usize::MAX);
        let kept = body.min((self.keep)(tag));
        if !self.fill(input, HEAD + kept) {
            return Ok(None);
        }
        self.rest = u32::try_from(body - kept).unwrap_or(0);
        let bytes = std::mem::take(&mut self.coming);
        let whole = self.rest == 0;
        Ok(Some(Frame::Message(Message { bytes, whole })))
    }

    /// Says whether more of a message is to come that was begun.
    pub(super) fn is_in_message(&self) -> bool {
        self.rest > 0
    }

    /// Gives back what was taken of a message that is not whole yet.
    pub(super) fn give_back(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.coming)
    }

    fn fill(&mut self, input: &mut &[u8], wanted: usize) -> bool {
        let missing = wanted.saturating_sub(self.coming.len());
        self.coming.extend_from_slice(take(input, missing));
        self.coming.len() >= wanted
    }
}

fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, left) = input.split_at(most.min(input.len()));
    *input = left;
    taken
}

/// Reads a length as the protocol writes it.
pub(super) fn length(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |n, byte| (n << 8) | u32::from(*byte))
}

/// Takes a text that ends in a zero byte; none if its end is not there.
pub(super) fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (text, rest) = bytes.split_at(end);
    *bytes = &rest[1..];
    Some(text)
}

/// Makes a message.
pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(body.len() + HEAD);
    message.push(tag);
    message.extend_from_slice(&length.to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// Makes an `ErrorResponse`.
pub(super) fn error(severity: &str, code: &str, text: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', text)] {
        body.push(field);
        body.extend(value.bytes().filter(|byte| *byte != 0));
        body.push(0);
    }
    body.push(0);
    message(b'E', &body)
}
