//! Rules in a request, in a mail, in a recipient.

use std::time::Duration;

use serde_json::json;

use super::*;

fn asked(rules: &Rules, point: Point, facts: &Facts<'_>, rule: &InRequest) -> bool {
    rules.ask(point, facts, std::slice::from_ref(rule)).is_some()
}

fn action(rule: &InRequest, facts: &Facts<'_>) -> Action {
    let rules = Rules::new();
    let rule = std::slice::from_ref(rule);
    let verdict = rules
        .ask(Point::Before, facts, rule)
        .or_else(|| rules.ask(Point::After, facts, rule));
    verdict.unwrap().action
}

fn answer(status: u16, code: Option<&str>) -> Answer {
    Answer {
        status: Some(status),
        code: code.map(str::to_owned),
        ..Answer::default()
    }
}

#[test]
fn a_header_says_all_it_may() {
    for (text, expected) in [
        ("drop-after-commit; how=reset; on=1", Action::Drop(How::Reset)),
        ("forward-then-drop-response", Action::Drop(How::Close)),
        (
            " drop-after-commit ;how=truncate; bytes=20;",
            Action::Drop(How::Truncate { bytes: 20 }),
        ),
        ("delay; delay=2s; at=before", Action::Delay(Duration::from_secs(2))),
        (
            "refuse; status=429; code=rate_limit",
            Action::Refuse(answer(429, Some("rate_limit"))),
        ),
        (
            "fail-before-commit; status=504",
            Action::Fail(Loss::Gateway(answer(504, None))),
        ),
        ("hold-before-commit; barrier=20", Action::Hold { barrier: Some(20) }),
        ("pass", Action::Pass),
    ] {
        assert_eq!(action(&parse_header(text).unwrap(), &charge()), expected);
    }
}

#[test]
fn a_wrong_header_is_refused_with_its_reason() {
    for (text, shown) in [
        ("", "mode = \"\": unknown mode (allowed: pass, "),
        (
            "drop-after-comit",
            "mode = \"drop-after-comit\": unknown mode; did you mean \"drop-after-commit\"? (allowed: pass, ",
        ),
        ("refuse; on", "header = \"on\": is not of the form field=value"),
        ("refuse; on=0", "on = 0: counts matches by whole numbers from 1"),
        ("refuse; on=x", "on = \"x\": is none of the forms of on"),
        ("refuse; on=1; on=2", "on = \"on=2\": is given twice"),
        ("refuse; key=x", "key = \"x\": is no field of a rule in a header"),
        ("refuse; status=abc", "status = \"abc\": must be a whole number"),
        ("refuse; status=99", "status = 99: must be 200 to 599"),
        ("refuse; how=reset", "how = \"reset\": does not go with mode refuse"),
        ("delay; delay=2", "delay = \"2\": is not a duration"),
    ] {
        let problem = parse_header(text).unwrap_err().to_string();
        assert!(problem.starts_with(shown), "{problem}");
    }
    let problem = parse_mail_header("refuse; status=302").unwrap_err();
    assert_eq!(problem.to_string(), "status = 302: must be 400 to 599");
}

#[test]
fn a_recipient_says_all_it_may() {
    for (address, expected) in [
        ("drop-after-commit+reset+on1@fault.test", Action::Drop(How::Reset)),
        (
            "Drop-After-Commit+Truncate+Bytes20@FAULT.test",
            Action::Drop(How::Truncate { bytes: 20 }),
        ),
        ("delay+delay2s+before@fault.test", Action::Delay(Duration::from_secs(2))),
        ("refuse+status451@fault.test", Action::Refuse(answer(451, None))),
    ] {
        let rule = parse_recipient(address).unwrap().unwrap();
        let facts = Facts {
            outcome: Some(Outcome::Accepted),
            step: Some(Step::Commit),
            ..mail(Step::Dot)
        };
        let rules = Rules::new();
        let list = std::slice::from_ref(&rule);
        let verdict = rules
            .ask(Point::Before, &mail(Step::Dot), list)
            .or_else(|| rules.ask(Point::After, &facts, list))
            .unwrap();
        assert_eq!((&*verdict.rule, verdict.action), ("recipient", expected));
    }
}

