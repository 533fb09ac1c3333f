//! What a server says: a code and lines of text, as bytes of our own (a library's writer cannot be cut, nor speak what is wrong).

use crate::ledger::Reply;

/// How many characters of text a line has at most (RFC 5321, section 4.5.3.1.5, less the code and the end).
const LONGEST: usize = 480;

/// Is a reply as it stands on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Speech {
    code: u16,
    lines: Vec<String>,
}

impl Speech {
    /// Makes a reply of one line.
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Self {
        Self {
            code,
            lines: vec![printable(&text.into())],
        }
    }

    /// Makes a reply of several lines.
    pub(crate) fn lines(code: u16, lines: &[String]) -> Self {
        let lines = lines.iter().map(|line| printable(line)).collect();
        Self { code, lines }
    }

    /// Speaks a provider's reply; its content is the text.
    pub(crate) fn of(reply: &Reply) -> Self {
        let content = reply.content.bytes();
        let text = String::from_utf8_lossy(&content).into_owned();
        let lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
        Self::lines(reply.status, &lines)
    }

    /// Makes the reply that the ledger records.
    pub(crate) fn to_reply(&self) -> Reply {
        Reply::new(self.code, self.lines.join("\n"))
    }

    /// Returns the code.
    #[cfg(test)]
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// Says whether the connection ends after it, by what it says (RFC 5321, section 3.8).
    pub(crate) fn ends(&self) -> bool {
        matches!(self.code, 221 | 421)
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let last = self.lines.len().saturating_sub(1);
        for (i, line) in self.lines.iter().enumerate() {
            let separator = if i == last { ' ' } else { '-' };
            bytes.extend_from_slice(format!("{}{separator}{line}\r\n", self.code).as_bytes());
        }
        if self.lines.is_empty() {
            bytes.extend_from_slice(format!("{}\r\n", self.code).as_bytes());
        }
        bytes
    }
}

/// Takes out what would break a line in two, and what would make it longer than a client must be able to read.
fn printable(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_by_dashes_and_no_text_breaks_them() {
        let said = |reply: &Reply| String::from_utf8(Speech::of(reply).bytes()).unwrap();
        assert_eq!(said(&Reply::new(250, "2.0.0 Ok")), "250 2.0.0 Ok\r\n");
        assert_eq!(said(&Reply::new(451, "a\nb\r\nc\rd")), "451-a\r\n451-b\r\n451 cd\r\n");
        assert_eq!(said(&Reply::new(250, "")), "250\r\n");
        assert!(Speech::new(421, "x").ends() && Speech::new(221, "x").ends() && !Speech::new(250, "x").ends());
    }
}
