//! Form parameters: nested by brackets (`a[b][c]`), lists by index (`a[0]`) or by place (`a[]`).

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// How many parameters a request may have.
const MAX_PARAMETERS: usize = 1000;
/// How deep a parameter may be nested.
const MAX_DEPTH: usize = 8;

/// Holds one parameter: a text, or others under it. A list has its indices as names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Nested(Fields),
}

/// Holds parameters by name, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, Value)>);

/// Says why a form cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("Invalid request: a parameter is not valid percent-encoded UTF-8.")]
    Encoding,
    #[error("Invalid request: the brackets of parameter `{0}` do not match.")]
    Brackets(String),
    #[error("Invalid request: parameter `{0}` is both a value and a hash.")]
    Twofold(String),
    #[error("Invalid request: parameters may be nested {MAX_DEPTH} levels deep.")]
    Depth,
    #[error("Invalid request: at most {MAX_PARAMETERS} parameters are allowed.")]
    Number,
}

/// Reads forms one after the other, such as a query and a body, into one set of parameters.
pub(crate) fn decode<'f>(forms: impl IntoIterator<Item = &'f [u8]>) -> Result<Fields, Malformed> {
    let mut root = Fields::default();
    let mut number = 0;
    let pairs = forms.into_iter().flat_map(|form| form.split(|b| *b == b'&'));
    for pair in pairs.filter(|p| !p.is_empty()) {
        number += 1;
        if number > MAX_PARAMETERS {
            return Err(Malformed::Number);
        }
        let split = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
        let name = decode_text(&pair[..split])?;
        let value = decode_text(pair.get(split + 1..).unwrap_or_default())?;
        root.insert(&steps(&name)?, value)
            .map_err(|Clash| Malformed::Twofold(shorten(&name)))?;
    }
    Ok(root)
}

/// Takes the members of a JSON object as parameters; null is none.
pub(crate) fn of_json(members: &serde_json::Map<String, serde_json::Value>) -> Result<Fields, Malformed> {
    let members = members.iter().map(|(name, value)| (name.clone(), value));
    json_fields(members.collect(), MAX_DEPTH)
}

fn json_fields(members: Vec<(String, &serde_json::Value)>, depth: usize) -> Result<Fields, Malformed> {
    use serde_json::Value as Json;
    if depth == 0 {
        return Err(Malformed::Depth);
    }
    if members.len() > MAX_PARAMETERS {
        return Err(Malformed::Number);
    }
    let mut fields = Fields::default();
    for (name, value) in members {
        let value = match value {
            Json::Null => continue,
            Json::String(text) => Value::Text(text.clone()),
            Json::Bool(_) | Json::Number(_) => Value::Text(value.to_string()),
            Json::Array(items) => {
                let items = items.iter().enumerate().map(|(place, item)| (place.to_string(), item));
                Value::Nested(json_fields(items.collect(), depth - 1)?)
            }
            Json::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.clone(), value));
                Value::Nested(json_fields(members.collect(), depth - 1)?)
            }
        };
        fields.0.push((name, value));
    }
    Ok(fields)
}

struct Clash;

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// Returns the values in the order of their indices, if all names are indices.
    pub(crate) fn items(&self) -> Option<Vec<&Value>> {
        let numbered: Option<Vec<(u32, &Value)>> = self.0.iter().map(|(n, v)| Some((n.parse().ok()?, v))).collect();
        let mut numbered = numbered?;
        numbered.sort_by_key(|(index, _)| *index);
        Some(numbered.into_iter().map(|(_, v)| v).collect())
    }

    /// Lists all texts with the path that leads to each, sorted: equal parameters in any order give equal lists.
    pub(crate) fn canonical(&self, leave_out: Option<&str>) -> Vec<(Vec<&str>, &str)> {
        let mut out = Vec::new();
        for (name, value) in self.iter().filter(|(n, _)| Some(*n) != leave_out) {
            flatten(&mut vec![name], value, &mut out);
        }
        out.sort();
        out
    }

    fn insert(&mut self, steps: &[Cow<'_, str>], text: String) -> Result<(), Clash> {
        let (step, rest) = steps.split_first().expect("a name has at least one step");
        let name = self.name_of(step, rest);
        let known = self.0.iter().position(|(n, _)| *n == name);
        let at = known.unwrap_or_else(|| {
            let empty = if rest.is_empty() {
                Value::Text(String::new())
            } else {
                Value::Nested(Self::default())
            };
            self.0.push((name, empty));
            self.0.len() - 1
        });
        match &mut self.0[at].1 {
            Value::Text(value) if rest.is_empty() => *value = text,
            Value::Nested(fields) if !rest.is_empty() => fields.insert(rest, text)?,
            _ => return Err(Clash),
        }
        Ok(())
    }

    /// Names a step. An empty one is the next place; in a list of hashes it is the last one's, until a name comes again.
    fn name_of(&self, step: &str, rest: &[Cow<'_, str>]) -> String {
        if !step.is_empty() {
            return step.to_owned();
        }
        if let (Some((name, Value::Nested(last))), Some(field)) = (self.0.last(), rest.first())
            && !field.is_empty()
            && last.get(field).is_none()
        {
            return name.clone();
        }
        let mut places = (self.0.len()..).map(|place| place.to_string());
        let free = places.find(|place| self.get(place).is_none());
        free.expect("there are more numbers than parameters")
    }
}

fn flatten<'v>(path: &mut Vec<&'v str>, value: &'v Value, out: &mut Vec<(Vec<&'v str>, &'v str)>) {
    match value {
        Value::Text(text) => out.push((path.clone(), text)),
        Value::Nested(fields) => {
            for (name, value) in fields.iter() {
                path.push(name);
                flatten(path, value, out);
                path.pop();
            }
        }
    }
}

