//! What a refusal says: the error envelope.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use super::declines::Decline;
use super::objects::Shown;

/// Is a refusal, boxed where it is returned: it is rare, and large.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<Cow<'static, str>>,
    /// The code that API v2 gives it, where v1 gives none or another.
    pub(crate) code_in_v2: Option<&'static str>,
    decline: Option<&'static Decline>,
    pub(crate) message: Cow<'static, str>,
    pub(crate) param: Option<String>,
    pub(crate) charge: Option<Arc<str>>,
    intent: Option<Shown>,
    setup: Option<Shown>,
    method: Option<Shown>,
}

/// Is what a step of an operation gives, or the refusal.
pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

impl Failure {
    /// Makes a refusal of this type, without a code.
    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self {
            status,
            kind,
            code: None,
            code_in_v2: None,
            decline: None,
            message: message.into(),
            param: None,
            charge: None,
            intent: None,
            setup: None,
            method: None,
        })
    }

    /// Makes the usual refusal: 400 `invalid_request_error`.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Self::new(400, "invalid_request_error", message)
    }

    /// Says that a parameter is needed.
    pub(crate) fn missing(param: &str) -> Box<Self> {
        Self::invalid(format!("Missing required param: {param}."))
            .code("parameter_missing")
            .param(param)
    }

    /// Says that there is no such object: 404 where the path names it or a parameter does.
    pub(crate) fn no_such(what: &str, id: &str, param: &str) -> Box<Self> {
        let id: String = id.chars().take(200).collect();
        Self::new(404, "invalid_request_error", format!("No such {what}: '{id}'"))
            .code("resource_missing")
            .param(param)
    }

    /// Says that usage was reported already under this identifier.
    pub(crate) fn duplicate_event(identifier: &str) -> Box<Self> {
        let mut failure = Self::invalid(format!("An event already exists with identifier {identifier}."));
        failure.code_in_v2 = Some("duplicate_meter_event");
        failure.param("identifier")
    }

    /// Makes a card's refusal: 402 `card_error`.
    pub(crate) fn card(decline: &'static Decline) -> Box<Self> {
        let mut failure = Self::new(402, "card_error", decline.message).code(decline.code);
        failure.param = decline.param.map(str::to_owned);
        failure.decline = Some(decline);
        failure
    }

    pub(crate) fn code(mut self: Box<Self>, code: impl Into<Cow<'static, str>>) -> Box<Self> {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn param(mut self: Box<Self>, param: &str) -> Box<Self> {
        self.param = Some(param.to_owned());
        self
    }

    pub(crate) fn charge(mut self: Box<Self>, id: &Arc<str>) -> Box<Self> {
        self.charge = Some(Arc::clone(id));
        self
    }

    /// Forgets what it left behind, where that was taken back.
    pub(crate) fn plain(mut self: Box<Self>) -> Box<Self> {
        self.charge = None;
        self.intent = None;
        self.method = None;
        self
    }

    pub(crate) fn intent(mut self: Box<Self>, intent: Shown) -> Box<Self> {
        self.intent = Some(intent);
        self
    }

    pub(crate) fn setup(mut self: Box<Self>, setup: Shown) -> Box<Self> {
        self.setup = Some(setup);
        self
    }

    pub(crate) fn method(mut self: Box<Self>, method: Shown) -> Box<Self> {
        self.method = Some(method);
        self
    }

    /// Renders the envelope.
    pub(crate) fn render(&self, request_id: &str) -> Vec<u8> {
        let decline = self.decline;
        let log = format!("https://dashboard.stripe.com/test/logs/{request_id}");
        pretty(&Envelope {
            error: Error {
                advice_code: decline.and_then(|d| d.advice_code),
                charge: self.charge.as_deref(),
                code: self.code.as_deref(),
                decline_code: decline.and_then(|d| d.decline_code),
                doc_url: self.code.as_deref().map(doc_url),
                message: &self.message,
                network_decline_code: decline.and_then(|d| d.network_decline_code),
                param: self.param.as_deref(),
                payment_intent: self.intent.as_ref(),
                payment_method: self.method.as_ref(),
                request_log_url: (self.status != 401).then_some(log),
                setup_intent: self.setup.as_ref(),
                kind: self.kind,
            },
        })
    }
}

/// Renders JSON as Stripe does, by two spaces.
pub(crate) fn pretty(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("names are texts, and nothing in an object fails to serialize")
}

/// Names the page that explains a code.
pub(crate) fn doc_url(code: &str) -> String {
    format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-"))
}

#[derive(Serialize)]
struct Envelope<'f> {
    error: Error<'f>,
}

#[derive(Serialize)]
struct Error<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    advice_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_url: Option<String>,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_decline_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<&'f Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_method: Option<&'f Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_log_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    setup_intent: Option<&'f Shown>,
    #[serde(rename = "type")]
    kind: &'static str,
}
