//! Test clocks: a time of its own for some customers, which stands still until it is advanced.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown, Task};
use crate::store::{Object, Tx};

/// How long a clock is kept, in seconds.
const KEPT: i64 = 30 * 24 * 60 * 60;

/// Is a test clock, with what falls due on it.
#[derive(Clone, Debug)]
pub(crate) struct TestClock {
    pub(crate) id: Arc<str>,
    pub(crate) created: i64,
    pub(crate) frozen_time: i64,
    pub(crate) name: Option<Box<str>>,
    /// What is to be done, and when, in no order.
    pub(crate) agenda: Vec<(i64, Task)>,
}

impl Object for TestClock {
    const TABLE: &'static str = "stripe.test_clocks";

    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }
}

impl Resource for TestClock {
    const WORD: &'static str = "test clock";
    const OBJECT: &'static str = "test_helpers.test_clock";

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
            created: self.created,
            deletes_after: self.created + KEPT,
            frozen_time: self.frozen_time,
            livemode: false,
            name: self.name.as_deref(),
            status: "ready",
            status_details: Details {},
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    created: i64,
    deletes_after: i64,
    frozen_time: i64,
    livemode: bool,
    name: Option<&'s str>,
    status: &'static str,
    status_details: Details,
}

#[derive(Serialize)]
struct Details {}
