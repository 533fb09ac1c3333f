//! `ackdrop holds`: attempts that a hold stopped.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::client::Remote;
use super::faults::segment;
use super::table::{aligned, words};
use super::target::Target;
use super::{Answer, Console, Failure};
use crate::config::duration;

/// How often the suite is asked while waiting.
const EVERY: Duration = Duration::from_millis(50);

/// Lists and releases attempts that a hold stopped; lists them without a subcommand.
#[derive(Debug, clap::Args)]
pub struct Holds {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what is held
    List,
    /// Let one go, or all
    Release {
        /// The hold's id, as the list shows it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// Let all go in one instant
        #[arg(long)]
        all: bool,
        /// What its client gets
        #[arg(long, value_name = "WHAT", default_value = "answer")]
        then: Then,
        /// How a drop ends the connection: close, reset, hang or truncate
        #[arg(long, value_name = "HOW")]
        how: Option<String>,
        /// How many bytes of the answer a truncate lets through
        #[arg(long, value_name = "COUNT")]
        bytes: Option<u64>,
    },
    /// Wait until something is held, and list it: exit code 0, or 1 if the time runs out
    Wait {
        /// How many must be held at once
        #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
        count: u64,
        /// How long to wait
        #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
        timeout: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Then {
    /// The answer
    Answer,
    /// Nothing: the connection ends
    Drop,
}

impl Holds {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        match self.action.unwrap_or(Action::List) {
            Action::List => {
                let (body, answer) = remote.json(Method::GET, "/_holds", None).await?;
                show(&remote, &body, &answer, console)
            }
            Action::Release {
                id,
                all: _,
                then,
                how,
                bytes,
            } => {
                let body = released(then, how.as_deref(), bytes)?;
                release(&remote, id.as_deref(), &body, console).await
            }
            Action::Wait { count, timeout } => wait(&remote, count, timeout, console).await,
        }
    }
}

async fn release(
    remote: &Remote,
    id: Option<&str>,
    body: &Value,
    console: &mut Console<'_>,
) -> Result<Answer, Failure> {
    let path = match id {
        Some(id) => format!("/_holds/{}/release", segment(id)),
        None => "/_holds/release".to_owned(),
    };
    let answer = remote.call(Method::POST, &path, Some(body)).await?;
    if remote.json {
        console.out.write_all(&answer)?;
        writeln!(console.out)?;
    } else if let Some(id) = id {
        writeln!(console.out, "released {id}")?;
    } else {
        let value: Value = serde_json::from_slice(&answer)
            .map_err(|error| remote.strange(format!("an answer that is no JSON ({error})")))?;
        let released = value["released"].as_array().map_or(0, Vec::len);
        writeln!(console.out, "released {released}")?;
    }
    Ok(Answer::Yes)
}

/// Writes what a release asks for.
fn released(then: Then, how: Option<&str>, bytes: Option<u64>) -> Result<Value, Failure> {
    let mut body = json!({"then": if then == Then::Drop { "drop" } else { "answer" }});
    if then == Then::Answer && (how.is_some() || bytes.is_some()) {
        return Err(Failure::Usage(
            "--how and --bytes say how to drop: give --then drop with them".to_owned(),
        ));
    }
    if let Some(how) = how {
        body["how"] = how.into();
    }
    if let Some(bytes) = bytes {
        body["bytes"] = bytes.into();
    }
    Ok(body)
}

async fn wait(remote: &Remote, count: u64, timeout: Duration, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let end = Instant::now() + timeout;
    loop {
        let (body, answer) = remote.json(Method::GET, "/_holds", None).await?;
        let held = holds(remote, &answer)?;
        if held.len() as u64 >= count {
            return show(remote, &body, &answer, console);
        }
        if Instant::now() >= end {
            show(remote, &body, &answer, console)?;
            return Ok(Answer::No);
        }
        sleep(EVERY).await;
    }
}

fn holds<'a>(remote: &Remote, answer: &'a Value) -> Result<&'a Vec<Value>, Failure> {
    let holds = answer.get("holds").and_then(Value::as_array);
    holds.ok_or_else(|| remote.strange("no `holds` in it".to_owned()))
}

fn show(remote: &Remote, body: &[u8], answer: &Value, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let holds = holds(remote, answer)?;
    if remote.json {
        console.out.write_all(body)?;
        writeln!(console.out)?;
    } else if holds.is_empty() {
        writeln!(console.out, "Nothing is held.")?;
    } else {
        console.out.write_all(table(holds).as_bytes())?;
    }
    Ok(Answer::Yes)
}

