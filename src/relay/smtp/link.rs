//! The relay's own session with the upstream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::Relay;
use super::replies::{Heard, Replies};

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// Is a stream to the upstream, inside TLS or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Send + Sync> Duplex for T {}

/// Is a session with the upstream.
pub(super) struct Link {
    relay: Arc<Relay>,
    pub(super) stream: Pin<Box<dyn Duplex>>,
    replies: Replies,
    /// What was read and belongs to no reply yet.
    pub(super) unread: Vec<u8>,
    patience: Duration,
    /// How many bytes went up, and came down.
    pub(super) bytes: (u64, u64),
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Says why the upstream did not reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silent {
    #[error("cannot connect: {0}")]
    Unreached(io::Error),
    #[error("the upstream broke off: {0}")]
    BrokeOff(io::Error),
    #[error("the upstream has not replied in time")]
    TooLong,
    #[error("the upstream does not speak SMTP")]
    Foreign,
    #[error("the suite stops")]
    Stopping,
    #[error("the upstream does not let the relay in: {code} {text}", code = .0.code, text = .0.text())]
    NotLetIn(Heard),
}

impl Link {
    /// Connects, and hears the greeting.
    pub(super) async fn open(relay: &Arc<Relay>) -> Result<(Self, Heard), Silent> {
        let upstream = &relay.spec.upstream;
        let patience = relay.spec.timeout.unwrap_or(relay.house.limits.idle);
        let connecting = async {
            let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
            stream.set_nodelay(true)?;
            let plain: Pin<Box<dyn Duplex>> = Box::pin(stream);
            match upstream.scheme.is_tls() {
                true => shake_hands(relay, plain).await,
                false => Ok(plain),
            }
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "there was no connection in time");
        let connecting = tokio::time::timeout(patience.min(CONNECT), connecting);
        let stop = &relay.house.way.stop;
        let stream = tokio::select! {
            stream = connecting => stream.map_err(|_| late()).and_then(|stream| stream).map_err(Silent::Unreached)?,
            () = stop.cancelled() => return Err(Silent::Stopping),
        };
        let mut link = Self {
            relay: Arc::clone(relay),
            stream,
            replies: Replies::default(),
            unread: Vec::new(),
            patience,
            bytes: (0, 0),
        };
        let greeting = link.hear().await?;
        Ok((link, greeting))
    }

    /// Says a line, its end included, and hears the reply. Where a reply was there before the line, none can be told to be its own.
    pub(super) async fn ask(&mut self, line: &[u8]) -> Result<Heard, Silent> {
        let unasked = self.was_told_unasked();
        self.send(line).await?;
        if unasked {
            return Err(Silent::Foreign);
        }
        self.hear().await
    }

    /// Says whether the upstream has said something that nobody asked for; that it closes, which it may say at any time, aside.
    fn was_told_unasked(&mut self) -> bool {
        let mut buffer = [0; 4096];
        if let Some(Ok(read)) = self.stream.read(&mut buffer).now_or_never() {
            self.bytes.1 += read as u64;
            self.unread.extend_from_slice(&buffer[..read]);
        }
        if !self.replies.is_empty() {
            return true;
        }
        !self.unread.is_empty() && !self.unread.starts_with(b"421")
    }

    /// Sends bytes.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), Silent> {
        let stream = &mut self.stream;
        let sending = async {
            stream.write_all(bytes).await?;
            stream.flush().await
        };
        in_time(&self.relay, self.patience, sending).await?;
        self.bytes.0 += bytes.len() as u64;
        Ok(())
    }

    /// Hears the next reply.
    pub(super) async fn hear(&mut self) -> Result<Heard, Silent> {
        let mut buffer = [0; 4096];
        loop {
            let mut input = self.unread.as_slice();
            let heard = self.replies.next(&mut input).map_err(|_| Silent::Foreign)?;
            if let Some(heard) = heard {
                self.unread = input.to_vec();
                return Ok(heard);
            }
            self.unread.clear();
            let read = in_time(&self.relay, self.patience, self.stream.read(&mut buffer)).await?;
            if read == 0 {
                return Err(Silent::BrokeOff(io::ErrorKind::UnexpectedEof.into()));
            }
            self.bytes.1 += read as u64;
            self.unread.extend_from_slice(&buffer[..read]);
        }
    }

    /// Goes on inside TLS.
    pub(super) async fn secure(self) -> Result<Self, Silent> {
        // RFC 3207, section 4.2: what came in plaintext behind the reply must not be heard inside TLS.
        if !self.unread.is_empty() || !self.replies.is_empty() {
            return Err(Silent::Foreign);
        }
        let stream = in_time(&self.relay, self.patience, shake_hands(&self.relay, self.stream)).await?;
        Ok(Self { stream, ..self })
    }

    /// Logs in as the URL says, inside TLS where the upstream offers it; returns what it offers after that.
    pub(super) async fn log_in(mut self, hello: &[u8], mut offer: Heard) -> Result<(Self, Heard), Silent> {
        let relay = Arc::clone(&self.relay);
        let Some(user) = &relay.spec.upstream.user else {
            return Ok((self, offer));
        };
        if offer.offers("STARTTLS") {
            positive(self.ask(b"STARTTLS\r\n").await?)?;
            self = self.secure().await?;
            offer = positive(self.ask(hello).await?)?;
        }
        let password = relay.spec.upstream.password.as_deref().unwrap_or_default();
        let login = STANDARD.encode(format!("\0{user}\0{password}"));
        positive(self.ask(format!("AUTH PLAIN {login}\r\n").as_bytes()).await?)?;
        Ok((self, offer))
    }
}

fn positive(heard: Heard) -> Result<Heard, Silent> {
    if heard.is_positive() {
        Ok(heard)
    } else {
        Err(Silent::NotLetIn(heard))
    }
}

/// Bounds a piece of work by the upstream's time, and by the suite's.
async fn in_time<T>(relay: &Relay, patience: Duration, work: impl Future<Output = io::Result<T>>) -> Result<T, Silent> {
    tokio::select! {
        done = tokio::time::timeout(patience, work) => match done {
            Ok(done) => done.map_err(Silent::BrokeOff),
            Err(_) => Err(Silent::TooLong),
        },
        () = relay.house.way.stop.cancelled() => Err(Silent::Stopping),
    }
}

async fn shake_hands(relay: &Relay, stream: Pin<Box<dyn Duplex>>) -> io::Result<Pin<Box<dyn Duplex>>> {
    let name = ServerName::try_from(relay.spec.upstream.host.clone()).map_err(io::Error::other)?;
    let tls = TlsConnector::from(relay.roots.config()).connect(name, stream).await?;
    Ok(Box::pin(tls))
}
