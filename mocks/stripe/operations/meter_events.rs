//! Meter events, by API v1 and v2, and taking them back.

use std::sync::Arc;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::mocks::stripe::failure::{Failure, Outcome};
use crate::mocks::stripe::objects::{
    Adjustment, Identifier, Kind, Meter, MeterEvent, MeterEventV2, MeterName, Payload, Thing,
};
use crate::mocks::stripe::params::Params;
use crate::mocks::stripe::routes::{Route, Verb::Post, row};
use crate::mocks::stripe::scene::{Answer, Scene};

use super::meters::{MAX_EVENT_NAME, short};

#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    row(Post, "/v1/billing/meter_events", "billing.meter_events.create", Kind::MeterEvent, &["meter_event"], CREATE, create),
    row(Post, "/v1/billing/meter_event_adjustments", "billing.meter_event_adjustments.create", Kind::MeterEventAdjustment,
        &["meter_event_cancel"], &["cancel{}", "event_name$", "type=cancel"], adjust),
    row(Post, "/v2/billing/meter_events", "v2.billing.meter_events.create", Kind::MeterEventV2, &["meter_event"], CREATE_V2,
        create_v2),
];

const CREATE: &[&str] = &["event_name$", "identifier$", "payload{}", "timestamp#"];
const CREATE_V2: &[&str] = &["event_name$", "identifier$", "payload{}", "timestamp$"];

/// For how long an identifier stands for one event.
const UNIQUE: Duration = Duration::hours(24);
const PAST: Duration = Duration::days(35);
const FUTURE: Duration = Duration::minutes(5);
const MAX_KEYS: usize = 50;
const MAX_VALUE: usize = 500;

fn create(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let given = scene.params.integer("timestamp")?;
    let given = given.map(|seconds| {
        OffsetDateTime::from_unix_timestamp(seconds)
            .map_err(|_| Failure::invalid(format!("Invalid timestamp: {seconds}")).param("timestamp"))
    });
    let event = report(scene, given.transpose()?)?;
    Ok(Answer::One(Thing::MeterEvent(event)))
}

/// Takes an event by API v2, which wants a meter for it.
fn create_v2(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let given = match scene.params.text("timestamp")? {
        Some(text) => Some(OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
            let shown: String = text.chars().take(100).collect();
            Failure::invalid(format!("Invalid timestamp: {shown}; it must be as in RFC 3339.")).param("timestamp")
        })?),
        None => None,
    };
    let name = scene.params.required("event_name")?;
    if scene.tx.get::<MeterName>(name).is_none() {
        let archived = scene.tx.list::<Meter>().any(|meter| *meter.event_name == *name);
        let (code, what) = if archived {
            ("archived_meter", "is archived")
        } else {
            ("no_meter", "does not exist")
        };
        let name: String = name.chars().take(200).collect();
        return Err(Failure::invalid(format!("The meter for the event name {name} {what}.")).code(code));
    }
    let event = report(scene, given)?;
    Ok(Answer::One(Thing::MeterEventV2(MeterEventV2(event).into())))
}

/// Takes an event: all is checked, its identifier last.
fn report(scene: &mut Scene<'_, '_>, timestamp: Option<OffsetDateTime>) -> Outcome<Arc<MeterEvent>> {
    let params = scene.params.clone();
    let event_name = short(&params, "event_name", MAX_EVENT_NAME)?;
    let payload = payload(&params)?;
    if let Some(named) = scene.tx.get::<MeterName>(event_name)
        && let Some(meter) = scene.tx.get::<Meter>(&named.meter)
    {
        check_payload(&meter, &payload)?;
    }
    let now = scene.tx.now();
    let timestamp = timestamp.unwrap_or(now);
    check_time(timestamp, now)?;
    let identifier: Arc<str> = if params.has("identifier") {
        short(&params, "identifier", MAX_EVENT_NAME)?.into()
    } else {
        scene.new_id("idmp_")
    };
    if let Some(known) = scene.tx.get::<Identifier>(&identifier)
        && !scene.tx.passed(known.made, UNIQUE)
    {
        return Err(Failure::duplicate_event(&identifier));
    }
    let id = scene.tx.new_id("mtrev_");
    let event = scene.tx.put(MeterEvent {
        id,
        created: now,
        event_name: event_name.into(),
        identifier,
        timestamp,
        payload,
        cancelled: false,
    });
    scene.tx.put(Identifier {
        value: Arc::clone(&event.identifier),
        event: Arc::clone(&event.id),
        made: now,
    });
    scene.tx.effect("meter_event", &event.identifier);
    Ok(event)
}

