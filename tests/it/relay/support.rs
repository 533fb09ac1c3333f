//! Upstreams that this project did not write, and a suite with relays to them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackdrop::relay::Spec;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{Answer, App, Call, Conn};

/// Describes a relay on a free port to an upstream.
pub(crate) fn spec(name: &str, upstream: &str, options: &str) -> Spec {
    Spec::parse(&format!("{name}=127.0.0.1:0,{upstream}{options}")).unwrap()
}

/// Starts an upstream that answers everything so.
pub(crate) async fn upstream(template: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(template).mount(&server).await;
    server
}

/// Returns how many requests an upstream has had.
pub(crate) async fn received(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// Is a raw upstream: each connection is handed to a closure, and counted.
pub(crate) struct Raw {
    pub(crate) addr: SocketAddr,
    accepted: Arc<AtomicUsize>,
    _accepting: AbortOnDropHandle<()>,
}

impl Raw {
    pub(crate) async fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Self {
            addr,
            accepted,
            _accepting: AbortOnDropHandle::new(accepting),
        }
    }

    /// Reads one head, and answers with these bytes; then closes.
    pub(crate) async fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::start(move |mut stream| {
            let bytes = Arc::clone(&bytes);
            async move {
                read_head(&mut stream).await;
                stream.write_all(&bytes).await.unwrap();
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// Reads up to the end of a request's head.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

impl App {
    /// Returns where a relay listens.
    pub(crate) fn relay(&self, name: &str) -> SocketAddr {
        self.suite.relays().get(name).unwrap().addr
    }

    /// Opens a connection to a relay.
    pub(crate) async fn to(&self, name: &str) -> Conn {
        Conn::plain(self.relay(name)).await
    }

    /// Makes one call through a relay, on a connection of its own.
    pub(crate) async fn through(&self, name: &str, call: Call) -> Answer {
        let mut conn = self.to(name).await;
        conn.send(&call.bytes()).await;
        conn.answer().await
    }
}
