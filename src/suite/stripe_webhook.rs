//! A webhook endpoint that every world has from its begin.

use serde_json::{Value, json};

use crate::deliver::{Scheme, Secret, Target};

/// Says where Stripe's events are delivered from the start: `URL[;secret=whsec_…][;events=charge.succeeded,charge.failed]`.
#[derive(Clone, PartialEq, Eq)]
pub struct StripeWebhook {
    /// Where.
    pub url: String,
    /// What signs them; one is made where none is given.
    pub secret: Option<String>,
    /// Which; all where none is named.
    pub events: Vec<String>,
}

impl std::fmt::Debug for StripeWebhook {
    /// Shows no secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripeWebhook")
            .field("url", &self.url)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

impl StripeWebhook {
    /// Reads one as it is written in a flag.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it. Whether its host is allowed and its events are known is found when the suite starts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(';').map(str::trim);
        let url = parts.next().unwrap_or_default();
        Target::parse(url).map_err(|why| format!("`{url}` {why}"))?;
        let mut webhook = Self {
            url: url.to_owned(),
            secret: None,
            events: Vec::new(),
        };
        for part in parts.filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("secret", secret)) if webhook.secret.is_none() => {
                    Secret::parse(Scheme::Stripe, secret).map_err(|allowed| format!("the secret must be {allowed}"))?;
                    webhook.secret = Some(secret.to_owned());
                }
                Some(("events", events)) if webhook.events.is_empty() => {
                    webhook.events = events.split(',').map(|event| event.trim().to_owned()).collect();
                }
                Some((name @ ("secret" | "events"), _)) => return Err(format!("`{name}` is given twice")),
                Some((name, _)) => return Err(format!("`{name}` is none of secret, events")),
                None => return Err("is not of the form URL;secret=whsec_…;events=charge.succeeded,…".to_owned()),
            }
        }
        Ok(webhook)
    }

    /// Makes the secret if there is none.
    pub(super) fn with_secret(mut self) -> Self {
        let letters = || {
            std::iter::repeat_with(fastrand::alphanumeric)
                .take(32)
                .collect::<String>()
        };
        self.secret.get_or_insert_with(|| format!("whsec_{}", letters()));
        self
    }

    /// Returns the fields of the endpoint.
    pub(super) fn fields(&self) -> Value {
        let mut fields = json!({"url": self.url, "secret": self.secret});
        if !self.events.is_empty() {
            fields["enabled_events"] = json!(self.events);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_whole_or_refused_with_its_reason() {
        let read = StripeWebhook::parse(
            "http://localhost:3000/hook; secret=whsec_abc; events=charge.succeeded, charge.failed",
        );
        let expected = StripeWebhook {
            url: "http://localhost:3000/hook".to_owned(),
            secret: Some("whsec_abc".to_owned()),
            events: vec!["charge.succeeded".to_owned(), "charge.failed".to_owned()],
        };
        assert_eq!(read, Ok(expected.clone()));
        assert!(!format!("{expected:?}").contains("whsec_abc"));
        for (text, words) in [
            ("", "is no URL"),
            ("localhost", "must begin with http://"),
            ("http://a;secret=", "must be 1 to 256"),
            ("http://a;secret=x;secret=y", "`secret` is given twice"),
            ("http://a;key=x", "`key` is none of secret, events"),
            ("http://a;x", "is not of the form"),
        ] {
            let why = StripeWebhook::parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
