//! Reads the fields of a decoded value back from its `Debug` output: async-stripe's types tell in no other way what they have taken.

use std::{collections::BTreeMap, iter::Peekable, str::Chars};

/// What a type has taken of a value. Names of types and of enumerations' variants are passed over.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown {
    Leaf,
    List(Vec<Shown>),
    Fields(BTreeMap<String, Shown>),
}

impl Shown {
    pub(crate) fn read(debug: &str) -> Self {
        value(&mut debug.chars().peekable())
    }
}

type Text<'a> = Peekable<Chars<'a>>;

fn value(text: &mut Text<'_>) -> Shown {
    if text.peek() == Some(&'"') {
        quoted(text);
        return Shown::Leaf;
    }
    while text.next_if(|c| !" ({[,)}]".contains(*c)).is_some() {}
    let spaced = text.next_if_eq(&' ').is_some();
    match text.next_if(|c| (if spaced { "{[" } else { "({[" }).contains(*c)) {
        Some('{') => Shown::Fields(fields(text)),
        Some('[') => Shown::List(items(text)),
        // What only wraps a value is that value.
        Some(_) => items(text).pop().unwrap_or(Shown::Leaf),
        None => Shown::Leaf,
    }
}

fn items(text: &mut Text<'_>) -> Vec<Shown> {
    let mut found = Vec::new();
    while between(text) {
        found.push(value(text));
    }
    found
}

fn fields(text: &mut Text<'_>) -> BTreeMap<String, Shown> {
    let mut found = BTreeMap::new();
    while between(text) {
        let name = if text.peek() == Some(&'"') {
            quoted(text)
        } else {
            std::iter::from_fn(|| text.next_if(|c| *c != ':')).collect()
        };
        text.next_if_eq(&':');
        text.next_if_eq(&' ');
        found.insert(name, value(text));
    }
    found
}

/// Passes over what separates two values, and over the end of all of them; tells whether another value follows.
fn between(text: &mut Text<'_>) -> bool {
    while text.next_if(|c| ", ".contains(*c)).is_some() {}
    text.next_if(|c| ")}]".contains(*c)).is_none() && text.peek().is_some()
}

fn quoted(text: &mut Text<'_>) -> String {
    let mut found = String::new();
    text.next();
    while let Some(c) = text.next() {
        match c {
            '"' => break,
            '\\' => found.extend(text.next()),
            _ => found.push(c),
        }
    }
    found
}
