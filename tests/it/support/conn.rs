//! A raw connection, plain or inside TLS, and how it ended as its own socket saw it.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::{Answer, within};

trait Duplex: AsyncRead + AsyncWrite + Send {
    fn tcp(&self) -> &TcpStream;
}

impl Duplex for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Duplex for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl Duplex for TlsStream<Pin<Box<dyn Duplex>>> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0.tcp()
    }
}

/// Says how a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// By FIN, its end of reading with it.
    Fin,
    /// By RST.
    Rst,
}

impl Leave {
    pub(crate) const BOTH: [Self; 2] = [Self::Fin, Self::Rst];
}

/// Says how a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// FIN; inside TLS, `close_notify` before it.
    Orderly,
    /// FIN without the `close_notify` that TLS wants.
    Truncated,
    /// RST.
    Reset,
}

pub(crate) struct Conn {
    stream: Pin<Box<dyn Duplex>>,
}

impl Conn {
    pub(crate) fn of(stream: TcpStream) -> Self {
        Self {
            stream: Box::pin(stream),
        }
    }

    pub(crate) async fn plain(addr: SocketAddr) -> Self {
        Self::of(TcpStream::connect(addr).await.unwrap())
    }

    pub(crate) async fn tls(addr: SocketAddr, ca: &str, name: &str) -> Self {
        Self::plain(addr).await.secure(ca, name).await
    }

    /// Goes on inside TLS.
    pub(crate) async fn secure(self, ca: &str, name: &str) -> Self {
        self.try_secure(ca, name).await.unwrap()
    }

    /// Goes on inside TLS, if the handshake succeeds.
    pub(crate) async fn try_secure(self, ca: &str, name: &str) -> io::Result<Self> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let handshake = connector(ca).connect(name, self.stream);
        let tls = within("the handshake", handshake).await?;
        Ok(Self { stream: Box::pin(tls) })
    }

    /// Gives the stream to a client that nobody here wrote.
    pub(crate) fn into_stream(self) -> impl AsyncRead + AsyncWrite + Send + Unpin + use<> {
        self.stream
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Sends what it can of bytes that may not be wanted any more.
    pub(crate) async fn send_lossy(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Reads exactly so many bytes.
    pub(crate) async fn read_exact(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        within("some bytes", self.stream.read_exact(&mut bytes)).await.unwrap();
        bytes
    }

    /// Reads one line of SMTP or HTTP, without its CRLF.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.extend(self.read_exact(1).await);
        }
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// Reads one HTTP answer with a content-length.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = self.answer_head().await;
        self.read_body(&mut answer).await;
        answer
    }

    /// Reads one HTTP answer with a content-length; none if the connection ends before it has one.
    pub(crate) async fn try_answer(&mut self) -> Option<Answer> {
        let mut answer = self.try_head().await?;
        self.read_body(&mut answer).await;
        Some(answer)
    }

    /// Reads the head of one HTTP answer; none if the connection ends before it has one.
    pub(crate) async fn try_head(&mut self) -> Option<Answer> {
        let mut first = [0];
        within("an answer or an end", self.stream.read_exact(&mut first))
            .await
            .ok()?;
        Some(self.head_from(first.to_vec()).await)
    }

    /// Reads the head of one HTTP answer, and nothing behind it.
    pub(crate) async fn answer_head(&mut self) -> Answer {
        self.head_from(Vec::new()).await
    }

    async fn head_from(&mut self, mut head: Vec<u8>) -> Answer {
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.read_exact(1).await);
        }
        Answer::parse(&head)
    }

    async fn read_body(&mut self, answer: &mut Answer) {
        let length = answer.header("content-length").map_or(0, |n| n.parse().unwrap());
        answer.body = self.read_exact(length).await;
    }

    /// Reads to the end and says how it came.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, End) {
        let mut bytes = Vec::new();
        let mut chunk = [0; 64 * 1024];
        loop {
            match within("the end of the connection", self.stream.read(&mut chunk)).await {
                Ok(0) => return (bytes, End::Orderly),
                Ok(n) => bytes.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return (bytes, End::Truncated),
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return (bytes, End::Reset),
                Err(e) => panic!("an unexpected end: {e}"),
            }
        }
    }

    /// Says whether nothing came, and no end, for so long.
    pub(crate) async fn is_silent(&mut self, time: Duration) -> bool {
        let mut byte = [0];
        tokio::time::timeout(time, self.stream.read(&mut byte)).await.is_err()
    }

    /// Leaves for good.
    pub(crate) async fn leave(mut self, how: Leave) {
        match how {
            // What is unread would turn the FIN of a close alone into an RST.
            Leave::Fin => self.half_close().await,
            Leave::Rst => SockRef::from(self.stream.tcp())
                .set_linger(Some(Duration::ZERO))
                .unwrap(),
        }
    }

    /// Lets the kernel keep little of what is not read yet; else it keeps as much as it finds good.
    pub(crate) fn keep_little(&self) {
        SockRef::from(self.stream.tcp())
            .set_recv_buffer_size(256 << 10)
            .unwrap();
    }

    /// Sends one urgent byte, out of band.
    pub(crate) fn send_urgent(&self) {
        SockRef::from(self.stream.tcp()).send_out_of_band(b"!").unwrap();
    }

    /// Sends a FIN (inside TLS: after `close_notify`) and keeps reading.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }
}

/// Trusts the suite's CA, and nothing else.
fn connector(ca: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
