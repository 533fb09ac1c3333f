//! A request with its address, and what the ledger knows it by.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::{Parcel, Target};
use crate::ledger::{Body, Correlation, Ledger, hash, secrets};

/// Says in whose name requests go out: how the ledger counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The provider's name.
    pub provider: &'static str,
    /// The operation's name.
    pub operation: &'static str,
    /// The kind of effect that an accepted one has.
    pub effect: &'static str,
}

/// Is a request with its address. It is read and recorded once, however often it is then sent.
#[derive(Clone, Debug)]
pub struct Letter {
    pub(super) sender: Sender,
    pub(super) target: Target,
    pub(super) parcel: Parcel,
    pub(super) line: String,
    pub(super) key: Option<Arc<str>>,
    pub(super) correlation: Correlation,
    pub(super) recorded: Body,
}

/// Reads of an event what names it.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    object: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
}

impl Letter {
    /// Makes a letter; its body shares the ledger's budget.
    #[must_use]
    pub fn new(ledger: &Ledger, sender: Sender, target: &Target, parcel: Parcel) -> Self {
        let (key, correlation) = correlate(sender, target, &parcel);
        let line = format!("{} {target}", parcel.method);
        let body = match secrets::clean_bytes(&parcel.body) {
            Cow::Borrowed(_) => parcel.body.clone(),
            Cow::Owned(clean) => clean.into(),
        };
        let head = secrets::clean_head(&parcel.headers);
        Self {
            sender,
            target: target.clone(),
            line: secrets::clean(&line).into_owned(),
            key,
            correlation,
            recorded: ledger.keep(head.into(), body, false),
            parcel,
        }
    }

    /// Makes the same letter with other headers, such as a newer signature; it is recorded as it was.
    #[must_use]
    pub fn repacked(&self, parcel: Parcel) -> Self {
        Self { parcel, ..self.clone() }
    }

    /// Returns in whose name it goes.
    #[must_use]
    pub fn sender(&self) -> Sender {
        self.sender
    }

    /// Returns what is sent.
    #[must_use]
    pub fn parcel(&self) -> &Parcel {
        &self.parcel
    }

    /// Returns where it goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the name of the event: its webhook-id, its Idempotency-Key, or its own id.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// Returns the event's name, and the value by which a second delivery of the same to the same receiver is known.
fn correlate(sender: Sender, target: &Target, parcel: &Parcel) -> (Option<Arc<str>>, Correlation) {
    let (provider, url) = (sender.provider.as_bytes(), target.to_string());
    let named = |by: &'static str, value: &str| {
        let hash = hash([provider, by.as_bytes(), url.as_bytes(), value.as_bytes()]);
        (Some(value.into()), Correlation { by, hash })
    };
    for by in ["webhook-id", "idempotency-key"] {
        if let Some(value) = parcel.header_str(by) {
            return named(by, value);
        }
    }
    // An event of Stripe's kind names itself; the id of anything else may be the id of a thing, and say nothing of the message.
    if let Ok(event) = serde_json::from_slice::<Event<'_>>(&parcel.body)
        && event.object == "event"
        && !event.id.is_empty()
    {
        return named("event-id", &event.id);
    }
    let by = "content";
    let method = parcel.method.as_str().as_bytes();
    let hash = hash([provider, by.as_bytes(), url.as_bytes(), method, &parcel.body]);
    (None, Correlation { by, hash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Limits;

    const SENDER: Sender = Sender {
        provider: "deliveries",
        operation: "deliver",
        effect: "delivery",
    };

    fn letter(url: &str, headers: &[(&str, &str)], body: &'static str) -> Letter {
        let mut parcel = Parcel::post(body);
        for (name, value) in headers {
            parcel.header(name, value).unwrap();
        }
        let ledger = Ledger::new(Limits::default());
        Letter::new(&ledger, SENDER, &Target::parse(url).unwrap(), parcel)
    }

    #[test]
    fn an_event_is_known_by_its_name_and_without_one_by_its_content() {
        let event = r#"{"object": "event", "id": "evt_1", "type": "charge.succeeded"}"#;
        for (headers, body, by, key) in [
            (&[("webhook-id", "msg_1")][..], event, "webhook-id", Some("msg_1")),
            (&[("idempotency-key", "k")][..], event, "idempotency-key", Some("k")),
            (&[][..], event, "event-id", Some("evt_1")),
            (&[][..], r#"{"object": "order", "id": "17"}"#, "content", None),
            (&[][..], r#"{"id": "17"}"#, "content", None),
            (&[][..], "not json", "content", None),
        ] {
            let letter = letter("http://n8n/hook", headers, body);
            assert_eq!((letter.correlation.by, letter.key()), (by, key), "{body}");
        }
    }

    #[test]
    fn the_same_event_to_another_receiver_is_no_duplicate() {
        let hash = |url| letter(url, &[("webhook-id", "msg_1")], "{}").correlation.hash;
        assert_eq!(hash("http://n8n/a"), hash("http://n8n:80/a"));
        assert_ne!(hash("http://n8n/a"), hash("http://n8n/b"));
    }

    #[test]
    fn what_is_recorded_has_no_secret() {
        let headers = [
            ("authorization", "Bearer sk_test_51abc"),
            ("stripe-signature", "t=1,v1=aa"),
        ];
        let letter = letter(
            "http://n8n/hook?key=sk_test_51abc",
            &headers,
            r#"{"password": "hunter2"}"#,
        );
        let recorded = &letter.recorded;
        let all = format!("{} {:?} {:?}", letter.line, recorded.head(), recorded.content());
        assert!(
            !all.contains("51abc") && !all.contains("hunter2") && !all.contains("v1=aa"),
            "{all}"
        );
        assert!(all.contains("POST http://n8n/hook"), "{all}");
    }
}
