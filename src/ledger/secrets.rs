//! Takes secrets out of what is recorded, on entry.
//!
//! What is replaced: API keys (`sk_…`, `rk_…`, `whsec_…`), card numbers (13 to 19 digits that pass the Luhn check, with or
//! without spaces and dashes, also percent-encoded), card verification codes in forms and JSON, passwords in URLs,
//! and the values of headers that carry credentials. Each becomes `[secret:` and eight hex digits of its SHA-256, so that equal
//! secrets can still be told to be equal.

use std::borrow::Cow;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Headers whose value is a credential.
const HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "stripe-signature",
];
const KEY_PREFIXES: [&str; 6] = ["sk_test_", "sk_live_", "rk_test_", "rk_live_", "whsec_", "ek_test_"];
/// Names after which a value is a secret, in a form or in JSON.
const FIELDS: [&str; 3] = ["cvc", "password", "client_secret"];

/// Returns the mark that stands for a secret.
#[must_use]
pub fn mark(secret: &[u8]) -> String {
    let hash = Sha256::digest(secret);
    let mut mark = String::from("[secret:");
    for byte in &hash[..4] {
        let _ = write!(mark, "{byte:02x}");
    }
    mark.push(']');
    mark
}

/// Returns a header's value as it may be recorded.
#[must_use]
pub fn clean_header<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if HEADERS.iter().any(|h| name.eq_ignore_ascii_case(h)) {
        let (scheme, secret) = value.split_once(' ').unwrap_or(("", value));
        let space = if scheme.is_empty() { "" } else { " " };
        return Cow::Owned(format!("{scheme}{space}{}", mark(secret.as_bytes())));
    }
    clean(value)
}

/// Returns a text as it may be recorded; borrows where there is nothing to hide.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        match secret_at(bytes, at) {
            Some((start, end)) => {
                let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                out.push_str(&text[copied..start]);
                out.push_str(&mark(&bytes[start..end]));
                copied = end;
                at = end;
            }
            None => at += 1,
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

/// Returns bytes as they may be recorded; what is no UTF-8 is searched as Latin-1 would be, piece by piece.
#[must_use]
pub fn clean_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(bytes) {
        Ok(text) => match clean(text) {
            Cow::Borrowed(_) => Cow::Borrowed(bytes),
            Cow::Owned(clean) => Cow::Owned(clean.into_bytes()),
        },
        Err(_) => {
            let mut out = Vec::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                out.extend_from_slice(clean(chunk.valid()).as_bytes());
                out.extend_from_slice(chunk.invalid());
            }
            Cow::Owned(out)
        }
    }
}

/// Finds a secret that begins at `at` (or, for a named field or URL, right behind it); returns its bounds, which lie on ASCII.
fn secret_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    match bytes[at] {
        b's' | b'r' | b'w' | b'e' => key_at(bytes, at),
        b'0'..=b'9' | b'%' => card_at(bytes, at),
        b':' if bytes[at..].starts_with(b"://") => url_password_at(bytes, at + 3),
        _ => None,
    }
    .or_else(|| field_at(bytes, at))
}

fn key_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if at > 0 && bytes[at - 1].is_ascii_alphanumeric() {
        return None;
    }
    let prefix = KEY_PREFIXES.iter().find(|p| bytes[at..].starts_with(p.as_bytes()))?;
    let length = run(&bytes[at + prefix.len()..], |b| b.is_ascii_alphanumeric() || b == b'_');
    (length > 0).then_some((at, at + prefix.len() + length))
}

/// Says whether what comes after these bytes belongs to a word or number that they end with; an escape such as `%20` is none.
fn is_inside_word(before: &[u8]) -> bool {
    match before {
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => false,
        [.., last] => last.is_ascii_alphanumeric() || matches!(last, b'_' | b'.'),
        [] => false,
    }
}

/// Reads a digit, also percent-encoded; returns it with its length.
fn digit_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let (digit, length) = match bytes[at..] {
        [b'%', b'3', digit, ..] => (digit, 3),
        [digit, ..] => (digit, 1),
        [] => return None,
    };
    digit.is_ascii_digit().then(|| (digit - b'0', length))
}