/// Takes a name apart: `a[b][]` is `a`, `b` and an empty step.
fn steps(name: &str) -> Result<Vec<Cow<'_, str>>, Malformed> {
    let wrong = || Malformed::Brackets(shorten(name));
    let first = name.find('[').unwrap_or(name.len());
    let (head, mut rest) = name.split_at(first);
    if head.is_empty() || head.contains(']') {
        return Err(wrong());
    }
    let mut steps = vec![Cow::Borrowed(head)];
    while !rest.is_empty() {
        let (step, after) = rest
            .strip_prefix('[')
            .and_then(|r| r.split_once(']'))
            .ok_or_else(wrong)?;
        if step.contains('[') {
            return Err(wrong());
        }
        steps.push(Cow::Borrowed(step));
        rest = after;
        if steps.len() > MAX_DEPTH {
            return Err(Malformed::Depth);
        }
    }
    Ok(steps)
}

fn decode_text(bytes: &[u8]) -> Result<String, Malformed> {
    let mut marks = bytes.iter().enumerate().filter(|(_, b)| **b == b'%');
    let is_hex = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_hexdigit);
    if marks.any(|(i, _)| !is_hex(i + 1) || !is_hex(i + 2)) {
        return Err(Malformed::Encoding);
    }
    let spaced: Vec<u8> = bytes.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    let decoded: Vec<u8> = percent_decode(&spaced).collect();
    String::from_utf8(decoded).map_err(|_| Malformed::Encoding)
}

fn shorten(name: &str) -> String {
    name.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    fn read(form: &str) -> Result<Fields, Malformed> {
        decode([form.as_bytes()])
    }

    fn flat(form: &str) -> Vec<String> {
        let fields = read(form).expect("well-formed");
        let canonical = fields.canonical(None);
        canonical
            .iter()
            .map(|(path, text)| format!("{}={text}", path.join(".")))
            .collect()
    }

    #[test]
    fn brackets_nest_and_lists_have_places() {
        assert_eq!(flat("b=2&a[b][c]=x+y%26"), ["a.b.c=x y&", "b=2"]);
        assert_eq!(flat("a[]=x&a[]=y"), flat("a[1]=y&a[0]=x"));
        assert_eq!(flat("a[][b]=1&a[][c]=2&a[][b]=3"), ["a.0.b=1", "a.0.c=2", "a.1.b=3"]);
        assert_eq!(flat("a[1]=x&a[]=y"), ["a.1=x", "a.2=y"]);
        assert_eq!(flat("a%5Bb%5D=1&&c"), ["a.b=1", "c="]);
        assert_eq!(flat("a=1&a=2"), ["a=2"]);
        let many = read("a[10]=k&a[9]=j").expect("well-formed");
        let Some(Value::Nested(list)) = many.get("a") else {
            panic!("a list")
        };
        let texts = [Value::Text("j".into()), Value::Text("k".into())];
        assert_eq!(list.items(), Some(texts.iter().collect()));
    }

    #[test]
    fn malformed_forms_say_what_is_wrong() {
        for form in ["a[b=1", "[a]=1", "a]=1", "a[b]c=1", "a[[b]]=1", "=1"] {
            assert!(matches!(read(form), Err(Malformed::Brackets(_))), "{form}");
        }
        for form in ["a=%zz", "a=%4", "a=%", "a=%ff", "%ff=1"] {
            assert_eq!(read(form), Err(Malformed::Encoding), "{form}");
        }
        for form in ["a=1&a[b]=2", "a[b]=2&a=1", "a[]=1&a[0][b]=2"] {
            assert!(matches!(read(form), Err(Malformed::Twofold(_))), "{form}");
        }
        assert_eq!(read(&format!("a{}=1", "[b]".repeat(8))), Err(Malformed::Depth));
        assert_eq!(read(&"a=1&".repeat(1001)), Err(Malformed::Number));
        assert!(read(&"a=1&".repeat(1000)).is_ok());
    }

    fn encode(fields: &Fields) -> String {
        let escape = |t: &str| utf8_percent_encode(t, NON_ALPHANUMERIC).to_string();
        let pair = |(path, text): &(Vec<&str>, &str)| {
            let nested: String = path[1..].iter().map(|p| format!("[{p}]")).collect();
            format!("{}={}", escape(&format!("{}{nested}", path[0])), escape(text))
        };
        let pairs: Vec<String> = fields.canonical(None).iter().map(pair).collect();
        pairs.join("&")
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode([bytes.as_slice()]);
        }

        #[test]
        fn near_forms_neither(form in "[a\\[\\]=&%0-9é+]{0,60}") {
            let _ = decode([form.as_bytes()]);
        }

        #[test]
        fn what_is_written_is_read(pairs in proptest::collection::btree_map("[^\\[\\]]{1,8}(\u{0}[^\\[\\]\u{0}]{1,5}){0,3}", ".*", 0..8)) {
            let mut fields = Fields::default();
            for (path, text) in pairs {
                let steps: Vec<Cow<'_, str>> = path.split('\u{0}').filter(|s| !s.is_empty()).map(Cow::Borrowed).collect();
                if !steps.is_empty() {
                    let _ = fields.insert(&steps, text);
                }
            }
            let read = decode([encode(&fields).as_bytes()]).expect("own encoding");
            prop_assert_eq!(read.canonical(None), fields.canonical(None));
        }
    }
}
