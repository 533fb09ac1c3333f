//! Installing, listing, expiry, removal, reset, totals.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn ids(rules: &Rules, scope: Option<&str>) -> Vec<String> {
    rules.list(scope).into_iter().map(|view| view.id).collect()
}

/// Makes rules with a clock that stands until it is moved.
fn with_clock() -> (Rules, impl Fn(Duration)) {
    let now = Arc::new(Mutex::new(Instant::now()));
    let read = Arc::clone(&now);
    let rules = Rules::with_clock(move || *read.lock().unwrap());
    (rules, move |length| *now.lock().unwrap() += length)
}

#[test]
fn a_view_is_the_rule_as_given_with_what_became_of_it() {
    let given = json!({"provider": "stripe", "mode": "forward-then-drop-response", "how": "reset", "on": 1});
    let rules = Rules::new();
    let installed = rules.install(parsed(&given), Source::Api).unwrap();
    assert_eq!(installed, rules.list(None));
    _ = rules.ask(Point::After, &charge(), &[]);
    _ = rules.ask(Point::After, &charge(), &[]);
    assert_eq!(
        serde_json::to_value(rules.list(None)).unwrap(),
        json!([{
            "id": "f1", "source": "api", "provider": "stripe", "mode": "drop-after-commit", "how": "reset", "on": 1,
            "matched": 2, "fired": 1, "skipped": 1, "armed": false, "expired": false, "near_miss": null,
        }])
    );
}

#[test]
fn an_expired_rule_neither_matches_nor_fires_and_says_so() {
    let (rules, advance) = with_clock();
    add(
        &rules,
        &json!({"mode": "refuse", "expires_in": "60s", "key": "order-*"}),
        Source::Api,
    );
    advance(Duration::from_millis(59_999));
    assert!(winner(&rules, Point::Before, &charge()).is_some());
    assert!(!rules.list(None)[0].expired);
    advance(Duration::from_millis(1));
    assert!(winner(&rules, Point::Before, &charge()).is_none());
    _ = rules.ask(Point::Before, &Facts::new("stripe"), &[]);
    let view = &rules.list(None)[0];
    assert_eq!((view.matched, view.expired, view.armed), (1, true, false));
    assert!(view.near_miss.is_none());
    assert_eq!(rules.totals(None), Totals { armed: 0, fired: 1 });
}

#[test]
fn an_expired_rule_makes_way_for_the_next() {
    let (rules, advance) = with_clock();
    add(
        &rules,
        &json!([{"mode": "refuse", "expires_in": "1s"}, {"mode": "fail-before-commit"}]),
        Source::Api,
    );
    advance(Duration::from_secs(1));
    assert_eq!(winner(&rules, Point::Before, &charge()).unwrap(), "f2");
}

#[test]
fn ids_are_never_used_again() {
    let rules = rules(&json!([{"mode": "refuse"}, {"mode": "refuse"}]));
    assert!(rules.remove("f2"));
    assert!(!rules.remove("f2"));
    assert!(!rules.remove("f9"));
    add(&rules, &json!({"mode": "refuse"}), Source::Api);
    assert_eq!(ids(&rules, None), ["f1", "f3"]);
    rules.reset(None);
    add(&rules, &json!({"mode": "refuse"}), Source::Api);
    assert_eq!(ids(&rules, None), ["f4"]);
}

#[test]
fn api_rules_are_bounded_and_a_list_is_all_or_nothing() {
    let rules = Rules::new();
    let many = |count: usize| json!(vec![json!({"mode": "refuse"}); count]);
    add(&rules, &many(999), Source::Api);
    let problems = rules.install(parsed(&many(2)), Source::Api).unwrap_err();
    assert!(problems[0].why.contains("limit of 1000"), "{}", problems[0]);
    assert_eq!(rules.list(None).len(), 999);
    add(&rules, &many(1), Source::Api);
    add(&rules, &many(1), Source::File);
    assert!(rules.install(parsed(&many(1)), Source::Api).is_err());
}

#[test]
fn clear_removes_what_the_api_installed() {
    let rules = Rules::new();
    let all = json!([{"mode": "refuse"}, {"mode": "refuse", "scope": "alice"}, {"mode": "refuse", "scope": "a*"}]);
    add(&rules, &all, Source::Api);
    add(&rules, &all, Source::File);
    assert_eq!(ids(&rules, Some("alice")), ["f2", "f5"]);
    rules.clear(Some("alice"));
    assert_eq!(ids(&rules, None), ["f1", "f3", "f4", "f5", "f6"]);
    rules.clear(None);
    assert_eq!(ids(&rules, None), ["f4", "f5", "f6"]);
}

