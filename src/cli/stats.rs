//! `ackdrop stats`: the counts, as a calm table.

use http::Method;
use serde_json::{Map, Value};

use super::table::{aligned, words};
use super::target::Target;
use super::{Answer, Console, Failure};

/// Shows what was received, accepted, and done twice.
#[derive(Debug, clap::Args)]
pub struct Stats {
    #[command(flatten)]
    target: Target,
}

/// The counts of an operation; the two sums that make `received` are set apart.
const OUTCOMES: [&str; 9] = [
    "received",
    "accepted",
    "replayed",
    "refused",
    "read",
    "failed",
    "incomplete",
    "unknown",
    "in_flight",
];
const FATES: [&str; 4] = ["answered", "withheld", "lost", "open"];

impl Stats {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let (body, stats) = remote.json(Method::GET, "/_stats", None).await?;
        if remote.json {
            console.out.write_all(&body)?;
            writeln!(console.out)?;
        } else {
            let text = render(&stats).ok_or_else(|| remote.strange("no `providers` in it".to_owned()))?;
            console.out.write_all(text.as_bytes())?;
        }
        Ok(Answer::Yes)
    }
}

/// Writes the whole page; none if this is no answer of `/_stats`.
fn render(stats: &Value) -> Option<String> {
    let providers = stats.get("providers")?.as_object()?;
    let mut sections = Vec::new();
    let busy: Vec<_> = providers
        .iter()
        .filter(|(_, counts)| count(counts, "received") > 0)
        .collect();
    if busy.is_empty() {
        sections.push("No attempt has arrived.\n".to_owned());
    } else {
        sections.push(operations(&busy, &stats["total"]));
        sections.push(effects(&busy));
    }
    sections.push(closing(stats));
    Some(sections.join("\n"))
}

/// One line an operation under the sums of its provider; a column or a count that is zero stays quiet.
fn operations(providers: &[(&String, &Value)], total: &Value) -> String {
    let mut lines: Vec<(String, &Value)> = Vec::new();
    for (name, counts) in providers {
        lines.push(((*name).clone(), *counts));
        for (operation, counts) in fields(counts, "operations") {
            if count(counts, "received") > 0 {
                lines.push((format!("  {operation}"), counts));
            }
        }
    }
    lines.push(("total".to_owned(), total));
    let used = |column: &&&str| lines.iter().any(|(_, counts)| count(counts, column) > 0);
    let outcomes: Vec<&str> = OUTCOMES.iter().filter(used).copied().collect();
    let fates: Vec<&str> = FATES.iter().filter(used).copied().collect();

    let heading = |column: &&str| column.replace('_', " ");
    // The empty column sets the fates apart: each side adds up to `received`.
    let mut head = vec![String::new()];
    head.extend(outcomes.iter().map(heading));
    head.push(String::new());
    head.extend(fates.iter().map(heading));
    let rows = lines.iter().map(|(name, counts)| {
        let mut row = vec![name.clone()];
        row.extend(outcomes.iter().map(|column| quiet(count(counts, column))));
        row.push(String::new());
        row.extend(fates.iter().map(|column| quiet(count(counts, column))));
        row
    });
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    aligned(&rows, &[0])
}

/// What exists at each provider, and what it did twice.
fn effects(providers: &[(&String, &Value)]) -> String {
    let head = ["", "class", "effects", "duplicates"].map(str::to_owned).to_vec();
    let rows = providers.iter().map(|(name, counts)| {
        let by = fields(counts, "duplicates_by").filter(|(_, number)| number.as_u64() != Some(0));
        let by: Vec<String> = by.map(|(by, number)| format!("{number} by {by}")).collect();
        let by = if by.is_empty() {
            String::new()
        } else {
            format!("({})", by.join(", "))
        };
        vec![
            (*name).clone(),
            words(&counts["class"]),
            listed(counts),
            quiet(count(counts, "duplicates")),
            by,
        ]
    });
    let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    aligned(&rows, &[0, 1, 2, 4])
}

/// How many of the last requests that no provider knows are shown.
const STRAYS: usize = 5;

/// Says how many requests no provider knows, and shows the last of them: a wrong base URL is seen at once.
pub(super) fn strays(answer: &Value) -> Vec<String> {
    let unmatched @ 1.. = count(answer, "unmatched") else {
        return Vec::new();
    };
    let last: Vec<&Value> = answer["unmatched_last"].as_array().into_iter().flatten().collect();
    let shown = last.iter().rev().take(STRAYS).rev();
    let head = format!("unmatched   {unmatched} (no provider has that path)");
    let lines = shown.map(|line| format!("            {}", words(line)));
    [head].into_iter().chain(lines).collect()
}

/// Says which hosts the proxy refused.
fn refused(stats: &Value) -> Vec<String> {
    let hosts: Vec<String> = fields(stats, "refused_hosts")
        .map(|(host, n)| format!("{} {}", words(&host.as_str().into()), words(n)))
        .collect();
    if hosts.is_empty() {
        return Vec::new();
    }
    let text = hosts.join(", ");
    vec![format!(
        "refused     {text} (no such host is played; --allow-host lets one through)"
    )]
}

