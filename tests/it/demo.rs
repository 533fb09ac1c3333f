//! `ackdrop demo`, as it is called: the table that comes out, on paper and for machines.

use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::support::within;

/// Attempts, effects and state, in the order of [`PROVIDERS`].
type Came = [(u64, u64, &'static str); 4];

const PROVIDERS: [(&str, &str, &str); 4] = [
    ("stripe", "key-enforced", "charge"),
    ("orders", "key-enforced", "order"),
    ("smtp", "key-advisory", "message"),
    ("webhook", "key-advisory", "delivery"),
];

const TABLE: [(&str, &str, Came); 6] = [
    ("pass", "naive", [(1, 1, "done"); 4]),
    ("pass", "careful", [(1, 1, "done"); 4]),
    ("fail-before-commit", "naive", [(2, 1, "done"); 4]),
    (
        "fail-before-commit",
        "careful",
        [(2, 1, "done"), (2, 1, "done"), (1, 0, "review"), (1, 0, "review")],
    ),
    (
        "drop-after-commit",
        "naive",
        [(2, 1, "done"), (2, 1, "done"), (2, 2, "done"), (2, 2, "done")],
    ),
    (
        "drop-after-commit",
        "careful",
        [(2, 1, "done"), (2, 1, "done"), (1, 1, "review"), (1, 1, "review")],
    ),
];

async fn demo(flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackdrop"));
    command.arg("demo").args(flags).kill_on_drop(true);
    within("the end of the demo", command.output()).await.unwrap()
}

fn said(output: &Output) -> String {
    let err = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        output.status.success() && err.is_empty(),
        "{}\n{text}{err}",
        output.status
    );
    text
}

#[tokio::test]
async fn doubles_the_naive_workers_mail_and_webhook_and_nothing_else() {
    let rows: Vec<Value> = serde_json::from_str(&said(&demo(&["--json"]).await)).unwrap();
    assert_eq!(rows.len(), 24);
    for (mode, worker, came) in TABLE {
        for ((provider, class, effect), (attempts, effects, state)) in PROVIDERS.into_iter().zip(came) {
            let wanted = serde_json::json!({
                "provider": provider, "class": class, "mode": mode, "worker": worker,
                "attempts": attempts, "effect": effect, "effects": effects,
                "believes": if state == "done" { "once" } else { "unsure" }, "state": state, "as_expected": true,
            });
            assert!(rows.contains(&wanted), "no {wanted} in {rows:#?}");
        }
    }
}

#[tokio::test]
async fn without_a_terminal_is_plain_text_of_80_columns() {
    let text = said(&demo(&[]).await);
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_, lost) = text.split_once("drop-after-commit").unwrap();
    let lines: Vec<Vec<&str>> = lost.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        ["stripe", "2", "1", "once", "done", "2", "1", "once", "done"],
        ["orders", "2", "1", "once", "done", "2", "1", "once", "done"],
        ["smtp", "2", "2", "once", "done", "1", "1", "unsure", "review"],
        ["webhook", "2", "2", "once", "done", "1", "1", "unsure", "review"],
    ] {
        assert!(lines.iter().any(|found| found == &line), "no {line:?} in\n{text}");
    }
}
