//! What is shown to those who judge it: the oracle, and the SDKs that decode what the oracle was shown.

use super::super::objects::Kind;

/// What the oracle makes, and where it looks at it.
const RECIPES: &str = include_str!("../../../tests/stripe/oracle/objects.py");

/// What is no object of its own, and why.
const NONE: [(Kind, &str); 2] = [
    (Kind::Deleted, "it has the name of what it was: `customer.deleted`"),
    (Kind::Secret, "a hash inside an invoice, without `object`"),
];

#[test]
fn the_oracle_makes_an_object_of_every_kind() {
    for kind in Kind::ALL {
        let object = kind.object();
        // By itself, in a list or a state of its own, or at a path without an id.
        let ways = [
            format!("\n    \"{object}\": "),
            format!("\n    \"{object}."),
            format!("\"/v1/{object}\""),
        ];
        let made = ways.iter().any(|way| RECIPES.contains(way));
        let none = NONE.iter().any(|(exempt, _)| exempt == kind);
        assert_ne!(
            made, none,
            "{kind:?}: `{object}` has no recipe in tests/stripe/oracle/objects.py, or is exempt and has one"
        );
    }
}
