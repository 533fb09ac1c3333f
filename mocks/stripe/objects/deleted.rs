//! What is left of an object that was deleted.

use std::sync::Arc;

use serde::Serialize;

use super::{Resource, Shown, Thing};
use crate::store::Tx;

/// Says that an object is gone.
#[derive(Clone, Debug)]
pub(crate) struct Deleted {
    pub(crate) id: Arc<str>,
    /// What it was, as its JSON said.
    pub(crate) object: &'static str,
}

impl Deleted {
    /// Says it of an object of this name.
    pub(crate) fn of(id: Arc<str>, object: &'static str) -> Thing {
        Thing::Deleted(Arc::new(Self { id, object }))
    }
}

impl Resource for Deleted {
    const WORD: &'static str = "object";
    const OBJECT: &'static str = "deleted";

    fn find(_: &Tx<'_>, _: &str) -> Option<Arc<Self>> {
        None
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn show<'s>(&'s self, _: &'s Shown) -> impl Serialize + 's {
        Json {
            id: &self.id,
            object: self.object,
            deleted: true,
        }
    }
}

#[derive(Serialize)]
struct Json<'s> {
    id: &'s str,
    object: &'static str,
    deleted: bool,
}
