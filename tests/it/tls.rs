//! HTTPS: a certificate for any name from the suite's own CA, and HTTP/1.1 only.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::support::{App, Call, Conn, with};

/// Shakes hands as a client that trusts this CA alone.
async fn shake(app: &App, ca: &str, name: &str, alpn: &[&[u8]]) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let stream = TcpStream::connect(app.suite.addresses().https().unwrap()).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn any_name_and_no_name_are_served() {
    with(
        |b| b,
        async |app: &App| {
            // A client that names an address sends no SNI.
            for name in ["api.stripe.com", "hooks.example.org", "localhost", "127.0.0.1", "::1"] {
                let mut conn = Conn::tls(app.suite.addresses().https().unwrap(), app.suite.ca_pem(), name).await;
                conn.send(&Call::get("/_ready").bytes()).await;
                let status = conn.answer().await.status;
                // On Stripe's own name all is Stripe's, and nothing the suite's.
                assert!(status == 200 || name == "api.stripe.com", "{name}: {status}");
            }
            let mut conn = app.connect_tls(app.suite.addresses().https().unwrap()).await;
            conn.send(&Call::order("a").bytes()).await;
            assert_eq!((conn.answer().await.status, app.effects("order")), (201, 1));
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_offers_http_2_gets_http_1() {
    with(
        |b| b,
        async |app: &App| {
            let ca = app.suite.ca_pem();
            let mut both = shake(app, ca, "localhost", &[b"h2", b"http/1.1"]).await.unwrap();
            assert_eq!(both.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            both.write_all(&Call::order("a").header("connection", "close").bytes())
                .await
                .unwrap();
            let mut answer = Vec::new();
            both.read_to_end(&mut answer).await.unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 201"));
            let none = shake(app, ca, "localhost", &[]).await.unwrap();
            assert_eq!(none.get_ref().1.alpn_protocol(), None);
            assert!(
                shake(app, ca, "localhost", &[b"h2"]).await.is_err(),
                "nothing in common"
            );
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_suites_ca_is_not_trusted() {
    with(
        |b| b,
        async |app: &App| {
            with(
                |b| b,
                async |other: &App| {
                    assert!(shake(app, other.suite.ca_pem(), "localhost", &[]).await.is_err());
                    assert!(shake(other, other.suite.ca_pem(), "localhost", &[]).await.is_ok());
                },
            )
            .await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ca_in_a_folder_is_the_same_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut pems = Vec::new();
    for _ in 0..2 {
        with(
            |b| b.ca(dir.path()),
            async |app: &App| {
                pems.push(app.suite.ca_pem().to_owned());
                // Who trusted the first one is served by the second.
                assert!(shake(app, &pems[0], "api.stripe.com", &[]).await.is_ok());
            },
        )
        .await;
    }
    assert_eq!(pems[0], pems[1]);
    assert_eq!(std::fs::read_to_string(dir.path().join("ca.pem")).unwrap(), pems[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_on_the_https_port_harms_nobody() {
    with(
        |b| b,
        async |app: &App| {
            let mut conn = Conn::plain(app.suite.addresses().https().unwrap()).await;
            conn.send(&Call::order("a").bytes()).await;
            let (answer, _) = conn.rest().await;
            assert!(!answer.starts_with(b"HTTP"));
            assert_eq!(app.now("orders").received, 0);
        },
    )
    .await;
}
