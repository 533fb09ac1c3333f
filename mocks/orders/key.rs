//! The Idempotency-Key header: a Structured-Field String (RFC 9651, section 3.3.3), or the bare value that most clients send.

use super::problem::Problem;
use crate::attempt::HttpRequest;

const NAME: &str = "idempotency-key";
const LONGEST: usize = 255;

/// Reads the key of a request; none if there is no such header.
pub(super) fn read(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let mut values = request.headers.get_all(NAME).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(malformed("was sent more than once"));
    }
    let value = value.to_str().map_err(|_| malformed("has characters beyond ASCII"))?;
    parse(value.trim_matches([' ', '\t'])).map(Some).map_err(malformed)
}

fn parse(value: &str) -> Result<String, &'static str> {
    let key = match value.strip_prefix('"') {
        Some(rest) => quoted(rest)?,
        None if value.bytes().all(bare) => value.to_owned(),
        None => return Err("has a character that only a quoted string may have"),
    };
    match key.len() {
        0 => Err("is empty"),
        1..=LONGEST => Ok(key),
        _ => Err("is longer than 255 characters"),
    }
}

fn bare(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

/// Reads a string behind its opening quote.
fn quoted(rest: &str) -> Result<String, &'static str> {
    let mut key = String::with_capacity(rest.len());
    let mut chars = rest.chars();
    loop {
        match chars.next().ok_or("has no closing quote")? {
            '"' => break,
            '\\' => match chars.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err("has a backslash before something else than a quote or a backslash"),
            },
            c @ ' '..='~' => key.push(c),
            _ => return Err("has a control character"),
        }
    }
    if parameters(chars.as_str()) {
        Ok(key)
    } else {
        Err("goes on behind its closing quote")
    }
}

/// Says whether a text is nothing or looks like parameters, of which the draft defines none and which are ignored.
fn parameters(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(';').is_some_and(|rest| {
            let name = rest.trim_start_matches(' ');
            name.starts_with(|c: char| c.is_ascii_lowercase() || c == '*')
                && name.bytes().all(|b| matches!(b, b' '..=b'~'))
        })
}

fn malformed(why: &str) -> Problem {
    let detail = format!(
        "The Idempotency-Key header {why}. Send a quoted string of 1 to 255 ASCII characters, \"order-17\", or the same without quotes."
    );
    Problem::new(400, "idempotency-key-malformed", "Idempotency-Key is malformed", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_and_a_bare_key_are_the_same_key() {
        for value in ["order-17", "\"order-17\"", "\"order-17\";a=1", "\"order-17\"; a"] {
            assert_eq!(parse(value).as_deref(), Ok("order-17"), "{value}");
        }
        assert_eq!(parse(r#""a\"b\\c""#).as_deref(), Ok(r#"a"b\c"#));
        assert_eq!(parse("8e03978e-40d5-43dd-bc93-6894a57f9324").map(|k| k.len()), Ok(36));
        assert!(parse(&"k".repeat(255)).is_ok());
    }

    #[test]
    fn what_is_malformed_is_said_to_be() {
        for value in [
            "",
            "\"\"",
            "\"open",
            "\"a\"b",
            "\"a\\n\"",
            "\"a\\",
            "\"a\", \"b\"",
            "a b",
            "a,b",
            "\"tab\there\"",
            "\"a\";",
            &"k".repeat(256),
        ] {
            assert!(parse(value).is_err(), "{value}");
        }
    }
}
