//! What a relay is, as users write it: `name=LISTEN,UPSTREAM[;option=value]…`, or as JSON with the same names.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use serde_json::Value;

use super::upstream::{Scheme, Upstream};
use crate::duration;
use crate::ledger::{Class, secrets};
use crate::net::Listen;
use crate::store::Scope;

/// How a relay is written.
pub const FORM: &str = "name=LISTEN,UPSTREAM[;option=value]…, as in pay=127.0.0.1:9000,https://api.example.com";
/// How many characters a relay's name may have.
const LONGEST_NAME: usize = 64;
/// All options, with what each is for.
const OPTIONS: [&str; 7] = ["class", "scope", "timeout", "key", "replayed", "host", "tls"];
/// Options that only HTTP has.
const OF_HTTP: [&str; 4] = ["key", "replayed", "host", "tls"];

/// Describes one relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name: the `provider` in rules and counts.
    pub name: Arc<str>,
    /// Where it listens.
    pub listen: Listen,
    /// Where it forwards to.
    pub upstream: Upstream,
    /// Whether the upstream enforces its key.
    pub class: Class,
    /// The scope of what names none itself.
    pub scope: Option<Scope>,
    /// How long the upstream may be silent while it owes something; as long as connections of the suite if none is given.
    pub timeout: Option<Duration>,
    /// The header that carries the caller's key.
    pub key: HeaderName,
    /// The header by which an upstream says that it answers from its record.
    pub replayed: HeaderName,
    /// Whether the client's own `Host` is passed on.
    pub keep_host: bool,
    /// Whether clients speak inside TLS, with a certificate of the suite's CA.
    pub tls: bool,
}

/// Says all that is wrong with a relay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Wrong(pub Vec<String>);

impl Spec {
    /// Reads the short form.
    ///
    /// # Errors
    ///
    /// Fails with all that is wrong: what, where, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut parts = text.split(';').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let (name, listen, upstream) = split_head(head).map_err(|why| Wrong(vec![why]))?;
        let mut reader = Reader::default();
        let mut pairs = vec![("name", name), ("listen", listen), ("upstream", upstream)];
        for part in parts.filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((option, value)) => pairs.push((option.trim(), value.trim())),
                None => reader.report(format!(
                    "`{part}` is no option=value; options are {}",
                    OPTIONS.join(", ")
                )),
            }
        }
        reader.read(&pairs)
    }

    /// Reads JSON: a text in the short form, or an object with the names `name`, `listen` and `upstream` beside those of options.
    ///
    /// # Errors
    ///
    /// Fails with all that is wrong: what, where, and what is allowed.
    pub fn from_json(value: &Value) -> Result<Self, Wrong> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Object(fields) => {
                let mut reader = Reader::default();
                let mut pairs = Vec::new();
                for (name, value) in fields {
                    match value {
                        Value::String(text) => pairs.push((name.as_str(), text.as_str())),
                        _ => reader.report(format!("`{name}` must be a text")),
                    }
                }
                reader.read(&pairs)
            }
            _ => Err(Wrong(vec![format!(
                "a relay is a text, {FORM}, or an object {{\"name\": …, \"listen\": …, \"upstream\": …}}"
            )])),
        }
    }
}

fn split_head(head: &str) -> Result<(&str, &str, &str), String> {
    let parts = || {
        let (name, rest) = head.split_once('=')?;
        let (listen, upstream) = rest.split_once(',')?;
        Some((name.trim(), listen.trim(), upstream.trim()))
    };
    parts().ok_or_else(|| format!("`{}` is no relay; write {FORM}", secrets::clean(head)))
}

