//! `/_objects`: objects under ids of the caller's choice, there without any attempt, and counted as nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::{Admin, Error};
use crate::attempt::{Put, Resource, Seed, Wrong};
use crate::store::Tx;

/// Holds what can be put, by provider; clones share it.
#[derive(Clone, Default)]
pub struct Objects(Arc<BTreeMap<&'static str, Kept>>);

struct Kept {
    resources: Vec<Resource>,
    put: PutInto,
}

type PutInto = Box<dyn Fn(&mut Tx<'_>, &str, &str, &Map<String, Value>) -> Result<Put, Vec<Wrong>> + Send + Sync>;

impl Objects {
    /// Takes a provider in.
    ///
    /// # Panics
    ///
    /// Panics if it is shared already: all providers are taken in before anybody asks.
    #[must_use]
    pub fn and<P: Seed>(mut self, provider: &Arc<P>) -> Self {
        let kept = Kept {
            resources: provider.resources(),
            put: {
                let provider = Arc::clone(provider);
                Box::new(move |tx, resource, id, fields| provider.put(tx, resource, id, fields))
            },
        };
        let all = Arc::get_mut(&mut self.0).expect("nobody else has it yet");
        all.insert(provider.about().name, kept);
        self
    }

    /// Puts an object in place of any that has its id; changes nothing where something is wrong.
    ///
    /// # Errors
    ///
    /// Fails with all that is wrong with it, names included that nobody knows.
    pub fn put(&self, tx: &mut Tx<'_>, [provider, resource, id]: [&str; 3], fields: &Value) -> Result<Put, Vec<Wrong>> {
        let kept = self.find(provider, resource).map_err(|wrong| vec![wrong])?;
        let Value::Object(fields) = fields else {
            let why = "an object's fields are a JSON object, such as {\"email\": \"a@example.com\"}";
            return Err(vec![Wrong::new("", fields, why)]);
        };
        let put = (kept.put)(tx, resource, id, fields);
        if put.is_err() {
            tx.discard();
        }
        put
    }

    /// Says whether a provider has anything that can be put.
    ///
    /// # Errors
    ///
    /// Fails if it has not, naming those that have.
    pub fn check_provider(&self, provider: &str) -> Result<(), Wrong> {
        self.provider(provider).map(drop)
    }

    fn find(&self, provider: &str, resource: &str) -> Result<&Kept, Wrong> {
        let kept = self.provider(provider)?;
        let names: Vec<_> = kept.resources.iter().map(|resource| resource.name).collect();
        if names.contains(&resource) {
            return Ok(kept);
        }
        let why = format!(
            "{provider} has no resource `{resource}` yet; it has: {}",
            names.join(", ")
        );
        Err(Wrong::new("resource", &resource.into(), why).allowing(names))
    }

    fn provider(&self, provider: &str) -> Result<&Kept, Wrong> {
        self.0.get(provider).ok_or_else(|| {
            let names = self.0.keys();
            Wrong::new("provider", &provider.into(), "has no objects that can be put").allowing(names)
        })
    }
}

impl Serialize for Objects {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, kept)| (name, &kept.resources)))
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.0.keys()).finish()
    }
}

pub(super) async fn list(State(admin): State<Admin>, ask: Ask) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    Ok(super::answer(StatusCode::OK, &json!({"objects": admin.objects})))
}

pub(super) async fn put(
    State(admin): State<Admin>,
    Path((provider, resource, id)): Path<(String, String, String)>,
    ask: Ask,
    body: Bytes,
) -> Result<Response, Error> {
    ask.only(&["scope"])?;
    let fields = match body.trim_ascii() {
        [] => json!({}),
        text => serde_json::from_slice(text).map_err(|e| {
            let text = format!("the body is no JSON: {e}; it holds the fields, like {{\"email\": \"a@example.com\"}}");
            Error::bad(text)
        })?,
    };
    let scope = ask.scope()?.unwrap_or_default();
    let put = |tx: &mut Tx<'_>| admin.objects.put(tx, [&provider, &resource, &id], &fields);
    let put = admin.way.store.arrange(&scope, put);
    let put = put.map_err(|full| super::error(StatusCode::SERVICE_UNAVAILABLE, full.to_string()))?;
    let Put { new, shown } = put.map_err(|wrong| refuse(&wrong))?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(super::answer(status, &shown))
}

fn refuse(wrong: &[Wrong]) -> Error {
    let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    Error {
        problems: Some(json!(wrong)),
        ..Error::bad(format!("nothing was put: {}", lines.join("; ")))
    }
}
