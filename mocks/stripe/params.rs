//! Parameters, read by type; what cannot be read is refused in Stripe's words.

use super::decimal::Decimal;
use super::failure::{Failure, Outcome};
use super::form::{Fields, Value};
use super::kind::Parameter;

/// The longest text that a parameter may be.
const MAX_TEXT: usize = 5000;

/// Reads the parameters of a request, or of one hash in it.
#[derive(Clone, Debug)]
pub(crate) struct Params<'p> {
    /// What leads here: `card`, `shipping[address]`; empty at the top.
    path: String,
    fields: &'p Fields,
}

/// Says what an update does to a value: an empty text clears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<T> {
    Keep,
    Clear,
    Set(T),
}

impl<'p> Params<'p> {
    pub(crate) fn new(fields: &'p Fields) -> Self {
        let path = String::new();
        Self { path, fields }
    }

    /// Names a parameter as the caller wrote it.
    pub(crate) fn name(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}[{name}]", self.path)
        }
    }

    /// Lists the names that were given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        self.fields.iter().map(|(name, _)| name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.get(name).is_some()
    }

    /// Refuses parameters of other names.
    pub(crate) fn only(&self, allowed: &[&str]) -> Outcome<()> {
        self.refuse_unless(|name| allowed.contains(&name))
    }

    /// Refuses parameters of other names or of the wrong kind; `expand` always is one where objects can be expanded.
    pub(crate) fn check(&self, allowed: &[Parameter], expands: bool) -> Outcome<()> {
        self.refuse_unless(|name| (expands && name == "expand") || allowed.iter().any(|known| known.name == name))?;
        for known in allowed {
            if let Some(value) = self.fields.get(known.name) {
                known.check(value, self)?;
            }
        }
        Ok(())
    }

    fn refuse_unless(&self, allowed: impl Fn(&str) -> bool) -> Outcome<()> {
        match self.fields.iter().find(|(name, _)| !allowed(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let name = self.name(name);
                let shown: String = name.chars().take(200).collect();
                Err(Failure::invalid(format!("Received unknown parameter: {shown}"))
                    .code("parameter_unknown")
                    .param(&shown))
            }
        }
    }

    pub(crate) fn texts(&self) -> Outcome<Vec<(&'p str, &'p str)>> {
        self.fields
            .iter()
            .map(|(name, value)| match value {
                Value::Text(text) => Ok((name, text.as_str())),
                Value::Nested(_) => Err(self.wrong("string", name)),
            })
            .collect()
    }

    /// Reads what an update does to a text.
    pub(crate) fn change(&self, name: &str) -> Outcome<Change<&'p str>> {
        self.long_change(name, MAX_TEXT)
    }

    /// Reads what an update does to a text that may be so long.
    pub(crate) fn long_change(&self, name: &str, most: usize) -> Outcome<Change<&'p str>> {
        match self.fields.get(name) {
            None => Ok(Change::Keep),
            Some(Value::Text(text)) if text.is_empty() => Ok(Change::Clear),
            Some(Value::Text(text)) if text.chars().count() > most => {
                let start: String = text.chars().take(20).collect();
                let message = format!("Invalid string: {start}...; must be at most {most} characters");
                Err(Failure::invalid(message).param(&self.name(name)))
            }
            Some(Value::Text(text)) => Ok(Change::Set(text)),
            Some(Value::Nested(_)) => Err(self.wrong("string", name)),
        }
    }

    /// Reads a text that cannot be unset.
    pub(crate) fn text(&self, name: &str) -> Outcome<Option<&'p str>> {
        match self.change(name)? {
            Change::Keep => Ok(None),
            Change::Set(text) => Ok(Some(text)),
            Change::Clear => {
                let name = self.name(name);
                let message = format!(
                    "You passed an empty string for '{name}'. We assume empty values are an attempt to unset a parameter; \
                     however '{name}' cannot be unset. You should remove '{name}' from your request or supply a non-empty value."
                );
                Err(Failure::invalid(message).code("parameter_invalid_empty").param(&name))
            }
        }
    }

    pub(crate) fn required(&self, name: &str) -> Outcome<&'p str> {
        self.text(name)?.ok_or_else(|| Failure::missing(&self.name(name)))
    }

    pub(crate) fn integer(&self, name: &str) -> Outcome<Option<i64>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let number = text.strip_prefix('+').unwrap_or(text).parse();
        number.map(Some).map_err(|_| self.not_integer(name, text))
    }

    /// Reads an amount of money of at least one.
    pub(crate) fn amount(&self, name: &str) -> Outcome<Option<i64>> {
        match self.integer(name)? {
            Some(amount) if amount < 1 => Err(Failure::invalid("This value must be greater than or equal to 1.")
                .code("parameter_invalid_integer")
                .param(&self.name(name))),
            amount => Ok(amount),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> Outcome<Option<bool>> {
        match self.text(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                let other: String = other.chars().take(100).collect();
                Err(Failure::invalid(format!("Invalid boolean: {other}")).param(&self.name(name)))
            }
        }
    }

    pub(crate) fn one_of(&self, name: &str, allowed: &[&'static str]) -> Outcome<Option<&'static str>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        if let Some(found) = allowed.iter().find(|a| **a == text) {
            return Ok(Some(found));
        }
        let list = list_of(allowed);
        let name = self.name(name);
        Err(Failure::invalid(format!("Invalid {name}: must be one of {list}")).param(&name))
    }

    /// Reads a hash.
    pub(crate) fn nested(&self, name: &str) -> Outcome<Option<Params<'p>>> {
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::Nested(fields)) => Ok(Some(Params {
                path: self.name(name),
                fields,
            })),
            Some(Value::Text(_)) => Err(Failure::invalid("Invalid object").param(&self.name(name))),
        }
    }

    /// Reads what an update does to a hash.
    pub(crate) fn nested_change(&self, name: &str) -> Outcome<Change<Params<'p>>> {
        match self.fields.get(name) {
            Some(Value::Text(text)) if text.is_empty() => Ok(Change::Clear),
            _ => Ok(self.nested(name)?.map_or(Change::Keep, Change::Set)),
        }
    }

    /// Reads a list of texts.
    pub(crate) fn list(&self, name: &str) -> Outcome<Vec<&'p str>> {
        let wrong = || Failure::invalid("Invalid array").param(&self.name(name));
        match self.fields.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Text(_)) => Err(wrong()),
            Some(Value::Nested(fields)) => fields
                .items()
                .ok_or_else(wrong)?
                .into_iter()
                .map(|item| match item {
                    Value::Text(text) => Ok(text.as_str()),
                    Value::Nested(_) => Err(wrong()),
                })
                .collect(),
        }
    }

    /// Reads a list of hashes, each with a path of its own.
    pub(crate) fn hashes(&self, name: &str) -> Outcome<Vec<Params<'p>>> {
        let wrong = || Failure::invalid("Invalid array").param(&self.name(name));
        let Some(list) = self.fields.get(name) else {
            return Ok(Vec::new());
        };
        let Value::Nested(fields) = list else {
            return Err(wrong());
        };
        let items = fields.items().ok_or_else(wrong)?.into_iter().enumerate();
        let hash = |(place, item): (usize, &'p Value)| match item {
            Value::Nested(fields) => Ok(Params {
                path: format!("{}[{place}]", self.name(name)),
                fields,
            }),
            Value::Text(_) => Err(Failure::invalid("Invalid object").param(&format!("{}[{place}]", self.name(name)))),
        };
        items.map(hash).collect()
    }

    /// Reads a decimal number.
    pub(crate) fn decimal(&self, name: &str) -> Outcome<Option<Decimal>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let read = Decimal::parse(text).map(Some);
        read.ok_or_else(|| {
            let text: String = text.chars().take(100).collect();
            Failure::invalid(format!(
                "Invalid decimal: {text}; must contain at maximum twelve decimal places."
            ))
            .code("parameter_invalid_decimal")
            .param(&self.name(name))
        })
    }

    /// Reads a number that is not negative.
    pub(crate) fn natural(&self, name: &str) -> Outcome<Option<i64>> {
        match self.integer(name)? {
            Some(number) if number < 0 => Err(Failure::invalid("This value must be greater than or equal to 0.")
                .code("parameter_invalid_integer")
                .param(&self.name(name))),
            number => Ok(number),
        }
    }

    /// Refuses parameters that would need what is not modelled here.
    pub(crate) fn not_modelled(&self, names: &[&str]) -> Outcome<()> {
        match names.iter().find(|name| self.has(name)) {
            None => Ok(()),
            Some(name) => Err(self.unmodelled(name)),
        }
    }

    /// Says that what a parameter asks for is not modelled here.
    pub(crate) fn unmodelled(&self, name: &str) -> Box<Failure> {
        let name = self.name(name);
        Failure::invalid(format!("`{name}` asks for something that is not modelled here.")).param(&name)
    }

    fn not_integer(&self, name: &str, text: &str) -> Box<Failure> {
        let text: String = text.chars().take(100).collect();
        Failure::invalid(format!("Invalid integer: {text}"))
            .code("parameter_invalid_integer")
            .param(&self.name(name))
    }

    fn wrong(&self, kind: &str, name: &str) -> Box<Failure> {
        Failure::invalid(format!("Invalid {kind}")).param(&self.name(name))
    }
}

/// Lists words as Stripe's messages do.
pub(crate) fn list_of(words: &[&str]) -> String {
    match words {
        [only] => (*only).to_owned(),
        [first, second] => format!("{first} or {second}"),
        [first @ .., last] => format!("{}, or {last}", first.join(", ")),
        [] => String::new(),
    }
}

impl<'p> Change<&'p str> {
    /// Changes a text.
    pub(crate) fn apply<T: From<&'p str>>(self, to: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *to = None,
            Self::Set(text) => *to = Some(text.into()),
        }
    }
}