/// Reads names and values, and gathers what is wrong.
#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn report(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// Reads one value; reports what is wrong with it.
    fn take<T>(&mut self, value: Option<&str>, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match read(value?) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.report(problem);
                None
            }
        }
    }

    fn read(mut self, pairs: &[(&str, &str)]) -> Result<Spec, Wrong> {
        for (at, (name, _)) in pairs.iter().enumerate() {
            if pairs[..at].iter().any(|(other, _)| other == name) {
                self.report(format!("`{name}` is given twice"));
            } else if !OPTIONS.contains(name) && !["name", "listen", "upstream"].contains(name) {
                self.report(format!("`{name}` is no option; options are {}", OPTIONS.join(", ")));
            }
        }
        let of = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        for name in ["name", "listen", "upstream"] {
            if of(name).is_none() {
                self.report(format!("`{name}` is missing"));
            }
        }
        let name = self.take(of("name"), name_of);
        let listen = self.take(of("listen"), |text| match text {
            "off" => Err("a relay must listen somewhere: write IP:PORT; port 0 takes a free one".to_owned()),
            text => Listen::parse(text),
        });
        let upstream = self.take(of("upstream"), Upstream::parse);
        if let Some(upstream) = &upstream {
            self.check_protocol(upstream.scheme, &of);
        }
        let class = self.take(of("class"), class_of).unwrap_or(Class::KeyAdvisory);
        let scope = self.take(of("scope"), |text| Scope::parse(text).map_err(|e| e.to_string()));
        let timeout = self.take(of("timeout"), |text| match duration::parse(text) {
            Ok(Duration::ZERO) => Err("`timeout` must be longer than nothing".to_owned()),
            read => read.map_err(|why| {
                let examples = duration::EXAMPLES.join(", ");
                format!("`timeout` is `{text}`, which {why}, as in {examples}")
            }),
        });
        let header = |option: &'static str| {
            move |text: &str| {
                HeaderName::from_str(text).map_err(|_| format!("`{option}` is `{text}`, which is no header's name"))
            }
        };
        let key = self.take(of("key"), header("key"));
        let replayed = self.take(of("replayed"), header("replayed"));
        let keep_host = self.take(of("host"), |text| match text {
            "keep" => Ok(true),
            "rewrite" => Ok(false),
            other => Err(format!("`host` is `{other}`; allowed are keep and rewrite")),
        });
        let tls = self.take(of("tls"), |text| match text {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("`tls` is `{other}`; allowed are on and off")),
        });
        match (name, listen, upstream) {
            (Some(name), Some(listen), Some(upstream)) if self.problems.is_empty() => Ok(Spec {
                name,
                listen,
                upstream,
                class,
                scope,
                timeout,
                key: key.unwrap_or(HeaderName::from_static("idempotency-key")),
                replayed: replayed.unwrap_or(HeaderName::from_static("idempotent-replayed")),
                keep_host: keep_host.unwrap_or(false),
                tls: tls.unwrap_or(false),
            }),
            _ => Err(Wrong(self.problems)),
        }
    }

    fn check_protocol<'a>(&mut self, scheme: Scheme, of: &impl Fn(&str) -> Option<&'a str>) {
        for option in OF_HTTP {
            if of(option).is_some() && !scheme.is_http() {
                self.report(format!(
                    "`{option}` belongs to HTTP, and the upstream speaks {}",
                    scheme.as_str()
                ));
            }
        }
    }
}

fn name_of(text: &str) -> Result<Arc<str>, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    if (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.into())
    } else {
        // Dots and capitals mean something in expectations and patterns.
        Err(format!(
            "`{}` is no relay's name: 1 to {LONGEST_NAME} characters of a-z 0-9 _ -",
            secrets::clean(text)
        ))
    }
}

fn class_of(text: &str) -> Result<Class, String> {
    match text {
        "enforced" | "key-enforced" => Ok(Class::KeyEnforced),
        "advisory" | "key-advisory" => Ok(Class::KeyAdvisory),
        other => Err(format!("`class` is `{other}`; allowed are enforced and advisory")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_short_form_and_json_say_the_same() {
        let text = "pay=127.0.0.1:0,https://api.example.com/v1;class=enforced;key=X-Key;replayed=X-Again;scope=alice;host=keep;timeout=2s;tls=on";
        let spec = Spec::parse(text).unwrap();
        let json = json!({"name": "pay", "listen": "127.0.0.1:0", "upstream": "https://api.example.com/v1", "class": "enforced",
            "key": "x-key", "replayed": "x-again", "scope": "alice", "host": "keep", "timeout": "2s", "tls": "on"});
        assert_eq!(Spec::from_json(&json).unwrap(), spec);
        assert_eq!(Spec::from_json(&json!(text)).unwrap(), spec);
        assert_eq!(
            (&*spec.name, spec.class, spec.keep_host, spec.tls),
            ("pay", Class::KeyEnforced, true, true)
        );
        assert_eq!(spec.scope.unwrap().as_str(), "alice");
        let plain = Spec::parse("a=localhost:9000,http://localhost").unwrap();
        assert_eq!(
            (plain.class, plain.keep_host, plain.tls, plain.timeout),
            (Class::KeyAdvisory, false, false, None)
        );
        assert_eq!(
            (plain.key.as_str(), plain.replayed.as_str()),
            ("idempotency-key", "idempotent-replayed")
        );
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        for (text, words) in [
            ("", vec!["write name=LISTEN,UPSTREAM"]),
            ("a=:1", vec!["write name=LISTEN,UPSTREAM"]),
            (
                "A.b=1,ftp://x;class=no;scope=~;timeout=1;key=a b;host=x;tls=yes;colour=red;plain;class=no",
                vec![
                    "`A.b` is no relay's name",
                    "`1` is no address",
                    "`ftp` is no scheme",
                    "allowed are enforced and advisory",
                    "`~` is no scope name",
                    "`timeout` is `1`",
                    "`a b`, which is no header's name",
                    "allowed are keep and rewrite",
                    "allowed are on and off",
                    "`colour` is no option",
                    "`plain` is no option=value",
                    "`class` is given twice",
                ],
            ),
            ("a=off,http://x", vec!["must listen somewhere"]),
        ] {
            let said = Spec::parse(text).unwrap_err().to_string();
            for word in words {
                assert!(said.contains(word), "{text}: {said} lacks {word}");
            }
        }
        let said = Spec::from_json(&json!({"name": 1})).unwrap_err().to_string();
        assert!(
            said.contains("`name` must be a text") && said.contains("`upstream` is missing"),
            "{said}"
        );
        assert!(Spec::from_json(&json!(7)).is_err());
    }

    #[test]
    fn no_problem_repeats_a_password() {
        let said = Spec::parse("a http://user:hunter2@host").unwrap_err().to_string();
        assert!(!said.contains("hunter2"), "{said}");
    }
}
