//! The table for people, and the rows for machines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cell::{Cell, Mode, Row};
use super::expected::Expected;
use super::worker::State::Review;
use super::worker::Worker;

const INTRODUCTION: &str = "\
One job a cell, tried by two workers over real sockets. Only the first attempt
meets the fault. The provider counts attempts and effects, never the worker.
";

const MEANING: &str = "\
The naive worker believes `once` everywhere, and its runs are green. After a
lost answer that is true only where the provider enforces the key: stripe and
orders did it once, smtp and webhook twice. The careful worker never makes 2:
where the key is only a hint it puts the unsure job to review, with 0 effects or
with 1, for what failed before the commit and what was lost after it look the
same to every client.
";

const PROVIDER_WIDTH: usize = 9;
const HEADINGS: [&str; 4] = ["sent", "effects", "believes", "state"];
const GAP: &str = "    ";

/// Writes the rows as one array, a row a line.
pub(super) fn json(expected: &[Expected], rows: &[Row]) -> String {
    let line = |row: &Row| {
        let as_expected = expected.iter().any(|expected| expected.is_met_by(row));
        format!("  {}", object(row, as_expected))
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn object(row: &Row, as_expected: bool) -> Value {
    let Cell { provider, mode, worker } = row.cell;
    json!({
        "provider": provider.name(), "class": provider.class(), "mode": mode.name(), "worker": worker.name(),
        "attempts": row.counted.attempts, "effect": provider.effect(), "effects": row.counted.effects,
        "believes": row.told.belief.name(), "state": row.told.belief.state().name(),
        "as_expected": as_expected,
    })
}

/// Writes the table, and below it what it means, or what is wrong with it.
pub(super) fn text(rows: &[Row], differences: &[String], color: bool) -> String {
    let ink = Ink { color };
    let mut text = format!("{INTRODUCTION}\n{}", head(ink));
    for mode in Mode::ALL {
        let _ = writeln!(text, "\n{}  {}", ink.strong(mode.name()), ink.faint(mode.meaning()));
        for naive in rows
            .iter()
            .filter(|row| row.cell.mode == mode && row.cell.worker == Worker::Naive)
        {
            let careful = Cell {
                worker: Worker::Careful,
                ..naive.cell
            };
            let careful = rows.iter().find(|row| row.cell == careful);
            let sides = [Some(naive), careful].map(|row| row.map_or_else(String::new, |row| side(row, ink)));
            let provider = format!("  {:<PROVIDER_WIDTH$}", naive.cell.provider.name());
            let _ = writeln!(text, "{provider}{}", sides.join(GAP).trim_end());
        }
    }
    text.push('\n');
    if differences.is_empty() {
        text.push_str(MEANING);
    } else {
        let _ = writeln!(text, "{}", ink.alarm("This is not what must come out."));
        for difference in differences {
            let _ = writeln!(text, "  {difference}");
        }
    }
    text
}

fn head(ink: Ink) -> String {
    let [sent, effects, believes, state] = HEADINGS;
    let columns = format!("{sent}  {effects}  {believes}  {state:<6}");
    let workers = ["naive worker", "careful worker"].map(|worker| format!("{worker:<width$}", width = columns.len()));
    let indent = " ".repeat(2 + PROVIDER_WIDTH);
    let above = workers.join(GAP);
    let below = [columns.as_str(); 2].join(GAP);
    format!(
        "{indent}{}\n{indent}{}\n",
        ink.strong(above.trim_end()),
        ink.faint(below.trim_end())
    )
}

/// Writes one worker's half of a line; what differs from one effect and a job that is done stands out.
fn side(row: &Row, ink: Ink) -> String {
    let [sent, effects, believes, _] = HEADINGS.map(str::len);
    let (belief, state) = (row.told.belief, row.told.belief.state());
    let made = format!("{:>effects$}", row.counted.effects);
    let made = match row.counted.effects {
        0 | 1 => made,
        _ => ink.alarm(&made),
    };
    let ends = format!("{:<6}", state.name());
    let ends = if state == Review { ink.notice(&ends) } else { ends };
    format!(
        "{:>sent$}  {made}  {:<believes$}  {ends}",
        row.counted.attempts,
        belief.name()
    )
}

/// Paints words on a terminal, and leaves them plain elsewhere.
#[derive(Clone, Copy, Debug)]
struct Ink {
    color: bool,
}

impl Ink {
    fn strong(self, words: &str) -> String {
        self.paint("1", words)
    }

    fn faint(self, words: &str) -> String {
        self.paint("2", words)
    }

    fn alarm(self, words: &str) -> String {
        self.paint("1;31", words)
    }

    fn notice(self, words: &str) -> String {
        self.paint("33", words)
    }

    fn paint(self, code: &str, words: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{words}\u{1b}[0m")
        } else {
            words.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::cli::demo::expected::rows_as_expected;

    fn unpainted(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
    }

    #[test]
    fn a_terminal_of_80_columns_shows_every_line_whole() {
        let plain = text(&rows_as_expected(), &[], false);
        for line in plain.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert_eq!(line, line.trim_end());
        }
        assert!(!plain.contains('\u{1b}'));
    }

    #[test]
    fn colors_change_no_word_and_no_column() {
        let rows = rows_as_expected();
        let (plain, painted) = (text(&rows, &[], false), text(&rows, &[], true));
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&unpainted(&painted)), trimmed(&plain));
        assert_eq!(painted.matches("\u{1b}[1;31m").count(), 2, "two doubles stand out");
        assert_eq!(
            painted.matches("\u{1b}[33m").count(),
            4,
            "four jobs in review stand out"
        );
    }
}
