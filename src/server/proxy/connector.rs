//! The one way out of the machine.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::net::TcpStream;

use super::{Proxy, Target};

/// How long reaching a host may take.
const CONNECT: Duration = Duration::from_secs(20);

/// Reaches hosts. Asked for allowed hosts alone, before anything is looked up.
pub trait Connect: fmt::Debug + Send + Sync {
    /// Connects to a host, by name or address.
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + 'a>>;
}

/// Looks names up as the system does, and connects.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

impl Connect for Direct {
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + 'a>> {
        Box::pin(TcpStream::connect((host, port)))
    }
}

impl Proxy {
    /// Reaches an allowed host.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be reached in time.
    pub(crate) async fn reach(&self, target: &Target) -> io::Result<TcpStream> {
        let connected = tokio::time::timeout(CONNECT, self.connector.connect(&target.host, target.port));
        let stream = connected
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        drop(stream.set_nodelay(true));
        Ok(stream)
    }
}
