//! What a command is handed, and how it ends.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// Holds what a command sees of the outside, so that tests can hand in their own.
pub struct Console<'a> {
    /// Where the answer goes.
    pub out: &'a mut dyn Write,
    /// Where words beside the answer go, so that the answer can be kept in a file.
    pub err: &'a mut dyn Write,
    /// Where `-` reads from.
    pub input: &'a mut dyn Read,
    /// All variables whose names begin with `ACKDROP_`.
    pub env: &'a BTreeMap<String, String>,
    /// Whether the answer goes to a terminal that wants colors.
    pub color: bool,
}

/// Says how a command ended that could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, or yes: exit code 0.
    Yes,
    /// No: exit code 1.
    No,
}

/// Says why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was called wrongly.
    #[error("{0}")]
    Usage(String),
    /// No suite answers there.
    #[error("cannot reach {url}: {reason}; start a suite with `ackdrop`, or name another with --url or ACKDROP_URL")]
    Unreachable {
        /// Where the suite was looked for.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Something answered that is no suite.
    #[error("{url} answered, but not as an ackdrop suite does: {reason}")]
    Strange {
        /// Where the suite was looked for.
        url: String,
        /// What was wrong with the answer.
        reason: String,
    },
    /// The suite said no.
    #[error("{0}")]
    Refused(String),
    /// The answer could not be printed.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            // The reader had enough, as `head` has after ten lines.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Refused(_) => 1,
            _ => 2,
        }
    }
}

impl Answer {
    /// Returns the exit code for the way a command ended, after writing what failed to `err`.
    pub fn report(ended: Result<Self, Failure>, err: &mut dyn Write) -> ExitCode {
        ExitCode::from(match ended {
            Ok(Self::Yes) => 0,
            Ok(Self::No) => 1,
            Err(failure) => {
                let code = failure.exit_code();
                if code != 0 {
                    // Where standard error is closed the exit code alone has to say it.
                    let _ = writeln!(err, "ackdrop: {failure}");
                }
                code
            }
        })
    }
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::process::ExitCode;

    use super::{Answer, Failure};

    fn report(ended: Result<Answer, Failure>) -> (String, String) {
        let mut err = Vec::new();
        let code = Answer::report(ended, &mut err);
        (format!("{code:?}"), String::from_utf8(err).unwrap())
    }

    #[test]
    fn exit_codes_mean_something() {
        let code = |code: u8| format!("{:?}", ExitCode::from(code));
        assert_eq!(report(Ok(Answer::Yes)), (code(0), String::new()));
        assert_eq!(report(Ok(Answer::No)), (code(1), String::new()));
        let refused = Failure::Refused("no".to_owned());
        assert_eq!(report(Err(refused)), (code(1), "ackdrop: no\n".to_owned()));
        assert_eq!(report(Err(Failure::Usage("what?".to_owned()))).0, code(2));
        let url = "http://127.0.0.1:1".to_owned();
        let (status, said) = report(Err(Failure::Unreachable {
            url,
            reason: "refused".to_owned(),
        }));
        assert_eq!(status, code(2));
        assert_eq!(said.lines().count(), 1);
        assert!(said.contains("http://127.0.0.1:1") && said.contains("--url"));
    }

    #[test]
    fn a_reader_that_had_enough_is_no_failure() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(
            report(Err(closed.into())),
            (format!("{:?}", ExitCode::SUCCESS), String::new())
        );
    }
}
