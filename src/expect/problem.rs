//! What is wrong with an expectation, and where.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// How many characters of a wrong expectation are repeated to its sender.
const SHOWN: usize = 200;

/// Is what is wrong with one text, by the place of its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Range<usize>,
    pub(super) why: String,
    pub(super) nearest: Vec<String>,
}

impl Fault {
    pub(super) fn new(place: Range<usize>, why: impl Into<String>) -> Self {
        Self {
            place,
            why: why.into(),
            nearest: Vec::new(),
        }
    }
}

/// Tells what is wrong with one expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The expectation's place in the list, from 0.
    pub expectation: usize,
    /// What is wrong.
    pub why: String,
    /// The nearest names that there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
    /// In which character it begins, from 1.
    pub column: usize,
    /// The text as given, and below it the mark under the place.
    pub marked: [String; 2],
}

impl Problem {
    pub(super) fn new(expectation: usize, text: &str, fault: Fault) -> Self {
        let column = text[..fault.place.start].chars().count();
        let length = text[fault.place].chars().count().max(1);
        // One character each, or the mark would stand elsewhere.
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let line: String = text.chars().map(shown).take(SHOWN).collect();
        let mark = if column < SHOWN {
            let length = length.min(SHOWN - column);
            " ".repeat(column) + &"^".repeat(length)
        } else {
            String::new()
        };
        Self {
            expectation,
            why: fault.why,
            nearest: fault.nearest,
            column: column + 1,
            marked: [line, mark],
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [line, mark] = &self.marked;
        write!(f, "column {}: {}", self.column, self.why)?;
        if !self.nearest.is_empty() {
            let names: Vec<String> = self.nearest.iter().map(|name| format!("`{name}`")).collect();
            write!(f, "; did you mean {}?", names.join(" or "))?;
        }
        write!(f, "\n  {line}\n  {mark}")
    }
}
