//! `ackdrop events`: every attempt, one a line.

use http::Method;
use http_body_util::BodyExt;
use serde_json::Value;

use super::client::Remote;
use super::sse::Decoder;
use super::table::words;
use super::target::Target;
use super::{Answer, Console, Failure};

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
    let (body, answer) = remote.json(Method::GET, "/_events", None).await?;
    if remote.json {
        console.out.write_all(&body)?;
        writeln!(console.out)?;
        return Ok(Answer::Yes);
    }
    let entries = answer.get("events").unwrap_or(&answer).as_array();
    let entries = entries.ok_or_else(|| remote.strange("no `events` in it".to_owned()))?;
    for entry in entries {
        writeln!(console.out, "{}", line(entry))?;
    }
    if answer["journal_trimmed"].as_bool() == Some(true) {
        writeln!(
            console.out,
            "(older attempts have left the journal; `ackdrop stats` still counts them)"
        )?;
    }
    Ok(Answer::Yes)
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
            let text = match serde_json::from_str(&event) {
                Ok(entry) if !remote.json => line(&entry),
                _ => event,
            };
            writeln!(console.out, "{text}")?;
        }
        console.out.flush()?;
    }
    Ok(Answer::Yes)
}

/// Writes an attempt as the log does, its time in front: `stripe charges.create key=order-17 accepted withheld(reset) fault=f1`.
fn line(entry: &Value) -> String {
    let text = |names: &[&str]| {
        names
            .iter()
            .map(|name| words(&entry[*name]))
            .find(|text| !text.is_empty())
    };
    let named = |label: &str, value: Option<String>| value.map(|value| format!("{label}={value}"));
    let scope = text(&["scope"]).filter(|scope| scope != "default");
    let fate = text(&["fate"]).map(|fate| match text(&["how"]) {
        Some(how) => format!("{fate}({how})"),
        None => fate,
    });
    let parts = [
        text(&["arrived", "arrived_at"]),
        named("scope", scope),
        text(&["provider"]),
        text(&["operation"]),
        named("key", text(&["key"])),
        Some(text(&["outcome"]).unwrap_or_else(|| "in flight".to_owned())),
        Some(fate.unwrap_or_else(|| "open".to_owned())),
        named("fault", rule(entry)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Names the rule that fired, by its id where it has one.
fn rule(entry: &Value) -> Option<String> {
    let rule = entry.get("fault").or_else(|| entry.get("rule"))?;
    let name = words(rule.get("id").unwrap_or(rule));
    (!name.is_empty()).then_some(name)
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
            "key": "order-17", "outcome": "accepted", "fate": "withheld", "how": "reset", "fault": "f1"});
        assert_eq!(
            line(&entry),
            "2026-01-01T00:00:00Z stripe charges.create key=order-17 accepted withheld(reset) fault=f1"
        );
        let begun = json!({"scope": "alice", "provider": "smtp", "operation": "mail", "key": null, "outcome": null, "fate": null, "fault": {"id": "f2"}});
        assert_eq!(line(&begun), "scope=alice smtp mail in flight open fault=f2");
    }

    #[tokio::test]
    async fn the_list_and_the_stream() {
        let entry = json!({"provider": "smtp", "operation": "mail", "outcome": "accepted", "fate": "answered"});
        let stub = Stub::answering(200, json!({"events": [entry, entry], "journal_trimmed": true})).await;
        let (ended, text) = stub.run(&["events"]).await;
        assert_eq!(ended.unwrap(), Answer::Yes);
        assert_eq!(
            text,
            "smtp mail accepted answered\nsmtp mail accepted answered\n(older attempts have left the journal; `ackdrop stats` still counts them)\n"
        );

        let stub = Stub::answering_text(200, &format!(": hello\n\ndata: {entry}\n\n")).await;
        assert_eq!(
            stub.run(&["events", "--follow"]).await.1,
            "smtp mail accepted answered\n"
        );
        assert_eq!(stub.run(&["events", "-f", "--json"]).await.1, format!("{entry}\n"));
        assert_eq!(stub.seen()[0], "GET /_events/stream - ");
    }
}
