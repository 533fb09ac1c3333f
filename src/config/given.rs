//! Collects what flags, environment and file give, each with its source, before anything is judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Value;

use super::source::{flag_name, variable};
use super::{Given, Problem, Raw, SETTINGS, Setting, Source};

/// Variables that only the commands talking to a running suite read.
const CLIENT_VARIABLES: [&str; 2] = ["ACKDROP_URL", "ACKDROP_SCOPE"];

/// Says whether a variable is one that Kubernetes gives to every pod beside a Service called `ackdrop`.
fn is_service_link(name: &str) -> bool {
    name == "ACKDROP_PORT" || name.starts_with("ACKDROP_PORT_") || name.starts_with("ACKDROP_SERVICE_")
}

/// Reads all variables of the process whose names begin with `ACKDROP_`. Nothing else here looks at the process.
#[must_use]
pub fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| name.starts_with("ACKDROP_"))
        .collect()
}

/// Reads the file that flag or environment name into `raw`.
pub(super) fn read_file(raw: &mut Raw) -> Result<(), Problem> {
    let flag = raw.flags.get("config").and_then(|values| values.first());
    let name = variable("config");
    let (path, source) = match (flag, raw.env.get(&name).filter(|path| !path.trim().is_empty())) {
        (Some(path), _) if !path.is_empty() => (path.clone(), Source::flag("config")),
        (None, Some(path)) => (path.trim().to_owned(), Source::environment(&name)),
        _ => return Ok(()),
    };
    let text =
        std::fs::read_to_string(&path).map_err(|error| Problem::new(source, format!("cannot read {path}: {error}")))?;
    raw.file = Some((PathBuf::from(path), text));
    Ok(())
}

/// Holds all values by setting and source.
#[derive(Default)]
pub(super) struct AllGiven {
    flags: ByName,
    environment: ByName,
    file: ByName,
}

type ByName = BTreeMap<&'static str, Vec<Given>>;

impl AllGiven {
    /// Returns the values that hold for a setting: flag over environment over file over default.
    pub(super) fn of(&self, setting: &Setting) -> Vec<Given> {
        if setting.adds_up() {
            let sources = [&self.file, &self.flags, &self.environment];
            return sources
                .iter()
                .filter_map(|by| by.get(setting.name))
                .flatten()
                .cloned()
                .collect();
        }
        let sources = [&self.flags, &self.environment, &self.file];
        let found = sources.iter().find_map(|by| by.get(setting.name));
        found.cloned().unwrap_or_else(|| match setting.default {
            "" => Vec::new(),
            text => vec![Given {
                text: text.to_owned(),
                source: Source::default(setting.name),
            }],
        })
    }
}

pub(super) fn collect(raw: &Raw, problems: &mut Vec<Problem>) -> AllGiven {
    let mut all = AllGiven::default();
    for (name, values) in &raw.flags {
        all.flags.insert(*name, numbered(values.clone(), &Source::flag(name)));
    }
    all.environment = from_environment(&raw.env, problems);
    if let Some((path, text)) = &raw.file {
        all.file = from_file(path, text, problems);
    }
    all
}

fn from_environment(env: &BTreeMap<String, String>, problems: &mut Vec<Problem>) -> ByName {
    let mut by_name = ByName::new();
    for (name, text) in env {
        let source = Source::environment(name);
        match SETTINGS.iter().find(|setting| variable(setting.name) == *name) {
            // An empty variable is an unset one: compose files pass on what they do not have.
            Some(_) if text.trim().is_empty() => {}
            Some(setting) if setting.many() => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let lines = lines.map(str::to_owned).collect();
                by_name.insert(setting.name, numbered(lines, &source));
            }
            Some(setting) => {
                by_name.insert(setting.name, numbered(vec![text.trim().to_owned()], &source));
            }
            None if CLIENT_VARIABLES.contains(&name.as_str()) || is_service_link(name) => {}
            None => {
                let names = SETTINGS.iter().map(|setting| variable(setting.name));
                let names = names.chain(CLIENT_VARIABLES.map(str::to_owned));
                problems.push(unknown(source, "variable", name, names));
            }
        }
    }
    by_name
}

fn from_file(path: &Path, text: &str, problems: &mut Vec<Problem>) -> ByName {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            let error: toml::de::Error = error;
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            let message = format!("line {line}: {}", error.message().replace('\n', ", "));
            problems.push(Problem::new(Source::whole_file(path), message));
            return ByName::new();
        }
    };
    let mut by_name = ByName::new();
    for (key, value) in table {
        let source = Source::file(path, &key);
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == key) else {
            let names = SETTINGS.iter().map(|setting| setting.name.to_owned());
            problems.push(unknown(source, "key", &key, names));
            continue;
        };
        if setting.name == "config" {
            problems.push(Problem::new(source, "a file cannot name another; use --config"));
            continue;
        }
        let values = match value {
            Value::Array(values) if setting.many() => values,
            value => vec![value],
        };
        let texts: Result<Vec<_>, _> = values.into_iter().map(|value| text_of(value, setting)).collect();
        match texts {
            Ok(texts) => {
                by_name.insert(setting.name, numbered(texts, &source));
            }
            Err(message) => problems.push(Problem::new(source, message)),
        }
    }
    by_name
}

/// Writes a TOML value as a flag would give it; a rule may be a table.
fn text_of(value: Value, setting: &Setting) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        Value::Table(table) if setting.adds_up() => {
            serde_json::to_string(&table).map_err(|error| format!("cannot be read as JSON: {error}"))
        }
        other => Err(format!("must be {}, not {}", wanted(setting), a(other.type_str()))),
    }
}

fn wanted(setting: &Setting) -> &'static str {
    match (setting.adds_up(), setting.many()) {
        (true, _) => "a string, a table or a list of them",
        (_, true) => "a string or a list of them",
        _ => "one plain value",
    }
}

fn a(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {word}")
}

fn numbered(texts: Vec<String>, source: &Source) -> Vec<Given> {
    let of = texts.len();
    let number = |(index, text)| Given {
        text,
        source: source.clone().nth(index, of),
    };
    texts.into_iter().enumerate().map(number).collect()
}

fn unknown(source: Source, what: &str, name: &str, known: impl Iterator<Item = String>) -> Problem {
    let like = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let nearest = known
        .map(|known| (strsim::damerau_levenshtein(&like(name), &like(&known)), known))
        .min()
        .filter(|(distance, _)| *distance * 3 <= name.len());
    let hint = match nearest {
        Some((_, nearest)) => format!("did you mean {nearest}?"),
        None => format!("`ackdrop serve --help` lists all, such as {}", flag_name("http")),
    };
    Problem::new(source, format!("is no {what} that ackdrop knows; {hint}"))
}
