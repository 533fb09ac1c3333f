//! The way to the server: TCP, and TLS where the URL asks for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::relay::pipe::Wire;
use crate::relay::{Relay, SslMode};

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(10);
/// What asks a server for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Connects.
pub(super) async fn connect(relay: &Relay) -> io::Result<Box<dyn Wire>> {
    let patience = relay.spec.timeout.unwrap_or(CONNECT).min(CONNECT);
    match tokio::time::timeout(patience, dial(relay)).await {
        Ok(connected) => connected,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it took longer than {patience:?}"),
        )),
    }
}

async fn dial(relay: &Relay) -> io::Result<Box<dyn Wire>> {
    let upstream = &relay.spec.upstream;
    let mut stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
    stream.set_nodelay(true)?;
    if upstream.sslmode == SslMode::Disable {
        return Ok(Box::new(stream));
    }
    stream.write_all(&SSL_REQUEST).await?;
    if stream.read_u8().await? != b'S' {
        return Err(io::Error::other("it offers no TLS, which sslmode asks for"));
    }
    let mut config = match upstream.sslmode {
        SslMode::VerifyFull => ClientConfig::clone(&relay.roots.config()),
        _ => anyone(),
    };
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    let name = ServerName::try_from(upstream.host.clone()).map_err(io::Error::other)?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(Box::new(tls))
}

/// Passes a request to cancel on, and waits until the server has taken it.
pub(super) async fn cancel(relay: &Relay, request: &[u8]) {
    let passed = async {
        let mut server = connect(relay).await?;
        server.write_all(request).await?;
        server.flush().await?;
        let mut nothing = [0; 16];
        while server.read(&mut nothing).await? > 0 {}
        io::Result::Ok(())
    };
    match tokio::time::timeout(CONNECT, passed).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::info!("relay {}: a request to cancel did not arrive: {error}", relay.spec.name),
        Err(_) => tracing::info!("relay {}: a request to cancel was not taken in time", relay.spec.name),
    }
}

/// Makes settings that ask no server who it is, as `sslmode=require` does in every other client.
fn anyone() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth()
}

/// Takes every certificate; that the server has its key is still checked.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
