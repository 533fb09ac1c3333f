//! Reads what is to be delivered, and finds every mistake before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::sign::{Sign, Signed};
use crate::deliver::{Batch, LONGEST_BATCH, Letter, Pace, Parcel, Sender, Target};
use crate::duration;
use crate::ledger::{Ledger, secrets};

const FIELDS: &str = "url, method, headers, body, bodies, events, copies, spacing, order, seed, delay, timeout, sign";
const EVENT_FIELDS: &str = "method, headers, body";
const MOST: usize = 1_000;
const MOST_HEADERS: usize = 100;
const LONGEST_BODY: usize = 1 << 20;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(300);
const METHODS: [&str; 6] = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"];

/// Says which field is wrong, what it was, and what is allowed there.
#[derive(Debug, thiserror::Error)]
#[error("`{field}` is `{value}`; allowed: {allowed}")]
pub(super) struct Invalid {
    field: String,
    value: String,
    allowed: String,
}

/// Is what one call asks for, found good.
pub(super) struct Asked {
    pub(super) target: Target,
    pub(super) timeout: Option<Duration>,
    parcels: Vec<Parcel>,
    sequence: Vec<usize>,
    copies: usize,
    pace: Pace,
    delay: Duration,
    pub(super) signed: Signed,
}

pub(super) type Fields = Map<String, Value>;

impl Asked {
    pub(super) fn read(body: &[u8]) -> Result<Self, Invalid> {
        let fields: Fields = serde_json::from_slice(body).map_err(|error| Invalid {
            field: "the body of the call".to_owned(),
            value: error.to_string(),
            allowed: format!("a JSON object of {FIELDS}"),
        })?;
        only(&fields, "", FIELDS)?;
        let get = |field: &str| fields.get(field).filter(|value| !value.is_null());
        let url = get("url").unwrap_or(&Value::Null);
        let target = url.as_str().map(Target::parse);
        let target = match target {
            Some(Ok(target)) => target,
            Some(Err(wrong)) => {
                return Err(invalid(
                    "url",
                    url,
                    &format!("a URL like http://127.0.0.1:3000/hook; it {wrong}"),
                ));
            }
            None => return Err(invalid("url", url, "a URL like http://127.0.0.1:3000/hook")),
        };
        let mut parcels = parcels(&fields)?;
        let sign = get("sign").map(|value| Sign::read(value, parcels.len()));
        let signed = Signed(sign.transpose()?);
        if let Some(sign) = &signed.0 {
            sign.all(&mut parcels)?;
        }
        let copies = get("copies").map_or(Ok(1), copies)?;
        let sequence = match get("order") {
            Some(order) => sequence(order, get("seed"), parcels.len())?,
            None if get("seed").is_some() => {
                let value = get("seed").unwrap_or(&Value::Null);
                return Err(invalid("seed", value, "none without `order`: \"shuffle\""));
            }
            None => (0..parcels.len()).collect(),
        };
        let total = sequence.len().saturating_mul(copies);
        if total > MOST {
            let value = Value::from(copies);
            return Err(invalid(
                "copies",
                &value,
                &format!("at most {MOST} in all, and with these events it is {total}"),
            ));
        }
        let delay = get("delay").map_or(Ok(Duration::ZERO), |value| length("delay", value, LONGEST_BATCH))?;
        let pace = match (get("spacing"), get("order")) {
            (Some(value), _) => Pace::Spaced(spacing(value, delay, total)?),
            (None, Some(_)) => Pace::InTurn,
            (None, None) => Pace::AtOnce,
        };
        let timeout = get("timeout");
        let timeout = timeout.map(|value| length("timeout", value, LONGEST_TIMEOUT).and_then(|t| not_zero(t, value)));
        Ok(Self {
            target,
            timeout: timeout.transpose()?,
            parcels,
            sequence,
            copies,
            pace,
            delay,
            signed,
        })
    }

    pub(super) fn batch(self, ledger: &Ledger, sender: Sender) -> Batch {
        let letters = self.parcels.into_iter();
        Batch {
            letters: letters
                .map(|parcel| Arc::new(Letter::new(ledger, sender, &self.target, parcel)))
                .collect(),
            sequence: self.sequence,
            copies: self.copies,
            pace: self.pace,
            delay: self.delay,
        }
    }
}

