//! SMTP steps: where rules are asked, and which pairs are refused.

use serde_json::json;

use super::*;

const ALL: [Step; 11] = [
    Step::Connect,
    Step::Greeting,
    Step::Ehlo,
    Step::Auth,
    Step::Quit,
    Step::Mail,
    Step::Rcpt,
    Step::Data,
    Step::MidData,
    Step::Dot,
    Step::Commit,
];

/// Asks at every step, and for an HTTP attempt at both points, and names where the rule fired.
fn fires_at(rule: &Value) -> Vec<String> {
    let rules = rules(rule);
    let mut fired = Vec::new();
    for step in ALL {
        let facts = Facts {
            content_bytes: u64::from(step == Step::MidData),
            ..mail(step)
        };
        if winner(&rules, step.point(), &facts).is_some() {
            fired.push(step.as_str().to_owned());
        }
    }
    for point in [Point::Before, Point::After] {
        if winner(&rules, point, &charge()).is_some() {
            fired.push(format!("http {point}"));
        }
    }
    fired
}

#[test]
fn an_explicit_step_matches_that_step_alone() {
    for step in ALL {
        let mode = if step == Step::Commit {
            "drop-after-commit"
        } else {
            "fail-before-commit"
        };
        let rule = json!({"mode": mode, "step": step});
        assert_eq!(fires_at(&rule), [step.as_str()]);
        assert_eq!(fires_at(&json!({"mode": "pass", "step": step})), [step.as_str()]);
        assert_eq!(
            fires_at(&json!({"mode": "delay", "delay": "1s", "step": step})),
            [step.as_str()]
        );
    }
}

#[test]
fn without_a_step_mail_is_met_at_the_dot_or_the_commit() {
    for mode in ["pass", "fail-before-commit", "hold-before-commit", "refuse"] {
        assert_eq!(fires_at(&json!({"mode": mode})), ["dot", "http before"]);
    }
    for mode in ["drop-after-commit", "error-after-commit", "hold-after-commit"] {
        assert_eq!(fires_at(&json!({"mode": mode})), ["commit", "http after"]);
    }
}

#[test]
fn any_other_pair_of_step_and_mode_is_refused() {
    for step in ALL {
        for (mode, point) in [
            ("fail-before-commit", Point::Before),
            ("hold-before-commit", Point::Before),
            ("refuse", Point::Before),
            ("drop-after-commit", Point::After),
            ("error-after-commit", Point::After),
            ("hold-after-commit", Point::After),
        ] {
            let rule = json!({"provider": "smtp", "mode": mode, "step": step});
            if step.point() == point {
                parsed(&rule);
            } else {
                assert_eq!(wrong_fields(&rule), ["step"], "{rule}");
            }
        }
        for at in [Point::Before, Point::After] {
            let rule = json!({"mode": "delay", "delay": "1s", "at": at, "step": step});
            if step.point() == at {
                parsed(&rule);
            } else {
                assert_eq!(wrong_fields(&rule), ["step"], "{rule}");
            }
        }
    }
    let rule = json!({"mode": "refuse", "step": "commit"});
    assert_eq!(
        problems(&rule)[0].to_string(),
        "step = \"commit\": step commit does not go with mode refuse, which acts before the commit (allowed: connect, \
         greeting, ehlo, auth, quit, mail, rcpt, data, mid-data, dot)"
    );
}

#[test]
fn a_condition_that_is_not_yet_known_is_refused() {
    let known_from = |field: &str| match field {
        "scope" => Step::Auth,
        "operation" | "sender" => Step::Mail,
        "recipient" => Step::Rcpt,
        _ => Step::Dot,
    };
    for (field, value) in [
        ("scope", json!("alice")),
        ("operation", json!("send")),
        ("sender", json!("*")),
        ("recipient", json!("*")),
        ("key", json!("<1@example.com>")),
        ("subject", json!("*")),
        ("header", json!({"x-tenant": "a"})),
    ] {
        for step in &ALL[..10] {
            let mut rule = json!({"provider": "smtp", "mode": "fail-before-commit", "step": step});
            rule[field] = value.clone();
            if *step >= known_from(field) {
                parsed(&rule);
            } else {
                assert_eq!(wrong_fields(&rule), [field], "{rule}");
            }
        }
    }
    let rule = json!({"mode": "refuse", "step": "rcpt", "subject": "x"});
    assert_eq!(
        problems(&rule)[0].to_string(),
        "subject = \"x\": is not yet known at step rcpt"
    );
}

#[test]
fn a_relays_fixed_scope_is_known_from_the_start() {
    parsed(&json!({"provider": "mailer", "scope": "alice", "mode": "fail-before-commit", "step": "connect"}));
    let both = json!({"scope": "alice", "mode": "fail-before-commit", "step": "connect"});
    assert_eq!(wrong_fields(&both), ["scope"]);
}

#[test]
fn mid_data_is_met_at_its_own_mark() {
    let rules = rules(&json!([
        {"mode": "fail-before-commit", "step": "mid-data", "bytes": 4096},
        {"mode": "fail-before-commit", "step": "mid-data"},
        {"mode": "drop-after-commit", "how": "truncate", "bytes": 7},
    ]));
    assert_eq!(rules.marks(Step::MidData), [1, 4096]);
    let at = |content_bytes| Facts {
        content_bytes,
        ..mail(Step::MidData)
    };
    assert_eq!(winner(&rules, Point::Before, &at(1)).unwrap(), "f2");
    assert_eq!(winner(&rules, Point::Before, &at(4096)).unwrap(), "f1");
    assert_eq!(winner(&rules, Point::Before, &at(2)), None);
    assert_eq!(counts(&rules)[..2], [(1, 1, 0), (1, 1, 0)]);
    let none = json!({"mode": "refuse", "step": "mid-data", "bytes": 0});
    assert_eq!(wrong_fields(&none), ["bytes"]);
}

#[test]
fn on_counts_sessions_at_a_step_of_the_session() {
    let rules = rules(&json!({"mode": "fail-before-commit", "step": "greeting", "on": 2}));
    let session = Facts {
        step: Some(Step::Greeting),
        ..Facts::new("smtp")
    };
    let fired: Vec<bool> = (0..3)
        .map(|_| winner(&rules, Point::Before, &session).is_some())
        .collect();
    assert_eq!(fired, [false, true, false]);
    assert!(ALL[..5].iter().all(|step| step.is_session()));
    assert!(!ALL[5..].iter().any(|step| step.is_session()));
}
