//! Whole requests, as providers get them.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use super::{Describe, Operation};
use crate::ledger::secrets;

/// Is a whole HTTP request.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The operation that the head names.
    pub operation: &'static Operation,
    /// The method.
    pub method: Method,
    /// The path without the scope's prefix, as sent (percent-encoded).
    pub path: String,
    /// The query without `?`; empty if there is none.
    pub query: String,
    /// What stands before the path where its client can reach the same world again: scheme, host, the scope's prefix.
    pub base: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl HttpRequest {
    /// Returns a header's first value, if it is text.
    #[must_use]
    pub fn header_str(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl Describe for HttpRequest {
    fn method(&self) -> Option<&str> {
        Some(self.method.as_str())
    }

    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn header(&self, name: &str) -> Vec<String> {
        let values = self.headers.get_all(name).iter();
        values
            .map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
            .collect()
    }

    fn recordable(&self) -> (Bytes, Bytes) {
        let body = match secrets::clean_bytes(&self.body) {
            Cow::Borrowed(_) => self.body.clone(),
            Cow::Owned(clean) => clean.into(),
        };
        (secrets::clean_head(&self.headers).into(), body)
    }

    fn json(&self) -> Option<Value> {
        let form = self
            .header_str("content-type")
            .is_some_and(|t| t.starts_with("application/x-www-form-urlencoded"));
        if form {
            let pairs = form_urlencoded::parse(&self.body);
            return Some(Value::Object(
                pairs.map(|(k, v)| (k.into_owned(), v.into_owned().into())).collect(),
            ));
        }
        serde_json::from_slice(&self.body).ok()
    }
}

/// Is a whole mail transaction: the envelope, and the content with its dots un-stuffed.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    /// What the client called itself.
    pub helo: String,
    /// The user it authenticated as.
    pub user: Option<String>,
    /// The reverse-path; empty for the null sender.
    pub sender: String,
    /// The recipients that were accepted.
    pub recipients: Vec<String>,
    /// The MAIL and RCPT lines as sent: addresses are lossy once parsed.
    pub lines: Vec<String>,
    /// The content.
    pub content: Bytes,
    /// Where its header ends: the first empty line.
    pub header_length: usize,
    /// The subject, decoded.
    pub subject: Option<String>,
}

impl Describe for Mail {
    const IS_MAIL: bool = true;

    fn header(&self, name: &str) -> Vec<String> {
        super::mail_header::values(&self.content[..self.header_length.min(self.content.len())], name)
    }

    fn recordable(&self) -> (Bytes, Bytes) {
        let header = self.header_length.min(self.content.len());
        (self.content.slice(..header), self.content.clone())
    }

    fn sender(&self) -> Option<&str> {
        Some(&self.sender)
    }

    fn recipients(&self) -> &[String] {
        &self.recipients
    }

    fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }
}
