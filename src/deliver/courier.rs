//! Finds where a request goes, judges it, and opens the connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::meter::Stream;
use super::{Allowed, Opened, TIMEOUT, Target, Trouble, What};

/// Opens connections to where requests may go; clones share it.
#[derive(Clone)]
pub struct Courier {
    allowed: Allowed,
    tls: TlsConnector,
    timeout: Duration,
    stop: CancellationToken,
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Courier")
            .field("allowed", &self.allowed)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Says that a certificate to be trusted cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a certificate to trust cannot be read: {0}")]
pub struct NoRoots(String);

/// Is a target whose addresses are known, and all allowed.
#[derive(Clone, Debug)]
pub struct Found {
    target: Target,
    addresses: Arc<[SocketAddr]>,
}

impl Courier {
    /// Makes a courier that trusts the public CAs and these certificates, in PEM, one or several a text.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be read.
    pub fn new<'a>(allowed: Allowed, pem: impl IntoIterator<Item = &'a str>) -> Result<Self, NoRoots> {
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        for pem in pem {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| NoRoots(error.to_string()))?;
                roots.add(certificate).map_err(|error| NoRoots(error.to_string()))?;
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| NoRoots(error.to_string()))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A resumed session would make the copies of one delivery differ.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self {
            allowed,
            tls: TlsConnector::from(Arc::new(config)),
            timeout: TIMEOUT,
            stop: CancellationToken::new(),
        })
    }

    /// Bounds how long one request may take: to connect, and again from its release to the end of its answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Lets a stop of the suite end what goes on.
    #[must_use]
    pub fn until(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns how long one request may take.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.timeout
    }

    /// Resolves a target's host and judges every address it has; connects to nothing.
    ///
    /// # Errors
    ///
    /// Fails if it has no address, or one that is not allowed.
    pub async fn find(&self, target: &Target) -> Result<Found, Trouble> {
        let host = target.host();
        let looked = timeout(self.timeout, lookup_host((host, target.port()))).await;
        let addresses: Arc<[SocketAddr]> = match looked {
            Err(_) => return Err(self.late("resolve the name")),
            Ok(Err(error)) => return Err(Trouble::new(What::Unresolved, format!("{host}: {error}"))),
            Ok(Ok(addresses)) => addresses.collect(),
        };
        for address in addresses.iter() {
            if let Some(reason) = self.allowed.refuses(host, address.ip()) {
                return Err(Trouble::new(What::Forbidden, reason));
            }
        }
        if addresses.is_empty() {
            return Err(Trouble::new(What::Unresolved, format!("{host} has no address")));
        }
        let target = target.clone();
        Ok(Found { target, addresses })
    }

    /// Opens a connection, TLS included, and sends nothing of a request on it yet.
    ///
    /// # Errors
    ///
    /// Fails if none of the addresses takes it in time.
    pub async fn open(&self, found: &Found) -> Result<Opened, Trouble> {
        match timeout(self.timeout, self.connect(found)).await {
            Err(_) => Err(self.late("connect")),
            Ok(opened) => opened,
        }
    }

    async fn connect(&self, found: &Found) -> Result<Opened, Trouble> {
        let mut trouble = Trouble::new(What::Unresolved, "no address");
        for address in found.addresses.iter() {
            match TcpStream::connect(address).await {
                Ok(stream) => return self.secure(found, *address, stream).await,
                Err(error) => trouble = Trouble::of_connect(&error),
            }
        }
        Err(trouble)
    }

    async fn secure(&self, found: &Found, address: SocketAddr, stream: TcpStream) -> Result<Opened, Trouble> {
        // Without it the last piece of a request can wait for an acknowledgement, and the copies no longer go at one moment.
        stream.set_nodelay(true).map_err(|error| Trouble::of_connect(&error))?;
        let stream: Box<dyn Stream> = if found.target.is_secure() {
            let name = ServerName::try_from(found.target.host().to_owned());
            let name = name.map_err(|_| Trouble::new(What::Tls, "the host is no name that a certificate can have"))?;
            let secured = self.tls.connect(name, stream).await;
            Box::new(secured.map_err(|error| Trouble::of_tls(&error))?)
        } else {
            Box::new(stream)
        };
        Opened::new(found.target.clone(), address, stream).await
    }

    pub(super) fn late(&self, what: &str) -> Trouble {
        let took = self.timeout.as_millis();
        Trouble::new(What::Timeout, format!("took more than {took}ms to {what}"))
    }
}