#[test]
fn other_recipients_are_none_of_ours() {
    for address in [
        "drop-after-commit@example.com",
        "drop-after-commit@fault.test.example.com",
        "fault.test",
        "",
    ] {
        assert!(parse_recipient(address).is_none(), "{address}");
    }
}

#[test]
fn a_wrong_recipient_is_refused() {
    for address in [
        "bob@fault.test",
        "@fault.test",
        "refuse+no@fault.test",
        "refuse+on0@fault.test",
        "refuse+on@fault.test",
        "refuse+on1+on2@fault.test",
        "refuse+reset@fault.test",
        "refuse+status250@fault.test",
        "drop-after-commit+truncate@fault.test",
    ] {
        assert!(parse_recipient(address).unwrap().is_err(), "{address}");
    }
}

#[test]
fn on_counts_by_scope_provider_operation_and_content() {
    let rules = Rules::new();
    let rule = parse_header("drop-after-commit; on=1").unwrap();
    let all_new = [
        charge(),
        Facts {
            scope: Some("alice"),
            ..charge()
        },
        Facts {
            provider: "orders",
            ..charge()
        },
        Facts {
            operation: Some("refunds.create"),
            ..charge()
        },
        Facts {
            content: [1; 16],
            ..charge()
        },
    ];
    for facts in &all_new {
        assert!(asked(&rules, Point::After, facts, &rule), "{facts:?}");
    }
    for facts in &all_new {
        assert!(!asked(&rules, Point::After, facts, &rule), "{facts:?}");
    }
}

#[test]
fn a_retry_that_repeats_the_header_gets_the_answer() {
    let rules = Rules::new();
    let rule = parse_header("drop-after-commit; on=1").unwrap();
    let refused = with_outcome(Outcome::Refused, false);
    assert!(!asked(&rules, Point::After, &refused, &rule), "a decline eats nothing");
    assert!(!asked(&rules, Point::Before, &charge(), &rule));
    assert!(asked(&rules, Point::After, &charge(), &rule));
    let replay = with_outcome(Outcome::Replayed, true);
    assert!(!asked(&rules, Point::After, &replay, &rule));
}

#[test]
fn it_counts_apart_from_installed_rules() {
    let rules = rules(&json!({"mode": "refuse", "on": 2}));
    let rule = parse_header("refuse; on=1").unwrap();
    assert!(asked(&rules, Point::Before, &charge(), &rule));
    assert_eq!(counts(&rules), [(1, 0, 1)]);
    let second = rules.ask(Point::Before, &charge(), &[rule]).unwrap();
    assert_eq!(&*second.rule, "f1");
    assert_eq!(counts(&rules), [(2, 1, 1)]);
}

#[test]
fn one_rule_said_twice_counts_once() {
    let rules = Rules::new();
    let rule = || parse_recipient("refuse+on2@fault.test").unwrap().unwrap();
    let twice = [rule(), rule()];
    let facts = mail(Step::Dot);
    assert!(rules.ask(Point::Before, &facts, &twice).is_none());
    assert!(rules.ask(Point::Before, &facts, &twice).is_some());
}

#[test]
fn every_rule_in_a_mail_advances_whether_or_not_it_wins() {
    let rules = Rules::new();
    let header = parse_mail_header("refuse; on=1").unwrap();
    let recipient = parse_recipient("fail-before-commit+on2@fault.test").unwrap().unwrap();
    let both = [recipient, header];
    let won = || {
        let verdict = rules.ask(Point::Before, &mail(Step::Dot), &both);
        verdict.map(|verdict| verdict.rule.to_string())
    };
    assert_eq!(won().unwrap(), "mail-header");
    assert_eq!(won().unwrap(), "recipient");
    assert_eq!(won(), None);
}
