//! Text for people: aligned columns, and words from clients made harmless.

use serde_json::Value;

/// Aligns cells in columns, two spaces apart; columns named in `left` are flush left, numbers stand right.
pub(super) fn aligned(rows: &[Vec<String>], left: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if left.contains(&column) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns a JSON value as text without quotes; control characters, which would steer a terminal, are escaped.
pub(super) fn words(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let harmless = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{aligned, words};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["", "n"], ["é", "10"], ["long", "1"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, &[0]), "       n\né     10\nlong   1\n");
    }

    #[test]
    fn a_client_cannot_steer_the_terminal() {
        assert_eq!(words(&json!("a\u{1b}[2Jb\n")), "a\\u{1b}[2Jb\\n");
        assert_eq!((words(&json!(3)), words(&json!(null))), ("3".to_owned(), String::new()));
    }
}
