//! Stripe's search query language (docs.stripe.com/search): clauses joined by AND or by OR, not by both.

use super::{Fact, Searchable, Type};
use crate::mocks::stripe::failure::{Failure, Outcome};

/// How many clauses a query may have.
const MAX_CLAUSES: usize = 10;
/// The shortest text that `~` looks for.
const MIN_PART: usize = 3;

/// Is a query, checked against the fields of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    clauses: Vec<Clause>,
    any: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    negated: bool,
    field: Field,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Named(String),
    Metadata(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    /// `field:"value"`, in whatever case.
    Is(String),
    /// `field~"part"`, in whatever case.
    Contains(String),
    /// `field:null`.
    Missing,
    Number(Compare, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Equal,
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Query {
    /// Reads a query about objects of a type.
    pub(crate) fn read<T: Searchable>(text: &str) -> Outcome<Self> {
        let mut reader = Reader { rest: text.trim() };
        let (mut clauses, mut joined) = (Vec::new(), None);
        loop {
            clauses.push(reader.clause::<T>()?);
            if clauses.len() > MAX_CLAUSES {
                return Err(wrong(format!(
                    "You can use up to {MAX_CLAUSES} clauses in a search query."
                )));
            }
            let Some(any) = reader.conjunction()? else { break };
            if joined.is_some_and(|joined| joined != any) {
                return Err(wrong("You can't combine AND and OR in the same search query."));
            }
            joined = Some(any);
        }
        let any = joined == Some(true);
        Ok(Self { clauses, any })
    }

    /// Says whether an object is one of those looked for.
    pub(crate) fn finds<T: Searchable>(&self, object: &T) -> bool {
        let mut holds = self.clauses.iter().map(|clause| clause.holds(object));
        if self.any { holds.any(|h| h) } else { holds.all(|h| h) }
    }
}

impl Clause {
    fn holds<T: Searchable>(&self, object: &T) -> bool {
        let fact = match &self.field {
            Field::Named(name) => object.fact(name),
            Field::Metadata(key) => object.metadata().get(key).map_or(Fact::None, Fact::Text),
        };
        let holds = match (&self.test, fact) {
            (Test::Missing, Fact::None) => true,
            (Test::Is(wanted), Fact::Text(text)) => same(text, wanted),
            (Test::Is(wanted), Fact::Flag(flag)) => wanted == if flag { "true" } else { "false" },
            (Test::Contains(part), Fact::Text(text)) => text.to_lowercase().contains(&part.to_lowercase()),
            (Test::Number(compare, wanted), Fact::Number(number)) => compare.holds(number, *wanted),
            _ => false,
        };
        holds != self.negated
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase()
}

impl Compare {
    fn holds(self, number: i64, wanted: i64) -> bool {
        match self {
            Self::Equal => number == wanted,
            Self::Above => number > wanted,
            Self::AtLeast => number >= wanted,
            Self::Below => number < wanted,
            Self::AtMost => number <= wanted,
        }
    }
}

struct Reader<'q> {
    rest: &'q str,
}

impl<'q> Reader<'q> {
    fn clause<T: Searchable>(&mut self) -> Outcome<Clause> {
        let negated = self.take("-");
        let (field, kind) = self.field::<T>()?;
        let operator = ["<=", ">=", "<", ">", ":", "~"]
            .into_iter()
            .find(|sign| self.take(sign));
        let operator = operator.ok_or_else(unparsable)?;
        let test = self.test(&field, kind, operator)?;
        Ok(Clause { negated, field, test })
    }

    fn field<T: Searchable>(&mut self) -> Outcome<(Field, Type)> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name.is_empty() {
            return Err(unparsable());
        }
        if name == "metadata" {
            if !self.take("[") {
                return Err(unparsable());
            }
            let key = self.quoted()?.ok_or_else(unparsable)?;
            if !self.take("]") {
                return Err(unparsable());
            }
            return Ok((Field::Metadata(key), Type::Token));
        }
        let known = T::FIELDS.iter().find(|(known, _)| *known == name);
        let Some((name, kind)) = known else {
            let shown: String = name.chars().take(100).collect();
            return Err(wrong(format!(
                "Field `{shown}` is an unsupported search field for resource `{resource}`. See \
                 http://stripe.com/docs/search#query-fields-for-{page} for a list of supported fields.",
                resource = T::NAME,
                page = T::NAME.replace('_', "-"),
            )));
        };
        Ok((Field::Named((*name).to_owned()), *kind))
    }

    fn test(&mut self, field: &Field, kind: Type, operator: &str) -> Outcome<Test> {
        let name = match field {
            Field::Named(name) => name.as_str(),
            Field::Metadata(_) => "metadata",
        };
        let quoted = self.quoted()?;
        let bare = quoted.is_none().then(|| self.word());
        match (operator, kind, quoted, bare) {
            (":", _, None, Some("null")) => Ok(Test::Missing),
            (":", Type::Token | Type::Text | Type::Flag, Some(value), _) => Ok(Test::Is(value)),
            (":", Type::Flag, None, Some(value @ ("true" | "false"))) => Ok(Test::Is(value.to_owned())),
            ("~", Type::Text, Some(part), _) if part.chars().count() < MIN_PART => Err(wrong(format!(
                "The query for field `{name}` must be at least {MIN_PART} characters long to use the `~` operator."
            ))),
            ("~", Type::Text, Some(part), _) => Ok(Test::Contains(part)),
            ("~", ..) => Err(wrong(format!("The operator `~` is not supported for field `{name}`."))),
            (_, Type::Number, quoted, bare) => {
                let text = quoted.as_deref().or(bare).unwrap_or_default();
                let number = text.parse().map_err(|_| {
                    let shown: String = text.chars().take(100).collect();
                    wrong(format!("The value `{shown}` of field `{name}` is no whole number."))
                })?;
                Ok(Test::Number(compare(operator), number))
            }
            (":", _, None, _) => Err(unparsable()),
            (operator, ..) => Err(wrong(format!(
                "The operator `{operator}` is not supported for field `{name}`."
            ))),
        }
    }

    /// Reads a quoted text, if there is one; the quote inside it is written with a backslash.
    fn quoted(&mut self) -> Outcome<Option<String>> {
        let Some(quote @ ('"' | '\'')) = self.rest.chars().next() else {
            return Ok(None);
        };
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => out.push(chars.next().ok_or_else(unparsable)?.1),
                c if c == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(Some(out));
                }
                c => out.push(c),
            }
        }
        Err(unparsable())
    }

    fn word(&mut self) -> &'q str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Reads what joins this clause to the next: a space alone is AND. Nothing, at the end.
    fn conjunction(&mut self) -> Outcome<Option<bool>> {
        let rest = self.rest.trim_start();
        if rest.is_empty() {
            return Ok(None);
        }
        if rest.len() == self.rest.len() {
            return Err(unparsable());
        }
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let any = match word.to_ascii_uppercase().as_str() {
            "OR" => Some(true),
            "AND" => Some(false),
            _ => None,
        };
        self.rest = if any.is_some() { after.trim_start() } else { rest };
        Ok(Some(any.unwrap_or(false)))
    }

    fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

fn compare(operator: &str) -> Compare {
    match operator {
        "<" => Compare::Below,
        "<=" => Compare::AtMost,
        ">" => Compare::Above,
        ">=" => Compare::AtLeast,
        _ => Compare::Equal,
    }
}

fn unparsable() -> Box<Failure> {
    wrong(
        "We were unable to parse your search query. Try using the format `metadata[\"key\"]:\"value\"` to query for metadata \
         or key:\"value\" to query for other fields.",
    )
}

fn wrong(message: impl Into<std::borrow::Cow<'static, str>>) -> Box<Failure> {
    Failure::invalid(message).param("query")
}
