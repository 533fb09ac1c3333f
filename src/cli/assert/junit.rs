//! A verdict as JUnit XML, for the report of a CI.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::Value;

use super::{list, rest, words};

/// Is one test case that is about to be written.
struct Case {
    name: String,
    /// What is wrong: the element, in a line, and all of it.
    wrong: Option<(&'static str, String, String)>,
}

/// Reports a verdict: one test case an expectation, and one more if all of them hold and it is no yet.
pub(super) fn verdict(verdict: &Value) -> String {
    let mut cases: Vec<Case> = list(&verdict["expectations"])
        .map(|judged| {
            let lines: Vec<String> = list(&judged["diff"]).map(words).collect();
            let line = lines.first().cloned().unwrap_or_default();
            Case {
                name: words(&judged["text"]),
                wrong: (judged["holds"] != true).then(|| ("failure", line, lines.join("\n"))),
            }
        })
        .collect();
    if verdict["holds"] != true && cases.iter().all(|case| case.wrong.is_none()) {
        cases.push(Case {
            name: "nothing is in flight".to_owned(),
            wrong: Some(("failure", words(&verdict["message"]), rest(verdict).join("\n"))),
        });
    }
    let waited = words(&verdict["waited"]);
    render(&cases, waited.trim_end_matches('s'))
}

/// Reports that there is no verdict: each test case ended in an error.
pub(super) fn failure(texts: &[String], why: &str) -> String {
    let first = why.lines().next().unwrap_or_default();
    let case = |text: &String| Case {
        name: text.clone(),
        wrong: Some(("error", first.to_owned(), why.to_owned())),
    };
    let cases: Vec<Case> = texts.iter().map(case).collect();
    render(&cases, "0")
}

/// Writes a file whole or not at all: a reader never sees half of it.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    let written = File::create(&part)
        .and_then(|mut out| {
            out.write_all(text.as_bytes())?;
            out.sync_all()
        })
        .and_then(|()| fs::rename(&part, file));
    if written.is_err() {
        // What went wrong is said; that half a file is left as well would hide it.
        drop(fs::remove_file(&part));
    }
    written
}

fn render(cases: &[Case], seconds: &str) -> String {
    let count = |element| {
        cases
            .iter()
            .filter(|c| c.wrong.as_ref().is_some_and(|w| w.0 == element))
            .count()
    };
    let counts = format!(
        r#"tests="{}" failures="{}" errors="{}" skipped="0" time="{}""#,
        cases.len(),
        count("failure"),
        count("error"),
        escape(seconds)
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"ackdrop\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"ackdrop assert\" {counts}>");
    for Case { name, wrong } in cases {
        let _ = write!(
            xml,
            r#"    <testcase classname="ackdrop" name="{}" time="{}""#,
            escape(name),
            escape(seconds)
        );
        match wrong {
            None => xml.push_str("/>\n"),
            Some((element, line, all)) => {
                let (line, all) = (escape(line), escape(all));
                let _ = writeln!(
                    xml,
                    ">\n      <{element} message=\"{line}\">{all}</{element}>\n    </testcase>"
                );
            }
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Writes a text so that it can stand in XML, in an attribute too; what XML 1.0 cannot have at all is replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{escape, write};

    #[test]
    fn whatever_a_client_wrote_can_stand_in_xml() {
        assert_eq!(
            escape("a<b> & \"c\" 'd'\n\u{1b}[2J\u{0}é\u{ffff}"),
            "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;&#10;\u{fffd}[2J\u{fffd}é\u{fffd}"
        );
    }

    #[test]
    fn a_file_is_replaced_whole_or_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("junit.xml");
        write(&file, "one").unwrap();
        write(&file, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
        assert!(write(&folder.path().join("none/junit.xml"), "x").is_err());
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write(&folder.path().join("taken"), "x").is_err());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            2,
            "nor after a failure"
        );
    }
}
