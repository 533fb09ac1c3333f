//! Reads rules from JSON: each field by itself here, what they are together in `check`.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::catalog::{Catalog, Reach};
use super::check;
use super::condition::{Condition, Field, Wanted, comparable_sql};
use super::occasion::{self, On};
use super::problem::Problem;
use super::reader::Reader;
use super::rule::{Mode, Point, RuleSpec, Step};
use super::rules::MAX_API_RULES;
use super::wildcard::Pattern;
use super::word::{Word, words};
use crate::ledger::Outcome;

/// All fields of a rule, in the order in which they are documented.
const FIELDS: [&str; 29] = [
    "provider",
    "operation",
    "scope",
    "method",
    "path",
    "key",
    "header",
    "sender",
    "recipient",
    "subject",
    "json",
    "sql",
    "outcome",
    "mode",
    "how",
    "bytes",
    "after",
    "status",
    "code",
    "headers",
    "body",
    "delay",
    "at",
    "barrier",
    "copies",
    "behind",
    "step",
    "on",
    "expires_in",
];
/// The names that are common for relays.
const ALIASES: [(&str, Mode); 3] = [
    ("forward-and-respond", Mode::Pass),
    ("fail-before-forward", Mode::FailBeforeCommit),
    ("forward-then-drop-response", Mode::DropAfterCommit),
];
/// Header fields of an answer that keep its framing.
const FRAMING: [&str; 3] = ["connection", "content-length", "transfer-encoding"];
/// How many attempts a barrier may wait for.
const BARRIERS: std::ops::RangeInclusive<u16> = 2..=1_000;
/// How long a body may be that is given as JSON.
const LONGEST_BODY: usize = 1 << 20;

/// Reads one rule or a list of them.
///
/// # Errors
/// Fails with all that is wrong with any of them.
pub fn parse_json(text: &[u8], catalog: &Catalog) -> Result<Vec<RuleSpec>, Vec<Problem>> {
    let value = serde_json::from_slice(text).map_err(|error| {
        let why = format!("is not JSON: {error}");
        vec![Problem::new(None, "", &Value::Null, why)]
    })?;
    parse_value(&value, catalog)
}

