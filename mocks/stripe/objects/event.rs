//! Events: what happened, with the object as it was then.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Resource, Shown};
use crate::mocks::stripe::answer::VERSION;
use crate::store::{Object, Tx};

/// Is one event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    /// The type, `charge.succeeded`.
    pub(crate) kind: &'static str,
    /// The object as it was then.
    pub(crate) object: Shown,
    /// The object as it was before, where the event tells of a change.
    pub(crate) before: Option<Shown>,
    pub(crate) request: Option<Request>,
    /// To how many endpoints it has still to be delivered.
    pub(crate) pending: u32,
    /// The version in which it is told, if it is not the usual one.
    pub(crate) api_version: Option<Arc<str>>,
    /// The connected account in which it happened, where a platform is told of it.
    pub(crate) account: Option<Arc<str>>,
}

/// Names the request that an event came of.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Request {
    pub(crate) id: Arc<str>,
    pub(crate) idempotency_key: Option<Arc<str>>,
}

impl Object for Event {
    const TABLE: &'static str = "stripe.events";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for Event {
    const WORD: &'static str = "event";
    const OBJECT: &'static str = "event";

    fn find(tx: &Tx<'_>, id: &str) -> Option<Arc<Self>> {
        tx.get(id)
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: Self::OBJECT,
            account: self.account.as_deref(),
            api_version: self.api_version.as_deref().unwrap_or(VERSION),
            created: self.created,
            data: Data {
                object: &self.object,
                previous_attributes: self.before.as_ref().map(|before| changed(before, &self.object)),
            },
            livemode: false,
            pending_webhooks: self.pending,
            request: self.request.as_ref(),
            kind: self.kind,
        }
    }
}

/// Lists the attributes that changed, as they were before; in a hash, those of its own that changed.
fn changed(before: &Shown, after: &Shown) -> Value {
    let read = |shown: &Shown| serde_json::to_value(shown).unwrap_or_default();
    difference(&read(before), &read(after)).unwrap_or_else(|| Value::Object(Map::new()))
}

fn difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(before.clone());
    };
    let lost = old
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), difference(value, new.get(name).unwrap_or(&Value::Null))?)));
    let gained = new
        .keys()
        .filter(|name| !old.contains_key(*name))
        .map(|name| (name.clone(), Value::Null));
    Some(Value::Object(lost.chain(gained).collect()))
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'s str>,
    api_version: &'s str,
    created: i64,
    data: Data<'s>,
    livemode: bool,
    pending_webhooks: u32,
    request: Option<&'s Request>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Data<'s> {
    object: &'s Shown,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_attributes: Option<Value>,
}
