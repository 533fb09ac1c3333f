//! Reads one command line. The grammar is smtp-proto's; what it loses on the way is read from the line itself.
//!
//! It loses: the quotes of a quoted local part; whether an empty path was `<>` or `<postmaster>`; an address without a domain;
//! digits of a number past 2^64 (it wraps, and would take a chunk or a size for a small one); what stands behind DATA, RSET, QUIT
//! and STARTTLS; the name of an AUTH mechanism that it does not know.

use smtp_proto::{Error, Request};

use super::speech::Speech;

/// Is a command as the session knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Ehlo(String),
    Helo(String),
    Mail(Mail),
    Rcpt(Rcpt),
    Data,
    Bdat { size: u64, last: bool },
    Auth { mechanism: String, initial: Option<String> },
    StartTls,
    Rset,
    Noop,
    Vrfy,
    Help,
    Quit,
}

/// Is a MAIL command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The reverse-path; empty for the null sender.
    pub(crate) sender: String,
    /// The size that the client announced.
    pub(crate) size: Option<u64>,
    /// The line as sent.
    pub(crate) line: String,
}

/// Is a RCPT command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rcpt {
    /// The forward-path.
    pub(crate) recipient: String,
    /// The line as sent.
    pub(crate) line: String,
}

/// Says what is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// What the client is told.
    pub(crate) speech: Speech,
    /// Whether it is unknown how many bytes of content follow, so that no further byte can be taken for a command.
    pub(crate) lost_count: bool,
}

impl Unreadable {
    fn new(code: u16, text: impl Into<String>) -> Self {
        Self {
            speech: Speech::new(code, text),
            lost_count: false,
        }
    }
}

