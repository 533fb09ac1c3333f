//! `ackdrop faults`: arm, list and clear rules.

use clap::Subcommand;
use http::Method;
use serde_json::{Map, Value};

use super::client::Remote;
use super::stats::strays;
use super::table::{aligned, words};
use super::target::Target;
use super::{Answer, Console, Failure};
use crate::faults::read_rules;

/// Arms, lists and clears fault rules; lists them without a subcommand.
#[derive(Debug, clap::Args)]
pub struct Faults {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Arm rules; if one of them is wrong, none is armed
    Add {
        /// A rule as JSON, or in short: 'drop-after-commit; how=reset; on=1'. `-` reads standard input: JSON, or a short rule a line
        #[arg(value_name = "RULE", required = true)]
        rules: Vec<String>,
    },
    /// List the rules, with what they matched and fired
    List,
    /// Clear all rules that came by the API, or the one with this id
    Clear {
        /// The rule's id, as the list shows it
        id: Option<String>,
    },
}

impl Faults {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        match self.action.unwrap_or(Action::List) {
            Action::Add { rules } => add(&remote, &rules, console).await,
            Action::List => {
                let (body, answer) = remote.json(Method::GET, "/_faults", None).await?;
                show(&remote, &body, &answer, console)
            }
            Action::Clear { id } => clear(&remote, id.as_deref(), console).await,
        }
    }
}

async fn add(remote: &Remote, texts: &[String], console: &mut Console<'_>) -> Result<Answer, Failure> {
    let mut rules = Vec::new();
    for text in texts {
        if text == "-" {
            rules.extend(from_input(console)?);
        } else {
            rules.extend(read_rules(text).map_err(Failure::Usage)?);
        }
    }
    let body = match <[Value; 1]>::try_from(rules) {
        Ok([rule]) => rule,
        Err(rules) if rules.is_empty() => {
            return Err(Failure::Usage("standard input holds no rule".to_owned()));
        }
        // One list, so that the suite takes all of them or none.
        Err(rules) => Value::Array(rules),
    };
    let (body, answer) = remote.json(Method::POST, "/_faults", Some(&body)).await?;
    show(remote, &body, &answer, console)
}

fn from_input(console: &mut Console<'_>) -> Result<Vec<Value>, Failure> {
    let mut text = String::new();
    let read = console.input.read_to_string(&mut text);
    read.map_err(|error| Failure::Usage(format!("cannot read standard input: {error}")))?;
    if text.trim_start().starts_with(['{', '[']) {
        return read_rules(&text).map_err(Failure::Usage);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let rules: Result<Vec<_>, _> = lines.map(read_rules).collect();
    Ok(rules.map_err(Failure::Usage)?.concat())
}

async fn clear(remote: &Remote, id: Option<&str>, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let path = match id {
        Some(id) => format!("/_faults/{}", segment(id)),
        None => "/_faults".to_owned(),
    };
    let body = remote.call(Method::DELETE, &path, None).await?;
    if remote.json {
        console.out.write_all(&body)?;
        writeln!(console.out)?;
    } else {
        writeln!(console.out, "cleared {}", id.unwrap_or("all rules of the API"))?;
    }
    Ok(Answer::Yes)
}

fn show(remote: &Remote, body: &[u8], answer: &Value, console: &mut Console<'_>) -> Result<Answer, Failure> {
    if remote.json {
        console.out.write_all(body)?;
        writeln!(console.out)?;
        return Ok(Answer::Yes);
    }
    let rules = match answer.get("faults").unwrap_or(answer) {
        Value::Array(rules) => rules.clone(),
        rule @ Value::Object(fields) if fields.contains_key("id") => vec![rule.clone()],
        _ => return Err(remote.strange("no `faults` in it".to_owned())),
    };
    console.out.write_all(render(&rules).as_bytes())?;
    for line in strays(answer) {
        writeln!(console.out, "{line}")?;
    }
    Ok(Answer::Yes)
}

/// Fields of a rule that are not what its author wrote.
const KEPT_BY_THE_SUITE: [&str; 9] = [
    "id",
    "source",
    "matched",
    "fired",
    "skipped",
    "near_miss",
    "blind",
    "armed",
    "expired",
];

fn render(rules: &[Value]) -> String {
    if rules.is_empty() {
        return "No rule is armed.\n".to_owned();
    }
    let head = ["id", "source", "state", "matched", "fired", "skipped", "rule"]
        .map(str::to_owned)
        .to_vec();
    let rows = rules.iter().map(|rule| {
        let cell = |name: &str| words(&rule[name]);
        vec![
            cell("id"),
            cell("source"),
            state(rule).to_owned(),
            cell("matched"),
            cell("fired"),
            cell("skipped"),
            short(rule),
        ]
    });
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let mut text = aligned(&rows, &[0, 1, 2, 6]);
    for rule in rules {
        if let Some(miss) = rule.get("near_miss").and_then(Value::as_object) {
            let field = |name: &str| words(miss.get(name).unwrap_or(&Value::Null));
            let (id, name, wanted, got) = (words(&rule["id"]), field("field"), field("wanted"), field("got"));
            text.push_str(&format!("{id} nearly matched: {name} should be {wanted}, was {got}\n"));
        }
        if let Some(why) = rule.get("blind").and_then(Value::as_str) {
            text.push_str(&format!("{} was blind: {why}\n", words(&rule["id"])));
        }
    }
    text
}

/// Says in a word whether a rule may still fire.
fn state(rule: &Value) -> &'static str {
    match (rule["armed"].as_bool(), rule["expired"].as_bool()) {
        (_, Some(true)) => "expired",
        (Some(true), _) => "armed",
        _ => "spent",
    }
}

