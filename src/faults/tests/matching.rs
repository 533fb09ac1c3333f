//! Which attempts a rule is about, and near misses.

use std::cell::Cell;

use serde_json::json;

use super::*;

/// Makes a refusal with one more field.
fn refuse(field: &str, value: &Value) -> Rules {
    let mut rule = json!({"mode": "refuse"});
    rule[field] = value.clone();
    rules(&rule)
}

#[test]
fn each_condition_matches_exactly_or_by_wildcard() {
    for (field, exact, wild, other) in [
        ("provider", "stripe", "str*", "orders"),
        ("operation", "charges.create", "*.create", "charges.retrieve"),
        ("scope", "default", "def*", "alice"),
        ("method", "POST", "P*T", "GET"),
        ("path", "/v1/charges", "/v1/*", "/v1"),
        ("key", "order-17", "order-*", "order-1"),
    ] {
        for (value, fires) in [(exact, true), (wild, true), (other, false)] {
            let rules = refuse(field, &value.into());
            let fired = winner(&rules, Point::Before, &charge()).is_some();
            assert_eq!(fired, fires, "{field} {value}");
        }
    }
}

#[test]
fn each_condition_of_mail_matches_exactly_or_by_wildcard() {
    let facts = Facts {
        subject: Some("Receipt 17"),
        ..mail(Step::Dot)
    };
    for (field, exact, wild, other) in [
        ("sender", "shop@example.com", "*", "shop@example.org"),
        ("subject", "Receipt 17", "Receipt*", "Receipt"),
    ] {
        for (value, fires) in [(exact, true), (wild, true), (other, false)] {
            let rules = refuse(field, &value.into());
            let fired = winner(&rules, Point::Before, &facts).is_some();
            assert_eq!(fired, fires, "{field} {value}");
        }
    }
}

#[test]
fn a_condition_on_what_is_absent_does_not_hold() {
    for field in ["operation", "scope", "method", "path", "key"] {
        let rules = refuse(field, &"*".into());
        assert!(winner(&rules, Point::Before, &Facts::new("stripe")).is_none());
        let near = near_miss(&rules).unwrap();
        assert_eq!(near, json!({"field": field, "wanted": "*", "got": null}));
    }
}

#[test]
fn the_null_sender_can_be_named() {
    let rules = refuse("sender", &"".into());
    let null = Facts {
        sender: Some(""),
        ..mail(Step::Dot)
    };
    assert!(winner(&rules, Point::Before, &null).is_some());
    assert!(winner(&rules, Point::Before, &mail(Step::Dot)).is_none());
}

#[test]
fn any_recipient_may_match() {
    let rules = refuse("recipient", &"*@example.com".into());
    let to = |list: &[&str]| list.iter().map(|&to| to.to_owned()).collect::<Vec<_>>();
    for (recipients, fires) in [
        (to(&["a@example.org", "b@example.com"]), true),
        (to(&["a@example.org"]), false),
        (to(&[]), false),
    ] {
        let facts = Facts {
            recipients: &recipients,
            ..mail(Step::Dot)
        };
        assert_eq!(winner(&rules, Point::Before, &facts).is_some(), fires);
    }
}

#[test]
fn header_names_have_no_case_and_any_value_may_match() {
    let rules = refuse("header", &json!({"X-Tenant": "a*", "x-other": "1"}));
    let headers = |name: &str| match name {
        "x-tenant" => vec!["beta".to_owned(), "alpha".to_owned()],
        "x-other" => vec!["1".to_owned()],
        _ => Vec::new(),
    };
    let facts = Facts {
        headers: &headers,
        ..charge()
    };
    assert!(winner(&rules, Point::Before, &facts).is_some());
    assert!(winner(&rules, Point::Before, &charge()).is_none());
}

#[test]
fn json_is_looked_at_only_when_all_else_holds() {
    let rules = refuse("json", &json!({"/order/id": 17}));
    add(
        &rules,
        &json!({"mode": "refuse", "key": "invoice-*", "json": {"/order/id": "17"}}),
        Source::Api,
    );
    let looks = Cell::new(0);
    let json = |pointer: &str| {
        looks.set(looks.get() + 1);
        (pointer == "/order/id").then(|| "17".to_owned())
    };
    let facts = Facts {
        json: &json,
        ..charge()
    };
    assert_eq!(winner(&rules, Point::Before, &facts).unwrap(), "f1");
    assert_eq!(looks.get(), 1, "the key of the second rule is another");
    assert!(winner(&rules, Point::Before, &charge()).is_none());

    add(
        &rules,
        &json!({"mode": "drop-after-commit", "json": {"/order/id": "17"}}),
        Source::Api,
    );
    let refused = Facts {
        outcome: Some(Outcome::Refused),
        ..facts
    };
    assert!(winner(&rules, Point::After, &refused).is_none());
    assert_eq!(looks.get(), 1, "the outcome of the third is another");
    assert!(winner(&rules, Point::After, &facts).is_some());
}

