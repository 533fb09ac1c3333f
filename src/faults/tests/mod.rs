//! Each sentence of the design that speaks of rules, as a test.

mod deciding;
mod in_request;
mod matching;
mod parsing;
mod steps;
mod upkeep;

use serde_json::Value;

use super::*;
use crate::ledger::Outcome;

fn catalog() -> Catalog {
    let known = |name: &str, protocol, operations: &[&str]| Known {
        name: name.to_owned(),
        protocol,
        operations: operations.iter().map(|&name| name.to_owned()).collect(),
        unasked: Vec::new(),
        fixed_scope: None,
    };
    let relay = Known {
        fixed_scope: Some("alice".to_owned()),
        ..known("mailer", Protocol::Smtp, &["send"])
    };
    let stripe = &["charges.create", "charges.retrieve", "refunds.create"];
    Catalog::new(vec![
        Known {
            unasked: vec!["schedule.run".to_owned()],
            ..known("stripe", Protocol::Http, stripe)
        },
        known("orders", Protocol::Http, &["create", "retrieve"]),
        known("webhook", Protocol::Http, &["deliver"]),
        known("smtp", Protocol::Smtp, &["send"]),
        known("hooks", Protocol::Sent, &["events.deliver"]),
        known("letters", Protocol::Ordered, &["post"]),
        relay,
    ])
}

fn parsed(rules: &Value) -> Vec<RuleSpec> {
    parse_value(rules, &catalog()).unwrap_or_else(|problems| panic!("{rules}: {problems:?}"))
}

fn problems(rules: &Value) -> Vec<Problem> {
    match parse_value(rules, &catalog()) {
        Ok(_) => panic!("{rules} is taken"),
        Err(problems) => problems,
    }
}

/// Names the fields that have a problem, sorted.
fn wrong_fields(rule: &Value) -> Vec<String> {
    let mut fields: Vec<String> = problems(rule).into_iter().map(|problem| problem.field).collect();
    fields.sort();
    fields
}

fn rules(list: &Value) -> Rules {
    let rules = Rules::new();
    add(&rules, list, Source::Api);
    rules
}

fn add(rules: &Rules, list: &Value, source: Source) {
    rules.install(parsed(list), source).unwrap();
}

/// Makes the facts of a charge that was accepted.
fn charge() -> Facts<'static> {
    Facts {
        operation: Some("charges.create"),
        scope: Some("default"),
        method: Some("POST"),
        path: Some("/v1/charges"),
        key: Some("order-17"),
        outcome: Some(Outcome::Accepted),
        content: [17; 16],
        ..Facts::new("stripe")
    }
}

/// Makes the facts of a mail at a step, as far as they are known there.
fn mail(step: Step) -> Facts<'static> {
    Facts {
        operation: (!step.is_session()).then_some("send"),
        scope: Some("default"),
        sender: (!step.is_session()).then_some("shop@example.com"),
        outcome: (step == Step::Commit).then_some(Outcome::Accepted),
        step: Some(step),
        content: [25; 16],
        ..Facts::new("smtp")
    }
}

fn with_outcome(outcome: Outcome, from_accepted: bool) -> Facts<'static> {
    Facts {
        outcome: Some(outcome),
        from_accepted,
        ..charge()
    }
}

/// Asks and names the rule that won.
fn winner(rules: &Rules, point: Point, facts: &Facts<'_>) -> Option<String> {
    rules.ask(point, facts, &[]).map(|verdict| verdict.rule.to_string())
}

/// Returns (matched, fired, skipped) of every rule, in order.
fn counts(rules: &Rules) -> Vec<(u64, u64, u64)> {
    let views = rules.list(None);
    views
        .iter()
        .map(|view| (view.matched, view.fired, view.skipped))
        .collect()
}

fn near_miss(rules: &Rules) -> Option<Value> {
    let view = serde_json::to_value(&rules.list(None)[0]).unwrap();
    Some(view["near_miss"].clone()).filter(|near| !near.is_null())
}
