//! Text to syntax: `NAME OPERATOR NUMBER`, or `faults all fired`. What names mean is not known here.

use std::fmt;
use std::ops::Range;

use super::problem::Fault;

/// How many bytes an expectation may have.
const LONGEST: usize = 500;
const OPERATORS: &str = "`==`, `!=`, `<=`, `>=`, `<` or `>`";
const EXAMPLE: &str = "an expectation looks like `stripe.charge == 1` or `faults all fired`";

/// Compares a count with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the comparison it is named after")]
pub enum Operator {
    Equal,
    NotEqual,
    AtMost,
    AtLeast,
    Less,
    More,
}

/// Is an expectation whose name is still a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Draft {
    Count {
        name: Range<usize>,
        operator: Operator,
        number: u64,
    },
    AllFaultsFired,
}

/// Reads one expectation.
pub(super) fn parse(text: &str) -> Result<Draft, Fault> {
    if text.len() > LONGEST {
        return Err(Fault::new(0..0, format!("is longer than {LONGEST} bytes")));
    }
    let mut cursor = Cursor { text, at: 0 };
    let name = cursor.word(is_name);
    if name.is_empty() {
        let why = match cursor.rest() {
            "" => format!("is empty; {EXAMPLE}"),
            _ => format!("a name must stand here; {EXAMPLE}"),
        };
        return Err(Fault::new(cursor.next(), why));
    }
    let draft = if &text[name.clone()] == "faults" && cursor.peek().is_some_and(is_name) {
        cursor.expect("all")?;
        cursor.expect("fired")?;
        Draft::AllFaultsFired
    } else {
        let operator = cursor.operator()?;
        let number = cursor.number()?;
        Draft::Count { name, operator, number }
    };
    match cursor.peek() {
        None => Ok(draft),
        Some(_) => Err(Fault::new(cursor.next(), "nothing may follow here")),
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Walks over a text, from word to word.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Passes blanks, and returns what stands behind them.
    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    /// Returns the place of what stands here, up to the next blank.
    fn next(&mut self) -> Range<usize> {
        self.peek();
        let length = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        self.at..self.at + length
    }

    /// Takes all characters that a word may have.
    fn word(&mut self, has: impl Fn(char) -> bool) -> Range<usize> {
        self.peek();
        let from = self.at;
        self.at += self.rest().find(|c| !has(c)).unwrap_or(self.rest().len());
        from..self.at
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Fault> {
        let word = self.word(|c| !c.is_whitespace());
        if &self.text[word.clone()] == wanted {
            return Ok(());
        }
        let why = format!("`{wanted}` must stand here, as in `faults all fired`");
        Err(Fault::new(word, why))
    }

    fn operator(&mut self) -> Result<Operator, Fault> {
        let word = self.word(|c| matches!(c, '=' | '!' | '<' | '>' | '~'));
        let fault = |place, why| Err(Fault::new(place, format!("{why}: {OPERATORS}")));
        match &self.text[word.clone()] {
            "" => fault(self.next(), "an operator must stand here"),
            text => match Operator::read(text) {
                Some(operator) => Ok(operator),
                None => fault(word, "is no operator"),
            },
        }
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let word = self.word(|c| !c.is_whitespace());
        let text = &self.text[word.clone()];
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits => Ok(number),
            _ if digits => Err(Fault::new(word, "is too large a number")),
            _ => Err(Fault::new(word, "a whole number must stand here")),
        }
    }
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::AtMost,
        Self::AtLeast,
        Self::Less,
        Self::More,
    ];

    fn read(text: &str) -> Option<Self> {
        let text = if text == "=" { "==" } else { text };
        Self::ALL.into_iter().find(|operator| operator.as_str() == text)
    }

    /// Returns the operator as users write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::More => ">",
        }
    }

    /// Says whether a count compares so with a number.
    #[must_use]
    pub fn holds(self, counted: u64, number: u64) -> bool {
        match self {
            Self::Equal => counted == number,
            Self::NotEqual => counted != number,
            Self::AtMost => counted <= number,
            Self::AtLeast => counted >= number,
            Self::Less => counted < number,
            Self::More => counted > number,
        }
    }

    /// Says whether a count that does not hold is too small.
    pub(super) fn wants_more(self, counted: u64, number: u64) -> bool {
        counted <= number && matches!(self, Self::Equal | Self::AtLeast | Self::More)
    }

    /// Says in words what is wanted.
    pub(super) fn wanted(self, number: u64) -> String {
        match self {
            Self::Equal => format!("exactly {number}"),
            Self::NotEqual => format!("anything but {number}"),
            Self::AtMost => format!("at most {number}"),
            Self::AtLeast => format!("at least {number}"),
            Self::Less => format!("less than {number}"),
            Self::More => format!("more than {number}"),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