/// Reads one rule or a list of them, from a value that was already taken apart.
///
/// # Errors
/// Fails with all that is wrong with any of them.
pub fn parse_value(value: &Value, catalog: &Catalog) -> Result<Vec<RuleSpec>, Vec<Problem>> {
    let Value::Array(values) = value else {
        return parse_one(None, value, catalog).map(|rule| vec![rule]);
    };
    if values.len() > MAX_API_RULES {
        let why = format!("lists more than {MAX_API_RULES} rules");
        return Err(vec![Problem::new(None, "", &Value::Null, why)]);
    }
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for (index, value) in values.iter().enumerate() {
        match parse_one(Some(index), value, catalog) {
            Ok(rule) => rules.push(rule),
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

/// Reads a rule that came in a request: it has no conditions.
pub(super) fn read_in_request(given: &Map<String, Value>, reach: Reach) -> Result<RuleSpec, Vec<Problem>> {
    let mut reader = Reader::new(None, given);
    let draft = read_fields(&mut reader, given);
    check::finish(reader, draft, reach)
}

fn parse_one(index: Option<usize>, value: &Value, catalog: &Catalog) -> Result<RuleSpec, Vec<Problem>> {
    let Value::Object(given) = value else {
        let why = "a rule is an object, such as {\"mode\": \"drop-after-commit\"}";
        return Err(vec![Problem::new(index, "", value, why)]);
    };
    let mut reader = Reader::new(index, given);
    reader.only(&FIELDS);
    let draft = read_fields(&mut reader, given);
    let reach = check::reach(&mut reader, &draft, catalog);
    check::finish(reader, draft, reach)
}

/// Holds the fields of a rule, each read by itself.
pub(super) struct Draft {
    pub(super) given: Map<String, Value>,
    pub(super) conditions: Vec<Condition>,
    pub(super) mode: Option<Mode>,
    pub(super) how: Option<HowName>,
    pub(super) bytes: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) status: Option<u64>,
    pub(super) code: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) delay: Option<Duration>,
    pub(super) at: Option<Point>,
    pub(super) barrier: Option<u16>,
    pub(super) copies: Option<u64>,
    pub(super) behind: Option<u64>,
    pub(super) step: Option<Step>,
    pub(super) outcome: Option<Outcome>,
    pub(super) on: Option<On>,
    pub(super) expires_in: Option<Duration>,
}

words! {
    /// Names how an answer is lost.
    pub(super) enum HowName {
        Close = "close",
        Reset = "reset",
        Hang = "hang",
        Truncate = "truncate",
    }
}

impl Draft {
    /// Returns what a condition on the field wants.
    pub(super) fn pattern(&self, field: &Field) -> Option<&Pattern> {
        self.conditions
            .iter()
            .find(|condition| condition.field == *field)
            .and_then(|condition| match &condition.wanted {
                Wanted::Text(pattern) => Some(pattern),
                Wanted::Outcome(_) | Wanted::Committed => None,
            })
    }
}

fn read_fields(reader: &mut Reader<'_>, given: &Map<String, Value>) -> Draft {
    let mode = read_mode(reader);
    let mut given = given.clone();
    if let Some(mode) = mode {
        given.insert("mode".to_owned(), mode.as_str().into());
    }
    Draft {
        given,
        conditions: read_conditions(reader),
        mode,
        how: reader.word("how"),
        bytes: reader.number("bytes"),
        after: reader.number("after"),
        status: reader.number("status"),
        code: reader.read("code", &[], read_code),
        headers: read_answer_headers(reader),
        body: reader.read("body", &[], read_body),
        delay: reader.duration("delay"),
        at: reader.word("at"),
        barrier: reader.read("barrier", &["2", "20", "1000"], read_barrier),
        copies: reader.number("copies"),
        behind: reader.number("behind"),
        step: reader.word("step"),
        outcome: reader.word("outcome"),
        on: reader.read("on", &occasion::EXAMPLES, On::parse),
        expires_in: reader.duration("expires_in"),
    }
}

fn read_mode(reader: &mut Reader<'_>) -> Option<Mode> {
    if !reader.has("mode") {
        reader.report_allowing("mode", "is missing", Mode::words());
        return None;
    }
    let alias = |value: &Value| {
        let alias = ALIASES.iter().find(|(name, _)| value == name);
        Ok(alias.map(|(_, mode)| *mode))
    };
    let alias = reader.read("mode", &[], alias).flatten();
    alias.or_else(|| reader.word("mode"))
}

fn read_conditions(reader: &mut Reader<'_>) -> Vec<Condition> {
    let names = [
        (Field::Provider, reader.name("provider")),
        (Field::Operation, reader.name("operation")),
        (Field::Scope, read_scope(reader)),
        (Field::Method, reader.name("method")),
        (Field::Path, reader.name("path")),
        (Field::Key, reader.name("key")),
        (Field::Sender, reader.pattern("sender")),
        (Field::Recipient, reader.name("recipient")),
        (Field::Subject, reader.pattern("subject")),
        (
            Field::Sql,
            reader.name("sql").map(|sql| Pattern::new(comparable_sql(sql.as_str()))),
        ),
    ];
    let header = reader.entries("header", |name, _| check_header_name(name));
    let json = reader.entries("json", |pointer, _| check_pointer(pointer));
    let names = names.into_iter().filter_map(|(field, pattern)| Some((field, pattern?)));
    let header = header
        .into_iter()
        .map(|(name, text)| (Field::Header(name.to_ascii_lowercase()), Pattern::new(text)));
    let json = json
        .into_iter()
        .map(|(pointer, text)| (Field::Json(pointer.to_owned()), Pattern::new(text)));
    names
        .chain(header)
        .chain(json)
        .map(|(field, pattern)| Condition {
            field,
            wanted: Wanted::Text(pattern),
        })
        .collect()
}

fn read_scope(reader: &mut Reader<'_>) -> Option<Pattern> {
    let scope = reader.name("scope")?;
    let right = |c: char| c.is_ascii_alphanumeric() || "._-*".contains(c);
    if scope.as_str().len() > 64 || !scope.as_str().chars().all(right) {
        reader.report(
            "scope",
            "is no name of a scope: 1 to 64 of A-Z a-z 0-9 . _ -, and * as wildcard",
        );
        return None;
    }
    Some(scope)
}

fn read_answer_headers(reader: &mut Reader<'_>) -> Vec<(String, String)> {
    let headers = reader.entries("headers", |name, value| {
        check_header_name(name)?;
        if FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return Err("is set by the suite, so that the answer stays well-formed".to_owned());
        }
        HeaderValue::from_str(value)
            .map(drop)
            .map_err(|_| "is no value of a header field".to_owned())
    });
    headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect()
}

fn check_header_name(name: &str) -> Result<(), String> {
    HeaderName::from_bytes(name.as_bytes())
        .map(drop)
        .map_err(|_| "is no name of a header field".to_owned())
}

/// Checks an RFC 6901 pointer.
fn check_pointer(pointer: &str) -> Result<(), String> {
    let rooted = pointer.is_empty() || pointer.starts_with('/');
    let escaped = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if rooted && escaped {
        Ok(())
    } else {
        Err("is no JSON pointer, such as /order/id".to_owned())
    }
}

fn read_barrier(value: &Value) -> Result<u16, String> {
    let number = value.as_u64().and_then(|number| u16::try_from(number).ok());
    number.filter(|number| BARRIERS.contains(number)).ok_or_else(|| {
        format!(
            "must be a whole number from {} to {}: how many gather",
            BARRIERS.start(),
            BARRIERS.end()
        )
    })
}

fn read_code(value: &Value) -> Result<String, String> {
    match value {
        Value::String(code) if (1..=128).contains(&code.len()) && !code.contains(char::is_control) => Ok(code.clone()),
        _ => Err("must be a string of 1 to 128 bytes without control characters".to_owned()),
    }
}

/// Reads a body; JSON may stand there as it is.
fn read_body(value: &Value) -> Result<String, String> {
    let body = match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => value.to_string(),
        _ => return Err("must be a string, or JSON to send as it is".to_owned()),
    };
    if body.len() > LONGEST_BODY {
        return Err(format!("is longer than {LONGEST_BODY} bytes"));
    }
    Ok(body)
}
