//! One job: something to be done once at one provider, tried by a client such as any program has.

use std::net::SocketAddr;
use std::time::Duration;

use super::cell::Provider;
use super::http::Post;
use super::mailer::Mail;
use crate::store::Scope;
use crate::suite::Addresses;

/// How long a client waits for one attempt.
const PATIENCE: Duration = Duration::from_secs(10);

/// Is a job, and where it is to be done.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) provider: Provider,
    scope: String,
    http: Option<SocketAddr>,
    smtp: Option<SocketAddr>,
}

/// Is all that a client learns from one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The provider said that it is done.
    Yes,
    /// The provider said no.
    No(String),
    /// No answer came. Done or not done sound the same.
    Nothing(String),
}

impl Job {
    pub(super) fn new(provider: Provider, scope: &Scope, addresses: &Addresses) -> Self {
        Self {
            provider,
            scope: scope.to_string(),
            http: addresses.http(),
            smtp: addresses.smtp(),
        }
    }

    /// Tries once, on a connection of its own.
    ///
    /// What names the job is the same at every try, and what a client makes anew (a mail's Message-ID) is new.
    pub(super) async fn attempt(&self) -> Heard {
        let attempt = async {
            match (self.provider, self.http, self.smtp) {
                (Provider::Smtp, _, Some(addr)) => self.mail().send(addr).await,
                (Provider::Smtp, _, None) | (_, None, _) => Heard::Nothing("the suite does not listen".to_owned()),
                (_, Some(addr), _) => self.post().send(addr).await,
            }
        };
        let silence = |_| Heard::Nothing(format!("no answer within {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, attempt).await.unwrap_or_else(silence)
    }

    /// Writes the job as a request. The scope travels as an unchanged client can send it: in the API key, or in the base URL.
    fn post(&self) -> Post {
        let scope = &self.scope;
        let (path, content_type, body) = match self.provider {
            Provider::Stripe => (
                "/v1/charges".to_owned(),
                "application/x-www-form-urlencoded",
                "amount=2000&currency=usd&source=tok_visa",
            ),
            Provider::Orders => (
                format!("/~{scope}/orders"),
                "application/json",
                r#"{"reference": "order-17", "amount": 2000}"#,
            ),
            Provider::Webhook | Provider::Smtp => (
                format!("/~{scope}/hooks/shipping"),
                "application/json",
                r#"{"type": "order.paid", "order": "order-17"}"#,
            ),
        };
        let name = match self.provider {
            Provider::Webhook | Provider::Smtp => ("webhook-id", "msg_order-17".to_owned()),
            Provider::Stripe | Provider::Orders => ("idempotency-key", "order-17".to_owned()),
        };
        let mut headers = vec![("content-type", content_type.to_owned()), name];
        if self.provider == Provider::Stripe {
            headers.push(("authorization", format!("Bearer sk_test_~{scope}")));
        }
        Post { path, headers, body }
    }

    fn mail(&self) -> Mail {
        Mail {
            login: format!("~{}", self.scope),
            sender: "shop@example.com",
            recipient: "customer@example.com",
            subject: "Receipt for order-17",
            text: "Thank you. We have charged 20.00 USD.",
        }
    }
}
