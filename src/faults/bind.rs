//! Binds rules to the scope of the call that brings them.

use serde_json::Value;

use super::problem::Problem;

/// Gives each rule that names no scope this one, as `POST /_faults?scope=alice` asks. What is no rule is left to
/// [`parse_value`](super::parse_value) to refuse.
///
/// # Errors
/// Fails when a rule names another scope.
pub fn bind_scope(rules: &mut Value, scope: &str) -> Result<(), Vec<Problem>> {
    let problems: Vec<Problem> = match rules {
        Value::Array(list) => list
            .iter_mut()
            .enumerate()
            .filter_map(|(index, rule)| bind(Some(index), rule, scope))
            .collect(),
        rule => bind(None, rule, scope).into_iter().collect(),
    };
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn bind(index: Option<usize>, rule: &mut Value, scope: &str) -> Option<Problem> {
    let named = rule.as_object_mut()?.entry("scope").or_insert_with(|| scope.into());
    (named != scope).then(|| {
        let why = "is not the scope of the call";
        Problem::new(index, "scope", named, why).allowing([scope])
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_without_a_scope_gets_that_of_the_call() {
        let mut rules = json!([{"mode": "pass"}, {"mode": "pass", "scope": "alice"}, 7]);
        bind_scope(&mut rules, "alice").unwrap();
        assert_eq!(
            rules,
            json!([{"mode": "pass", "scope": "alice"}, {"mode": "pass", "scope": "alice"}, 7])
        );
    }

    #[test]
    fn a_rule_for_another_scope_is_refused() {
        let mut rules = json!([{"mode": "pass"}, {"mode": "pass", "scope": "*"}]);
        let problems = bind_scope(&mut rules, "alice").unwrap_err();
        assert_eq!(
            problems[0].to_string(),
            "[1].scope = \"*\": is not the scope of the call (allowed: alice)"
        );
    }
}