/// Writes a rule in the short form, as one would type it.
fn short(rule: &Value) -> String {
    let nothing = Map::new();
    let written = rule.get("rule").unwrap_or(rule).as_object().unwrap_or(&nothing);
    let fields = written.iter().filter(|(name, value)| {
        name.as_str() != "mode" && !KEPT_BY_THE_SUITE.contains(&name.as_str()) && !value.is_null()
    });
    let mut parts = vec![written.get("mode").map(words).unwrap_or_default()];
    parts.extend(fields.map(|(name, value)| format!("{name}={}", words(value))));
    parts.join("; ")
}

/// Makes a text one segment of a path.
pub(super) fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Failure;
    use crate::cli::testing::Stub;

    #[tokio::test]
    async fn the_list_shows_what_a_rule_did_and_why_it_did_not() {
        let stub = Stub::answering(200, json!({"faults": [
            {"id": "f1", "source": "api", "mode": "drop-after-commit", "how": "reset", "on": 1, "matched": 3, "fired": 1, "skipped": 2, "near_miss": null, "armed": false, "expired": false},
            {"id": "f12", "source": "--fault", "mode": "refuse", "provider": "stripe", "key": "order-*", "matched": 0, "fired": 0, "skipped": 0,
             "near_miss": {"field": "key", "wanted": "order-*", "got": "invoice-1"}, "armed": true, "expired": false}]})).await;
        let (_, text) = stub.run(&["faults"]).await;
        insta::assert_snapshot!(text, @r"
    id   source   state  matched  fired  skipped  rule
    f1   api      spent        3      1        2  drop-after-commit; how=reset; on=1
    f12  --fault  armed        0      0        0  refuse; provider=stripe; key=order-*
    f12 nearly matched: key should be order-*, was invoice-1
    ");
        assert_eq!(stub.run(&["faults", "list"]).await.1, text);
        let empty = Stub::answering(200, json!({"faults": []})).await;
        assert_eq!(empty.run(&["faults", "list"]).await.1, "No rule is armed.\n");
    }

    #[tokio::test]
    async fn rules_are_sent_as_one_list_in_either_form() {
        let rule = json!({"id": "f1", "source": "api", "mode": "pass", "matched": 0, "fired": 0, "skipped": 0, "armed": true, "expired": false});
        let stub = Stub::answering(201, rule).await;
        stub.run(&["faults", "add", "pass; on=2", "--scope", "alice"])
            .await
            .0
            .unwrap();
        stub.run_with(
            &["faults", "add", r#"{"mode":"pass"}"#, "-"],
            "refuse; status=402\n\n delay; delay=2s\n",
        )
        .await
        .0
        .unwrap();
        stub.run_with(&["faults", "add", "-"], "[{\"mode\":\n\"pass\"}]")
            .await
            .0
            .unwrap();
        assert_eq!(
            stub.seen(),
            [
                r#"POST /_faults?scope=alice - {"mode":"pass","on":2}"#,
                r#"POST /_faults - [{"mode":"pass"},{"mode":"refuse","status":402},{"mode":"delay","delay":"2s"}]"#,
                r#"POST /_faults - {"mode":"pass"}"#,
            ]
        );
    }

    #[tokio::test]
    async fn what_is_no_rule_is_not_sent() {
        let stub = Stub::answering(201, json!({})).await;
        for (line, input) in [
            (&["faults", "add", "on=1"][..], ""),
            (&["faults", "add", "-"], " \n"),
            (&["faults", "add", "-"], "{"),
        ] {
            assert!(
                matches!(stub.run_with(line, input).await.0, Err(Failure::Usage(_))),
                "{line:?}"
            );
        }
        assert!(stub.seen().is_empty());
    }

    #[tokio::test]
    async fn one_rule_or_all_of_them_are_cleared() {
        let stub = Stub::answering(200, json!({"cleared": 1})).await;
        assert_eq!(stub.run(&["faults", "clear", "f/1"]).await.1, "cleared f/1\n");
        assert_eq!(stub.run(&["faults", "clear"]).await.1, "cleared all rules of the API\n");
        assert_eq!(stub.seen(), ["DELETE /_faults/f%2F1 - ", "DELETE /_faults - "]);
    }
}
