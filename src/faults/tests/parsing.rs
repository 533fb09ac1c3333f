//! What is refused at install, and with which words.

use serde_json::json;

use super::*;

fn shown(rule: &Value) -> Vec<String> {
    problems(rule).iter().map(ToString::to_string).collect()
}

#[test]
fn all_but_the_mode_is_optional() {
    for mode in [
        "pass",
        "fail-before-commit",
        "drop-after-commit",
        "error-after-commit",
        "hold-before-commit",
        "hold-after-commit",
        "refuse",
    ] {
        parsed(&json!({"mode": mode}));
    }
    assert_eq!(wrong_fields(&json!({})), ["mode"]);
    assert_eq!(wrong_fields(&json!({"mode": "delay"})), ["delay"]);
}

#[test]
fn every_field_is_taken_where_it_belongs() {
    parsed(&json!([
        {"provider": "stripe", "operation": "charges.create", "scope": "alice", "method": "POST", "path": "/v1/*",
         "key": "order-*", "header": {"x-tenant": "a*"}, "json": {"/order/id": "17"}, "outcome": "refused",
         "mode": "error-after-commit", "status": 503, "code": "rate_limit", "headers": {"retry-after": "1"},
         "body": "…", "on": 1, "expires_in": "60s"},
        {"provider": "smtp", "operation": "send", "sender": "*", "recipient": "*@example.com", "subject": "Receipt*",
         "header": {"x-tenant": "a*"}, "key": "<*>", "mode": "delay", "delay": "2s", "at": "before", "step": "dot"},
        {"mode": "drop-after-commit", "how": "truncate", "bytes": 20, "on": "2..4"},
    ]));
}

#[test]
fn names_common_for_relays_are_accepted() {
    for (alias, mode) in [
        ("forward-and-respond", "pass"),
        ("fail-before-forward", "fail-before-commit"),
        ("forward-then-drop-response", "drop-after-commit"),
    ] {
        let rules = rules(&json!({"mode": alias}));
        assert_eq!(rules.list(None)[0].rule["mode"], mode);
    }
}

#[test]
fn unknown_names_are_refused_with_the_allowed_and_the_nearest() {
    assert_eq!(
        shown(&json!({"mode": "drop-after-comit"})),
        [
            "mode = \"drop-after-comit\": unknown mode; did you mean \"drop-after-commit\"? (allowed: pass, \
              fail-before-commit, drop-after-commit, error-after-commit, hold-before-commit, hold-after-commit, delay, \
              refuse, duplicate, reorder, drop, bad-signature, stale-timestamp)"
        ]
    );
    let field = &problems(&json!({"mode": "pass", "oparation": "x"}))[0];
    assert_eq!(field.field, "oparation");
    assert_eq!(field.why, "unknown field; did you mean \"operation\"?");
    assert_eq!(field.allowed.len(), 28);
    assert_eq!(
        shown(&json!({"mode": "pass", "provider": "strype"})),
        [
            "provider = \"strype\": unknown provider; did you mean \"stripe\"? (allowed: stripe, orders, webhook, smtp, hooks, letters, \
              mailer)"
        ]
    );
    assert_eq!(
        shown(&json!({"mode": "pass", "provider": "stripe", "operation": "charge.create"})),
        [
            "operation = \"charge.create\": provider \"stripe\" has no such operation; did you mean \
              \"charges.create\"? (allowed: charges.create, charges.retrieve, refunds.create)"
        ]
    );
    let of_another = json!({"mode": "pass", "provider": "orders", "operation": "charges.create"});
    assert_eq!(wrong_fields(&of_another), ["operation"]);
    assert_eq!(
        wrong_fields(&json!({"mode": "pass", "operation": "nope"})),
        ["operation"]
    );
    assert_eq!(wrong_fields(&json!({"mode": "pass", "provider": "x*"})), ["provider"]);
    assert_eq!(
        wrong_fields(&json!({"mode": "pass", "outcome": "ok", "step": "end", "at": "now", "how": "gone"})),
        ["at", "at", "how", "how", "outcome", "step"]
    );
}

#[test]
fn sql_is_refused_with_its_reason() {
    assert_eq!(
        shown(&json!({"mode": "pass", "sql": "INSERT*"})),
        ["sql = \"INSERT*\": sql matches only behind a PostgreSQL relay"]
    );
}