/// Writes one line a hold; barriers have a column where there is one.
fn table(holds: &[Value]) -> String {
    let mut columns = vec!["id", "scope", "provider", "operation", "key", "point", "since"];
    if holds.iter().any(|hold| hold["barrier"].is_object()) {
        columns.push("barrier");
    }
    let cell = |hold: &Value, column: &str| match &hold[column] {
        Value::Object(barrier) => format!("{} of {}", words(&barrier["gathered"]), words(&barrier["of"])),
        value => words(value),
    };
    let rows = holds
        .iter()
        .map(|hold| columns.iter().map(|column| cell(hold, column)).collect());
    let head = columns.iter().map(|column| (*column).to_owned()).collect();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let left: Vec<usize> = (0..columns.len()).collect();
    aligned(&rows, &left)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Answer, Failure};
    use crate::cli::testing::Stub;

    fn held() -> Value {
        json!({"holds": [{"id": "h1", "scope": "default", "provider": "stripe", "operation": "charges.create", "key": "order-17", "point": "after", "since": "2026-01-01T00:00:00Z"}]})
    }

    #[tokio::test]
    async fn the_list_names_what_is_held() {
        let (_, text) = Stub::answering(200, held()).await.run(&["holds"]).await;
        insta::assert_snapshot!(text, @r"
    id  scope    provider  operation       key       point  since
    h1  default  stripe    charges.create  order-17  after  2026-01-01T00:00:00Z
    ");
        let (_, text) = Stub::answering(200, json!({"holds": []}))
            .await
            .run(&["holds", "list"])
            .await;
        assert_eq!(text, "Nothing is held.\n");
    }

    #[tokio::test]
    async fn a_release_says_what_the_client_gets() {
        let stub = Stub::answering(200, json!({})).await;
        assert_eq!(stub.run(&["holds", "release", "h1"]).await.1, "released h1\n");
        stub.run(&["holds", "release", "h1", "--then", "drop", "--how", "reset"])
            .await
            .0
            .unwrap();
        for wrong in [&["holds", "release"][..], &["holds", "release", "h1", "--all"]] {
            let line = [&["ackdrop"], wrong].concat();
            assert!(
                <crate::cli::Cli as clap::Parser>::try_parse_from(line).is_err(),
                "{wrong:?}"
            );
        }
        let wrong = stub.run(&["holds", "release", "h1", "--how", "reset"]).await.0;
        assert!(matches!(wrong, Err(Failure::Usage(_))));
        assert_eq!(
            stub.seen(),
            [
                r#"POST /_holds/h1/release - {"then":"answer"}"#,
                r#"POST /_holds/h1/release - {"then":"drop","how":"reset"}"#,
            ]
        );
    }

    #[tokio::test]
    async fn a_barrier_has_a_column_and_all_are_let_go_at_once() {
        let mut list = held();
        list["holds"][0]["barrier"] = json!({"gathered": 3, "of": 20});
        let (_, text) = Stub::answering(200, list.clone()).await.run(&["holds"]).await;
        insta::assert_snapshot!(text, @r"
    id  scope    provider  operation       key       point  since                 barrier
    h1  default  stripe    charges.create  order-17  after  2026-01-01T00:00:00Z  3 of 20
    ");
        let stub = Stub::answering(200, json!({"released": list["holds"]})).await;
        assert_eq!(stub.run(&["holds", "release", "--all"]).await.1, "released 1\n");
        assert_eq!(stub.seen(), [r#"POST /_holds/release - {"then":"answer"}"#]);
    }

    #[tokio::test]
    async fn waiting_ends_with_the_first_hold_or_with_the_time() {
        let nothing = json!({"holds": []}).to_string();
        let stub = Stub::answering_each(vec![(200, nothing.clone()), (200, held().to_string())]).await;
        let (ended, text) = stub.run(&["holds", "wait"]).await;
        assert!(ended.unwrap() == Answer::Yes && text.contains("h1") && stub.seen().len() == 2);
        let stub = Stub::answering(200, held()).await;
        let two = stub.run(&["holds", "wait", "--count", "2", "--timeout", "1ms"]).await;
        assert!(two.0.unwrap() == Answer::No && two.1.contains("h1"), "one is not two");
        let stub = Stub::answering_text(200, &nothing).await;
        assert_eq!(
            stub.run(&["holds", "wait", "--timeout", "1ms"]).await.0.unwrap(),
            Answer::No
        );
    }
}
