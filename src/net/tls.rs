//! The suite's own certificate authority: a certificate for any name a client asks for.

mod bounded;
mod issue;
mod pair;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use self::bounded::Bounded;
use self::issue::{Issuer, Subject};

/// How many certificates, and how many server configurations, are remembered; past it the oldest goes.
const REMEMBERED: usize = 1_000;

/// Signs a certificate for every name asked for, under one CA that clients can be told to trust.
pub struct Authority {
    pem: String,
    provider: Arc<CryptoProvider>,
    certificates: Arc<Certificates>,
    configs: Mutex<Bounded<Offer, Arc<rustls::ServerConfig>>>,
}

/// Holds the protocols offered by ALPN, and for whom there is a certificate.
type Offer = (Vec<Vec<u8>>, For);

/// Says for whom a connection gets a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum For {
    /// For the name that is asked for; without one, for the address at which the connection arrived.
    Asked(IpAddr),
    /// For this one, whatever is asked for.
    Only(Subject),
}

/// Says why there is no certificate authority.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The folder or one of its files cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file or folder at fault.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One of the two files is there and the other is not.
    #[error("{} is there, but {} is not: put it back, or remove the first to have a new CA made", present.display(), missing.display())]
    Half {
        /// The file that was found.
        present: PathBuf,
        /// The file that should stand beside it.
        missing: PathBuf,
    },
    /// A file does not hold what it should.
    #[error("{}: {reason}; mend it, or remove both ca.pem and ca.key to have a new CA made", path.display())]
    Broken {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The cryptography itself failed.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

impl Authority {
    /// Opens the CA kept in `dir` as `ca.pem` and `ca.key`, making it at the first start; without a folder it lives in memory only.
    ///
    /// # Errors
    ///
    /// Fails when the folder cannot be used, or when what it holds is no whole and matching CA. Nothing found is ever replaced.
    pub fn open(dir: Option<&Path>) -> Result<Arc<Self>, TlsError> {
        let pair = match dir {
            Some(dir) => pair::Pair::open(dir)?,
            None => pair::Pair::make()?,
        };
        let provider = Arc::new(ring::default_provider());
        let pem = pair.certificate_pem.clone();
        Ok(Arc::new(Self {
            pem,
            certificates: Arc::new(Certificates {
                issuer: Issuer::new(pair, &provider)?,
                issued: Mutex::new(Bounded::new(REMEMBERED)),
            }),
            provider,
            configs: Mutex::new(Bounded::new(REMEMBERED)),
        }))
    }

    /// Returns the CA's certificate, the one that clients are told to trust, as PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the settings for a connection that arrived at `local`: a client that asks for no name gets a certificate for that address.
    ///
    /// The settings for one address and one list of protocols are made once, so that sessions can be resumed.
    ///
    /// # Panics
    ///
    /// Panics if ring stopped supporting TLS 1.2 and 1.3.
    #[must_use]
    pub fn server_config(&self, alpn: &[&[u8]], local: IpAddr) -> Arc<rustls::ServerConfig> {
        // A dual-stack listener reports IPv4 peers' addresses as ::ffff:a.b.c.d, but clients compare with a.b.c.d.
        let local = local.to_canonical();
        self.config(alpn, For::Asked(local))
    }

    /// Returns the settings for a connection inside a tunnel to `host`: the certificate is that host's, whatever name is asked for.
    ///
    /// # Panics
    ///
    /// Panics if ring stopped supporting TLS 1.2 and 1.3.
    #[must_use]
    pub fn server_config_for(&self, alpn: &[&[u8]], host: &str) -> Arc<rustls::ServerConfig> {
        let subject = host.parse().map_or_else(|_| Subject::name(host), Subject::Address);
        self.config(alpn, For::Only(subject))
    }

    fn config(&self, alpn: &[&[u8]], whom: For) -> Arc<rustls::ServerConfig> {
        let alpn: Vec<Vec<u8>> = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let mut configs = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        let make = |(alpn, whom): &Offer| {
            let resolver = Resolver {
                whom: whom.clone(),
                certificates: Arc::clone(&self.certificates),
            };
            let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider))
                .with_safe_default_protocol_versions()
                .expect("ring supports TLS 1.2 and 1.3")
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(resolver));
            config.alpn_protocols.clone_from(alpn);
            Arc::new(config)
        };
        configs.get_or_insert((alpn, whom), make)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// Remembers what was issued, so that a name is signed once and not once a connection.
struct Certificates {
    issuer: Issuer,
    issued: Mutex<Bounded<Subject, Arc<CertifiedKey>>>,
}

impl Certificates {
    fn certificate(&self, subject: Subject) -> Result<Arc<CertifiedKey>, TlsError> {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = issued.get(&subject) {
            return Ok(known);
        }
        let certificate = Arc::new(self.issuer.issue(&subject)?);
        issued.insert(subject, Arc::clone(&certificate));
        Ok(certificate)
    }
}

/// Answers the handshake of connections.
struct Resolver {
    whom: For,
    certificates: Arc<Certificates>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let subject = match &self.whom {
            For::Asked(local) => hello.server_name().map_or(Subject::Address(*local), Subject::name),
            For::Only(subject) => subject.clone(),
        };
        match self.certificates.certificate(subject) {
            Ok(certificate) => Some(certificate),
            Err(error) => {
                tracing::warn!(%error, "a handshake ends without a certificate");
                None
            }
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("whom", &self.whom)
            .finish_non_exhaustive()
    }
}