#[test]
fn all_problems_are_told_at_once_and_nothing_is_kept() {
    let list = json!([
        {"mode": "pass"},
        {"mode": "refuse", "provider": "no", "on": 0, "how": "close", "status": "x", "zzz": 1},
        7,
    ]);
    let problems = problems(&list);
    let places: Vec<(Option<usize>, &str)> = problems
        .iter()
        .map(|problem| (problem.rule, problem.field.as_str()))
        .collect();
    assert_eq!(
        places,
        [
            (Some(1), "zzz"),
            (Some(1), "status"),
            (Some(1), "on"),
            (Some(1), "provider"),
            (Some(1), "how"),
            (Some(2), ""),
        ]
    );
    assert_eq!(
        problems[5].to_string(),
        "[2] = 7: a rule is an object, such as {\"mode\": \"drop-after-commit\"}"
    );
    assert_eq!(
        serde_json::to_value(&problems[4]).unwrap(),
        json!({
            "rule": 1, "field": "how", "value": "close", "why": "does not go with mode refuse",
            "allowed": ["how with mode fail-before-commit", "how with mode drop-after-commit"],
        })
    );
}

#[test]
fn text_that_is_no_json_is_refused() {
    let problems = parse_json(b"{\"mode\": ", &catalog()).unwrap_err();
    assert!(
        problems[0].to_string().starts_with("is not JSON: EOF"),
        "{}",
        problems[0]
    );
    assert!(parse_json(b"\xff", &catalog()).is_err());
    assert_eq!(parse_json(b"[]", &catalog()).unwrap().len(), 0);
    assert!(parse_value(&json!(vec![json!({"mode": "pass"}); 1001]), &catalog()).is_err());
}

#[test]
fn wrong_types_are_refused() {
    for field in [
        "provider",
        "operation",
        "scope",
        "method",
        "path",
        "key",
        "mode",
        "outcome",
        "how",
        "code",
        "delay",
        "at",
        "step",
        "expires_in",
        "sender",
        "recipient",
        "subject",
        "header",
        "json",
        "headers",
        "body",
        "bytes",
        "status",
        "on",
        "barrier",
    ] {
        for wrong in [json!(true), json!(null), json!(1.5)] {
            let mut rule = json!({"mode": "pass"});
            rule[field] = wrong;
            assert!(wrong_fields(&rule).contains(&field.to_owned()), "{rule}");
        }
    }
    assert_eq!(
        wrong_fields(&json!({"mode": "pass", "header": {"x": []}, "json": {"/a": {}}})),
        ["header.x", "json./a"]
    );
}

#[test]
fn fields_that_do_not_go_with_the_mode_are_refused() {
    let values = [
        ("how", json!("close")),
        ("status", json!(503)),
        ("code", json!("x")),
        ("headers", json!({"x": "1"})),
        ("body", json!("x")),
        ("delay", json!("1s")),
        ("at", json!("after")),
        ("bytes", json!(1)),
        ("barrier", json!(20)),
    ];
    for (mode, allowed) in [
        ("pass", &[][..]),
        ("fail-before-commit", &["how", "status"]),
        ("drop-after-commit", &["how"]),
        ("error-after-commit", &["status", "code", "headers", "body"]),
        ("hold-before-commit", &["barrier"]),
        ("hold-after-commit", &["barrier"]),
        ("refuse", &["status", "code", "headers", "body"]),
        ("delay", &["delay", "at"]),
    ] {
        for (field, value) in &values {
            let mut rule = json!({"mode": mode});
            if mode == "delay" {
                rule["delay"] = "1s".into();
            }
            rule[*field] = value.clone();
            if allowed.contains(field) {
                parsed(&rule);
            } else {
                assert_eq!(wrong_fields(&rule), [*field], "{rule}");
            }
        }
    }
}

#[test]
fn a_barrier_gathers_two_to_a_thousand() {
    for (barrier, right) in [
        (json!(2), true),
        (json!(1000), true),
        (json!(0), false),
        (json!(1), false),
        (json!(1001), false),
        (json!(65_538), false),
        (json!("20"), false),
    ] {
        let rule = json!({"mode": "hold-before-commit", "barrier": barrier});
        if right {
            parsed(&rule);
        } else {
            assert_eq!(wrong_fields(&rule), ["barrier"], "{rule}");
        }
    }
}

#[test]
fn how_and_its_bytes_belong_together() {
    for (rule, fields) in [
        (json!({"mode": "fail-before-commit", "how": "truncate"}), &["how"][..]),
        (
            json!({"mode": "fail-before-commit", "how": "close", "status": 503}),
            &["status"],
        ),
        (json!({"mode": "fail-before-commit", "body": "x"}), &["body"]),
        (json!({"mode": "drop-after-commit", "how": "truncate"}), &["bytes"]),
        (
            json!({"mode": "drop-after-commit", "how": "reset", "bytes": 1}),
            &["bytes"],
        ),
        (
            json!({"mode": "drop-after-commit", "how": "truncate", "bytes": -1}),
            &["bytes"],
        ),
        (
            json!({"mode": "fail-before-commit", "step": "data", "bytes": 1}),
            &["bytes"],
        ),
    ] {
        assert_eq!(wrong_fields(&rule), fields, "{rule}");
    }
}

