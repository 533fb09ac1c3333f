//! The `on` field: at which of its matches a rule fires.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// How many numbers a list may have.
const LONGEST_LIST: usize = 1_000;

/// What a right `on` looks like, for error texts.
pub(super) const EXAMPLES: [&str; 5] = [
    "1",
    "[1, 3]",
    "\"2..4\"",
    "\"every 3\"",
    "{\"probability\": 0.2, \"seed\": 7}",
];

/// Says at which of its matches, counted from 1, a rule fires.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum On {
    Always,
    /// Never empty, in rising order.
    List(Vec<u64>),
    /// Both ends are within.
    Range(u64, u64),
    Every(u64),
    Probability(f64, u64),
}

impl On {
    /// Tells whether the match with this ordinal fires.
    pub(super) fn allows(&self, ordinal: u64) -> bool {
        match self {
            Self::Always => true,
            Self::List(list) => list.binary_search(&ordinal).is_ok(),
            Self::Range(first, last) => (*first..=*last).contains(&ordinal),
            Self::Every(step) => ordinal.is_multiple_of(*step),
            Self::Probability(probability, seed) => draw(*seed, ordinal) < *probability,
        }
    }

    /// Tells whether no match after this many can fire.
    pub(super) fn is_spent(&self, matched: u64) -> bool {
        match self {
            Self::List(list) => list.last().is_none_or(|last| matched >= *last),
            Self::Range(_, last) => matched >= *last,
            Self::Probability(probability, _) => *probability <= 0.0,
            Self::Always | Self::Every(_) => false,
        }
    }

    /// Reads an `on` field.
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(_) => Ok(Self::List(vec![ordinal(value)?])),
            Value::Array(values) => parse_list(values),
            Value::String(text) => parse_text(text),
            Value::Object(map) => parse_probability(map),
            _ => Err("is none of the forms of on".to_owned()),
        }
    }
}

/// Draws a number from 0 to below 1. A hash, so that it depends on nothing but seed and ordinal.
fn draw(seed: u64, ordinal: u64) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_be_bytes());
    hash.update(ordinal.to_be_bytes());
    let digest = hash.finalize();
    let top = digest
        .iter()
        .take(4)
        .fold(0_u32, |top, byte| (top << 8) | u32::from(*byte));
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

fn ordinal(value: &Value) -> Result<u64, String> {
    match value.as_u64() {
        Some(number) if number >= 1 => Ok(number),
        _ => Err("counts matches by whole numbers from 1".to_owned()),
    }
}

fn parse_list(values: &[Value]) -> Result<On, String> {
    if values.is_empty() {
        return Err("is an empty list: the rule could never fire".to_owned());
    }
    if values.len() > LONGEST_LIST {
        return Err(format!("lists more than {LONGEST_LIST} numbers"));
    }
    let mut list = values.iter().map(ordinal).collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    Ok(On::List(list))
}

fn parse_text(text: &str) -> Result<On, String> {
    let number = |text: &str| -> Option<u64> {
        let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        all_digits
            .then(|| text.parse().ok())
            .flatten()
            .filter(|&number| number >= 1)
    };
    if let Some(step) = text.strip_prefix("every ") {
        return number(step)
            .map(On::Every)
            .ok_or_else(|| "needs a whole number from 1 after \"every \"".to_owned());
    }
    if let Some((first, last)) = text.split_once("..") {
        return match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(On::Range(first, last)),
            (Some(_), Some(_)) => Err("is a range that ends before it begins".to_owned()),
            _ => Err("is not a range of whole numbers from 1".to_owned()),
        };
    }
    Err("is none of the forms of on".to_owned())
}

fn parse_probability(map: &Map<String, Value>) -> Result<On, String> {
    if let Some(other) = map.keys().find(|key| !["probability", "seed"].contains(&key.as_str())) {
        return Err(format!("has the unknown field {other:?}"));
    }
    let probability = map
        .get("probability")
        .and_then(Value::as_f64)
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or("needs a probability from 0 to 1")?;
    let seed = match map.get("seed") {
        None => 0,
        Some(seed) => seed.as_u64().ok_or("needs a seed that is a whole number from 0")?,
    };
    Ok(On::Probability(probability, seed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fired(on: &Value) -> Vec<u64> {
        let on = On::parse(on).unwrap();
        (1..=10).filter(|&ordinal| on.allows(ordinal)).collect()
    }

    #[test]
    fn every_form_fires_where_it_says() {
        assert_eq!(fired(&json!(1)), [1]);
        assert_eq!(fired(&json!([3, 1, 3])), [1, 3]);
        assert_eq!(fired(&json!("2..4")), [2, 3, 4]);
        assert_eq!(fired(&json!("every 3")), [3, 6, 9]);
        assert_eq!(fired(&json!({"probability": 1})), (1..=10).collect::<Vec<_>>());
        assert_eq!(fired(&json!({"probability": 0, "seed": 1})), [0_u64; 0]);
    }

    #[test]
    fn a_draw_never_changes_between_versions() {
        // Worked out apart from this code: the first 4 bytes of SHA-256 over seed and ordinal, each 8 bytes, big-endian.
        assert_eq!(fired(&json!({"probability": 0.5, "seed": 7})), [1, 3, 6, 7, 8, 9]);
    }

    #[test]
    fn a_probability_is_about_kept() {
        let on = On::Probability(0.2, 7);
        let share = (1..=10_000).filter(|&ordinal| on.allows(ordinal)).count();
        assert!((1_800..=2_200).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn a_draw_depends_on_seed_and_ordinal_alone(seed: u64, ordinal in 1_u64.., probability in 0.0..=1.0) {
            let on = On::Probability(probability, seed);
            let again = On::parse(&json!({"probability": probability, "seed": seed})).unwrap();
            prop_assert_eq!(on.allows(ordinal), again.allows(ordinal));
            prop_assert!(!on.allows(ordinal) || On::Probability(1.0, seed).allows(ordinal));
        }
    }

    #[test]
    fn wrong_forms_are_refused() {
        for on in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!([]),
            json!([0]),
            json!(["1"]),
            json!("1"),
            json!("4..2"),
            json!("0..2"),
            json!("2.."),
            json!("..2"),
            json!("+1..2"),
            json!("every 0"),
            json!("every"),
            json!("every x"),
            json!(true),
            json!(null),
            json!({}),
            json!({"seed": 1}),
            json!({"probability": 1.1}),
            json!({"probability": -0.1}),
            json!({"probability": 0.5, "seed": -1}),
            json!({"probability": 0.5, "sed": 1}),
        ] {
            assert!(On::parse(&on).is_err(), "{on}");
        }
        assert!(On::parse(&json!(vec![1; 1_001])).is_err());
    }

    #[test]
    fn what_cannot_fire_any_more_is_spent() {
        let spent = |on: Value| (0..10).find(|&matched| On::parse(&on).unwrap().is_spent(matched));
        assert_eq!(spent(json!(1)), Some(1));
        assert_eq!(spent(json!([1, 3])), Some(3));
        assert_eq!(spent(json!("2..4")), Some(4));
        assert_eq!(spent(json!("every 3")), None);
        assert_eq!(spent(json!({"probability": 0.1})), None);
        assert!(!On::Always.is_spent(u64::MAX));
    }
}