fn card_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if is_inside_word(&bytes[..at]) {
        return None;
    }
    let mut digits = [0u8; 20];
    let (mut count, mut end, mut i) = (0, at, at);
    while i < bytes.len() && count < digits.len() {
        if let Some((digit, length)) = digit_at(bytes, i) {
            digits[count] = digit;
            count += 1;
            i += length;
            end = i;
        } else if matches!(bytes[i], b' ' | b'-' | b'+') {
            i += 1;
        } else if bytes[i..].starts_with(b"%20") {
            i += 3;
        } else {
            break;
        }
        if i - end > 3 {
            break;
        }
    }
    let longer = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    ((13..=19).contains(&count) && !longer && luhn(&digits[..count])).then_some((at, end))
}

fn url_password_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let authority = run(&bytes[at..], |b| {
        b.is_ascii_graphic() && !matches!(b, b'/' | b'?' | b'#' | b'"' | b'<' | b'>')
    });
    let userinfo = bytes[at..at + authority].iter().rposition(|b| *b == b'@')?;
    let colon = bytes[at..at + userinfo].iter().position(|b| *b == b':')?;
    (colon + 1 < userinfo).then_some((at + colon + 1, at + userinfo))
}

/// Finds the value behind `cvc=`, `card[cvc]=`, `"cvc": "…"` and the like.
fn field_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let name = FIELDS.iter().find(|f| bytes[at..].starts_with(f.as_bytes()))?;
    let mut i = at + name.len();
    let closing = run(&bytes[i..], |b| {
        matches!(b, b']' | b'%' | b'5' | b'D' | b'd' | b'"' | b' ')
    });
    i += closing;
    if !matches!(bytes.get(i), Some(b'=' | b':')) {
        return None;
    }
    i += 1;
    i += run(&bytes[i..], |b| matches!(b, b' ' | b'"'));
    let length = run(&bytes[i..], |b| {
        b.is_ascii_graphic() && !matches!(b, b'&' | b'"' | b',' | b'}' | b'[')
    });
    (length > 0).then_some((i, i + length))
}

fn run(bytes: &[u8], accepts: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|b| !accepts(*b)).unwrap_or(bytes.len())
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| match (i % 2, u32::from(*d)) {
            (0, d) => d,
            (_, d) if d > 4 => d * 2 - 9,
            (_, d) => d * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_leave_and_all_else_stays() {
        for (text, secret) in [
            ("amount=1&card[number]=4242424242424242&x=1", "4242424242424242"),
            ("number: 4242 4242 4242 4242.", "4242 4242"),
            ("card%5Bnumber%5D=4000-0000-0000-0002", "4000-0000-0000-0002"),
            ("card[number]=4242%204242%204242%204242&exp=1", "4242%204242"),
            ("card[number]=%34242424242424242&exp=1", "4242424242"),
            ("description=card%204242424242424242", "4242424242"),
            ("card[cvc]=123&x=y", "123"),
            ("card%5Bcvc%5D=987&x=y", "987"),
            (r#"{"cvc": "123", "a": 1}"#, "123"),
            ("key sk_test_51H0abcDEF_x end", "sk_test_51H0abcDEF"),
            ("see https://user:hunter2@host.test/path", "hunter2"),
            ("pi_1_secret client_secret=pi_1_secret_abc", "pi_1_secret_abc"),
        ] {
            let clean = clean(text);
            assert!(!clean.contains(secret), "{clean}");
            assert!(clean.contains("[secret:"), "{clean}");
        }
        for text in [
            "amount=1099&currency=usd",
            "order 1234567890123",
            "https://host.test:8080/a@b",
            "id=ch_4242424242424242",
            "sk_test_",
            "Grüße, 5 < 6",
        ] {
            assert!(matches!(clean(text), Cow::Borrowed(t) if t == text), "{text}");
        }
    }

    #[test]
    fn a_header_keeps_its_scheme_and_loses_its_secret() {
        let clean = clean_header("Authorization", "Bearer sk_test_51abc");
        assert!(clean.starts_with("Bearer [secret:") && !clean.contains("51abc"));
        assert_eq!(clean_header("x-tenant", "acme"), "acme");
        assert_eq!(mark(b"a"), mark(b"a"));
        assert_ne!(mark(b"a"), mark(b"b"));
    }

    #[test]
    fn what_is_no_text_is_searched_too() {
        let clean = clean_bytes(b"\xff\xfe4242424242424242\xff").into_owned();
        assert!(!String::from_utf8_lossy(&clean).contains("4242424242424242"));
        assert_eq!(clean_bytes(b"\xff\xfe").as_ref(), b"\xff\xfe");
    }
}