#[test]
fn a_near_miss_names_the_one_condition_that_failed() {
    let rules = rules(&json!({"provider": "stripe", "key": "order-*", "mode": "refuse"}));
    let invoice = Facts {
        key: Some("invoice-1"),
        ..charge()
    };
    assert!(near_miss(&rules).is_none());
    _ = rules.ask(Point::Before, &invoice, &[]);
    let by_key = json!({"field": "key", "wanted": "order-*", "got": "invoice-1"});
    assert_eq!(near_miss(&rules).unwrap(), by_key);

    let far = Facts {
        provider: "orders",
        ..invoice
    };
    _ = rules.ask(Point::Before, &far, &[]);
    assert_eq!(near_miss(&rules).unwrap(), by_key, "two failed");

    let other = Facts {
        provider: "orders",
        ..charge()
    };
    _ = rules.ask(Point::Before, &other, &[]);
    assert_eq!(
        near_miss(&rules).unwrap(),
        json!({"field": "provider", "wanted": "stripe", "got": "orders"}),
        "the last that failed on exactly one"
    );
    _ = rules.ask(Point::Before, &charge(), &[]);
    assert!(near_miss(&rules).is_some(), "a match keeps it");
}

#[test]
fn when_several_failed_the_attempt_that_came_furthest_is_kept() {
    let rules = rules(&json!({
        "provider": "stripe", "operation": "charges.create", "method": "POST", "key": "order-*", "mode": "refuse",
    }));
    let field = |facts: &Facts<'_>| {
        _ = rules.ask(Point::Before, facts, &[]);
        near_miss(&rules).unwrap()["field"].clone()
    };
    let nothing = Facts::new("orders");
    assert_eq!(field(&nothing), "provider");
    let more = Facts {
        operation: Some("charges.create"),
        ..Facts::new("stripe")
    };
    assert_eq!(field(&more), "method");
    assert_eq!(field(&nothing), "method");
}

#[test]
fn a_near_miss_tells_what_the_outcome_was() {
    let rules = rules(&json!({"mode": "drop-after-commit", "on": 1}));
    _ = rules.ask(Point::After, &with_outcome(Outcome::Refused, false), &[]);
    assert_eq!(
        near_miss(&rules).unwrap(),
        json!({"field": "outcome", "wanted": "accepted, or replayed from an accepted record", "got": "refused"})
    );
}

#[test]
fn an_attempt_at_another_point_is_no_near_miss() {
    let rules = rules(&json!({"mode": "drop-after-commit", "key": "x"}));
    _ = rules.ask(Point::Before, &charge(), &[]);
    assert!(near_miss(&rules).is_none());
}

#[test]
fn a_near_miss_keeps_no_secret() {
    let secret = "Bearer sk_test_51secret";
    let headers = |_: &str| vec![secret.to_owned()];
    let json = |pointer: &str| match pointer {
        "/card/number" => Some("4242 4242 4242 4242".to_owned()),
        _ => Some("hunter2".to_owned()),
    };
    let facts = Facts {
        headers: &headers,
        json: &json,
        key: Some("4242424242424242"),
        ..charge()
    };
    for rule in [
        json!({"mode": "refuse", "header": {"Authorization": "Bearer other"}}),
        json!({"mode": "refuse", "header": {"Cookie": "x"}}),
        json!({"mode": "refuse", "json": {"/card/number": "1"}}),
        json!({"mode": "refuse", "json": {"/user/password": "1"}}),
        json!({"mode": "refuse", "key": "order-1"}),
    ] {
        let rules = rules(&rule);
        _ = rules.ask(Point::Before, &facts, &[]);
        let got = near_miss(&rules).unwrap()["got"].to_string();
        assert!(got.contains("secret") && !got.contains("4242"), "{rule}: {got}");
    }
    let rules = refuse("key", &"order-1".into());
    let harmless = Facts {
        key: Some("order-1234567890123"),
        ..charge()
    };
    _ = rules.ask(Point::Before, &harmless, &[]);
    assert_eq!(near_miss(&rules).unwrap()["got"], "order-1234567890123");
}

#[test]
fn a_near_miss_is_short() {
    let long = "é".repeat(100_000);
    let rules = refuse("key", &"x".into());
    let facts = Facts {
        key: Some(&long),
        ..charge()
    };
    _ = rules.ask(Point::Before, &facts, &[]);
    let near = near_miss(&rules).unwrap();
    assert_eq!(near["got"].as_str().unwrap().chars().count(), 201);
}
