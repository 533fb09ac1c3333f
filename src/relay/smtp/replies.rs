//! Replies of a server out of a stream of bytes, whatever way the bytes were cut.

use crate::net::smtp::lines::{self, Line, Lines};
use crate::net::smtp::speech::Speech;

/// How many lines a reply may have.
const MOST_LINES: usize = 500;

/// Is a reply as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The reply code.
    pub(super) code: u16,
    /// The texts of its lines, without codes.
    pub(super) lines: Vec<String>,
}

/// Says that what was heard is no reply.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream does not speak SMTP")]
pub(super) struct Foreign;

/// Collects one reply at a time.
#[derive(Debug, Default)]
pub(super) struct Replies {
    lines: Lines,
    code: Option<u16>,
    texts: Vec<String>,
}

impl Heard {
    pub(super) fn is_positive(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Says it to the client.
    pub(super) fn speech(&self) -> Speech {
        Speech::lines(self.code, &self.lines)
    }

    /// Says it as it is recorded.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Says whether a line, that of a keyword of EHLO, begins with this word.
    pub(super) fn offers(&self, word: &str) -> bool {
        self.lines.iter().skip(1).any(|line| is_keyword(line, word))
    }

    /// Takes keywords out of a reply to EHLO.
    pub(super) fn without(mut self, words: &[&str]) -> Self {
        let mut first = true;
        self.lines
            .retain(|line| std::mem::take(&mut first) || !words.iter().any(|word| is_keyword(line, word)));
        self
    }
}

fn is_keyword(line: &str, word: &str) -> bool {
    let name = line.split([' ', '=']).next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(word))
}

impl Replies {
    /// Takes from the input up to the next whole reply; none if more must come first.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Result<Option<Heard>, Foreign> {
        while let Some(line) = self.lines.next(input, lines::COMMAND) {
            let Line::Whole(line) = line else {
                return Err(Foreign);
            };
            let (code, is_last, text) = split(&line).ok_or(Foreign)?;
            if self.code.is_some_and(|first| first != code) || self.texts.len() >= MOST_LINES {
                return Err(Foreign);
            }
            self.code = Some(code);
            self.texts.push(text);
            if is_last {
                self.code = None;
                let lines = std::mem::take(&mut self.texts);
                return Ok(Some(Heard { code, lines }));
            }
        }
        Ok(None)
    }

    /// Says whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.lines.is_empty()
    }
}

fn split(line: &[u8]) -> Option<(u16, bool, String)> {
    let line = line.trim_ascii_end();
    let (code, rest) = line.split_at_checked(3)?;
    let digits = matches!(code[0], b'2'..=b'5') && code.iter().all(u8::is_ascii_digit);
    let code = std::str::from_utf8(code).ok()?.parse().ok().filter(|_| digits)?;
    let (is_last, text) = match rest {
        [] => (true, rest),
        [b' ', text @ ..] => (true, text),
        [b'-', text @ ..] => (false, text),
        _ => return None,
    };
    Some((code, is_last, String::from_utf8_lossy(text).into_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &[&[u8]]) -> Result<Vec<Heard>, Foreign> {
        let mut replies = Replies::default();
        let mut heard = Vec::new();
        for part in parts {
            let mut input = *part;
            while let Some(reply) = replies.next(&mut input)? {
                heard.push(reply);
            }
        }
        Ok(heard)
    }

    #[test]
    fn replies_of_one_line_and_of_several() {
        let heard = all(&[b"220 x ESMTP\r\n250-x\r\n250-SIZE 17\r\n250-STARTTLS\r\n250 CHUNKING\r\n354\r\n"]).unwrap();
        let codes: Vec<u16> = heard.iter().map(|reply| reply.code).collect();
        assert_eq!(codes, [220, 250, 354]);
        assert!(heard[1].offers("size") && heard[1].offers("STARTTLS") && !heard[1].offers("x"));
        assert_eq!(
            heard[1].clone().without(&["CHUNKING", "starttls", "x"]).lines,
            ["x", "SIZE 17"]
        );
    }

    #[test]
    fn what_is_no_reply_is_told() {
        for foreign in [
            "HTTP/1.1 200 OK\r\n",
            "2\r\n",
            "250_x\r\n",
            "650 x\r\n",
            "250-a\r\n251 b\r\n",
            "\u{1f}\r\n",
        ] {
            assert_eq!(all(&[foreign.as_bytes()]), Err(Foreign), "{foreign:?}");
        }
        let endless = "250-x\r\n".repeat(MOST_LINES + 1);
        assert_eq!(all(&[endless.as_bytes()]), Err(Foreign));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_replies(text in "(2[0-9]{2}[- ][a-z]{0,5}\r\n|.{0,9}\r\n){0,9}", cuts in proptest::collection::vec(0usize..120, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(all(&parts), all(&[bytes]));
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = all(&[&bytes]);
        }
    }
}
