//! What users see of a rule and of all rules.

use serde::Serialize;
use serde_json::{Map, Value};

use super::rules::Source;

/// Shows a rule as given, with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// `f1`, `f2`, …; never used again.
    pub id: String,
    /// Where the rule came from.
    pub source: Source,
    /// The rule as given, its mode under its canonical name.
    #[serde(flatten)]
    pub rule: Map<String, Value>,
    /// How many attempts (or sessions) its conditions held for.
    pub matched: u64,
    /// How often it won.
    pub fired: u64,
    /// How often it matched and did not fire.
    pub skipped: u64,
    /// Whether it may still fire.
    pub armed: bool,
    /// Whether its time is over.
    pub expired: bool,
    /// The last attempt that came near and did not match.
    pub near_miss: Option<NearMiss>,
    /// Why the rule could not be asked about a connection that it may have been about: a relay cannot follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blind: Option<String>,
}

/// Shows by which condition an attempt missed a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearMiss {
    /// The field, `header.x-tenant` for an entry of a map.
    pub field: String,
    /// What the rule asks for.
    pub wanted: String,
    /// What the attempt had; none when it had nothing.
    pub got: Option<String>,
}

/// Sums the rules up, for the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// How many rules may still fire.
    pub armed: u64,
    /// How often any rule fired, those in requests and those removed since included.
    pub fired: u64,
}
