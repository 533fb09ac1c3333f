use proptest::prelude::*;

use super::*;
use crate::attempt::{Kind, Operation};
use crate::ledger::Class;

static STRIPE: About = About {
    name: "stripe",
    class: Class::KeyEnforced,
    operations: &[
        Operation {
            name: "charges.create",
            kind: Kind::Write,
            effects: &["charge"],
        },
        Operation {
            name: "charges.capture",
            kind: Kind::Write,
            effects: &["charge_capture"],
        },
        Operation {
            name: "unrecognized",
            kind: Kind::Write,
            effects: &[],
        },
    ],
};
static SMTP: About = About {
    name: "smtp",
    class: Class::KeyAdvisory,
    operations: &[Operation {
        name: "messages.send",
        kind: Kind::Write,
        effects: &["message", "recipient"],
    }],
};
static PROVIDERS: [&About; 2] = [&STRIPE, &SMTP];

fn one(text: &str) -> Result<Expectation, Problem> {
    match read(&[text], &PROVIDERS) {
        Ok(read) => Ok(read[0]),
        Err(Error::Problems(mut problems)) => Err(problems.remove(0)),
        Err(other) => panic!("{other}"),
    }
}

fn names() -> Vec<String> {
    Vocabulary::new(&PROVIDERS).names().collect()
}

#[test]
fn every_name_is_told_apart() {
    let mut names = names();
    assert!(names.len() > 100);
    for name in &names {
        let Ok(Expectation::Count { subject, .. }) = one(&format!("{name} == 1")) else {
            panic!("{name}")
        };
        assert_eq!(&subject.to_string(), name);
    }
    names.sort();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before, "no name means two things");
    for name in [
        "charge",
        "stripe.charge",
        "stripe.accepted",
        "stripe.charges.create.accepted",
        "accepted",
        "smtp.open",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
}

#[test]
fn a_count_compares_as_it_is_written() {
    for (text, below, at, above) in [
        ("charge == 2", false, true, false),
        ("charge = 2", false, true, false),
        ("charge != 2", true, false, true),
        ("charge <= 2", true, true, false),
        ("charge >= 2", false, true, true),
        ("charge < 2", true, false, false),
        ("charge > 2", false, false, true),
    ] {
        let Ok(Expectation::Count { operator, number, .. }) = one(text) else {
            panic!("{text}")
        };
        let holds = [1, 2, 3].map(|counted| operator.holds(counted, number));
        assert_eq!(holds, [below, at, above], "{text}");
    }
    assert_eq!(one(" faults  all fired ").unwrap(), Expectation::AllFaultsFired);
    assert_eq!(one("faults.fired==1").unwrap().to_string(), "faults.fired == 1");
}

#[test]
fn what_is_wrong_is_marked() {
    for (text, marked, why) in [
        ("", "^", "is empty"),
        ("  ", "  ^", "is empty"),
        ("== 1", "^^", "a name must stand here"),
        ("charge", "      ^", "an operator must stand here"),
        ("charge 1", "       ^", "an operator must stand here"),
        ("charge === 1", "       ^^^", "is no operator"),
        ("charge => 1", "       ^^", "is no operator"),
        ("charge ==", "         ^", "a whole number"),
        ("charge == -1", "          ^^", "a whole number"),
        ("charge == 1.5", "          ^^^", "a whole number"),
        ("charge == +1", "          ^^", "a whole number"),
        (
            "charge == 99999999999999999999",
            "          ^^^^^^^^^^^^^^^^^^^^",
            "too large",
        ),
        ("charge == 1 2", "            ^", "nothing may follow"),
        ("faults all fird", "           ^^^^", "`fired` must stand here"),
        ("faults some fired", "       ^^^^", "`all` must stand here"),
        ("faults all", "          ^", "`fired` must stand here"),
        ("faults all fired == 1", "                 ^^", "nothing may follow"),
        ("strip.charge == 1", "^^^^^", "there is no provider `strip`"),
        ("stripe.chrage == 1", "       ^^^^^^", "no effect"),
        (" ünïque.x == 1", " ^^^^^^", "there is no provider"),
        (
            "stripe.charges.creat.accepted == 1",
            "       ^^^^^^^^^^^^^",
            "no operation `charges.creat`",
        ),
        (
            "stripe.charges.create.acepted == 1",
            "                      ^^^^^^^",
            "neither an outcome nor a fate",
        ),
        ("stripe.charges.create == 1", "       ^^^^^^^^^^^^^^", "is an operation"),
        ("faults.fried == 1", "       ^^^^^", "not counted of faults"),
        ("stripe. == 1", "       ^", "no effect"),
        ("chrage == 1", "^^^^^^", "nothing is counted as"),
    ] {
        let problem = one(text).expect_err(text);
        assert_eq!(problem.marked[1], marked, "{text}");
        assert_eq!(problem.column, marked.trim_end_matches('^').len() + 1, "{text}");
        assert!(problem.why.contains(why), "{text}: {}", problem.why);
    }
}

#[test]
fn the_nearest_names_are_told_or_else_what_there_is() {
    for (text, nearest) in [
        ("stripe.chrage == 1", &["stripe.charge"][..]),
        ("strip.charge == 1", &["stripe.charge"]),
        ("smtp.mesage <= 1", &["smtp.message"]),
        ("duplicate == 0", &["duplicates"]),
        (
            "stripe.charges.creat.accepted == 1",
            &["stripe.charges.create.accepted"],
        ),
        ("stripe.charges.create == 1", &["stripe.charges.create.accepted"]),
        ("charges.create.replayed == 1", &["stripe.charges.create.replayed"]),
    ] {
        assert_eq!(one(text).unwrap_err().nearest, nearest, "{text}");
    }
    let problem = one("stripe.subscription_schedule == 1").unwrap_err();
    assert!(
        problem.nearest.is_empty()
            && problem
                .why
                .contains("there are charge, charge_capture, received, accepted")
    );
    let problem = one("postgres.row == 1").unwrap_err();
    assert!(problem.why.contains("there are stripe, smtp"), "{}", problem.why);
    let long = format!("{}.x == 1", "a".repeat(400));
    assert!(one(&long).unwrap_err().nearest.is_empty());
}

