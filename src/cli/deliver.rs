//! `ackdrop deliver`: send an event to a receiver, in copies of one moment, spaced, reordered or late.

use std::io::Read as _;
use std::time::Duration;

use clap::ArgAction;
use http::Method;
use serde_json::{Map, Value, json};

use super::table::{aligned, words};
use super::target::Target;
use super::{Answer, Console, Failure};

/// The longest that a suite takes to deliver, and a moment to say so.
const LONGEST: Duration = Duration::from_secs(1_300);
const LARGEST_BODY: u64 = 1 << 20;

/// Sends an event to a URL on loopback, a private network, or a host named by --deliver-host of the suite. Copies go in one moment,
/// unless spaced: does the receiver do it once?
///
/// Exit code 0 when every copy was answered 2xx, else 1.
#[derive(Debug, clap::Args)]
pub struct Deliver {
    /// Where to, such as <http://127.0.0.1:3000/hook>
    #[arg(value_name = "URL", help = "Where to, such as http://127.0.0.1:3000/hook")]
    receiver: String,
    /// The body: text, @FILE, or - for standard input. Several are several events
    #[arg(long, value_name = "TEXT|@FILE", action = ArgAction::Append)]
    body: Vec<String>,
    /// A header, as NAME:VALUE. Repeatable
    #[arg(long, value_name = "NAME:VALUE", action = ArgAction::Append)]
    header: Vec<String>,
    /// The method
    #[arg(long, default_value = "POST")]
    method: String,
    /// How many copies of each event
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    copies: u64,
    /// Send one copy so long after the other, whatever became of the first: 250ms
    #[arg(long, value_name = "TIME")]
    spacing: Option<String>,
    /// Send one event after the other: given, reverse, shuffle, or numbers from 0 as 2,0,1
    #[arg(long)]
    order: Option<String>,
    /// Makes a shuffle the same every time
    #[arg(long, value_name = "NUMBER", requires = "order")]
    seed: Option<u64>,
    /// Wait so long before the first
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// Give each request so much time
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Sign as stripe:SECRET or standard:SECRET, the secret as whsec_…
    #[arg(long, value_name = "SCHEME:SECRET")]
    sign: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Deliver {
    pub(super) async fn run(self, console: &mut Console<'_>) -> Result<Answer, Failure> {
        let remote = self.target.remote(console.env)?;
        let asked = self.asked(console)?;
        let reply = remote
            .ask_within(LONGEST, Method::POST, "/_deliver", Some(&asked))
            .await?;
        if !reply.status.is_success() {
            return Err(remote.refusal(&reply));
        }
        let told: Value =
            serde_json::from_slice(&reply.body).map_err(|error| remote.strange(format!("no JSON ({error})")))?;
        let Some(copies) = told["copies"].as_array() else {
            return Err(remote.strange("it tells of no copies".to_owned()));
        };
        if remote.json {
            console.out.write_all(&reply.body)?;
        } else {
            write!(console.out, "{}", table(copies))?;
            writeln!(console.out, "{}", sum(&told["summary"]))?;
        }
        let all = copies.iter().all(|copy| copy["outcome"] == "accepted");
        Ok(if all { Answer::Yes } else { Answer::No })
    }

    fn asked(&self, console: &mut Console<'_>) -> Result<Value, Failure> {
        let mut asked = json!({"url": self.receiver, "method": self.method, "copies": self.copies});
        let bodies = self.body.iter().map(|body| body_of(body, console));
        let bodies: Vec<Value> = bodies.collect::<Result<_, _>>()?;
        match &bodies[..] {
            [] => {}
            [body] => asked["body"] = body.clone(),
            _ => asked["bodies"] = bodies.into(),
        }
        if !self.header.is_empty() {
            asked["headers"] = headers(&self.header)?;
        }
        for (field, value) in [
            ("spacing", &self.spacing),
            ("delay", &self.delay),
            ("timeout", &self.timeout),
        ] {
            if let Some(value) = value {
                asked[field] = value.as_str().into();
            }
        }
        if let Some(order) = &self.order {
            let numbers: Result<Vec<u64>, _> = order.split(',').map(|number| number.trim().parse()).collect();
            asked["order"] = numbers.map_or_else(|_| order.as_str().into(), Value::from);
        }
        if let Some(seed) = self.seed {
            asked["seed"] = seed.into();
        }
        if let Some(sign) = &self.sign {
            let (scheme, secret) = sign
                .split_once(':')
                .ok_or_else(|| Failure::Usage("--sign is stripe:SECRET or standard:SECRET".to_owned()))?;
            asked["sign"] = json!({"scheme": scheme, "secret": secret});
        }
        Ok(asked)
    }
}

fn body_of(text: &str, console: &mut Console<'_>) -> Result<Value, Failure> {
    let mut read = String::new();
    let unread = |error: std::io::Error| Failure::Usage(format!("cannot read the body from {text}: {error}"));
    if text == "-" {
        console
            .input
            .take(LARGEST_BODY + 1)
            .read_to_string(&mut read)
            .map_err(unread)?;
    } else if let Some(path) = text.strip_prefix('@') {
        let file = std::fs::File::open(path).map_err(unread)?;
        file.take(LARGEST_BODY + 1).read_to_string(&mut read).map_err(unread)?;
    } else {
        read = text.to_owned();
    }
    Ok(read.into())
}

fn headers(given: &[String]) -> Result<Value, Failure> {
    let mut headers: Map<String, Value> = Map::new();
    for header in given {
        // The text is not repeated: it may be a credential.
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| Failure::Usage("a --header is NAME:VALUE".to_owned()))?;
        let values = headers.entry(name.trim()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(value.trim().into());
        }
    }
    Ok(headers.into())
}

