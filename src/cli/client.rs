//! One HTTP call to a running suite.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::Value;

use super::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
const LARGEST_ANSWER: usize = 1 << 30;

/// Holds where to call and what to send along.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) url: String,
    pub(super) json: bool,
    pub(super) scope: Option<String>,
    pub(super) token: Option<String>,
}

/// Holds a whole answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Remote {
    /// Calls, and returns the answer if the suite said yes.
    pub(super) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Bytes, Failure> {
        let reply = self.ask(method, path, body).await?;
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        Err(self.refusal(&reply))
    }

    /// Calls, and reads the answer as JSON.
    pub(super) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(Bytes, Value), Failure> {
        let body = self.call(method, path, body).await?;
        let value = serde_json::from_slice(&body).map_err(|error| self.strange(format!("no JSON ({error})")))?;
        Ok((body, value))
    }

    /// Calls, and returns the answer whatever it is.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Failure> {
        self.ask_within(CALL_TIMEOUT, method, path, body).await
    }

    /// Calls, gives the answer so much time, and returns it whatever it is.
    pub(super) async fn ask_within(
        &self,
        longest: Duration,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let call = async {
            let (status, incoming) = self.send(method, path, body).await?;
            let whole = Limited::new(incoming, LARGEST_ANSWER).collect().await;
            let body = whole.map_err(|error| self.strange(format!("the answer broke off ({error})")))?;
            Ok(Reply {
                status,
                body: body.to_bytes(),
            })
        };
        tokio::time::timeout(longest, call)
            .await
            .unwrap_or_else(|_| Err(self.unreachable(format!("no answer within {} s", longest.as_secs()))))
    }

    /// Calls, and returns the answer's body as it comes if the suite said yes.
    pub(super) async fn stream(&self, path: &str) -> Result<Incoming, Failure> {
        let (status, incoming) = self.send(Method::GET, path, None).await?;
        if status.is_success() {
            return Ok(incoming);
        }
        let whole = Limited::new(incoming, LARGEST_ANSWER).collect().await;
        let body = whole.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Err(self.refusal(&Reply { status, body }))
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(StatusCode, Incoming), Failure> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        // A call that changes something must never be sent twice behind our back.
        let client = Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .build(connector);
        let mut request = Request::builder().method(method).uri(self.uri(path));
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body: Full<Bytes> = match body {
            Some(value) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Full::from(value.to_string())
            }
            None => Full::default(),
        };
        let request = request
            .body(body)
            .map_err(|error| Failure::Usage(format!("cannot ask {}: {error}", self.url)))?;
        let answer = client
            .request(request)
            .await
            .map_err(|error| self.unreachable(root_cause(&error)))?;
        let (head, body) = answer.into_parts();
        Ok((head.status, body))
    }

    pub(super) fn uri(&self, path: &str) -> String {
        let scope = self.scope.as_ref().map(|scope| {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("scope", scope)
                .finish();
            let separator = if path.contains('?') { '&' } else { '?' };
            format!("{separator}{query}")
        });
        format!("{}{path}{}", self.url, scope.unwrap_or_default())
    }

    /// Words what the suite said no to; falls back on the status.
    pub(super) fn refusal(&self, reply: &Reply) -> Failure {
        #[derive(Deserialize)]
        struct Envelope {
            error: Words,
        }
        // The single problems beside it are for machines: the message names each of them.
        #[derive(Deserialize)]
        struct Words {
            message: String,
        }
        Failure::Refused(match serde_json::from_slice::<Envelope>(&reply.body) {
            Ok(Envelope { error }) => error.message,
            Err(_) => format!("{} answered {}", self.url, reply.status),
        })
    }

    pub(super) fn strange(&self, reason: String) -> Failure {
        Failure::Strange {
            url: self.url.clone(),
            reason,
        }
    }

    fn unreachable(&self, reason: String) -> Failure {
        Failure::Unreachable {
            url: self.url.clone(),
            reason,
        }
    }
}

/// Returns the innermost of nested errors: "client error (Connect)" tells nobody anything.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::Method;
    use serde_json::json;

    use super::Failure;
    use crate::cli::target::Target;
    use crate::cli::testing::Stub;

    #[tokio::test]
    async fn the_token_is_sent_and_a_refusal_is_said_once() {
        let stub = Stub::answering(400, json!({"error": {"message": "no rule was added: mode: unknown", "problems": [{"field": "mode", "why": "unknown"}]}})).await;
        let target = Target {
            url: Some(stub.url()),
            token: Some("t0k".to_owned()),
            ..Target::default()
        };
        let failure = target
            .remote(&BTreeMap::new())
            .unwrap()
            .call(Method::GET, "/_faults", None)
            .await
            .unwrap_err();
        assert_eq!(failure.to_string(), "no rule was added: mode: unknown");
        assert!(matches!(failure, Failure::Refused(_)));
        assert_eq!(stub.seen(), ["GET /_faults Bearer t0k "]);
    }

    #[tokio::test]
    async fn where_nobody_listens_one_line_says_which_url_and_what_to_do() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let target = Target {
            url: Some(format!("http://{free}")),
            ..Target::default()
        };
        let failure = target
            .remote(&BTreeMap::new())
            .unwrap()
            .call(Method::GET, "/_stats", None)
            .await
            .unwrap_err();
        let said = failure.to_string();
        assert!(matches!(failure, Failure::Unreachable { .. }));
        assert!(
            said.starts_with(&format!("cannot reach http://{free}: Connection refused")),
            "{said}"
        );
    }

    #[tokio::test]
    async fn an_answer_of_something_else_is_not_taken_for_a_suite() {
        let stub = Stub::answering_text(200, "<html>").await;
        let target = Target {
            url: Some(stub.url()),
            ..Target::default()
        };
        let remote = target.remote(&BTreeMap::new()).unwrap();
        assert!(matches!(
            remote.json(Method::GET, "/_stats", None).await,
            Err(Failure::Strange { .. })
        ));
    }
}
