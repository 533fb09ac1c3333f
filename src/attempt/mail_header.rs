//! The header of a mail, read so that no mail is too broken for it (RFC 5322, section 2.2).

/// Returns where the header ends: behind the first empty line, or at the end.
#[must_use]
pub fn length(content: &[u8]) -> usize {
    let mut at = 0;
    while at < content.len() {
        let line = content[at..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(content.len() - at, |n| n + 1);
        if matches!(&content[at..at + line], b"\n" | b"\r\n") {
            return at + line;
        }
        at += line;
    }
    content.len()
}

/// Iterates over the fields of a header, unfolded.
pub fn fields(header: &[u8]) -> impl Iterator<Item = (String, String)> + '_ {
    let text = String::from_utf8_lossy(header);
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim_end().to_owned(), value.trim().to_owned()));
        }
    }
    fields.into_iter()
}

/// Returns all values of a field.
#[must_use]
pub fn values(header: &[u8], name: &str) -> Vec<String> {
    fields(header)
        .filter(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, v)| v)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_folded_or_not_and_end_at_the_empty_line() {
        let mail = b"Subject: one\r\n two\r\nX-A: 1\r\nx-a:2\r\n\r\nX-A: 3\r\n";
        let header = &mail[..length(mail)];
        assert_eq!(values(header, "subject"), ["one two"]);
        assert_eq!(values(header, "X-A"), ["1", "2"]);
        assert_eq!(length(b""), 0);
        assert_eq!(length(b"\r\nbody"), 2);
        assert_eq!(length(b"no end"), 6);
    }
}
