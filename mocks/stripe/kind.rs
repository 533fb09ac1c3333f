//! The kinds of parameters, as the table of operations writes them: `amount#`, `confirm?`, `metadata{}=`, `capture_method$=automatic|manual`.
//!
//! A name is followed by what its value may be, and after `=` by the words that it may be as well (an empty one clears it). What an
//! operation reads it reads by its own rules; this refuses what no operation could read, also where a parameter has no influence.

use super::failure::{Failure, Outcome};
use super::form::Value;
use super::params::{Params, list_of};

/// Is a parameter that an operation takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// The signs: `$` text, `#` whole number, `%` decimal number, `?` boolean, `{}` hash, `[]` list; none is anything.
    signs: &'static str,
    words: Vec<&'static str>,
}

impl Parameter {
    /// Reads one as the table writes it.
    pub(crate) fn read(text: &'static str) -> Self {
        let (head, words) = text
            .split_once('=')
            .map_or((text, None), |(head, words)| (head, Some(words)));
        let end = head
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(head.len());
        let (name, signs) = head.split_at(end);
        let words = words.map_or(Vec::new(), |words| words.split('|').collect());
        Self { name, signs, words }
    }

    /// Says whether anything is refused.
    #[cfg(test)]
    pub(crate) fn is_limited(&self) -> bool {
        !self.signs.is_empty() || !self.words.is_empty()
    }

    /// Checks a value.
    pub(crate) fn check(&self, value: &Value, params: &Params<'_>) -> Outcome<()> {
        let may = |sign: &str| self.signs.contains(sign);
        let right = match value {
            _ if self.signs.is_empty() && self.words.is_empty() => true,
            Value::Text(text) => {
                self.words.contains(&text.as_str())
                    || (may("$") && self.words.is_empty())
                    // An empty text is refused where it is read, in words of its own.
                    || (text.is_empty() && !may("{}") && !may("[]"))
                    || (may("#") && text.parse::<i64>().is_ok())
                    || (may("%") && text.parse::<f64>().is_ok_and(f64::is_finite))
                    || (may("?") && matches!(text.as_str(), "true" | "false"))
            }
            Value::Nested(fields) => may("{}") || (may("[]") && fields.items().is_some()),
        };
        if right { Ok(()) } else { Err(self.refuse(value, params)) }
    }

    fn refuse(&self, value: &Value, params: &Params<'_>) -> Box<Failure> {
        let name = params.name(self.name);
        let text: String = match value {
            Value::Text(text) => text.chars().take(100).collect(),
            Value::Nested(_) => return Failure::invalid(format!("Invalid {}", self.word())).param(&name),
        };
        let words: Vec<_> = self.words.iter().copied().filter(|word| !word.is_empty()).collect();
        match self.signs {
            "#" => Failure::invalid(format!("Invalid integer: {text}")).code("parameter_invalid_integer"),
            "?" => Failure::invalid(format!("Invalid boolean: {text}")),
            "%" => Failure::invalid(format!("Invalid decimal: {text}")),
            _ if !words.is_empty() => Failure::invalid(format!("Invalid {name}: must be one of {}", list_of(&words))),
            _ => Failure::invalid(format!("Invalid {}", self.word())),
        }
        .param(&name)
    }

    fn word(&self) -> &'static str {
        match self.signs.chars().next() {
            Some('#') => "integer",
            Some('%') => "decimal",
            Some('?') => "boolean",
            Some('{') => "object",
            Some('[') => "array",
            _ => "string",
        }
    }
}
