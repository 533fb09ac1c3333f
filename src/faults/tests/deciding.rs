//! Which rule wins, and what is counted.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn every_match_counts_but_only_the_winner_fires() {
    let rules = rules(&json!([
        {"mode": "drop-after-commit", "on": 2},
        {"mode": "error-after-commit", "on": [1, 2]},
        {"mode": "hold-after-commit"},
        {"mode": "delay", "delay": "1s", "key": "other"},
    ]));
    assert_eq!(winner(&rules, Point::After, &charge()).unwrap(), "f2");
    assert_eq!(counts(&rules), [(1, 0, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0)]);
    assert_eq!(winner(&rules, Point::After, &charge()).unwrap(), "f1");
    assert_eq!(counts(&rules), [(2, 1, 1), (2, 1, 1), (2, 0, 2), (0, 0, 0)]);
    assert_eq!(winner(&rules, Point::After, &charge()).unwrap(), "f3");
}

#[test]
fn the_first_installed_wins() {
    let rules = rules(&json!({"mode": "refuse"}));
    add(&rules, &json!({"mode": "hold-before-commit"}), Source::Api);
    assert_eq!(winner(&rules, Point::Before, &charge()).unwrap(), "f1");
}

#[test]
fn sources_are_asked_in_order() {
    let rules = Rules::new();
    let refuse = json!({"mode": "refuse", "on": 1});
    for source in [Source::Env, Source::Flag, Source::File, Source::Api] {
        add(&rules, &refuse, source);
    }
    let header = [
        parse_recipient("refuse@fault.test").unwrap().unwrap(),
        parse_mail_header("refuse").unwrap(),
        parse_header("refuse; on=1").unwrap(),
    ];
    let http = || {
        rules
            .ask(Point::Before, &charge(), &header[2..])
            .map(|verdict| verdict.rule.to_string())
    };
    assert_eq!(http().unwrap(), "header");
    assert_eq!(counts(&rules), [(1, 0, 1); 4]);
    rules.reset(None);
    add(&rules, &refuse, Source::Api);
    let won: Vec<String> = (0..5).filter_map(|_| http()).collect();
    assert_eq!(won, ["header"]);
    let order: Vec<Source> = rules.list(None).iter().map(|view| view.source).collect();
    assert_eq!(order, [Source::Api, Source::File, Source::Flag, Source::Env]);
    let all = rules.ask(Point::Before, &mail(Step::Dot), &header);
    assert_eq!(&*all.unwrap().rule, "header");
    let mailed = rules.ask(Point::Before, &mail(Step::Dot), &header[..2]);
    assert_eq!(&*mailed.unwrap().rule, "mail-header");
    let mailed = rules.ask(Point::Before, &mail(Step::Dot), &header[..1]);
    assert_eq!(&*mailed.unwrap().rule, "recipient");
}

#[test]
fn each_source_wins_before_the_next() {
    let rules = Rules::new();
    let sources = [Source::Env, Source::Flag, Source::File, Source::Api];
    for (index, source) in sources.into_iter().enumerate() {
        add(&rules, &json!({"mode": "refuse"}), source);
        let newest = format!("f{}", index + 1);
        assert_eq!(winner(&rules, Point::Before, &charge()), Some(newest));
    }
}

#[test]
fn before_modes_are_asked_before_and_after_modes_after() {
    for (mode, point) in [
        (json!({"mode": "pass"}), Point::Before),
        (json!({"mode": "fail-before-commit"}), Point::Before),
        (json!({"mode": "hold-before-commit"}), Point::Before),
        (json!({"mode": "refuse"}), Point::Before),
        (json!({"mode": "delay", "delay": "1s", "at": "before"}), Point::Before),
        (json!({"mode": "delay", "delay": "1s"}), Point::After),
        (json!({"mode": "delay", "delay": "1s", "at": "after"}), Point::After),
        (json!({"mode": "drop-after-commit"}), Point::After),
        (json!({"mode": "error-after-commit"}), Point::After),
        (json!({"mode": "hold-after-commit"}), Point::After),
        (json!({"mode": "pass", "outcome": "accepted"}), Point::After),
    ] {
        let rules = rules(&mode);
        let fires = |point| winner(&rules, point, &charge()).is_some();
        let (before, after) = (fires(Point::Before), fires(Point::After));
        assert_eq!(before, point == Point::Before, "{mode}");
        assert_eq!(after, point == Point::After, "{mode}");
        assert_eq!(counts(&rules), [(1, 1, 0)], "{mode}");
    }
}

#[test]
fn a_winning_pass_ends_the_search_at_both_points() {
    let rules = rules(&json!([
        {"mode": "pass", "on": 1},
        {"mode": "refuse", "on": [1, 2]},
        {"mode": "pass", "outcome": "accepted"},
        {"mode": "drop-after-commit"},
    ]));
    let before = rules.ask(Point::Before, &charge(), &[]).unwrap();
    assert_eq!((before.mode, before.action), (Mode::Pass, Action::Pass));
    assert_eq!(
        counts(&rules)[..2],
        [(1, 1, 0), (1, 0, 1)],
        "the refusal matched and did not win"
    );
    let after = rules.ask(Point::After, &charge(), &[]).unwrap();
    assert_eq!((&*after.rule, after.action), ("f3", Action::Pass));
    assert_eq!(winner(&rules, Point::Before, &charge()).unwrap(), "f2");
}

