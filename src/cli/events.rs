//! `ackdrop events`: every attempt, one a line.

use std::collections::BTreeMap;

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use super::client::Remote;
use super::sse::Decoder;
use super::table::words;
use super::target::Target;
use super::{Answer, Console, Failure};

/// How many entries are asked for at once.
const PAGE: u64 = 1000;

/// Shows every attempt, one a line, in the order in which they began.
#[derive(Debug, clap::Args)]
pub struct Events {
    /// Go on with what happens from now, until interrupted
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    target: Target,
}

impl Events {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        if self.follow {
            follow(&remote, console).await
        } else {
            list(&remote, console).await
        }
    }
}

async fn list(remote: &Remote, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let (entries, trimmed) = all(remote).await?;
    if remote.json {
        let events: Vec<Value> = entries.into_values().collect();
        writeln!(console.out, "{}", json!({"events": events, "journal_trimmed": trimmed}))?;
        return Ok(Answer::Yes);
    }
    for entry in entries.values() {
        writeln!(console.out, "{}", line(entry))?;
    }
    if trimmed > 0 {
        writeln!(
            console.out,
            "({trimmed} older attempts have left the journal; `ackdrop stats` still counts them)"
        )?;
    }
    Ok(Answer::Yes)
}

/// Reads the whole journal, page after page, into the order in which attempts began; says how many have left it.
async fn all(remote: &Remote) -> Result<(BTreeMap<u64, Value>, u64), Failure> {
    let mut entries = BTreeMap::new();
    let mut since = 0;
    loop {
        let path = format!("/_events?since={since}&limit={PAGE}");
        let (_, answer) = remote.json(Method::GET, &path, None).await?;
        let page = answer["events"].as_array();
        let page = page.ok_or_else(|| remote.strange("no `events` in it".to_owned()))?;
        // One that changed while we read comes twice: its last state counts.
        for entry in page {
            entries.insert(entry["id"].as_u64().unwrap_or_default(), entry.clone());
        }
        match answer["next"].as_u64() {
            Some(next) if next > since && answer["has_more"] == true => since = next,
            _ => return Ok((entries, answer["journal_trimmed"].as_u64().unwrap_or_default())),
        }
    }
}

async fn follow(remote: &Remote, console: &mut Console<'_>) -> Result<Answer, Failure> {
    let mut stream = remote.stream("/_events/stream").await?;
    let mut decoder = Decoder::default();
    while let Some(frame) = stream.frame().await {
        let frame = frame.map_err(|error| remote.strange(format!("the stream broke off ({error})")))?;
        let Some(bytes) = frame.data_ref() else {
            continue;
        };
        let events = decoder
            .ingest(bytes)
            .map_err(|_| remote.strange("an event without end".to_owned()))?;
        for event in events {
            if remote.json {
                writeln!(console.out, "{event}")?;
                continue;
            }
            let entry: Value = serde_json::from_str(&event)
                .map_err(|error| remote.strange(format!("an event that is no JSON ({error})")))?;
            if entry["event"].is_string() {
                writeln!(console.out, "{}", hold_line(&entry))?;
                continue;
            }
            // For people one line an attempt, as the log has it: when it has its outcome and its fate.
            if !entry["outcome"].is_null() && !entry["fate"].is_null() {
                writeln!(console.out, "{}", line(&entry))?;
            }
        }
        console.out.flush()?;
    }
    Ok(Answer::Yes)
}

