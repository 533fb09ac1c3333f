//! What the answer tells: status, times and trouble of every copy, and the sum.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::deliver::{Batch, Report, Sent, Times, Trouble};
use crate::ledger::{Fate, Outcome, secrets};

/// How much of an answer's body is shown; all that was read of it is in the journal.
const SHOWN: usize = 1 << 10;

pub(super) fn show(batch: &Batch, sent: &[Sent]) -> Value {
    let target = batch.letters.first().map(|letter| letter.target().to_string());
    let copies: Vec<Value> = sent.iter().map(|sent| copy(batch, sent)).collect();
    json!({
        "url": target.map(|url| secrets::clean(&url).into_owned()),
        "copies": copies,
        "summary": summary(sent),
    })
}

fn copy(batch: &Batch, sent: &Sent) -> Value {
    let key = batch.letters[sent.event].key().map(secrets::clean);
    match &sent.tried {
        Ok(report) => json!({
            "event": sent.event,
            "key": key,
            "attempt": report.attempt,
            "status": told(report).map(|status| status.as_u16()),
            "outcome": report.outcome,
            "fate": report.fate,
            "error": report.trouble.as_ref().map(trouble).or_else(|| withheld(report)),
            "body": told(report).map(|_| body(report)),
            "times": times(&report.times),
        }),
        Err(reason) => {
            json!({"event": sent.event, "key": key, "attempt": null, "status": null, "error": trouble(reason)})
        }
    }
}

fn summary(sent: &[Sent]) -> Value {
    let reports = || sent.iter().filter_map(|sent| sent.tried.as_ref().ok());
    let count = |outcome: Outcome| reports().filter(|report| report.outcome == outcome).count();
    let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
    for status in reports().filter_map(told) {
        *statuses.entry(status.as_u16().to_string()).or_default() += 1;
    }
    let released = || reports().filter_map(|report| report.times.released);
    let within = released().max().zip(released().min()).map(|(last, first)| last - first);
    json!({
        "copies": sent.len(),
        "accepted": count(Outcome::Accepted),
        "refused": count(Outcome::Refused),
        "unknown": count(Outcome::Unknown),
        "failed": count(Outcome::Failed),
        "not_sent": sent.iter().filter(|sent| sent.tried.is_err()).count(),
        "statuses": statuses,
        "released_within": milliseconds(within),
    })
}

/// Returns the status of which the sender learns.
fn told(report: &Report) -> Option<StatusCode> {
    report.status.filter(|_| report.fate != Fate::Withheld)
}

/// Says what a fault rule has kept from the sender, or from the receiver.
fn withheld(report: &Report) -> Option<Value> {
    let what = match report.outcome {
        _ if report.fate != Fate::Withheld => return None,
        Outcome::Failed => "a fault rule kept it back, and nothing was sent",
        _ => "a fault rule kept the receiver's answer back",
    };
    Some(json!({"what": "withheld", "reason": what}))
}

fn trouble(trouble: &Trouble) -> Value {
    json!({"what": trouble.what, "reason": secrets::clean(&trouble.reason)})
}

fn body(report: &Report) -> String {
    let text = String::from_utf8_lossy(&report.body[..report.body.len().min(SHOWN)]);
    secrets::clean(&text).into_owned()
}

/// Shows moments in milliseconds since the begin of the whole delivery.
fn times(times: &Times) -> Value {
    json!({
        "connected": milliseconds(times.connected),
        "released": milliseconds(times.released),
        "sent": milliseconds(times.sent),
        "first_byte": milliseconds(times.first_byte),
        "done": milliseconds(times.done),
    })
}

fn milliseconds(time: Option<Duration>) -> Value {
    time.map_or(Value::Null, |time| (time.as_micros() as f64 / 1_000.0).into())
}
