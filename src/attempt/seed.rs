//! Objects with chosen ids: what a provider says of its resources, and how one is put without any attempt.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Provider;
use crate::ledger::secrets;
use crate::store::Tx;

/// How much of a wrong value is repeated to its sender.
const SHOWN: usize = 80;

/// Describes a resource whose objects can be put under ids of the caller's choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// The name, `customers`.
    pub name: &'static str,
    /// What an id looks like, `cus_…`.
    pub id: &'static str,
    /// The fields that an object may be given; none where any will do.
    pub fields: Option<Vec<&'static str>>,
}

/// Is an object that was put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// Whether there was none with this id.
    pub new: bool,
    /// The object as the provider shows it.
    pub shown: Value,
}

/// Says one thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// What is wrong: a field's name, `id`, `resource`; `stripe.customers.cus_1.email` where it stood in a file.
    pub field: String,
    /// The value as given, cut when long; null when it is absent.
    pub value: Value,
    /// Why it is wrong.
    pub why: String,
    /// What would be right, where that can be listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

/// Is a provider into whose worlds objects can be put. What is put counts as nothing: nobody has asked the provider for it.
pub trait Seed: Provider {
    /// Lists the resources.
    fn resources(&self) -> Vec<Resource>;

    /// Puts an object in place of any that has the id. The resource is one of those listed.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong; what the transaction changed then is to be discarded.
    fn put(&self, tx: &mut Tx<'_>, resource: &str, id: &str, fields: &Map<String, Value>) -> Result<Put, Vec<Wrong>>;
}

impl Wrong {
    /// Reports a value, with its secrets taken out.
    pub fn new(field: impl Into<String>, value: &Value, why: impl Into<String>) -> Self {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let clean = secrets::clean(&text);
        let value = match (clean.char_indices().nth(SHOWN), clean == text) {
            (Some((end, _)), _) => format!("{}…", &clean[..end]).into(),
            (None, false) => clean.into_owned().into(),
            (None, true) => value.clone(),
        };
        Self {
            field: field.into(),
            value,
            why: why.into(),
            allowed: Vec::new(),
        }
    }

    /// Says what would be right.
    #[must_use]
    pub fn allowing<T: ToString>(mut self, allowed: impl IntoIterator<Item = T>) -> Self {
        self.allowed = allowed.into_iter().map(|word| word.to_string()).collect();
        self
    }

    /// Says where it stands: `stripe.customers.cus_1`.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => place.to_owned(),
            field => format!("{place}.{field}"),
        };
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        if !self.value.is_null() {
            write!(f, " = {}", self.value)?;
        }
        if !self.field.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.why)?;
        if !self.allowed.is_empty() {
            write!(f, " (allowed: {})", self.allowed.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Wrong {}
