//! How the upstream is reached: HTTP/1.1 or, where TLS agrees on it, HTTP/2.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri, uri};
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use super::super::{Relay, Upstream};
use super::upload::Upload;

/// How long an idle connection to the upstream is kept: shorter than servers keep theirs, so that none is used in the moment in which it is
/// closed.
const KEPT: Duration = Duration::from_secs(1);
/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// Reaches one upstream.
#[derive(Clone, Debug)]
pub(super) struct Client {
    either: legacy::Client<Patient, Upload>,
    /// HTTP/1.1 alone, for what HTTP/2 cannot carry.
    first: legacy::Client<Patient, Upload>,
}

impl Client {
    pub(super) fn new(relay: &Relay) -> Self {
        let upstream = &relay.spec.upstream;
        let config = || rustls::ClientConfig::clone(&relay.roots.config());
        let builder = || {
            let builder = HttpsConnectorBuilder::new().with_tls_config(config()).https_or_http();
            match ServerName::try_from(upstream.host.clone()) {
                Ok(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
                Err(_) => builder,
            }
        };
        let dial = Dial(Arc::new(upstream.clone()));
        let patience = relay.spec.timeout.unwrap_or(CONNECT).min(CONNECT);
        let patient = |connector| Patient { connector, patience };
        Self {
            either: client(patient(builder().enable_all_versions().wrap_connector(dial.clone()))),
            first: client(patient(builder().enable_http1().wrap_connector(dial))),
        }
    }

    /// Sends a request; its URI names whom it is for, not where it goes.
    pub(super) fn send(&self, request: Request<Upload>, only_first: bool) -> legacy::ResponseFuture {
        let client = if only_first { &self.first } else { &self.either };
        client.request(request)
    }
}

fn client(connector: Patient) -> legacy::Client<Patient, Upload> {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(KEPT)
        .build(connector)
}

type Dialling<T> = Pin<Box<dyn Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send>>;

/// Connects, with TLS where it belongs, or gives up.
#[derive(Clone, Debug)]
struct Patient {
    connector: HttpsConnector<Dial>,
    patience: Duration,
}

impl tower::Service<Uri> for Patient {
    type Response = MaybeHttpsStream<Connected>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Dialling<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.patience, self.connector.call(uri));
        Box::pin(async move {
            let timed_out = |_| io::Error::new(io::ErrorKind::TimedOut, "there was no connection in time");
            connecting.await.map_err(timed_out)?
        })
    }
}

/// Connects to the one upstream, whomever a request names.
#[derive(Clone, Debug)]
struct Dial(Arc<Upstream>);

impl tower::Service<Uri> for Dial {
    type Response = Connected;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Connected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let upstream = Arc::clone(&self.0);
        Box::pin(async move {
            let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
            stream.set_nodelay(true)?;
            Ok(Connected(TokioIo::new(stream)))
        })
    }
}

/// Is a connection to the upstream.
#[derive(Debug)]
struct Connected(TokioIo<TcpStream>);

impl legacy::connect::Connection for Connected {
    fn connected(&self) -> legacy::connect::Connected {
        legacy::connect::Connected::new()
    }
}

impl hyper::rt::Read for Connected {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Connected {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Makes the URI of a request: to the upstream, in the name of `host` if there is one.
///
/// # Errors
///
/// Fails if host and path are none that a URI can have.
pub(super) fn uri(
    upstream: &Upstream,
    host: Option<&str>,
    path: &str,
    query: Option<&str>,
) -> Result<Uri, http::Error> {
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    uri::Builder::new()
        .scheme(upstream.scheme.as_str())
        .authority(host.map_or_else(|| upstream.authority(), ToOwned::to_owned))
        .path_and_query(format!("{}{path}{query}", upstream.path))
        .build()
}

/// Says why an upstream could not be talked to: the first cause says most.
pub(super) fn why(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Says whether an error is, at its root, one of time.
pub(super) fn timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Is an answer as it came.
pub(super) type Came = Response<Incoming>;
