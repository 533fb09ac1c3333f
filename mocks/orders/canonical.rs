//! One form for all JSON texts that say the same.

use serde_json::Value;

/// Writes a value with sorted keys and without whitespace, so that neither the order of members nor the layout makes a difference.
///
/// Numbers are those that were parsed: `1.0` and `1.00` are one, `1` and `1.0` are two.
pub(super) fn canonical(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            list(out, *b"{}", members, |(name, value), out| {
                scalar(&Value::from(name.as_str()), out);
                out.push(b':');
                write(value, out);
            });
        }
        Value::Array(items) => list(out, *b"[]", items, write),
        _ => scalar(value, out),
    }
}

fn list<T>(
    out: &mut Vec<u8>,
    [open, close]: [u8; 2],
    items: impl IntoIterator<Item = T>,
    each: impl Fn(T, &mut Vec<u8>),
) {
    out.push(open);
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        each(item, out);
    }
    out.push(close);
}

fn scalar(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a vector takes every byte");
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("JSON has no others", |n| n.is_finite())
                .prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,4}", inner, 0..6)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    /// Writes the same value in another layout: members turned round, whitespace wherever it may be.
    fn scrambled(value: &Value, space: &str, out: &mut String) {
        out.push_str(space);
        match value {
            Value::Object(members) => {
                out.push('{');
                for (n, (name, value)) in members.iter().rev().enumerate() {
                    let comma = if n > 0 { "," } else { "" };
                    let _ = write!(out, "{comma}{space}{}{space}:", Value::from(name.as_str()));
                    scrambled(value, space, out);
                }
                let _ = write!(out, "{space}}}");
            }
            Value::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    scrambled(item, space, out);
                }
                out.push(']');
            }
            other => {
                let _ = write!(out, "{other}");
            }
        }
        out.push_str(space);
    }

    proptest! {
        #[test]
        fn key_order_and_whitespace_do_not_matter(value in value(), space in "[ \t\r\n]{0,3}") {
            let mut text = String::new();
            scrambled(&value, &space, &mut text);
            let parsed: Value = serde_json::from_str(&text).expect("still JSON");
            prop_assert_eq!(canonical(&parsed), canonical(&serde_json::from_str(&value.to_string()).expect("JSON")));
        }
    }

    #[test]
    fn what_says_something_else_differs() {
        let form = |text: &str| canonical(&serde_json::from_str(text).expect("JSON"));
        assert_eq!(
            form(r#"{"b": [1, 2], "a": "\u00fc"}"#),
            r#"{"a":"ü","b":[1,2]}"#.as_bytes()
        );
        assert_ne!(form(r#"{"a":[1,2]}"#), form(r#"{"a":[2,1]}"#));
        assert_ne!(form(r#"{"a":1}"#), form(r#"{"a":"1"}"#));
        assert_ne!(form(r#"{"a":null}"#), form("{}"));
        assert_ne!(form(r#"{"a":1}"#), form(r#"{"a":1.0}"#));
    }
}