/// Reads the events: one `body`, several `bodies`, or `events` with headers and methods of their own.
fn parcels(fields: &Fields) -> Result<Vec<Parcel>, Invalid> {
    let given = ["body", "bodies", "events"]
        .iter()
        .filter(|field| fields.contains_key(**field));
    let given: Vec<&str> = given.copied().collect();
    if let [first, second, ..] = given[..] {
        return Err(invalid(
            second,
            &fields[second],
            &format!("not beside `{first}`: one of body, bodies, events"),
        ));
    }
    let common = common(fields, "")?;
    let many = |field: &str| -> Result<Vec<Value>, Invalid> {
        let list = fields[field].as_array().filter(|list| (1..=MOST).contains(&list.len()));
        let allowed = format!("a list of 1 to {MOST}");
        list.cloned().ok_or_else(|| invalid(field, &fields[field], &allowed))
    };
    match given.first() {
        None => parcel("", common, None).map(|parcel| vec![parcel]),
        Some(&"body") => parcel("body", common, fields.get("body")).map(|parcel| vec![parcel]),
        Some(&"bodies") => {
            let bodies = many("bodies")?;
            let each = bodies.iter().enumerate();
            each.map(|(n, body)| parcel(&format!("bodies[{n}]"), common.clone(), Some(body)))
                .collect()
        }
        Some(_) => {
            let events = many("events")?;
            let each = events.iter().enumerate();
            each.map(|(n, event)| own_parcel(&format!("events[{n}]"), &common, event))
                .collect()
        }
    }
}

/// Reads an event whose method and headers come before those that all have.
fn own_parcel(name: &str, common: &Parcel, event: &Value) -> Result<Parcel, Invalid> {
    let allowed = format!("an object of {EVENT_FIELDS}");
    let fields = event.as_object().ok_or_else(|| invalid(name, event, &allowed))?;
    let prefix = format!("{name}.");
    only(fields, &prefix, EVENT_FIELDS)?;
    let mut own = self::common(fields, &prefix)?;
    if !fields.contains_key("method") {
        own.method = common.method.clone();
    }
    for key in common
        .headers
        .keys()
        .filter(|key| !own.headers.contains_key(*key))
        .cloned()
        .collect::<Vec<_>>()
    {
        for value in common.headers.get_all(&key) {
            own.headers.append(key.clone(), value.clone());
        }
    }
    parcel(&format!("{prefix}body"), own, fields.get("body"))
}

/// Reads method and headers.
fn common(fields: &Fields, prefix: &str) -> Result<Parcel, Invalid> {
    let mut parcel = Parcel::post(Bytes::new());
    if let Some(value) = fields.get("method").filter(|value| !value.is_null()) {
        let method = value.as_str().map(str::to_ascii_uppercase);
        let method = method.filter(|method| METHODS.contains(&method.as_str()));
        let method = method.and_then(|method| method.parse::<Method>().ok());
        let field = format!("{prefix}method");
        parcel.method = method.ok_or_else(|| invalid(&field, value, &METHODS.join(", ")))?;
    }
    let Some(value) = fields.get("headers").filter(|value| !value.is_null()) else {
        return Ok(parcel);
    };
    let allowed = format!("an object of at most {MOST_HEADERS} names, each with a text or a list of texts");
    let field = format!("{prefix}headers");
    let headers = value.as_object().filter(|headers| headers.len() <= MOST_HEADERS);
    // What a header is worth is not shown: it may be a credential.
    let shape = || invalid(&field, &Value::from("…"), &allowed);
    for (name, value) in headers.ok_or_else(shape)? {
        let texts = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        for text in texts {
            let text = text.as_str().ok_or_else(shape)?;
            let added = parcel.header(name, text);
            let wrong = |unfit: crate::deliver::Unfit| {
                invalid(
                    &field,
                    &Value::from(name.as_str()),
                    &format!("headers that can be sent; {unfit}"),
                )
            };
            added.map_err(wrong)?;
        }
    }
    Ok(parcel)
}

fn parcel(field: &str, mut parcel: Parcel, body: Option<&Value>) -> Result<Parcel, Invalid> {
    let (kind, text) = match body {
        None | Some(Value::Null) => return Ok(parcel),
        Some(Value::String(text)) if serde_json::from_str::<IgnoredAny>(text).is_err() => {
            ("text/plain; charset=utf-8", text.clone())
        }
        Some(Value::String(text)) => ("application/json", text.clone()),
        Some(json) => ("application/json", json.to_string()),
    };
    if text.len() > LONGEST_BODY {
        let value = Value::from(format!("{} bytes", text.len()));
        return Err(invalid(field, &value, "a text or JSON of at most 1 MiB"));
    }
    parcel.default_header(CONTENT_TYPE, kind);
    parcel.body = text.into();
    Ok(parcel)
}