#[test]
fn all_problems_come_together_and_there_are_limits() {
    let Err(Error::Problems(problems)) = read(&["charge == 1", "x", "charge == 1", "charge"], &PROVIDERS) else {
        panic!("two are wrong")
    };
    assert_eq!(problems.iter().map(|p| p.expectation).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(
        problems[1].to_string(),
        "column 7: an operator must stand here: `==`, `!=`, `<=`, `>=`, `<` or `>`\n  charge\n        ^"
    );
    assert!(matches!(read(&[""; 0], &PROVIDERS), Err(Error::Limits(_))));
    assert!(read(&vec!["charge == 1"; MAX_EXPECTATIONS], &PROVIDERS).is_ok());
    assert!(matches!(
        read(&vec!["charge == 1"; MAX_EXPECTATIONS + 1], &PROVIDERS),
        Err(Error::Limits(_))
    ));
    assert!(
        one(&format!("charge == 1{}", " ".repeat(500)))
            .unwrap_err()
            .why
            .contains("longer")
    );
    let options = |timeout, settle, watch| Options {
        timeout: Duration::from_secs(timeout),
        settle: Some(Duration::from_secs(settle)),
        watch: Duration::from_secs(watch),
        scope: None,
    };
    assert!(check(&options(600, 600, 600)).is_ok());
    for wrong in [options(601, 0, 0), options(1, 0, 601), options(1, 2, 0)] {
        assert!(check(&wrong).is_err(), "{wrong:?}");
    }
    let short = Options {
        timeout: Duration::ZERO,
        ..Options::default()
    };
    assert_eq!(
        check(&short).unwrap(),
        Duration::ZERO,
        "a look without waiting can say yes"
    );
}

fn expectations() -> impl Strategy<Value = Expectation> {
    let count = (
        prop::sample::select(names()),
        prop::sample::select(Operator::ALL.to_vec()),
        any::<u64>(),
    );
    let count = count.prop_map(|(name, operator, number)| one(&format!("{name}{operator}{number}")).unwrap());
    prop_oneof![9 => count, 1 => Just(Expectation::AllFaultsFired)]
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_the_same(expectation in expectations(), blanks in prop::collection::vec("[ \t]{1,3}", 4)) {
        let text = expectation.to_string();
        prop_assert_eq!(one(&text).unwrap(), expectation);
        let words: Vec<&str> = text.split(' ').collect();
        let spaced = format!("{}{}{}{}{}{}", blanks[0], words[0], blanks[1], words[1], blanks[2], words[2]) + &blanks[3];
        prop_assert_eq!(one(&spaced).unwrap(), expectation);
    }

    #[test]
    fn whatever_is_written_the_mark_stands_under_it(text in "\\PC{0,40}|[a-z.]{1,12} ?[=<>!]{0,3} ?[0-9a-z]{0,4}") {
        match one(&text) {
            Ok(expectation) => prop_assert_eq!(one(&expectation.to_string()).unwrap(), expectation),
            Err(problem) => {
                prop_assert!(problem.column <= text.chars().count() + 1);
                prop_assert!(problem.marked[1].ends_with('^'));
            }
        }
    }
}

/// Is something that the suite is to do of itself.
#[derive(Debug)]
struct Planned(time::OffsetDateTime);

impl crate::store::Object for Planned {
    const TABLE: &'static str = "planned";

    fn id(&self) -> Arc<str> {
        "planned".into()
    }

    fn due(&self) -> Option<time::OffsetDateTime> {
        Some(self.0)
    }
}

#[tokio::test]
async fn what_is_due_and_has_not_begun_is_waited_for_and_what_is_due_later_is_not() {
    let sources = Sources {
        store: Store::new(crate::ledger::Ledger::new(crate::ledger::Limits::default())),
        rules: Rules::new(),
        strays: Strays::default(),
        providers: PROVIDERS.to_vec().into(),
        stop: CancellationToken::new(),
    };
    let scope = Scope::default();
    let plan = |left: time::Duration| {
        let put = |tx: &mut crate::store::Tx<'_>| tx.put(Planned(tx.now() + left));
        sources.store.arrange(&scope, put).unwrap();
    };
    for of in [None, Some(scope.clone())] {
        let options = |timeout: u64| Options {
            scope: of.clone(),
            timeout: Duration::from_millis(timeout),
            settle: Some(Duration::ZERO),
            ..Options::default()
        };
        plan(time::Duration::HOUR);
        let later = expect(&sources, &["duplicates == 0"], &options(10_000)).await.unwrap();
        assert!(later.holds, "{}", later.message);
        plan(time::Duration::ZERO);
        let now = expect(&sources, &["duplicates == 0"], &options(50)).await.unwrap();
        assert!(!now.holds && now.message.contains("still going on"), "{}", now.message);
        let begun = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            plan(time::Duration::HOUR);
        };
        let texts = ["duplicates == 0"];
        let options = options(10_000);
        let (waited, ()) = tokio::join!(expect(&sources, &texts, &options), begun);
        let waited = waited.unwrap();
        assert!(
            waited.holds && waited.waited >= Duration::from_millis(50),
            "{}",
            waited.message
        );
    }
}
