//! Why a request brought no whole answer.

use std::error::Error;
use std::fmt;
use std::io;

use serde::Serialize;

/// Says why a request brought no whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What it was, in one word.
    pub what: What,
    /// The same in words.
    pub reason: String,
}

/// Names what goes wrong between two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The address is none that a test double may send to.
    Forbidden,
    /// The name has no address.
    Unresolved,
    /// Nobody listens there.
    Refused,
    /// The address cannot be reached.
    Unreachable,
    /// It took too long.
    Timeout,
    /// The receiver reset the connection.
    Reset,
    /// The receiver closed the connection before its answer was whole.
    Closed,
    /// TLS failed.
    Tls,
    /// The answer is larger than what is read of one.
    TooLarge,
    /// The answer is no HTTP.
    Protocol,
    /// The suite was stopped, or its scope reset, meanwhile.
    Stopped,
}

impl Trouble {
    pub(super) fn new(what: What, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { what, reason }
    }

    /// Says that the suite ended it: by a reset of the scope, or by its own stop.
    #[must_use]
    pub fn stopped() -> Self {
        Self::new(
            What::Stopped,
            "the suite was stopped, or the scope reset, before it was done",
        )
    }

    pub(super) fn of_connect(error: &io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::ConnectionRefused => What::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => What::Reset,
            io::ErrorKind::TimedOut => What::Timeout,
            _ => What::Unreachable,
        };
        Self::new(what, error.to_string())
    }

    /// Reads an error of the TLS handshake, or of the stream under it.
    pub(super) fn of_tls(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset => Self::new(What::Reset, "reset during the TLS handshake"),
            io::ErrorKind::UnexpectedEof => Self::new(What::Tls, "closed during the TLS handshake"),
            _ => Self::new(What::Tls, error.to_string()),
        }
    }

    pub(super) fn of_exchange(error: &hyper::Error) -> Self {
        if let Some(io) = source::<io::Error>(error) {
            return match io.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                    Self::new(What::Reset, io.to_string())
                }
                io::ErrorKind::UnexpectedEof => Self::new(What::Closed, io.to_string()),
                io::ErrorKind::InvalidData => Self::new(What::Tls, io.to_string()),
                _ => Self::new(What::Protocol, io.to_string()),
            };
        }
        if error.is_parse_too_large() {
            let words = format!("the answer's head has more than {} bytes", super::LARGEST_ANSWER);
            Self::new(What::TooLarge, words)
        } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            Self::new(
                What::Closed,
                "the receiver closed the connection before its answer was whole",
            )
        } else {
            Self::new(What::Protocol, error.to_string())
        }
    }
}

/// Finds an error of this type behind another.
fn source<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

impl What {
    /// Returns the word users see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Unresolved => "unresolved",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Tls => "tls",
            Self::TooLarge => "too-large",
            Self::Protocol => "protocol",
            Self::Stopped => "stopped",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what.as_str(), self.reason)
    }
}

impl Error for Trouble {}
