//! Meter events: usage, reported once. API v1 and v2 show one and the same in two ways.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use time::OffsetDateTime;

use super::{Resource, Shown};
use crate::store::{Object, Tx};

/// Is usage as it was reported.
#[derive(Clone, Debug)]
pub(crate) struct MeterEvent {
    pub(crate) id: Arc<str>,
    pub(crate) created: OffsetDateTime,
    pub(crate) event_name: Box<str>,
    pub(crate) identifier: Arc<str>,
    /// When it was used.
    pub(crate) timestamp: OffsetDateTime,
    pub(crate) payload: Payload,
    pub(crate) cancelled: bool,
}

/// Holds what was used and by whom, in the order in which it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Payload(pub(crate) Box<[(Box<str>, Box<str>)]>);

/// Says which event was the last to be reported under an identifier.
#[derive(Clone, Debug)]
pub(crate) struct Identifier {
    pub(crate) value: Arc<str>,
    pub(crate) event: Arc<str>,
    pub(crate) made: OffsetDateTime,
}

/// Is a meter event as API v2 shows it.
#[derive(Clone, Debug)]
pub(crate) struct MeterEventV2(pub(crate) Arc<MeterEvent>);

/// Takes a meter event back.
#[derive(Clone, Debug)]
pub(crate) struct Adjustment {
    pub(crate) event_name: Box<str>,
    pub(crate) identifier: Arc<str>,
}

impl Object for MeterEvent {
    const TABLE: &'static str = "stripe.meter_events";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Object for Identifier {
    const TABLE: &'static str = "stripe.meter_event_identifiers";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.value)
    }
}

impl Payload {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }
}

impl Resource for MeterEvent {
    const WORD: &'static str = "meter event";
    const OBJECT: &'static str = "billing.meter_event";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        Json {
            object: "billing.meter_event",
            created: self.created.unix_timestamp(),
            event_name: &self.event_name,
            identifier: &self.identifier,
            livemode: false,
            payload: &self.payload,
            timestamp: self.timestamp.unix_timestamp(),
        }
    }
}

impl Resource for MeterEventV2 {
    const WORD: &'static str = "meter event";
    const OBJECT: &'static str = "v2.billing.meter_event";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id).map(|event| Arc::new(Self(event)))
    }

    fn id(&self) -> &str {
        &self.0.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        let event = &*self.0;
        Json {
            object: "v2.billing.meter_event",
            created: instant(event.created),
            event_name: &event.event_name,
            identifier: &event.identifier,
            livemode: false,
            payload: &event.payload,
            timestamp: instant(event.timestamp),
        }
    }
}

impl Resource for Adjustment {
    const WORD: &'static str = "meter event adjustment";
    const OBJECT: &'static str = "billing.meter_event_adjustment";

    fn find(_: &Tx<'_>, _: &str) -> Option<Arc<Self>> {
        None
    }

    fn id(&self) -> &str {
        ""
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        AdjustmentJson {
            object: "billing.meter_event_adjustment",
            cancel: Cancel {
                identifier: &self.identifier,
            },
            event_name: &self.event_name,
            livemode: false,
            status: "complete",
            kind: "cancel",
        }
    }
}

/// Writes a time as API v2 does: RFC 3339 in UTC, with milliseconds.
fn instant(time: OffsetDateTime) -> String {
    let time = time.to_offset(time::UtcOffset::UTC);
    let (date, [hour, minute, second]) = (time.date(), [time.hour(), time.minute(), time.second()]);
    let milli = time.millisecond();
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
struct Json<'s, T> {
    object: &'static str,
    created: T,
    event_name: &'s str,
    identifier: &'s str,
    livemode: bool,
    payload: &'s Payload,
    timestamp: T,
}

#[derive(Serialize)]
struct AdjustmentJson<'s> {
    object: &'static str,
    cancel: Cancel<'s>,
    event_name: &'s str,
    livemode: bool,
    status: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Cancel<'s> {
    identifier: &'s str,
}
