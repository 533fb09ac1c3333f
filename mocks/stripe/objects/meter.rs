//! Meters: what usage is counted by.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::store::{Object, Tx};

/// Is a meter.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) display_name: Box<str>,
    pub(crate) event_name: Arc<str>,
    /// Where in a payload the customer stands.
    pub(crate) customer_key: Box<str>,
    /// Where in a payload the value stands.
    pub(crate) value_key: Box<str>,
    pub(crate) formula: &'static str,
    pub(crate) window: Option<&'static str>,
    /// When it was deactivated; none is active.
    pub(crate) deactivated: Option<i64>,
}

/// Says which active meter counts the events of a name.
#[derive(Clone, Debug)]
pub(crate) struct MeterName {
    pub(crate) event_name: Arc<str>,
    pub(crate) meter: Arc<str>,
}

impl Object for Meter {
    const TABLE: &'static str = "stripe.meters";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Object for MeterName {
    const TABLE: &'static str = "stripe.meter_names";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.event_name)
    }
}

impl Resource for Meter {
    const WORD: &'static str = "meter";
    const OBJECT: &'static str = "billing.meter";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: "billing.meter",
            created: self.created,
            customer_mapping: Mapping {
                event_payload_key: &self.customer_key,
                kind: "by_id",
            },
            default_aggregation: Aggregation { formula: self.formula },
            display_name: &self.display_name,
            event_name: &self.event_name,
            event_time_window: self.window,
            livemode: false,
            status: self.status(),
            status_transitions: Transitions {
                deactivated_at: self.deactivated,
            },
            updated: self.updated,
            value_settings: Settings {
                event_payload_key: &self.value_key,
            },
        }
    }
}

impl Meter {
    pub(crate) fn status(&self) -> &'static str {
        match self.deactivated {
            None => "active",
            Some(_) => "inactive",
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    created: i64,
    customer_mapping: Mapping<'s>,
    default_aggregation: Aggregation,
    display_name: &'s str,
    event_name: &'s str,
    event_time_window: Option<&'static str>,
    livemode: bool,
    status: &'static str,
    status_transitions: Transitions,
    updated: i64,
    value_settings: Settings<'s>,
}

#[derive(Serialize)]
struct Mapping<'s> {
    event_payload_key: &'s str,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Aggregation {
    formula: &'static str,
}

#[derive(Serialize)]
struct Transitions {
    deactivated_at: Option<i64>,
}

#[derive(Serialize)]
struct Settings<'s> {
    event_payload_key: &'s str,
}
