//! Durations as users write them, everywhere: `250ms`, `2s`, `5m`, `1h`.

use std::time::Duration;

/// The longest one: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Shows what a right one looks like, for error texts.
pub const EXAMPLES: [&str; 4] = ["250ms", "2s", "5m", "1h"];

/// Reads a duration.
///
/// # Errors
///
/// Fails with what is wrong with it.
pub fn parse(text: &str) -> Result<Duration, &'static str> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = digits.map_or((text, ""), |at| text.split_at(at));
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("is not a duration: a whole number and a unit"),
    };
    if number.is_empty() {
        return Err("is not a duration: a whole number and a unit");
    }
    let length = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(milliseconds))
        .map(Duration::from_millis);
    match length {
        Some(length) if length <= LONGEST => Ok(length),
        _ => Err("is longer than a year"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        let millis = |text| parse(text).map(|length| length.as_millis());
        assert_eq!(millis("250ms"), Ok(250));
        assert_eq!(millis("2s"), Ok(2_000));
        assert_eq!(millis("5m"), Ok(300_000));
        assert_eq!(millis("1h"), Ok(3_600_000));
        assert_eq!(millis("8760h"), Ok(31_536_000_000));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "2",
            "s",
            "-2s",
            "1.5s",
            "2 s",
            "2S",
            "2d",
            "8761h",
            "99999999999999999999h",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