#[test]
fn after_modes_match_and_count_only_what_has_an_effect() {
    let rules = rules(&json!({"mode": "drop-after-commit", "on": 2}));
    for (outcome, from_accepted, matched) in [
        (Outcome::Refused, false, 0),
        (Outcome::Read, false, 0),
        (Outcome::Unknown, false, 0),
        (Outcome::Replayed, false, 0),
        (Outcome::Replayed, true, 1),
        (Outcome::Accepted, false, 2),
    ] {
        let facts = with_outcome(outcome, from_accepted);
        let fired = rules.ask(Point::After, &facts, &[]).is_some();
        assert_eq!(counts(&rules)[0].0, matched, "{outcome:?}");
        assert_eq!(fired, matched == 2);
    }
}

#[test]
fn an_outcome_says_otherwise() {
    for wanted in [
        Outcome::Accepted,
        Outcome::Replayed,
        Outcome::Refused,
        Outcome::Read,
        Outcome::Unknown,
    ] {
        let rules = rules(&json!({"mode": "error-after-commit", "outcome": wanted}));
        for got in Outcome::ALL {
            let fired = rules.ask(Point::After, &with_outcome(got, false), &[]).is_some();
            assert_eq!(fired, got == wanted, "{wanted:?} {got:?}");
        }
    }
}

#[test]
fn without_on_every_match_fires() {
    let rules = rules(&json!({"mode": "refuse"}));
    for _ in 0..5 {
        assert!(winner(&rules, Point::Before, &charge()).is_some());
    }
    assert_eq!(counts(&rules), [(5, 5, 0)]);
}

#[test]
fn actions_say_what_the_client_gets() {
    let answer = Answer {
        status: Some(503),
        code: None,
        headers: vec![("retry-after".to_owned(), "1".to_owned())],
        body: Some("busy".to_owned()),
    };
    let shared = json!({"status": 503, "headers": {"Retry-After": 1}, "body": "busy", "method": "*"});
    let with = |mode: &str| {
        let mut rule = shared.clone();
        rule["mode"] = mode.into();
        rule
    };
    let second = std::time::Duration::from_secs(1);
    for (rule, action) in [
        (with("fail-before-commit"), Action::Fail(Loss::Gateway(answer.clone()))),
        (with("error-after-commit"), Action::Error(answer.clone())),
        (with("refuse"), Action::Refuse(answer)),
        (json!({"mode": "refuse"}), Action::Refuse(Answer::default())),
        (
            json!({"mode": "refuse", "code": "rate_limit", "body": {"error": 1}}),
            Action::Refuse(Answer {
                code: Some("rate_limit".to_owned()),
                headers: vec![("content-type".to_owned(), "application/json".to_owned())],
                body: Some("{\"error\":1}".to_owned()),
                ..Answer::default()
            }),
        ),
        (
            json!({"mode": "fail-before-commit"}),
            Action::Fail(Loss::End(How::Close)),
        ),
        (
            json!({"mode": "fail-before-commit", "how": "hang"}),
            Action::Fail(Loss::End(How::Hang)),
        ),
        (json!({"mode": "drop-after-commit"}), Action::Drop(How::Close)),
        (
            json!({"mode": "drop-after-commit", "how": "reset"}),
            Action::Drop(How::Reset),
        ),
        (
            json!({"mode": "drop-after-commit", "how": "truncate", "bytes": 0}),
            Action::Drop(How::Truncate { bytes: 0 }),
        ),
        (json!({"mode": "hold-before-commit"}), Action::Hold { barrier: None }),
        (
            json!({"mode": "hold-after-commit", "barrier": 20}),
            Action::Hold { barrier: Some(20) },
        ),
        (json!({"mode": "delay", "delay": "1s"}), Action::Delay(second)),
    ] {
        let rules = rules(&rule);
        let verdict = rules
            .ask(Point::Before, &charge(), &[])
            .or_else(|| rules.ask(Point::After, &charge(), &[]));
        assert_eq!(verdict.unwrap().action, action, "{rule}");
    }
}

#[test]
fn asking_is_one_step_for_many_threads() {
    let rules = rules(&json!([
        {"mode": "drop-after-commit", "on": 1},
        {"mode": "error-after-commit", "on": "every 2"},
    ]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    _ = rules.ask(Point::After, &charge(), &[]);
                }
            });
        }
    });
    assert_eq!(counts(&rules), [(1000, 1, 999), (1000, 500, 500)]);
    assert_eq!(rules.totals(None).fired, 501);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_seed_decides_the_same_every_time(probability in 0.0..=1.0, seed: u64) {
        let rule = json!({"mode": "refuse", "on": {"probability": probability, "seed": seed}});
        let run = || {
            let rules = rules(&rule);
            (0..50).map(|_| winner(&rules, Point::Before, &charge()).is_some()).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}