#[test]
fn a_status_is_one_that_can_be_sent() {
    for (provider, status, right) in [
        ("stripe", 199, false),
        ("stripe", 200, true),
        ("stripe", 599, true),
        ("stripe", 600, false),
        ("stripe", 65_938, false),
        ("smtp", 399, false),
        ("smtp", 400, true),
        ("smtp", 599, true),
        ("smtp", 600, false),
        ("*", 302, false),
        ("*", 404, true),
    ] {
        let rule = json!({"mode": "refuse", "provider": provider, "status": status});
        let taken = parse_value(&rule, &catalog()).is_ok();
        assert_eq!(taken, right, "{rule}");
    }
    parsed(&json!({"mode": "refuse", "method": "POST", "status": 302}));
    parsed(&json!({"mode": "refuse", "operation": "charges.*", "status": 302}));
    assert_eq!(
        shown(&json!({"mode": "refuse", "status": 302})),
        ["status = 302: is no SMTP error reply (400 to 599): name a provider that speaks HTTP"]
    );
}

#[test]
fn conditions_of_the_other_protocol_are_refused() {
    for (rule, fields) in [
        (
            json!({"mode": "pass", "provider": "stripe", "subject": "x"}),
            &["subject"][..],
        ),
        (json!({"mode": "pass", "provider": "stripe", "step": "dot"}), &["step"]),
        (json!({"mode": "pass", "operation": "send", "path": "/"}), &["path"]),
        (json!({"mode": "pass", "sender": "x", "json": {"/a": "1"}}), &["json"]),
        (
            json!({"mode": "refuse", "provider": "smtp", "headers": {"x": "1"}}),
            &["headers"],
        ),
        (
            json!({"mode": "refuse", "sender": "x", "headers": {"x": "1"}}),
            &["headers"],
        ),
    ] {
        assert_eq!(wrong_fields(&rule), fields, "{rule}");
    }
}

#[test]
fn an_outcome_goes_with_after_rules_alone() {
    for mode in ["fail-before-commit", "hold-before-commit", "refuse"] {
        let rule = json!({"mode": mode, "outcome": "accepted"});
        assert_eq!(wrong_fields(&rule), ["outcome"]);
    }
    let late = json!({"mode": "delay", "delay": "1s", "at": "before", "outcome": "refused"});
    assert_eq!(wrong_fields(&late), ["outcome"]);
    for outcome in ["failed", "incomplete"] {
        let rule = json!({"mode": "drop-after-commit", "outcome": outcome});
        assert_eq!(wrong_fields(&rule), ["outcome"]);
    }
    parsed(&json!({"mode": "pass", "outcome": "refused"}));
    parsed(&json!({"mode": "pass", "outcome": "refused", "step": "commit"}));
    let at_dot = json!({"mode": "pass", "outcome": "refused", "step": "dot"});
    assert_eq!(wrong_fields(&at_dot), ["step"]);
}

#[test]
fn malformed_values_are_refused() {
    for (field, value) in [
        ("key", json!("")),
        ("key", json!("k".repeat(4097))),
        ("scope", json!("a b")),
        ("scope", json!("a".repeat(65))),
        ("expires_in", json!("60")),
        ("on", json!("4..2")),
    ] {
        let mut rule = json!({"mode": "refuse"});
        rule[field] = value;
        assert_eq!(wrong_fields(&rule), [field]);
    }
    for (field, name, value) in [
        ("header", "x y", "1"),
        ("headers", "x y", "1"),
        ("headers", "x", "a\r\nb"),
        ("headers", "Content-Length", "3"),
        ("json", "order", "1"),
        ("json", "/a~2", "1"),
    ] {
        let mut rule = json!({"mode": "refuse"});
        rule[field] = json!({name: value});
        assert_eq!(wrong_fields(&rule), [format!("{field}.{name}")]);
    }
    assert_eq!(wrong_fields(&json!({"mode": "refuse", "code": "a\nb"})), ["code"]);
}

#[test]
fn a_long_value_is_cut_in_the_problem() {
    let problem = &problems(&json!({"mode": "é".repeat(10_000)}))[0];
    assert_eq!(problem.value.as_str().unwrap().chars().count(), 201);
}