/// Takes an event back, by its identifier, while that stands for it.
fn adjust(scene: &mut Scene<'_, '_>) -> Outcome<Answer> {
    let params = scene.params.clone();
    params.required("type")?;
    params.one_of("type", &["cancel"])?;
    let event_name = params.required("event_name")?;
    let cancel = params.nested("cancel")?.ok_or_else(|| Failure::missing("cancel"))?;
    cancel.only(&["identifier"])?;
    let identifier = cancel.required("identifier")?;
    let known = scene.tx.get::<Identifier>(identifier);
    let known = known.filter(|known| !scene.tx.passed(known.made, UNIQUE));
    let event = known.and_then(|known| scene.tx.get::<MeterEvent>(&known.event));
    let event = event.filter(|event| *event.event_name == *event_name && !event.cancelled);
    let event = event.ok_or_else(|| {
        let mut failure = Failure::no_such(Kind::MeterEvent.word(), identifier, "cancel[identifier]");
        failure.status = 400;
        failure
    })?;
    scene.tx.put(MeterEvent {
        cancelled: true,
        ..MeterEvent::clone(&event)
    });
    scene.tx.effect("meter_event_cancel", identifier);
    let adjustment = Adjustment {
        event_name: event_name.into(),
        identifier: identifier.into(),
    };
    Ok(Answer::One(Thing::MeterEventAdjustment(adjustment.into())))
}

fn payload(params: &Params<'_>) -> Outcome<Payload> {
    let given = params.nested("payload")?.ok_or_else(|| Failure::missing("payload"))?;
    let pairs = given.texts()?;
    if pairs.len() > MAX_KEYS {
        return Err(Failure::invalid(format!("A payload can have up to {MAX_KEYS} keys.")).param("payload"));
    }
    for (key, value) in &pairs {
        if key.chars().count() > MAX_EVENT_NAME || value.chars().count() > MAX_VALUE {
            let message = format!(
                "A payload's keys can have up to {MAX_EVENT_NAME} characters, and its values up to {MAX_VALUE}."
            );
            let key: String = key.chars().take(MAX_EVENT_NAME).collect();
            return Err(Failure::invalid(message).param(&given.name(&key)));
        }
    }
    let pairs = pairs.into_iter().map(|(key, value)| (key.into(), value.into()));
    Ok(Payload(pairs.collect()))
}

/// Checks that a meter finds in a payload whom and what to count.
fn check_payload(meter: &Meter, payload: &Payload) -> Outcome<()> {
    let refuse = |message: String, code: &'static str, key: &str| {
        Err(Failure::invalid(message).code(code).param(&format!("payload[{key}]")))
    };
    let key = &*meter.customer_key;
    if payload.get(key).is_none_or(str::is_empty) {
        let message = format!("The payload names no customer: the meter looks for it under {key}.");
        return refuse(message, "payload_no_customer_defined", key);
    }
    let key = &*meter.value_key;
    match payload.get(key) {
        _ if meter.formula == "count" => Ok(()),
        None | Some("") => {
            let message = format!("The payload has no value: the meter looks for it under {key}.");
            refuse(message, "payload_no_value_defined", key)
        }
        Some(value) if !is_number(value) => {
            let value: String = value.chars().take(100).collect();
            refuse(
                format!("Invalid value in the payload: {value} is no number."),
                "payload_invalid_value",
                key,
            )
        }
        Some(_) => Ok(()),
    }
}

/// Says whether a text is a decimal number: digits, with a sign before and a point between where there is one.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    match text.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part),
        None => digits(text),
    }
}

fn check_time(timestamp: OffsetDateTime, now: OffsetDateTime) -> Outcome<()> {
    let refuse =
        |message: &'static str, code: &'static str| Err(Failure::invalid(message).code(code).param("timestamp"));
    if timestamp - now > FUTURE {
        let message = "The timestamp must be at most 5 minutes in the future.";
        return refuse(message, "timestamp_in_future");
    }
    if now - timestamp > PAST {
        let message = "The timestamp must be within the past 35 calendar days.";
        return refuse(message, "timestamp_too_far_in_past");
    }
    Ok(())
}
