use serde_json::{Value, json};

use super::{Answer, Failure};
use crate::cli::testing::Stub;

fn fails() -> Value {
    json!({"holds": false, "message": "1 of 2 expectations failed, after 10.000s", "ended": "timeout",
        "expectations": [
            {"text": "stripe.charge == 1", "name": "stripe.charge", "operator": "==", "expected": 1, "counted": 2, "holds": false,
             "diff": ["expected exactly 1, counted 2", "#1 stripe charges.create key=<a> accepted answered: charge ch_1", "#2 …\u{1b}[2J"],
             "attempts": [], "more": 0},
            {"text": "duplicates == 0", "name": "duplicates", "operator": "==", "expected": 0, "counted": 0, "holds": true}],
        "in_flight": {"attempts": [{"id": 3, "provider": "orders", "operation": "orders.create", "key": "k", "outcome": null, "fate": null}], "more": 0},
        "notes": ["something"], "waited": "10.000s"})
}

fn holds() -> Value {
    json!({"holds": true, "message": "it holds, after 0.501s", "ended": "held",
        "expectations": [{"text": "smtp.message <= 1", "counted": 1, "holds": true}], "evidence": [], "waited": "0.501s"})
}

#[tokio::test]
async fn a_no_shows_what_made_the_difference() {
    let stub = Stub::answering(417, fails()).await;
    let (ended, text) = stub.run(&["assert", "stripe.charge == 1", "duplicates == 0"]).await;
    assert_eq!(ended.unwrap(), Answer::No);
    insta::assert_snapshot!(text, @r"
    FAILS  stripe.charge == 1  counted 2
    holds  duplicates == 0     counted 0
    1 of 2 expectations failed, after 10.000s

    stripe.charge == 1
      expected exactly 1, counted 2
      #1 stripe charges.create key=<a> accepted answered: charge ch_1
      #2 …\u{1b}[2J

    still going on: #3 orders orders.create key=k in_flight open
    note: something
    ");
}

#[tokio::test]
async fn what_is_asked_for_is_sent_and_what_is_not_is_left_to_the_suite() {
    let stub = Stub::answering(200, holds()).await;
    let line = [
        "assert",
        "a == 1",
        "-",
        "b == 2",
        "--timeout",
        "1s",
        "--watch",
        "3s",
        "--scope",
        "alice",
    ];
    let (ended, text) = stub.run_with(&line, "\n c == 3 \n\nd == 4").await;
    assert_eq!(ended.unwrap(), Answer::Yes);
    assert_eq!(text, "holds  smtp.message <= 1  counted 1\nit holds, after 0.501s\n");
    let sent =
        r#"POST /_expect?scope=alice - {"expect":["a == 1","c == 3","d == 4","b == 2"],"timeout":"1s","watch":"3s"}"#;
    assert_eq!(stub.seen(), [sent]);
    let (ended, text) = stub.run(&["assert", "a == 1", "--json"]).await;
    assert_eq!((ended.unwrap(), text), (Answer::Yes, format!("{}\n", holds())));
}

#[tokio::test]
async fn what_cannot_be_read_is_marked_and_is_wrong_usage() {
    let problem = json!({"expectation": 0, "why": "no effect `chrage`", "nearest": ["stripe.charge"], "column": 8,
        "marked": ["stripe.chrage == 1", "       ^^^^^^"]});
    let stub = Stub::answering(400, json!({"error": {"message": "long", "problems": [problem]}})).await;
    let (ended, text) = stub.run(&["assert", "stripe.chrage == 1"]).await;
    let Err(Failure::Usage(said)) = ended else {
        panic!("exit code 2")
    };
    let marked = "column 8: no effect `chrage`; did you mean `stripe.charge`?\n  stripe.chrage == 1\n         ^^^^^^";
    assert_eq!((said.as_str(), text.as_str()), (marked, ""));
}

#[tokio::test]
async fn without_a_verdict_the_answer_is_never_no() {
    for (status, body) in [
        (503, json!({"error": {"message": "stops"}})),
        (401, json!({})),
        (200, json!({})),
        (417, json!([])),
    ] {
        let stub = Stub::answering(status, body).await;
        let ended = stub.run(&["assert", "a == 1"]).await.0;
        assert!(
            matches!(ended, Err(Failure::Usage(_) | Failure::Strange { .. })),
            "{status}"
        );
    }
    let stub = Stub::answering(200, holds()).await;
    for (line, input) in [
        (&["assert", "-"][..], " \n"),
        (&["assert", "a == 1", "--watch", "3"], ""),
    ] {
        let ended = stub.run_with(line, input).await.0;
        assert!(matches!(ended, Err(Failure::Usage(_))), "{line:?}");
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_junit_file_has_a_case_for_each_expectation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("junit.xml");
    let path = file.to_str().unwrap();
    let stub = Stub::answering(417, fails()).await;
    stub.run(&["assert", "x == 1", "--junit", path]).await.0.unwrap();
    insta::assert_snapshot!(std::fs::read_to_string(&file).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="ackdrop" tests="2" failures="1" errors="0" skipped="0" time="10.000">
      <testsuite name="ackdrop assert" tests="2" failures="1" errors="0" skipped="0" time="10.000">
        <testcase classname="ackdrop" name="stripe.charge == 1" time="10.000">
          <failure message="expected exactly 1, counted 2">expected exactly 1, counted 2&#10;#1 stripe charges.create key=&lt;a&gt; accepted answered: charge ch_1&#10;#2 …\u{1b}[2J</failure>
        </testcase>
        <testcase classname="ackdrop" name="duplicates == 0" time="10.000"/>
      </testsuite>
    </testsuites>
    "#);
    let mut undecided = fails();
    undecided["expectations"][0]["holds"] = true.into();
    let stub = Stub::answering(417, undecided).await;
    stub.run(&["assert", "x == 1", "--junit", path]).await.0.unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains(r#"tests="3" failures="1""#) && written.contains("nothing is in flight"),
        "{written}"
    );
    let stub = Stub::answering(400, json!({"error": {"message": "no"}})).await;
    stub.run(&["assert", "x == 1", "--junit", path]).await.0.unwrap_err();
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains(r#"failures="0" errors="1""#) && written.contains(r#"<error message="no">"#),
        "{written}"
    );
    let stub = Stub::answering(200, holds()).await;
    let ended = stub
        .run(&["assert", "x == 1", "--junit", "/no/such/folder/j.xml"])
        .await
        .0;
    assert!(
        matches!(ended, Err(Failure::Usage(_))),
        "a report that cannot be written is no yes"
    );
}