/// Reads a line, its end included.
pub(crate) fn read(line: &[u8]) -> Result<Command, Unreadable> {
    let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
    let mut words = text.split_ascii_whitespace();
    let verb = words.next().unwrap_or_default().to_ascii_uppercase();
    if verb == "BDAT" {
        return bdat(words);
    }
    if matches!(verb.as_str(), "DATA" | "RSET" | "QUIT" | "STARTTLS") && words.next().is_some() {
        return Err(Unreadable::new(501, format!("5.5.4 {verb} takes no parameter")));
    }
    if verb == "AUTH" {
        return auth(words);
    }
    let (path, parameters) = match path(line) {
        Some((path, parameters)) => (Some(path), parameters),
        None => (None, &b""[..]),
    };
    let announced = size(parameters);
    match parse(line, path.as_deref()) {
        Ok(Request::Ehlo { host }) => Ok(Command::Ehlo(host)),
        Ok(Request::Helo { host }) => Ok(Command::Helo(host)),
        Ok(Request::Mail { .. }) => Ok(Command::Mail(Mail {
            sender: path.unwrap_or_default(),
            size: announced,
            line: text,
        })),
        Err(Error::InvalidParameter { param: "SIZE" }) if announced.is_some() => Ok(Command::Mail(Mail {
            sender: path.unwrap_or_default(),
            size: announced,
            line: text,
        })),
        Ok(Request::Rcpt { .. }) => match path {
            Some(recipient) if !recipient.is_empty() => Ok(Command::Rcpt(Rcpt { recipient, line: text })),
            _ => Err(Unreadable::new(501, "5.1.3 A recipient is needed, and <> is none")),
        },
        Ok(Request::Data) => Ok(Command::Data),
        Ok(Request::StartTls) => Ok(Command::StartTls),
        Ok(Request::Rset) => Ok(Command::Rset),
        Ok(Request::Quit) => Ok(Command::Quit),
        Ok(Request::Noop { .. }) => Ok(Command::Noop),
        Ok(Request::Vrfy { .. }) => Ok(Command::Vrfy),
        Ok(Request::Help { .. }) => Ok(Command::Help),
        Ok(Request::Lhlo { .. }) => Err(Unreadable::new(500, "5.5.1 This is SMTP, not LMTP: say EHLO")),
        Ok(_) => Err(Unreadable::new(502, format!("5.5.1 {verb} is not implemented"))),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Lets smtp-proto read a line; an address without a domain, which it does not take, gets one for the while.
fn parse(line: &[u8], path: Option<&str>) -> Result<Request<String>, Error> {
    let whole = |line: &[u8]| Request::parse(&mut line.iter()).map(Request::into_owned);
    let first = whole(line);
    let invalid = matches!(first, Err(Error::InvalidSenderAddress | Error::InvalidRecipientAddress));
    match path {
        Some(local) if invalid && !local.contains('@') => {
            let close = line.iter().position(|b| *b == b'>').unwrap_or(line.len());
            whole(&[&line[..close], b"@localhost", &line[close..]].concat())
        }
        _ => first,
    }
}

fn unreadable(error: &Error) -> Unreadable {
    match error {
        Error::InvalidSenderAddress => Unreadable::new(501, "5.1.7 The sender's address cannot be read"),
        Error::InvalidRecipientAddress => Unreadable::new(501, "5.1.3 The recipient's address cannot be read"),
        Error::SyntaxError { syntax } => Unreadable::new(501, format!("5.5.4 Syntax: {syntax}")),
        Error::InvalidParameter { param } => Unreadable::new(501, format!("5.5.4 The value of {param} cannot be read")),
        Error::UnsupportedParameter { param } => {
            let printable: String = param.chars().filter(char::is_ascii_graphic).take(40).collect();
            Unreadable::new(555, format!("5.5.4 The parameter {printable} is not known here"))
        }
        Error::NeedsMoreData { .. } => Unreadable::new(501, "5.5.4 The command ends too early"),
        _ => Unreadable::new(500, "5.5.2 The command is not known"),
    }
}

/// Reads `size [LAST]`.
fn bdat<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Command, Unreadable> {
    let size = words.next().filter(|w| w.bytes().all(|b| b.is_ascii_digit()));
    let last = match words.next() {
        None => Some(false),
        Some(word) => word.eq_ignore_ascii_case("LAST").then_some(true),
    };
    match (size.and_then(|s| s.parse().ok()), last, words.next()) {
        (Some(size), Some(last), None) => Ok(Command::Bdat { size, last }),
        _ => Err(Unreadable {
            lost_count: true,
            ..Unreadable::new(501, "5.5.4 Syntax: BDAT chunk-size [LAST]")
        }),
    }
}

/// Reads `mechanism [initial-response]`.
fn auth<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Command, Unreadable> {
    match (words.next(), words.next(), words.next()) {
        (Some(mechanism), initial, None) => Ok(Command::Auth {
            mechanism: mechanism.to_ascii_uppercase(),
            initial: initial.map(ToOwned::to_owned),
        }),
        _ => Err(Unreadable::new(501, "5.5.4 Syntax: AUTH mechanism [initial-response]")),
    }
}

/// Returns what stands in the angle brackets of a MAIL or RCPT line, without a source route, and what stands behind them.
fn path(line: &[u8]) -> Option<(String, &[u8])> {
    let open = line.iter().position(|b| *b == b'<')?;
    let mut path = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in line.iter().enumerate().skip(open + 1) {
        match byte {
            b'>' if !quoted => {
                let path = without_route(String::from_utf8_lossy(&path).trim()).to_owned();
                return Some((path, &line[at + 1..]));
            }
            b'"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = *byte == b'\\' && quoted && !escaped;
        path.push(*byte);
    }
    None
}

/// Takes a source route off: `@a.test,@b.test:user@c.test` (RFC 5321, appendix C).
fn without_route(path: &str) -> &str {
    match path.split_once(':') {
        Some((route, mailbox)) if route.starts_with('@') => mailbox,
        _ => path,
    }
}

/// Returns the number of a `SIZE=` parameter; one that is too long for a number is the largest.
fn size(parameters: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(parameters);
    text.split_ascii_whitespace().find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        (digits && name.eq_ignore_ascii_case("SIZE")).then(|| value.parse().unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> u16 {
        read(line.as_bytes()).unwrap_err().speech.code()
    }

    fn mail(line: &str) -> (String, Option<u64>) {
        match read(line.as_bytes()) {
            Ok(Command::Mail(mail)) => (mail.sender, mail.size),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn rcpt(line: &str) -> String {
        match read(line.as_bytes()) {
            Ok(Command::Rcpt(rcpt)) => rcpt.recipient,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn senders_are_read_whatever_stands_around_them() {
        for (line, sender, size) in [
            ("MAIL FROM:<a@b.test>\r\n", "a@b.test", None),
            ("mail from:<a@b.test>\n", "a@b.test", None),
            (
                "MAIL FROM: <a@b.test> BODY=8BITMIME SMTPUTF8 SIZE=12\r\n",
                "a@b.test",
                Some(12),
            ),
            (
                "MAIL FROM:<a@b.test> BODY=BINARYMIME SIZE=5 RET=HDRS ENVID=x+3Dy AUTH=<>\r\n",
                "a@b.test",
                Some(5),
            ),
            ("MAIL FROM:<>\r\n", "", None),
            ("MAIL FROM:<root>\r\n", "root", None),
            ("MAIL FROM:<root> SIZE=7\r\n", "root", Some(7)),
            ("MAIL FROM:<postmaster>\r\n", "postmaster", None),
            ("MAIL FROM:<\"a b>c\"@d.test>\r\n", "\"a b>c\"@d.test", None),
            ("MAIL FROM:<@x.test,@y.test:a@b.test>\r\n", "a@b.test", None),
            ("MAIL FROM:<grün@b.test> SMTPUTF8\r\n", "grün@b.test", None),
        ] {
            assert_eq!(mail(line), (sender.to_owned(), size), "{line}");
        }
    }

    #[test]
    fn a_size_never_wraps() {
        for digits in [20, 23, 40] {
            let line = format!("MAIL FROM:<a@b.test> SIZE={}\r\n", "9".repeat(digits));
            assert_eq!(mail(&line).1, Some(u64::MAX), "{line}");
        }
        assert_eq!(code("MAIL FROM:<a@b.test> SIZE=x\r\n"), 501);
    }

    #[test]
    fn recipients_are_read_and_the_null_one_is_refused() {
        for (line, recipient) in [
            (
                "RCPT TO:<a@b.test> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;a+40b.test\r\n",
                "a@b.test",
            ),
            ("RCPT TO:<postmaster>\r\n", "postmaster"),
            ("RCPT TO:<Postmaster>\r\n", "Postmaster"),
            ("RCPT TO:<\"a\\\">b\"@c.test>\r\n", "\"a\\\">b\"@c.test"),
            (
                "RCPT TO:<drop-after-commit+reset+on1@fault.test>\r\n",
                "drop-after-commit+reset+on1@fault.test",
            ),
        ] {
            assert_eq!(rcpt(line), recipient, "{line}");
        }
        for line in [
            "RCPT TO:<>\r\n",
            "RCPT TO:\r\n",
            "RCPT\r\n",
            "RCPT TO:<a@@b>\r\n",
            "RCPT TO:a@b\r\n",
        ] {
            assert_eq!(code(line), 501, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_apart() {
        for (line, expected) in [
            ("\r\n", 500),
            ("WIBBLE\r\n", 500),
            ("LHLO x\r\n", 500),
            ("EXPN x\r\n", 502),
            ("ETRN x\r\n", 502),
            ("EHLO\r\n", 501),
            ("MAIL\r\n", 501),
            ("MAIL FROM:<a@b\r\n", 501),
            ("MAIL FROM:<a@b.test> WIBBLE=1\r\n", 555),
            ("MAIL FROM:<a@b.test> BODY=9BIT\r\n", 501),
            ("DATA now\r\n", 501),
            ("QUIT now\r\n", 501),
            ("AUTH\r\n", 501),
            ("AUTH PLAIN a b\r\n", 501),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
    }

    #[test]
    fn a_chunk_of_unknown_size_is_known_to_be_one() {
        let chunk = |line: &str| read(line.as_bytes());
        assert_eq!(chunk("BDAT 5 LAST\r\n"), Ok(Command::Bdat { size: 5, last: true }));
        assert_eq!(chunk("bdat 0\r\n"), Ok(Command::Bdat { size: 0, last: false }));
        for line in [
            "BDAT\r\n",
            "BDAT x\r\n",
            "BDAT 99999999999999999999999 LAST\r\n",
            "BDAT 5 FIRST\r\n",
            "BDAT -1\r\n",
        ] {
            assert!(chunk(line).unwrap_err().lost_count, "{line}");
        }
    }
}
