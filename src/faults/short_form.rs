//! A rule in the short form of the request header, `drop-after-commit; how=reset; on=1`, as JSON.

use serde_json::{Map, Value};

/// Fields that are numbers wherever they look like one; the others stay text, whatever they look like.
const NUMBERS: [&str; 6] = ["barrier", "bytes", "status", "on", "copies", "behind"];

/// Reads a rule, or a list of rules, as JSON or in the short form. What it may say is for [`parse_value`](super::parse_value) to judge.
///
/// # Errors
///
/// Fails if the text is in neither form.
pub fn read_rules(text: &str) -> Result<Vec<Value>, String> {
    let text = text.trim();
    if text.starts_with(['{', '[']) {
        return match serde_json::from_str(text) {
            Ok(Value::Array(rules)) => Ok(rules),
            Ok(rule) => Ok(vec![rule]),
            Err(error) => Err(format!("`{text}` is no JSON: {error}")),
        };
    }
    short(text).map(|rule| vec![rule])
}

fn short(text: &str) -> Result<Value, String> {
    let mut parts = text.split(';').map(str::trim);
    let mode = parts.next().unwrap_or_default();
    if mode.is_empty() || mode.contains('=') {
        return Err(format!(
            "`{text}` names no mode; write JSON, or MODE; FIELD=VALUE; …, as drop-after-commit; how=reset; on=1"
        ));
    }
    let mut rule = Map::from_iter([("mode".to_owned(), Value::from(mode))]);
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` in `{text}` is not FIELD=VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        if rule.insert(name.to_owned(), typed(name, value)).is_some() {
            return Err(format!("`{name}` is given twice in `{text}`"));
        }
    }
    Ok(Value::Object(rule))
}

fn typed(name: &str, value: &str) -> Value {
    let json = || serde_json::from_str(value).ok();
    let typed = match value.starts_with(['{', '[']) {
        true => json(),
        false if NUMBERS.contains(&name) => json().filter(Value::is_number),
        false => None,
    };
    typed.unwrap_or_else(|| Value::from(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read_rules as read;

    #[test]
    fn both_forms_say_the_same() {
        let expected = json!({"mode": "drop-after-commit", "how": "reset", "on": 1});
        assert_eq!(read("drop-after-commit; how=reset; on=1"), Ok(vec![expected.clone()]));
        assert_eq!(
            read(" drop-after-commit;how = reset;on=1; "),
            Ok(vec![expected.clone()])
        );
        assert_eq!(read(&expected.to_string()), Ok(vec![expected.clone()]));
        assert_eq!(read(&json!([expected, expected]).to_string()).unwrap().len(), 2);
    }

    #[test]
    fn only_numbers_become_numbers() {
        let rule =
            read("delay; delay=2s; key=17; body=503; on=every 3; bytes=20; barrier=3; on2=1; header={\"x\":\"a*\"}")
                .unwrap();
        assert_eq!(
            rule,
            [
                json!({"mode": "delay", "delay": "2s", "key": "17", "body": "503", "on": "every 3", "bytes": 20, "barrier": 3, "on2": "1", "header": {"x": "a*"}})
            ]
        );
        assert_eq!(
            read("reorder; behind=2; copies=3").unwrap(),
            [json!({"mode": "reorder", "behind": 2, "copies": 3})]
        );
        assert_eq!(
            read("pass; on=[1, 3]").unwrap(),
            [json!({"mode": "pass", "on": [1, 3]})]
        );
    }

    #[test]
    fn a_wrong_rule_says_what_is_wrong() {
        for (text, words) in [
            ("", "names no mode"),
            ("how=reset", "names no mode"),
            ("pass; on", "is not FIELD=VALUE"),
            ("pass; on=1; on=2", "given twice"),
            ("{", "is no JSON"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
