//! AUTH: any login is accepted; what counts is the user's name, which can carry the scope.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::net::smtp::speech::Speech;

/// Names a mechanism that can be offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Mechanism {
    /// RFC 4616.
    #[serde(rename = "PLAIN")]
    Plain,
    /// The old one that every client has.
    #[serde(rename = "LOGIN")]
    Login,
    /// RFC 2195.
    #[serde(rename = "CRAM-MD5")]
    CramMd5,
    /// Google's, for OAuth 2 tokens.
    #[serde(rename = "XOAUTH2")]
    Xoauth2,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Login, Self::CramMd5, Self::Xoauth2];

    /// Returns its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Login => "LOGIN",
            Self::CramMd5 => "CRAM-MD5",
            Self::Xoauth2 => "XOAUTH2",
        }
    }

    /// Finds one by its name, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.as_str().eq_ignore_ascii_case(name))
    }
}

/// Is an exchange in progress.
#[derive(Debug)]
pub(super) enum Exchange {
    Plain,
    LoginUser,
    LoginPassword { user: String },
    CramMd5,
    Xoauth2,
}

/// Says what comes of a client's word.
#[derive(Debug)]
pub(super) enum Turn {
    /// The client is asked on.
    Ask(Exchange, Speech),
    /// The client has logged in under this name.
    In(String),
    /// The exchange is over, and came to nothing.
    Out(Speech),
}

impl Exchange {
    /// Begins an exchange.
    pub(super) fn begin(mechanism: Mechanism, initial: Option<&str>) -> Turn {
        let exchange = match mechanism {
            Mechanism::Plain => Self::Plain,
            Mechanism::Login => Self::LoginUser,
            Mechanism::CramMd5 => Self::CramMd5,
            Mechanism::Xoauth2 => Self::Xoauth2,
        };
        match initial {
            // `=` is an initial response that is there and empty (RFC 4954, section 4).
            Some(initial) if mechanism != Mechanism::CramMd5 => {
                exchange.turn(if initial == "=" { b"" } else { initial.as_bytes() })
            }
            Some(_) => Turn::Out(Speech::new(501, "5.5.4 CRAM-MD5 takes no initial response")),
            None => exchange.ask(),
        }
    }

    /// Takes a client's word, without the line's end.
    pub(super) fn turn(self, word: &[u8]) -> Turn {
        if word == b"*" {
            return Turn::Out(Speech::new(501, "5.7.0 Authentication cancelled"));
        }
        let Some(word) = decoded(word) else {
            return Turn::Out(Speech::new(501, "5.5.2 This is no base64"));
        };
        let user = match self {
            Self::Plain => plain_user(&word),
            Self::LoginUser => return Self::LoginPassword { user: word }.ask(),
            Self::LoginPassword { user } => Some(user),
            Self::CramMd5 => word.rsplit_once(' ').map(|(user, _)| user.to_owned()),
            Self::Xoauth2 => {
                let mut fields = word.split('\u{1}');
                fields.find_map(|f| f.strip_prefix("user=")).map(ToOwned::to_owned)
            }
        };
        user.map_or_else(
            || Turn::Out(Speech::new(501, "5.5.2 The credentials cannot be read")),
            Turn::In,
        )
    }

    fn ask(self) -> Turn {
        let challenge = match self {
            Self::LoginUser => STANDARD.encode("Username:"),
            Self::LoginPassword { .. } => STANDARD.encode("Password:"),
            Self::CramMd5 => STANDARD.encode(format!("<{:x}@ackdrop>", fastrand::u64(..))),
            Self::Plain | Self::Xoauth2 => String::new(),
        };
        Turn::Ask(self, Speech::new(334, challenge))
    }
}

fn decoded(word: &[u8]) -> Option<String> {
    let bytes = STANDARD.decode(word).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads `authzid NUL authcid NUL password`.
fn plain_user(word: &str) -> Option<String> {
    let mut parts = word.split('\0');
    let (other, own, _password) = (parts.next()?, parts.next()?, parts.next()?);
    Some(if own.is_empty() { other } else { own }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(mechanism: Mechanism, initial: Option<&str>, words: &[&str]) -> Result<String, u16> {
        let encode = |word: &str| match word {
            "*" | "not base64!" | "=" => word.to_owned(),
            word => STANDARD.encode(word),
        };
        let initial = initial.map(encode);
        let mut turn = Exchange::begin(mechanism, initial.as_deref());
        for word in words {
            turn = match turn {
                Turn::Ask(exchange, speech) => {
                    assert_eq!(speech.code(), 334);
                    exchange.turn(encode(word).as_bytes())
                }
                other => panic!("{other:?} before {word}"),
            };
        }
        match turn {
            Turn::In(user) => Ok(user),
            Turn::Out(speech) => Err(speech.code()),
            Turn::Ask(..) => Err(334),
        }
    }

    #[test]
    fn every_mechanism_knows_the_user() {
        use Mechanism::{CramMd5, Login, Plain, Xoauth2};
        for (mechanism, initial, words) in [
            (Plain, Some("\0ann\0secret"), vec![]),
            (Plain, None, vec!["\0ann\0secret"]),
            (Plain, Some("ann\0\0secret"), vec![]),
            (Login, None, vec!["ann", "secret"]),
            (Login, Some("ann"), vec!["secret"]),
            (CramMd5, None, vec!["ann b913a602c7eda7a495b4e6e7334d3890"]),
            (Xoauth2, Some("user=ann\u{1}auth=Bearer t\u{1}\u{1}"), vec![]),
            (Xoauth2, None, vec!["user=ann\u{1}auth=Bearer t\u{1}\u{1}"]),
        ] {
            assert_eq!(talk(mechanism, initial, &words), Ok("ann".to_owned()), "{mechanism:?}");
        }
    }

    #[test]
    fn an_exchange_can_be_cancelled_or_come_to_nothing() {
        for mechanism in Mechanism::ALL {
            assert_eq!(talk(mechanism, None, &["*"]), Err(501));
            assert_eq!(talk(mechanism, None, &["not base64!"]), Err(501));
            assert_eq!(Mechanism::parse(&mechanism.as_str().to_lowercase()), Some(mechanism));
        }
        assert_eq!(talk(Mechanism::Plain, Some("="), &[]), Err(501));
        assert_eq!(talk(Mechanism::Plain, None, &["ann"]), Err(501));
        assert_eq!(talk(Mechanism::CramMd5, Some("ann"), &[]), Err(501));
        assert_eq!(Mechanism::parse("GSSAPI"), None);
    }
}
