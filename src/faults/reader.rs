//! Reads the fields of one rule and collects all that is wrong with them.

use std::time::Duration;

use serde_json::{Map, Value};

use super::catalog::nearest;
use super::problem::Problem;
use super::wildcard::Pattern;
use super::word::Word;

/// How long a condition may be.
const LONGEST_PATTERN: usize = 4_096;
/// How long a text may be.
const LONGEST_TEXT: usize = 1 << 20;
/// How many entries a map may have.
const MOST_ENTRIES: usize = 64;

/// Reads a rule's fields. A field that is absent or wrong reads as none; what is wrong is kept as a problem.
pub(super) struct Reader<'a> {
    rule: Option<usize>,
    map: &'a Map<String, Value>,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rule: Option<usize>, map: &'a Map<String, Value>) -> Self {
        Self {
            rule,
            map,
            problems: Vec::new(),
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Tells whether the field is there, right or wrong.
    pub(super) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    /// Reports a field as given.
    pub(super) fn report(&mut self, field: &str, why: impl Into<String>) {
        self.report_allowing(field, why, [""; 0]);
    }

    pub(super) fn report_allowing<T: ToString>(
        &mut self,
        field: &str,
        why: impl Into<String>,
        allowed: impl IntoIterator<Item = T>,
    ) {
        let value = self.map.get(field).unwrap_or(&Value::Null);
        self.problems
            .push(Problem::new(self.rule, field, value, why).allowing(allowed));
    }

    fn report_entry(&mut self, field: &str, name: &str, value: &Value, why: impl Into<String>) {
        let field = format!("{field}.{name}");
        self.problems.push(Problem::new(self.rule, &field, value, why));
    }

    /// Reports the fields that are not among these.
    pub(super) fn only(&mut self, fields: &[&str]) {
        let map = self.map;
        for field in map.keys().filter(|field| !fields.contains(&field.as_str())) {
            let why = with_suggestion("unknown field", field, fields.iter().copied());
            self.report_allowing(field, why, fields);
        }
    }

    pub(super) fn text(&mut self, field: &str) -> Option<&'a str> {
        let Value::String(text) = self.map.get(field)? else {
            self.report(field, "must be a string");
            return None;
        };
        if text.len() > LONGEST_TEXT {
            self.report(field, format!("is longer than {LONGEST_TEXT} bytes"));
            return None;
        }
        Some(text)
    }

    /// Reads a name that may be a wildcard.
    pub(super) fn pattern(&mut self, field: &str) -> Option<Pattern> {
        let text = self.text(field)?;
        if text.len() > LONGEST_PATTERN {
            self.report(field, format!("is longer than {LONGEST_PATTERN} bytes"));
            return None;
        }
        Some(Pattern::new(text))
    }

    /// Reads a name that may be a wildcard, but not empty.
    pub(super) fn name(&mut self, field: &str) -> Option<Pattern> {
        let pattern = self.pattern(field)?;
        if pattern.as_str().is_empty() {
            self.report(field, "is empty: no attempt could match; leave it out, or use *");
            return None;
        }
        Some(pattern)
    }

    pub(super) fn word<W: Word>(&mut self, field: &str) -> Option<W> {
        let Value::String(text) = self.map.get(field)? else {
            self.report_allowing(field, "must be a string", W::words());
            return None;
        };
        let found = W::find(text);
        if found.is_none() {
            let words = W::ALL.iter().map(|word| word.text());
            let why = with_suggestion(&format!("unknown {field}"), text, words);
            self.report_allowing(field, why, W::words());
        }
        found
    }

    pub(super) fn number(&mut self, field: &str) -> Option<u64> {
        let number = self.map.get(field)?.as_u64();
        if number.is_none() {
            self.report(field, "must be a whole number from 0");
        }
        number
    }

    pub(super) fn duration(&mut self, field: &str) -> Option<Duration> {
        let read = match self.map.get(field)? {
            Value::String(text) => crate::duration::parse(text),
            _ => Err("must be a string: a whole number and a unit"),
        };
        read.map_err(|why| self.report_allowing(field, why, crate::duration::EXAMPLES))
            .ok()
    }

    /// Reads the field by a function of its own.
    pub(super) fn read<T>(
        &mut self,
        field: &str,
        examples: &[&str],
        read: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.map.get(field)?;
        read(value)
            .map_err(|why| self.report_allowing(field, why, examples))
            .ok()
    }

    /// Reads a map of texts; numbers and booleans are taken as they are written. An entry that `check` refuses is reported.
    pub(super) fn entries(
        &mut self,
        field: &str,
        check: impl Fn(&str, &str) -> Result<(), String>,
    ) -> Vec<(&'a str, String)> {
        let entries = match self.map.get(field) {
            None => return Vec::new(),
            Some(Value::Object(entries)) if entries.len() <= MOST_ENTRIES => entries,
            Some(Value::Object(_)) => {
                self.report(field, format!("has more than {MOST_ENTRIES} entries"));
                return Vec::new();
            }
            Some(_) => {
                self.report(field, "must be an object of strings");
                return Vec::new();
            }
        };
        let mut read = Vec::new();
        for (name, value) in entries {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    self.report_entry(field, name, value, "must be a string");
                    continue;
                }
            };
            let checked = if text.len() > LONGEST_PATTERN {
                Err(format!("is longer than {LONGEST_PATTERN} bytes"))
            } else {
                check(name, &text)
            };
            match checked {
                Ok(()) => read.push((name.as_str(), text)),
                Err(why) => self.report_entry(field, name, value, why),
            }
        }
        read
    }
}

/// Adds the nearest word to a text, if one is near.
pub(super) fn with_suggestion<'w>(why: &str, word: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    match nearest(word, words) {
        Some(near) => format!("{why}; did you mean {near:?}?"),
        None => why.to_owned(),
    }
}
