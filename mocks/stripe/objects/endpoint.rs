//! Webhook endpoints.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown};
use crate::mocks::stripe::metadata::Metadata;
use crate::store::{Object, Tx};

/// Is where events are delivered to.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) url: Arc<str>,
    /// Signs what is delivered; shown by nobody but the call that made it.
    pub(crate) secret: Arc<str>,
    /// The types of events it is told of; `*` is all.
    pub(crate) enabled_events: Arc<[Box<str>]>,
    pub(crate) disabled: bool,
    /// Whether it is told what happens in connected accounts, and not what happens in its own.
    pub(crate) connect: bool,
    pub(crate) api_version: Option<Arc<str>>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) metadata: Metadata,
    /// Whether this version is the answer of the call that made it.
    pub(crate) fresh: bool,
}

impl Object for Endpoint {
    const TABLE: &'static str = "stripe.webhook_endpoints";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Endpoint {
    /// Says whether it is to be told of events of this type.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        !self.disabled
            && self
                .enabled_events
                .iter()
                .any(|wanted| matches!(&**wanted, "*") || **wanted == *kind)
    }
}

impl Resource for Endpoint {
    const WORD: &'static str = "webhook endpoint";
    const OBJECT: &'static str = "webhook_endpoint";

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
            api_version: self.api_version.as_deref(),
            application: (),
            created: self.created,
            description: self.description.as_deref(),
            enabled_events: &self.enabled_events,
            livemode: false,
            metadata: &self.metadata,
            secret: self.fresh.then_some(&*self.secret),
            status: if self.disabled { "disabled" } else { "enabled" },
            url: &self.url,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    api_version: Option<&'s str>,
    application: (),
    created: i64,
    description: Option<&'s str>,
    enabled_events: &'s [Box<str>],
    livemode: bool,
    metadata: &'s Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'s str>,
    status: &'static str,
    url: &'s str,
}
