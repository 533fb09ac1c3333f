//! What a provider says: status, headers, content.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

/// Renders a body from an immutable version of an object, each time to the same bytes.
pub trait View: fmt::Debug + Send + Sync {
    /// Renders the body.
    fn render(&self) -> Bytes;
}

/// Holds a body: bytes, or a version of an object that renders to them.
#[derive(Clone, Debug)]
pub enum Content {
    /// The bytes themselves.
    Bytes(Bytes),
    /// Rendered when asked, so that a million saved answers need no bytes.
    View(Arc<dyn View>),
}

impl Content {
    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::View(view) => view.render(),
        }
    }
}

/// Is a provider's answer. On SMTP the content is the text of the reply, one line a line, without codes.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status or SMTP reply code.
    pub status: u16,
    /// HTTP headers; names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The headers that a user gave: an injected answer's, a hook target's.
    pub extra: Vec<(String, String)>,
    /// The body.
    pub content: Content,
    /// How long the provider takes to say it.
    pub delay: Duration,
}

impl Reply {
    /// Makes a reply of bytes.
    #[must_use]
    pub fn new(status: u16, content: impl Into<Bytes>) -> Self {
        Self::with(status, Content::Bytes(content.into()))
    }

    /// Makes a reply that renders an object.
    #[must_use]
    pub fn view(status: u16, view: Arc<dyn View>) -> Self {
        Self::with(status, Content::View(view))
    }

    fn with(status: u16, content: Content) -> Self {
        Self {
            status,
            headers: Vec::new(),
            extra: Vec::new(),
            content,
            delay: Duration::ZERO,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Iterates over all headers; a user's own replaces ours of the same name.
    pub fn all_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = |name: &str| self.extra.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        self.headers
            .iter()
            .filter(move |(name, _)| !given(name))
            .map(|(name, value)| (*name, value.as_str()))
            .chain(self.extra.iter().map(|(n, v)| (n.as_str(), v.as_str())))
    }
}