fn copies(value: &Value) -> Result<usize, Invalid> {
    let copies = value.as_u64().and_then(|n| usize::try_from(n).ok());
    let copies = copies.filter(|n| (1..=MOST).contains(n));
    copies.ok_or_else(|| invalid("copies", value, &format!("a whole number from 1 to {MOST}")))
}

/// Reads in which order events go: a word, or their numbers, of which one may stand several times and another not at all.
fn sequence(value: &Value, seed: Option<&Value>, events: usize) -> Result<Vec<usize>, Invalid> {
    let last = events - 1;
    let allowed = format!("given, reverse, shuffle, or a list of the numbers 0 to {last}");
    let given = 0..events;
    if let Some(seed) = seed.filter(|_| value != "shuffle") {
        return Err(invalid("seed", seed, "none without `order`: \"shuffle\""));
    }
    match value {
        Value::String(word) if word == "given" => Ok(given.collect()),
        Value::String(word) if word == "reverse" => Ok(given.rev().collect()),
        Value::String(word) if word == "shuffle" => {
            let mut rng = match seed.map(|seed| (seed.as_u64(), seed)) {
                None => fastrand::Rng::new(),
                Some((Some(seed), _)) => fastrand::Rng::with_seed(seed),
                Some((None, seed)) => return Err(invalid("seed", seed, "a whole number")),
            };
            let mut sequence: Vec<usize> = given.collect();
            rng.shuffle(&mut sequence);
            Ok(sequence)
        }
        Value::Array(numbers) if (1..=MOST).contains(&numbers.len()) => {
            let number = |number: &Value| {
                number
                    .as_u64()
                    .and_then(|n| usize::try_from(n).ok())
                    .filter(|n| *n <= last)
            };
            let numbers: Option<Vec<usize>> = numbers.iter().map(number).collect();
            numbers.ok_or_else(|| invalid("order", value, &allowed))
        }
        _ => Err(invalid("order", value, &allowed)),
    }
}

fn spacing(value: &Value, delay: Duration, total: usize) -> Result<Duration, Invalid> {
    let gap = length("spacing", value, LONGEST_BATCH)?;
    let gaps = u32::try_from(total.saturating_sub(1)).unwrap_or(u32::MAX);
    let whole = gap.saturating_mul(gaps).saturating_add(delay);
    if whole > LONGEST_BATCH {
        let allowed = format!(
            "so much that all goes out within {}s; with {total} copies and the delay it takes {}s",
            LONGEST_BATCH.as_secs(),
            whole.as_secs()
        );
        return Err(invalid("spacing", value, &allowed));
    }
    Ok(gap)
}

fn length(field: &str, value: &Value, most: Duration) -> Result<Duration, Invalid> {
    let read = value.as_str().and_then(|text| duration::parse(text).ok());
    read.filter(|length| *length <= most).ok_or_else(|| {
        let allowed = format!(
            "a duration like {}, at most {}s",
            duration::EXAMPLES[..2].join(" or "),
            most.as_secs()
        );
        invalid(field, value, &allowed)
    })
}

fn not_zero(length: Duration, value: &Value) -> Result<Duration, Invalid> {
    if length.is_zero() {
        return Err(invalid("timeout", value, "a duration of 1ms and more"));
    }
    Ok(length)
}

pub(super) fn only(fields: &Fields, prefix: &str, known: &str) -> Result<(), Invalid> {
    let is_known = |field: &str| known.split(", ").any(|known| known == field);
    match fields.keys().find(|field| !is_known(field)) {
        None => Ok(()),
        Some(field) => Err(invalid(&format!("{prefix}{field}"), &Value::from("…"), known)),
    }
}

pub(super) fn invalid(field: &str, value: &Value, allowed: &str) -> Invalid {
    let text = match value {
        Value::Null => "missing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Invalid {
        field: secrets::clean(field).chars().take(80).collect(),
        value: secrets::clean(&text).chars().take(80).collect(),
        allowed: allowed.to_owned(),
    }
}
