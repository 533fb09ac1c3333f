//! What is wrong with a rule.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// How much of a wrong value is repeated to its sender.
const SHOWN: usize = 200;

/// Tells one thing that is wrong with a rule. A rule reports all of them at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// The rule's place in the list, from 0; absent for a rule that stood alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// The field, `header.x-tenant` for an entry of a map.
    pub field: String,
    /// The value as given, cut when long; null when it is absent.
    pub value: Value,
    /// What is wrong.
    pub why: String,
    /// What would be right, where that can be listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

impl Problem {
    pub(super) fn new(rule: Option<usize>, field: &str, value: &Value, why: impl Into<String>) -> Self {
        Self {
            rule,
            field: field.to_owned(),
            value: cut(value),
            why: why.into(),
            allowed: Vec::new(),
        }
    }

    pub(super) fn allowing<T: ToString>(mut self, allowed: impl IntoIterator<Item = T>) -> Self {
        self.allowed = allowed.into_iter().map(|word| word.to_string()).collect();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.rule {
            Some(rule) if self.field.is_empty() => format!("[{rule}]"),
            Some(rule) => format!("[{rule}].{}", self.field),
            None => self.field.clone(),
        };
        let value = (!self.value.is_null()).then(|| self.value.to_string());
        let given = [(!place.is_empty()).then_some(place), value];
        let given: Vec<String> = given.into_iter().flatten().collect();
        if !given.is_empty() {
            write!(f, "{}: ", given.join(" = "))?;
        }
        f.write_str(&self.why)?;
        if !self.allowed.is_empty() {
            write!(f, " (allowed: {})", self.allowed.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

fn cut(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        None => value.clone(),
        Some((end, _)) => Value::String(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Problem;

    #[test]
    fn what_is_known_is_said_and_no_more() {
        let said = |rule, field, value| Problem::new(rule, field, &value, "is wrong").to_string();
        assert_eq!(said(None, "", json!(null)), "is wrong");
        assert_eq!(said(None, "", json!("x")), "\"x\": is wrong");
        assert_eq!(said(None, "on", json!(0)), "on = 0: is wrong");
        assert_eq!(said(None, "on", json!(null)), "on: is wrong");
        assert_eq!(said(Some(2), "", json!(7)), "[2] = 7: is wrong");
        assert_eq!(said(Some(2), "on", json!(0)), "[2].on = 0: is wrong");
    }
}