fn closing(stats: &Value) -> String {
    let faults = &stats["faults"];
    let mut lines = vec![format!(
        "faults      {} armed, {} fired",
        count(faults, "armed"),
        count(faults, "fired")
    )];
    lines.extend(strays(stats));
    lines.extend(refused(stats));
    let trimmed = &stats["journal_trimmed"];
    let (entries, bodies) = (count(trimmed, "entries"), count(trimmed, "bodies"));
    if entries + bodies > 0 {
        lines.push(format!(
            "journal     let go of its oldest {entries} attempts and {bodies} bodies; the counts are whole"
        ));
    }
    lines.push(format!(
        "since       {} (generation {})",
        words(&stats["since"]),
        count(stats, "generation")
    ));
    lines.join("\n") + "\n"
}

fn listed(counts: &Value) -> String {
    let effects = fields(counts, "effects").filter(|(_, number)| number.as_u64() != Some(0));
    effects
        .map(|(kind, number)| format!("{kind} {number}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn quiet(number: u64) -> String {
    if number == 0 {
        "·".to_owned()
    } else {
        number.to_string()
    }
}

fn count(counts: &Value, name: &str) -> u64 {
    counts.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn fields<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value
        .get(name)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Answer, Failure, render};
    use crate::cli::testing::Stub;

    fn stats() -> Value {
        json!({"generation": 1, "since": "2026-01-01T00:00:00Z",
            "providers": {
                "orders": {"class": "key-enforced", "received": 0, "accepted": 0, "operations": {}},
                "stripe": {"class": "key-enforced", "received": 3, "accepted": 1, "replayed": 1, "refused": 0, "read": 1,
                    "answered": 2, "withheld": 1, "lost": 0, "open": 0, "duplicates": 0, "effects": {"charge": 1},
                    "operations": {
                        "charges.create": {"received": 2, "accepted": 1, "replayed": 1, "answered": 1, "withheld": 1},
                        "charges.retrieve": {"received": 1, "read": 1, "answered": 1},
                        "charges.list": {"received": 0}}},
                "smtp": {"class": "key-advisory", "received": 2, "accepted": 2, "answered": 2, "duplicates": 1,
                    "duplicates_by": {"message-id": 0, "content": 1}, "effects": {"message": 2, "recipient": 2},
                    "operations": {"mail.send": {"received": 2, "accepted": 2, "answered": 2}}}},
            "total": {"received": 5, "accepted": 3, "replayed": 1, "read": 1, "answered": 4, "withheld": 1, "duplicates": 1},
            "effects": {"charge": 1, "message": 2, "recipient": 2},
            "faults": {"armed": 0, "fired": 1}, "unmatched": 0})
    }

    #[test]
    fn a_table_says_how_often_it_really_happened() {
        insta::assert_snapshot!(render(&stats()).unwrap(), @r"
                        received  accepted  replayed  read    answered  withheld
    stripe                     3         1         1     1           2         1
      charges.create           2         1         1     ·           1         1
      charges.retrieve         1         ·         ·     1           1         ·
    smtp                       2         2         ·     ·           2         ·
      mail.send                2         2         ·     ·           2         ·
    total                      5         3         1     1           4         1

            class         effects                 duplicates
    stripe  key-enforced  charge 1                         ·
    smtp    key-advisory  message 2, recipient 2           1  (1 by content)

    faults      0 armed, 1 fired
    since       2026-01-01T00:00:00Z (generation 1)
    ");
    }

    #[test]
    fn an_empty_suite_says_so() {
        let empty = json!({"generation": 2, "since": "2026-01-01T00:00:00Z", "providers": {}, "total": {},
            "faults": {"armed": 1, "fired": 0}, "unmatched": 3, "refused_hosts": {"example.com:443": 2, "a.test:80": 1},
            "journal_trimmed": {"entries": 7, "bodies": 0}});
        insta::assert_snapshot!(render(&empty).unwrap(), @r"
    No attempt has arrived.

    faults      1 armed, 0 fired
    unmatched   3 (no provider has that path)
    refused     example.com:443 2, a.test:80 1 (no such host is played; --allow-host lets one through)
    journal     let go of its oldest 7 attempts and 0 bodies; the counts are whole
    since       2026-01-01T00:00:00Z (generation 2)
    ");
    }

    #[tokio::test]
    async fn json_is_passed_on_as_it_came() {
        let stub = Stub::answering(200, stats()).await;
        let (ended, text) = stub.run(&["stats", "--json", "--scope", "alice"]).await;
        assert_eq!(ended.unwrap(), Answer::Yes);
        assert_eq!(text, format!("{}\n", stats()));
        assert_eq!(stub.seen(), ["GET /_stats?scope=alice - "]);
    }

    #[tokio::test]
    async fn json_of_something_else_is_not_taken_for_counts() {
        let stub = Stub::answering(200, json!({"hello": 1})).await;
        let (ended, text) = stub.run(&["stats"]).await;
        assert!(matches!(ended, Err(Failure::Strange { .. })) && text.is_empty());
    }
}
