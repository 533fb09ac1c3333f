//! Periods of subscriptions, counted from their anchor. Pure.

use time::{Date, Duration, Month, OffsetDateTime};

use crate::mocks::stripe::objects::{Interval, Period, Recurring};

/// Returns the period that holds a moment: the first begins at the anchor.
pub(crate) fn holding(anchor: i64, recurring: Recurring, moment: i64) -> Period {
    let mut number = 0;
    let mut start = anchor;
    loop {
        number += 1;
        let end = after(anchor, recurring, number);
        if moment < end || end <= start {
            return Period { start, end };
        }
        start = end;
    }
}

/// Returns the moment that lies so many intervals after the anchor; a day that a month has not is its last.
fn after(anchor: i64, recurring: Recurring, number: i64) -> i64 {
    let count = number * i64::from(recurring.count);
    let days = |days: i64| anchor.saturating_add(Duration::days(days).whole_seconds());
    match recurring.interval {
        Interval::Day => days(count),
        Interval::Week => days(count * 7),
        Interval::Month => months(anchor, count),
        Interval::Year => months(anchor, count * 12),
    }
}

/// Adds calendar months.
pub(crate) fn months(from: i64, count: i64) -> i64 {
    let Ok(time) = OffsetDateTime::from_unix_timestamp(from) else {
        return from;
    };
    let months = i64::from(time.year()) * 12 + i64::from(u8::from(time.month())) - 1 + count;
    let year = i32::try_from(months.div_euclid(12)).unwrap_or(i32::MAX);
    let month = u8::try_from(months.rem_euclid(12) + 1)
        .ok()
        .and_then(|month| Month::try_from(month).ok());
    let date = month.and_then(|month| Date::from_calendar_date(year, month, time.day().min(month.length(year))).ok());
    date.map_or(from, |date| time.replace_date(date).unix_timestamp())
}

/// Says what a part of an amount is for the rest of a period, by the second.
pub(crate) fn rest(amount: i64, period: Period, moment: i64) -> i64 {
    let whole = (period.end - period.start).max(1);
    let left = (period.end - moment).clamp(0, whole);
    let share = (i128::from(amount) * i128::from(left) * 2 + i128::from(whole)).div_euclid(i128::from(whole) * 2);
    i64::try_from(share).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every(interval: Interval, count: u16) -> Recurring {
        Recurring { interval, count }
    }

    fn at(text: &str) -> i64 {
        let format = &time::format_description::well_known::Rfc3339;
        OffsetDateTime::parse(text, format).expect("a time").unix_timestamp()
    }

    #[test]
    fn months_end_where_the_anchor_says_or_on_their_last_day() {
        let anchor = at("2024-01-31T10:00:00Z");
        let ends = |moment: &str| holding(anchor, every(Interval::Month, 1), at(moment));
        assert_eq!(ends("2024-02-01T00:00:00Z").end, at("2024-02-29T10:00:00Z"));
        assert_eq!(
            ends("2024-03-01T00:00:00Z"),
            Period {
                start: at("2024-02-29T10:00:00Z"),
                end: at("2024-03-31T10:00:00Z")
            }
        );
        assert_eq!(
            holding(anchor, every(Interval::Year, 1), anchor).end,
            at("2025-01-31T10:00:00Z")
        );
        assert_eq!(
            holding(anchor, every(Interval::Week, 2), anchor).end,
            anchor + 14 * 86400
        );
        let period = Period { start: 0, end: 100 };
        assert_eq!(
            (rest(1000, period, 25), rest(-1000, period, 25), rest(1000, period, 200)),
            (750, -750, 0)
        );
    }

    proptest! {
        #[test]
        fn every_moment_is_in_its_period(anchor in 0..4_000_000_000i64, later in 0..400_000_000i64, count in 1..4u16) {
            for interval in [Interval::Day, Interval::Week, Interval::Month, Interval::Year] {
                let period = holding(anchor, every(interval, count), anchor + later);
                prop_assert!((period.start..period.end).contains(&(anchor + later)));
                prop_assert_eq!(holding(anchor, every(interval, count), period.end).start, period.end);
            }
        }
    }
}
