//! Whom relays trust.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// Holds the settings with which relays begin TLS towards their upstreams; clones share them.
#[derive(Clone)]
pub struct Roots(Arc<ClientConfig>);

/// Says why a file of certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {} as --upstream-ca: {why}", path.display())]
pub struct RootsError {
    path: PathBuf,
    why: String,
}

impl Roots {
    /// Trusts the public authorities, and the certificates of a PEM file beside them.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or holds no certificate.
    ///
    /// # Panics
    ///
    /// Panics if ring stopped supporting TLS 1.2 and 1.3.
    pub fn open(file: Option<&Path>) -> Result<Self, RootsError> {
        let mut roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        if let Some(path) = file {
            let wrong = |why: String| RootsError {
                path: path.to_owned(),
                why,
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|e| wrong(e.to_string()))?;
            let mut some = false;
            for certificate in found {
                let certificate = certificate.map_err(|e| wrong(e.to_string()))?;
                roots.add(certificate).map_err(|e| wrong(e.to_string()))?;
                some = true;
            }
            if !some {
                return Err(wrong("there is no certificate in it (PEM is expected)".to_owned()));
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }

    /// Returns the settings; protocols for ALPN are the caller's to add.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots").finish_non_exhaustive()
    }
}