fn table(copies: &[Value]) -> String {
    let head = ["copy", "event", "status", "outcome", "released", "answered", "error"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (number, copy) in copies.iter().enumerate() {
        let moment = |name: &str| {
            copy["times"][name]
                .as_f64()
                .map_or(String::new(), |ms| format!("{ms:.1}ms"))
        };
        let or = |value: &Value, other: &str| {
            if value.is_null() {
                other.to_owned()
            } else {
                words(value)
            }
        };
        let error = &copy["error"];
        let error = match error["what"].is_null() {
            true => String::new(),
            false => format!("{}: {}", words(&error["what"]), words(&error["reason"])),
        };
        rows.push(vec![
            (number + 1).to_string(),
            words(&copy["event"]),
            or(&copy["status"], "-"),
            or(&copy["outcome"], "not sent"),
            moment("released"),
            moment("done"),
            error,
        ]);
    }
    aligned(&rows, &[3, 6])
}

fn sum(summary: &Value) -> String {
    let count = |name: &str| summary[name].as_u64().unwrap_or_default();
    let mut text = format!("{} copies: {} accepted", count("copies"), count("accepted"));
    for (name, word) in [
        ("refused", "refused"),
        ("unknown", "unknown"),
        ("failed", "failed"),
        ("not_sent", "not sent"),
    ] {
        if count(name) > 0 {
            text.push_str(&format!(", {} {word}", count(name)));
        }
    }
    if let Some(within) = summary["released_within"].as_f64().filter(|_| count("copies") > 1) {
        text.push_str(&format!("; released within {within:.1}ms"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Answer, Failure};
    use crate::cli::testing::Stub;

    fn told(statuses: &[u16]) -> Value {
        let copies = statuses.iter().map(|status| {
            let outcome = if *status < 300 { "accepted" } else { "refused" };
            json!({"event": 0, "status": status, "outcome": outcome, "error": null, "times": {"released": 1.25, "done": 3.5}})
        });
        let accepted = statuses.iter().filter(|status| **status < 300).count();
        let summary = json!({"copies": statuses.len(), "accepted": accepted, "refused": statuses.len() - accepted, "released_within": 0.04});
        json!({"copies": copies.collect::<Vec<_>>(), "summary": summary})
    }

    fn body(seen: &str) -> Value {
        serde_json::from_str(
            seen.strip_prefix("POST /_deliver - ")
                .unwrap_or_else(|| panic!("{seen}")),
        )
        .unwrap()
    }

    #[tokio::test]
    async fn what_is_asked_for_is_sent_and_every_copy_is_a_line() {
        let stub = Stub::answering(200, told(&[200, 409])).await;
        let line = [
            "deliver",
            "http://n8n/hook",
            "--body",
            r#"{"a":1}"#,
            "--header",
            "X-A: b:c",
            "--header",
            "x-a:d",
            "--copies",
            "2",
            "--timeout",
            "5s",
            "--sign",
            "stripe:whsec_x",
        ];
        let (ended, text) = stub.run(&line).await;
        assert_eq!(ended.unwrap(), Answer::No);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[1].contains("200") && lines[1].contains("accepted") && lines[1].contains("3.5ms"),
            "{text}"
        );
        assert_eq!(lines[3], "2 copies: 1 accepted, 1 refused; released within 0.0ms");
        let wanted = json!({
            "url": "http://n8n/hook", "method": "POST", "copies": 2, "body": "{\"a\":1}", "timeout": "5s",
            "headers": {"X-A": ["b:c"], "x-a": ["d"]}, "sign": {"scheme": "stripe", "secret": "whsec_x"},
        });
        assert_eq!(body(&stub.seen()[0]), wanted);
    }

    #[tokio::test]
    async fn several_bodies_are_events_in_an_order() {
        let stub = Stub::answering(200, told(&[200, 200])).await;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "second").unwrap();
        let at = format!("@{}", file.path().display());
        let line = [
            "deliver",
            "http://n8n/",
            "--body",
            "-",
            "--body",
            &at,
            "--order",
            "1,0,1",
        ];
        let (ended, _) = stub.run_with(&line, "first").await;
        assert_eq!(ended.unwrap(), Answer::Yes);
        let asked = body(&stub.seen()[0]);
        assert_eq!(
            (&asked["bodies"], &asked["order"]),
            (&json!(["first", "second"]), &json!([1, 0, 1]))
        );
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_without_the_secret() {
        let stub = Stub::answering(400, json!({"error": {"message": "nothing was sent"}})).await;
        for line in [
            ["deliver", "http://n8n/", "--sign", "whsec_x"],
            ["deliver", "http://n8n/", "--header", "sk_test_x"],
            ["deliver", "http://n8n/", "--body", "@/no/such/file"],
        ] {
            let (ended, _) = stub.run(&line).await;
            let failure = ended.unwrap_err();
            assert!(matches!(failure, Failure::Usage(_)), "{failure}");
            assert!(!failure.to_string().contains("_x"), "{failure}");
        }
        let (ended, text) = stub.run(&["deliver", "ftp://n8n/"]).await;
        assert_eq!(
            (ended.unwrap_err().to_string(), text),
            ("nothing was sent".to_owned(), String::new())
        );
    }
}