/// Writes that a hold begins or ends: `hold h1 stripe charges.create key=order-17 before 3 of 20`.
fn hold_line(hold: &Value) -> String {
    let text = |name: &str| Some(words(&hold[name])).filter(|text| !text.is_empty());
    let scope = text("scope").filter(|scope| scope != "default");
    let barrier = &hold["barrier"];
    let gathered = barrier.is_object().then(|| {
        let count = |name: &str| words(&barrier[name]);
        format!("{} of {}", count("gathered"), count("of"))
    });
    let parts = [
        text("event"),
        text("id"),
        scope.map(|scope| format!("~{scope}")),
        text("provider"),
        text("operation"),
        text("key").map(|key| format!("key={}", quoted(key))),
        text("point"),
        gathered,
        text("then").map(|then| match text("how") {
            Some(how) => format!("{then}({how})"),
            None => then,
        }),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Writes an attempt as the log does, its time in front: `stripe charges.create key=order-17 accepted withheld(reset) fault=f1`.
fn line(entry: &Value) -> String {
    let text = |name: &str| Some(words(&entry[name])).filter(|text| !text.is_empty());
    let named = |label: &str, value: Option<String>| value.map(|value| format!("{label}={value}"));
    let faults = entry["faults"].as_array().map_or(&[][..], Vec::as_slice);
    let how = faults
        .iter()
        .rev()
        .map(|fault| words(&fault["how"]))
        .find(|how| !how.is_empty());
    let fate = match (text("fate"), how) {
        (Some(fate), Some(how)) if fate == "withheld" => format!("{fate}({how})"),
        (Some(fate), _) => fate,
        (None, _) => "open".to_owned(),
    };
    let scope = text("scope").filter(|scope| scope != "default");
    let parts = [
        text("arrived"),
        scope.map(|scope| format!("~{scope}")),
        text("provider"),
        text("operation"),
        named("key", text("key").map(quoted)),
        Some(text("outcome").unwrap_or_else(|| "in_flight".to_owned())),
        Some(fate),
    ];
    let rules = faults.iter().map(|fault| format!("fault={}", words(&fault["rule"])));
    let parts = parts
        .into_iter()
        .flatten()
        .chain(rules)
        .chain(named("duplicate", text("duplicate")));
    parts.collect::<Vec<_>>().join(" ")
}

/// Quotes what would not stand as one word of a line.
fn quoted(text: String) -> String {
    if text.contains([' ', '"']) {
        format!("{text:?}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::line;
    use crate::cli::Answer;
    use crate::cli::testing::Stub;

    #[test]
    fn a_line_is_the_logs_with_its_time() {
        let entry = json!({"arrived": "2026-01-01T00:00:00Z", "scope": "default", "provider": "stripe", "operation": "charges.create",
            "key": "order-17", "outcome": "accepted", "fate": "withheld", "duplicate": null,
            "faults": [{"rule": "f1", "mode": "drop-after-commit", "how": "reset"}]});
        assert_eq!(
            line(&entry),
            "2026-01-01T00:00:00Z stripe charges.create key=order-17 accepted withheld(reset) fault=f1"
        );
        let begun = json!({"scope": "alice", "provider": "smtp", "operation": "mail", "key": null, "outcome": null, "fate": null, "faults": [{"rule": "f2", "mode": "delay"}]});
        assert_eq!(line(&begun), "~alice smtp mail in_flight open fault=f2");
    }

    #[tokio::test]
    async fn every_page_of_the_journal_is_read_and_each_attempt_is_shown_once_in_its_order() {
        let entry = |id: u64, outcome: &str| json!({"id": id, "provider": "smtp", "operation": "mail", "outcome": outcome, "fate": "answered"});
        let first = json!({"events": [entry(2, "failed"), entry(1, "accepted")], "next": 5, "has_more": true, "journal_trimmed": 0});
        let second = json!({"events": [entry(2, "refused")], "next": 9, "has_more": false, "journal_trimmed": 3});
        let stub = Stub::answering_each(vec![(200, first.to_string()), (200, second.to_string())]).await;
        let (ended, text) = stub.run(&["events", "--scope", "alice"]).await;
        assert_eq!(ended.unwrap(), Answer::Yes);
        assert_eq!(
            text,
            "smtp mail accepted answered\nsmtp mail refused answered\n(3 older attempts have left the journal; `ackdrop stats` still counts them)\n"
        );
        assert_eq!(
            stub.seen(),
            [
                "GET /_events?since=0&limit=1000&scope=alice - ",
                "GET /_events?since=5&limit=1000&scope=alice - "
            ]
        );
    }

    #[tokio::test]
    async fn the_stream_shows_people_whole_attempts_and_machines_everything() {
        let begun = json!({"id": 1, "provider": "smtp", "operation": "mail", "outcome": null, "fate": null});
        let entry =
            json!({"id": 1, "provider": "smtp", "operation": "mail", "outcome": "accepted", "fate": "answered"});
        let held = json!({"event": "release", "id": "h1", "scope": "alice", "provider": "smtp", "operation": "mail", "key": null,
            "point": "after", "barrier": {"gathered": 2, "of": 2}, "then": "drop", "how": "reset"});
        let text = format!(": hello\n\ndata: {begun}\n\ndata: {entry}\n\ndata: {held}\n\n");
        let stub = Stub::answering_text(200, &text).await;
        assert_eq!(
            stub.run(&["events", "--follow"]).await.1,
            "smtp mail accepted answered\nrelease h1 ~alice smtp mail after 2 of 2 drop(reset)\n"
        );
        assert_eq!(
            stub.run(&["events", "-f", "--json"]).await.1,
            format!("{begun}\n{entry}\n{held}\n")
        );
        assert_eq!(stub.seen()[0], "GET /_events/stream - ");
    }
}
