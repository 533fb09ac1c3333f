//! An HTTP client that opens a connection for each request.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

use super::job::Heard;
use crate::cli::client::root_cause;

const LARGEST_ANSWER: usize = 1 << 20;

/// Is a request to be sent.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: &'static str,
}

impl Post {
    /// Sends it once.
    pub(super) async fn send(self, addr: SocketAddr) -> Heard {
        // Trying again is the worker's to decide, never the client's.
        let client = Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .pool_max_idle_per_host(0)
            .build::<_, Full<Bytes>>(HttpConnector::new());
        let mut request = Request::post(format!("http://{addr}{}", self.path)).header(header::CONNECTION, "close");
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::from(self.body))
            .expect("the demo's own requests are well-formed");
        let answer = match client.request(request).await {
            Ok(answer) => answer,
            Err(error) => return Heard::Nothing(root_cause(&error)),
        };
        let (head, body) = answer.into_parts();
        match Limited::new(body, LARGEST_ANSWER).collect().await {
            Err(error) => Heard::Nothing(format!("the answer broke off ({error})")),
            Ok(_) if head.status.is_success() => Heard::Yes,
            Ok(body) => {
                let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
                Heard::No(format!("{} {}", head.status, body.escape_debug()))
            }
        }
    }
}
