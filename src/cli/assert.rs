//! `ackdrop assert`: waits until counts are as expected, and says why they are not.

mod junit;

use std::path::PathBuf;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Map, Value};

use super::client::{CALL_TIMEOUT, Remote, Reply};
use super::table::{aligned, words};
use super::target::Target;
use super::{Answer, Console, Failure};
use crate::{duration, expect};

/// Waits until every expectation holds and nothing is in flight; exit code 0 if so, 1 if not, 2 if that cannot be told.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Assert {
    /// What to expect: 'stripe.charge == 1', 'duplicates == 0', 'faults all fired'. `-` reads standard input, one a line
    #[arg(value_name = "EXPECTATION", required = true)]
    expectations: Vec<String>,
    /// How long to wait until everything holds [default: 10s]
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// For how long nothing may change before a count is believed [default: 500ms]
    #[arg(long, value_name = "TIME")]
    settle: Option<String>,
    /// How long to keep looking for late effects once everything holds [default: 0s]
    #[arg(long, value_name = "TIME")]
    watch: Option<String>,
    /// Write the result as JUnit XML, one test case an expectation
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

const HELP: &str = "\
An expectation is NAME OPERATOR NUMBER, with ==, !=, <=, >=, < or >. A NAME is
  PROVIDER.EFFECT              stripe.charge, smtp.message, orders.order, webhook.delivery
  PROVIDER.WORD                smtp.accepted: a count of attempts, as `ackdrop stats` shows it
  PROVIDER.OPERATION.WORD      stripe.charges.create.replayed
  EFFECT or WORD               charge, accepted, duplicates: over all providers
  unmatched, faults.armed, faults.fired
or the expectation is 'faults all fired': there is a rule, and each has fired at least once.

Exit codes: 0 all hold; 1 not all hold; 2 an expectation cannot be read, or the suite cannot be reached.";

impl Assert {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let texts = texts(&self.expectations, console)?;
        let answer = self.ask(&remote, &texts).await;
        if let Some(file) = &self.junit {
            let report = match &answer {
                Ok((_, verdict)) => junit::verdict(verdict),
                Err(failure) => junit::failure(&texts, &failure.to_string()),
            };
            let written = junit::write(file, &report);
            written.map_err(|error| Failure::Usage(format!("cannot write {}: {error}", file.display())))?;
        }
        let (reply, verdict) = answer?;
        if remote.json {
            console.out.write_all(reply.body.trim_ascii_end())?;
            writeln!(console.out)?;
        } else {
            console.out.write_all(render(&verdict).as_bytes())?;
        }
        Ok(if reply.status == StatusCode::OK {
            Answer::Yes
        } else {
            Answer::No
        })
    }

    /// Asks, and returns a verdict, or why there is none.
    async fn ask(&self, remote: &Remote, texts: &[String]) -> Result<(Reply, Value), Failure> {
        let mut body = Map::from_iter([("expect".to_owned(), texts.into())]);
        let mut longest = CALL_TIMEOUT;
        let lengths = [
            ("timeout", &self.timeout, expect::TIMEOUT),
            ("settle", &self.settle, Duration::ZERO),
            ("watch", &self.watch, Duration::ZERO),
        ];
        for (name, given, default) in lengths {
            longest += match given {
                None => default,
                Some(text) => {
                    body.insert(name.to_owned(), text.as_str().into());
                    duration::parse(text).map_err(|why| Failure::Usage(format!("--{name} `{text}` {why}, as in 2s")))?
                }
            };
        }
        let reply = remote
            .ask_within(longest, Method::POST, "/_expect", Some(&Value::Object(body)))
            .await?;
        let read = serde_json::from_slice::<Value>(&reply.body).unwrap_or_default();
        match reply.status {
            StatusCode::OK | StatusCode::EXPECTATION_FAILED if read["expectations"].is_array() => Ok((reply, read)),
            StatusCode::OK | StatusCode::EXPECTATION_FAILED => {
                Err(remote.strange("no `expectations` in it".to_owned()))
            }
            _ => Err(Failure::Usage(refusal(remote, &reply, &read))),
        }
    }
}

/// Returns the expectations: those of the line, and where `-` stands those of standard input.
fn texts(given: &[String], console: &mut Console<'_>) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    for text in given {
        if text != "-" {
            texts.push(text.clone());
            continue;
        }
        let mut input = String::new();
        let read = console.input.read_to_string(&mut input);
        read.map_err(|error| Failure::Usage(format!("cannot read standard input: {error}")))?;
        let lines = input.lines().map(str::trim).filter(|line| !line.is_empty());
        texts.extend(lines.map(str::to_owned));
    }
    if texts.is_empty() {
        return Err(Failure::Usage("standard input holds no expectation".to_owned()));
    }
    Ok(texts)
}

/// Words a no: the place marked in each expectation that cannot be read.
fn refusal(remote: &Remote, reply: &Reply, read: &Value) -> String {
    let problems = list(&read["error"]["problems"]);
    let marked: Vec<String> = problems.filter_map(problem).collect();
    if marked.is_empty() {
        return remote.refusal(reply).to_string();
    }
    marked.join("\n")
}

fn problem(problem: &Value) -> Option<String> {
    let [line, mark] = problem["marked"].as_array()?.as_slice() else {
        return None;
    };
    let names: Vec<String> = list(&problem["nearest"])
        .map(|name| format!("`{}`", words(name)))
        .collect();
    let nearest = match names.as_slice() {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(" or ")),
    };
    let why = format!(
        "column {}: {}{nearest}",
        words(&problem["column"]),
        words(&problem["why"])
    );
    Some(format!("{why}\n  {}\n  {}", words(line), words(mark)))
}

/// Writes a verdict: what each expectation came to, then what made the difference.
fn render(verdict: &Value) -> String {
    let rows: Vec<Vec<String>> = list(&verdict["expectations"])
        .map(|judged| {
            let holds = if judged["holds"] == true { "holds" } else { "FAILS" };
            let counted = format!("counted {}", words(&judged["counted"]));
            vec![holds.to_owned(), words(&judged["text"]), counted]
        })
        .collect();
    let mut text = aligned(&rows, &[0, 1, 2]);
    text.push_str(&format!("{}\n", words(&verdict["message"])));
    for judged in list(&verdict["expectations"]).filter(|judged| judged["holds"] != true) {
        text.push_str(&format!("\n{}\n", words(&judged["text"])));
        for line in list(&judged["diff"]) {
            text.push_str(&format!("  {}\n", words(line)));
        }
    }
    let rest = rest(verdict);
    if !rest.is_empty() {
        text.push_str(&format!("\n{}\n", rest.join("\n")));
    }
    text
}

/// Writes what belongs to no single expectation.
fn rest(verdict: &Value) -> Vec<String> {
    let open = list(&verdict["in_flight"]["attempts"]).map(|attempt| {
        let part = |name: &str| words(&attempt[name]);
        let (id, provider, operation, key) = (part("id"), part("provider"), part("operation"), part("key"));
        let or = |name: &str, none: &str| match &attempt[name] {
            Value::Null => none.to_owned(),
            value => words(value),
        };
        let (outcome, fate) = (or("outcome", "in_flight"), or("fate", "open"));
        format!("still going on: #{id} {provider} {operation} key={key} {outcome} {fate}")
    });
    let notes = list(&verdict["notes"]).map(|note| format!("note: {}", words(note)));
    open.chain(notes).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
