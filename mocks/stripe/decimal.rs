//! Decimal numbers as Stripe takes them for unit amounts and percentages: twelve places, no floating point on the way.

use std::fmt;

use serde::{Serialize, Serializer};

/// How many places there are behind the point.
const PLACES: usize = 12;
const ONE: i128 = 1_000_000_000_000;
/// The largest number in front of the point.
const LARGEST: i128 = 999_999_999_999;

/// Is a decimal number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Decimal(i128);

impl Decimal {
    /// Reads a number with at most twelve places; none if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, places) = digits.split_once('.').unwrap_or((digits, "0"));
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !plain(whole) || !plain(places) || places.len() > PLACES {
            return None;
        }
        let whole: i128 = whole.parse().ok().filter(|whole| *whole <= LARGEST)?;
        let places: i128 = format!("{places:0<PLACES$}").parse().ok()?;
        let number = whole * ONE + places;
        Some(Self(if negative { -number } else { number }))
    }

    /// Returns the number where it is whole.
    pub(crate) fn whole(self) -> Option<i64> {
        (self.0 % ONE == 0)
            .then_some(self.0 / ONE)
            .and_then(|n| n.try_into().ok())
    }

    /// Multiplies, and rounds to the nearest whole number, halves away from zero.
    pub(crate) fn times(self, quantity: i64) -> i64 {
        rounded(self.0.saturating_mul(quantity.into()), ONE)
    }

    /// Takes this many per cent of an amount, rounded to the nearest, halves away from zero.
    pub(crate) fn percent_of(self, amount: i64) -> i64 {
        rounded(self.0.saturating_mul(amount.into()), ONE * 100)
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0
    }
}

/// Divides, rounded to the nearest, halves away from zero.
fn rounded(number: i128, by: i128) -> i64 {
    let half = if number < 0 { -by / 2 } else { by / 2 };
    let whole = number.saturating_add(half) / by;
    let bounds = (i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(whole.clamp(bounds.0, bounds.1)).unwrap_or_default()
}

impl From<i64> for Decimal {
    fn from(whole: i64) -> Self {
        Self(i128::from(whole) * ONE)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, places) = (self.0.abs() / ONE, self.0.abs() % ONE);
        if places == 0 {
            return write!(f, "{sign}{whole}");
        }
        let places = format!("{places:0PLACES$}");
        write!(f, "{sign}{whole}.{}", places.trim_end_matches('0'))
    }
}

/// Is a decimal shown as a JSON number, as a percentage is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) Decimal);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.to_string();
        serializer.serialize_f64(text.parse().unwrap_or_default())
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_read_shown_and_rounded() {
        let read = |text: &str| Decimal::parse(text).map(|d| d.to_string());
        assert_eq!(read("25.50").as_deref(), Some("25.5"));
        assert_eq!(read("0.000000000001").as_deref(), Some("0.000000000001"));
        assert_eq!(read("-3").as_deref(), Some("-3"));
        for wrong in [
            "",
            "-",
            ".5",
            "5.",
            "1e3",
            "1,5",
            "0.0000000000001",
            "1000000000000",
            "+1",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let half = Decimal::parse("0.5").expect("a decimal");
        assert_eq!(
            (half.times(1), half.times(3), half.times(-1), half.whole()),
            (1, 2, -1, None)
        );
        let third = Decimal::parse("33.333").expect("a decimal");
        assert_eq!((third.percent_of(1000), third.percent_of(0)), (333, 0));
        assert_eq!(Decimal::from(12).whole(), Some(12));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(whole in -999_999_999_999i64..=999_999_999_999, places in 0..1_000_000_000_000i64) {
            let text = format!("{whole}.{places:012}");
            let read = Decimal::parse(&text).expect("a decimal");
            prop_assert_eq!(Decimal::parse(&read.to_string()), Some(read));
        }
    }
}
