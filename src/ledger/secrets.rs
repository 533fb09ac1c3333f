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
/// Names after which a value is a secret, in a form or in JSON; [`secret_at`] knows their first signs.
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

/// Renders headers as they may be recorded, one a line.
#[must_use]
pub fn clean_head(headers: &http::HeaderMap) -> String {
    let mut head = String::with_capacity(256);
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let _ = writeln!(head, "{name}: {}", clean_header(name.as_str(), &value));
    }
    head
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
    // By its first sign: every byte of every body comes by here.
    match bytes[at] {
        b's' | b'r' | b'w' | b'e' => key_at(bytes, at),
        b'0'..=b'9' => card_at(bytes, at),
        b':' => url_password_at(bytes, at),
        b'%' => url_password_at(bytes, at).or_else(|| card_at(bytes, at)),
        b'c' | b'p' => field_at(bytes, at),
        _ => None,
    }
}

fn key_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if !begins_word(bytes, at) {
        return None;
    }
    let prefix = KEY_PREFIXES.iter().find(|p| bytes[at..].starts_with(p.as_bytes()))?;
    let length = run(&bytes[at + prefix.len()..], |b| b.is_ascii_alphanumeric() || b == b'_');
    (length > 0).then_some((at, at + prefix.len() + length))
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
    let joined = at > 0 && matches!(bytes[at - 1], b'_' | b'.');
    if joined || !begins_word(bytes, at) {
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

/// Tells whether what stands at `at` is not the middle of a word; an escape before it (`%20`, `\n`, `\u0020`) is none of the word.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    match before {
        [] => true,
        // Within an escape itself.
        [.., b'%'] => false,
        [.., b'%', one] if one.is_ascii_hexdigit() => false,
        [.., b'%', one, two] if hex(&[*one, *two]) => true,
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'\\', b'u', one, two, three, four] if hex(&[*one, *two, *three, *four]) => true,
        [.., last] => !last.is_ascii_alphanumeric(),
    }
}

/// Is a way to write the signs of a URL: as they are, in JSON with its slashes escaped, or percent-encoded as in a form.
struct UrlForm {
    begin: &'static [u8],
    colon: &'static [u8],
    at: &'static [u8],
    ends: &'static [&'static [u8]],
}

const URL_FORMS: [UrlForm; 3] = [
    UrlForm {
        begin: b"://",
        colon: b":",
        at: b"@",
        ends: &[b"/", b"?", b"#", b"\"", b"<", b">"],
    },
    UrlForm {
        begin: b":\\/\\/",
        colon: b":",
        at: b"@",
        ends: &[b"\\", b"?", b"#", b"\"", b"<", b">"],
    },
    UrlForm {
        begin: b"%3a%2f%2f",
        colon: b"%3a",
        at: b"%40",
        ends: &[b"%2f", b"%3f", b"%23", b"&", b"\""],
    },
];

/// Finds the password in a URL whose scheme ends at `at`.
fn url_password_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = &bytes[at..];
    let form = URL_FORMS.iter().find(|form| begins(rest, form.begin))?;
    let rest = &rest[form.begin.len()..];
    let is_end =
        |place: usize| !rest[place].is_ascii_graphic() || form.ends.iter().any(|end| begins(&rest[place..], end));
    let length = (0..rest.len()).find(|place| is_end(*place)).unwrap_or(rest.len());
    let authority = &rest[..length];
    let sign = |sign, place: &usize| begins(&authority[*place..], sign);
    let userinfo = (0..length).rev().find(|place| sign(form.at, place))?;
    let begin = (0..userinfo).find(|place| sign(form.colon, place))? + form.colon.len();
    let start = at + form.begin.len();
    (begin < userinfo).then_some((start + begin, start + userinfo))
}

/// Compares the begin of the bytes, whatever the case of ASCII letters.
fn begins(bytes: &[u8], begin: &[u8]) -> bool {
    bytes
        .get(..begin.len())
        .is_some_and(|bytes| bytes.eq_ignore_ascii_case(begin))
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
            (r#"{"url": "https:\/\/user:hunter2@host.test"}"#, "hunter2"),
            ("url=https%3A%2F%2Fuser%3Ahunter2%40host.test%2Fpath&x=y", "hunter2"),
            ("url=https%3a%2f%2fuser%3Ahunter2%40host.test", "hunter2"),
            ("/orders/ref%204242424242424242", "4242424242424242"),
            (r#"{"note": "line\n4242424242424242"}"#, "4242424242424242"),
            (r#"{"note": "line\nsk_test_51abc"}"#, "51abc"),
            (r#"{"note": "line\u00a0sk_test_51abc"}"#, "51abc"),
            ("note=a%20sk_test_51abc", "51abc"),
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
            "https%3A%2F%2Fhost.test%3A8080%2Fa%40b",
            "a%2042",
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