#[test]
fn a_reset_drops_api_rules_and_rearms_the_others() {
    let (rules, advance) = with_clock();
    let once = json!({"mode": "refuse", "on": 1, "expires_in": "10s"});
    add(&rules, &once, Source::Api);
    for source in [Source::File, Source::Flag, Source::Env] {
        add(&rules, &once, source);
    }
    let header = parse_header("refuse; on=1").unwrap();
    let in_request = std::slice::from_ref(&header);
    assert!(rules.ask(Point::Before, &charge(), in_request).is_some());
    assert_eq!(counts(&rules), [(1, 0, 1); 4]);
    advance(Duration::from_secs(9));
    rules.reset(None);
    assert_eq!(ids(&rules, None), ["f2", "f3", "f4"]);
    assert_eq!(counts(&rules), [(0, 0, 0); 3]);
    assert_eq!(rules.totals(None), Totals { armed: 3, fired: 0 });
    advance(Duration::from_secs(9));
    assert_eq!(winner(&rules, Point::Before, &charge()).unwrap(), "f2");
    let again = rules.ask(Point::Before, &charge(), in_request).unwrap();
    assert_eq!(&*again.rule, "header", "its counter is forgotten too");
}

#[test]
fn a_scoped_reset_touches_that_scope_alone() {
    let rules = Rules::new();
    let all = json!([
        {"mode": "refuse", "on": 1, "scope": "alice"},
        {"mode": "refuse", "on": 1, "scope": "bob"},
        {"mode": "refuse", "on": 9},
        {"mode": "refuse", "on": 9, "scope": "*"},
    ]);
    add(&rules, &all, Source::Api);
    add(&rules, &all, Source::Flag);
    let in_scope = |scope| Facts {
        scope: Some(scope),
        ..charge()
    };
    let (alice, bob) = (in_scope("alice"), in_scope("bob"));
    let header = [parse_header("hold-before-commit; on=2").unwrap()];
    for facts in [&alice, &bob] {
        assert!(rules.ask(Point::Before, facts, &header).is_some());
    }
    rules.reset(Some("alice"));
    assert_eq!(ids(&rules, None), ["f2", "f3", "f4", "f5", "f6", "f7", "f8"]);
    let matched: Vec<u64> = rules.list(None).iter().map(|view| view.matched).collect();
    assert_eq!(matched, [1, 2, 2, 0, 1, 2, 2]);
    assert_eq!(rules.totals(Some("alice")).fired, 0);
    assert_eq!(rules.totals(Some("bob")).fired, 1);
    let won = |facts| {
        rules
            .ask(Point::Before, facts, &header)
            .map(|verdict| verdict.rule.to_string())
    };
    assert_eq!(won(&bob).unwrap(), "header", "his second");
    assert_eq!(
        won(&alice).unwrap(),
        "f5",
        "her header counts from zero, the flag's rule is armed again"
    );
}

#[test]
fn totals_tell_what_is_armed_and_what_fired() {
    let rules = rules(&json!([
        {"mode": "refuse", "on": 1, "scope": "default"},
        {"mode": "fail-before-commit"},
        {"mode": "refuse", "scope": "bob", "on": [1, 2]},
    ]));
    assert_eq!(rules.totals(None), Totals { armed: 3, fired: 0 });
    _ = rules.ask(Point::Before, &charge(), &[]);
    _ = rules.ask(Point::Before, &charge(), &[]);
    _ = rules.ask(Point::Before, &charge(), &[parse_header("pass").unwrap()]);
    assert_eq!(rules.totals(None), Totals { armed: 2, fired: 3 });
    assert_eq!(rules.totals(Some("default")), Totals { armed: 0, fired: 3 });
    assert_eq!(rules.totals(Some("bob")), Totals { armed: 1, fired: 0 });
    assert_eq!(rules.totals(Some("nobody")), Totals::default());
    rules.clear(None);
    assert_eq!(rules.totals(None), Totals { armed: 0, fired: 3 });
    let totals = serde_json::to_value(rules.totals(None)).unwrap();
    assert_eq!(totals, json!({"armed": 0, "fired": 3}));
}

#[test]
fn a_session_without_a_scope_fires_for_the_total() {
    let rules = rules(&json!({"mode": "fail-before-commit", "step": "connect"}));
    let session = Facts {
        scope: None,
        ..mail(Step::Connect)
    };
    assert!(rules.ask(Point::Before, &session, &[]).is_some());
    assert_eq!(rules.totals(None).fired, 1);
}

#[test]
fn a_look_up_that_panics_leaves_the_rules_usable() {
    let rules = rules(&json!({"mode": "refuse", "header": {"x": "1"}}));
    let panics = |_: &str| panic!("a provider's bug");
    let facts = Facts {
        headers: &panics,
        ..charge()
    };
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rules.ask(Point::Before, &facts, &[])));
    assert!(asked.is_err());
    assert!(rules.ask(Point::Before, &charge(), &[]).is_none());
    assert_eq!(rules.list(None).len(), 1);
}
