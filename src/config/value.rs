//! The kinds of values: what is allowed, and how it is read.

use std::time::Duration;

use crate::suite::Mechanism;

/// Says how the log is written to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Log {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
    /// Nothing.
    Off,
}

impl Log {
    const ALL: [(&str, Self); 3] = [("text", Self::Text), ("json", Self::Json), ("off", Self::Off)];

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        choose(text, &Self::ALL)
    }
}

/// Reads the name of a login mechanism.
pub(super) fn mechanism(text: &str) -> Result<Mechanism, String> {
    let all = Mechanism::ALL.map(|mechanism| (mechanism.as_str(), mechanism));
    choose(text, &all)
}

fn choose<T: Copy>(text: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let allowed: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{text}` is none of {}", allowed.join(", "))
    })
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    choose(
        text,
        &[
            ("true", true),
            ("false", false),
            ("on", true),
            ("off", false),
            ("1", true),
            ("0", false),
        ],
    )
    .map_err(|_| format!("`{text}` is neither true nor false"))
}

pub(super) fn count(text: &str) -> Result<u64, String> {
    text.replace('_', "")
        .parse()
        .map_err(|_| format!("`{text}` is no whole number"))
}

/// Reads a size in bytes: `1024`, `10MB`, `256MiB`.
///
/// # Errors
///
/// Fails with words that name what is allowed.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("b", 1),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
    ];
    let wrong = || format!("`{text}` is no size; write bytes as 1024, or with a unit: B, KB, MB, GB, KiB, MiB, GiB");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let (_, factor) = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .ok_or_else(wrong)?;
    number
        .checked_mul(*factor)
        .ok_or_else(|| format!("`{text}` is too large"))
}

/// Reads a duration: `250ms`, `2s`, `5m`, `1h`.
///
/// # Errors
///
/// Fails with words that name what is allowed.
pub fn duration(text: &str) -> Result<Duration, String> {
    crate::duration::parse(text.trim())
        .map_err(|why| format!("`{text}` {why}, like {}", crate::duration::EXAMPLES.join(", ")))
}

/// Splits a text into its leading number and the unit behind it.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::{count, mechanism, size, switch};

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("7B", 7),
            ("10MB", 10_000_000),
            ("256MiB", 256 << 20),
            ("2 gib", 2 << 30),
            ("3kB", 3000),
            ("1KiB", 1024),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1.5MiB", "10M", "10 apples", "0x10"] {
            assert!(size(text).unwrap_err().contains("no size"), "{text}");
        }
        assert!(size("99999999999GiB").unwrap_err().contains("too large"));
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!((switch("TRUE"), switch("0")), (Ok(true), Ok(false)));
        assert!(switch("yes please").is_err());
        assert_eq!(count("100_000"), Ok(100_000));
        assert!(count("-1").is_err() && count("many").is_err());
        let said = mechanism("scram-sha-1").unwrap_err();
        assert_eq!(said, "`scram-sha-1` is none of PLAIN, LOGIN, CRAM-MD5, XOAUTH2");
    }
}
