//! Handshakes and verifiers that nobody here wrote, against what the authority issues.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::{fs, thread};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use x509_parser::prelude::*;

use super::{Authority, REMEMBERED, Subject, TlsError};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// Shakes hands with a client that trusts only the authority; returns the leaf it got and the protocol agreed on.
async fn shake(
    authority: &Authority,
    name: &str,
    alpn: &[&[u8]],
) -> std::io::Result<(CertificateDer<'static>, Option<Vec<u8>>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let acceptor = TlsAcceptor::from(authority.server_config(alpn, LOCAL));
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        acceptor.accept(socket).await
    });
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let socket = TcpStream::connect(addr).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await?;
    let (_, connection) = stream.get_ref();
    let leaf = connection.peer_certificates().unwrap()[0].clone();
    Ok((leaf, connection.alpn_protocol().map(<[u8]>::to_vec)))
}

fn leaf(authority: &Authority, name: &str) -> CertificateDer<'static> {
    let subject = Subject::name(name);
    authority
        .certificates
        .certificate(subject)
        .unwrap()
        .end_entity_cert()
        .unwrap()
        .clone()
        .into_owned()
}

fn write_pem(path: &Path, der: &[u8]) {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    let body = lines.join("\n");
    fs::write(
        path,
        format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"),
    )
    .unwrap();
}

/// Runs a foreign program; none if this machine has none of that name.
fn foreign(program: &str, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{program}: {error}"),
    }
}

#[tokio::test]
async fn a_client_that_trusts_the_ca_accepts_any_name() {
    let authority = Authority::open(None).unwrap();
    let (leaf, protocol) = shake(&authority, "API.Stripe.com", &[b"http/1.1"]).await.unwrap();
    assert_eq!(protocol.as_deref(), Some(&b"http/1.1"[..]));
    let (_, leaf) = X509Certificate::from_der(&leaf).unwrap();
    let names = &leaf.subject_alternative_name().unwrap().unwrap().value.general_names;
    assert_eq!(names, &[GeneralName::DNSName("api.stripe.com")]);
    let long = format!("{0}.{0}.example.com", "a".repeat(60));
    shake(&authority, &long, &[]).await.unwrap();
}

#[tokio::test]
async fn without_a_name_the_local_address_and_both_loopbacks_are_in_the_certificate() {
    let authority = Authority::open(None).unwrap();
    for address in ["192.0.2.7", "127.0.0.1", "::1"] {
        shake(&authority, address, &[]).await.unwrap();
    }
    shake(&authority, "192.0.2.8", &[]).await.unwrap_err();
}

#[tokio::test]
async fn a_client_that_trusts_another_ca_refuses() {
    let ours = Authority::open(None).unwrap();
    let mut theirs = Arc::into_inner(Authority::open(None).unwrap()).unwrap();
    theirs.pem = ours.pem().to_owned();
    shake(&theirs, "api.stripe.com", &[]).await.unwrap_err();
}

#[test]
fn strict_verifiers_accept_a_leaf() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::open(Some(dir.path())).unwrap();
    let file = dir.path().join("leaf.pem");
    write_pem(&file, &leaf(&authority, "api.stripe.com"));
    let (ca, file) = (dir.path().join("ca.pem"), file.to_str().unwrap().to_owned());
    let ca = ca.to_str().unwrap();
    let strict = [
        "verify",
        "-x509_strict",
        "-purpose",
        "sslserver",
        "-verify_hostname",
        "api.stripe.com",
        "-CAfile",
        ca,
        &file,
    ];
    if let Some(output) = foreign("openssl", &strict) {
        assert!(output.status.success(), "{output:?}");
    }
}

#[tokio::test]
async fn pythons_strictest_context_shakes_hands() {
    const SCRIPT: &str = "import socket, ssl, sys\n\
        context = ssl.create_default_context(cafile=sys.argv[1])\n\
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN\n\
        for name in ('127.0.0.1', 'api.stripe.com'):\n    \
            with socket.create_connection(('127.0.0.1', int(sys.argv[2]))) as s, context.wrap_socket(s, server_hostname=name) as t:\n        \
                print(name, t.version())\n";
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::open(Some(dir.path())).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let local = socket.local_addr().unwrap().ip();
            let _ = TlsAcceptor::from(authority.server_config(&[], local))
                .accept(socket)
                .await;
        }
    });
    let ca = dir.path().join("ca.pem").to_str().unwrap().to_owned();
    let python = move || foreign("python3", &["-c", SCRIPT, &ca, &port]);
    if let Some(output) = tokio::task::spawn_blocking(python).await.unwrap() {
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("api.stripe.com TLSv1.3")
        );
    }
}

#[test]
fn a_leaf_says_what_strict_verifiers_ask() {
    let authority = Authority::open(None).unwrap();
    let (first, second) = (leaf(&authority, "a.test"), leaf(&authority, "b.test"));
    let (_, first) = X509Certificate::from_der(&first).unwrap();
    let (_, second) = X509Certificate::from_der(&second).unwrap();
    assert_ne!(first.serial, second.serial);
    let validity = first.validity();
    let life = validity.not_after.timestamp() - validity.not_before.timestamp() + 1;
    assert_eq!(life, 397 * 24 * 3600);
    let age = ASN1Time::now().timestamp() - validity.not_before.timestamp();
    assert!((86_400..86_500).contains(&age), "begins a day back, not {age} s");
    let has = |oid| first.get_extension_unique(&oid).unwrap().is_some();
    assert!(has(oid_registry::OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER));
    assert!(has(oid_registry::OID_X509_EXT_SUBJECT_KEY_IDENTIFIER));
    assert!(first.extended_key_usage().unwrap().unwrap().value.server_auth);
    let ca = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
    let (_, ca) = X509Certificate::from_der(&ca).unwrap();
    assert!(ca.is_ca() && ca.basic_constraints().unwrap().unwrap().critical);
    assert!(ca.key_usage().unwrap().unwrap().value.key_cert_sign());
}

#[test]
fn the_ca_outlives_its_process() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("made/by/us");
    let first = Authority::open(Some(&dir)).unwrap();
    let again = Authority::open(Some(&dir)).unwrap();
    assert_eq!(first.pem(), again.pem());
    assert_ne!(first.pem(), Authority::open(None).unwrap().pem());
    let mode = |file: &str| fs::metadata(dir.join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("ca.pem"), mode("ca.key")), (0o644, 0o600));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "nothing else is left behind");
}

#[test]
fn processes_that_start_at_once_agree_on_one_ca() {
    for _ in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let open = || Authority::open(Some(dir.path())).unwrap().pem().to_owned();
        let seen: Vec<String> = thread::scope(|scope| {
            let starting: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            starting.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|pem| *pem == open()), "all agree with the files");
    }
}

#[test]
fn what_is_broken_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (pem, key) = (dir.path().join("ca.pem"), dir.path().join("ca.key"));
    let _ = Authority::open(Some(dir.path())).unwrap();
    let (good_pem, good_key) = (fs::read(&pem).unwrap(), fs::read(&key).unwrap());
    let other = tempfile::tempdir().unwrap();
    let _ = Authority::open(Some(other.path())).unwrap();
    let other_key = fs::read(other.path().join("ca.key")).unwrap();

    let refusal = |certificate: Option<&[u8]>, private: Option<&[u8]>| {
        for (path, content) in [(&pem, certificate), (&key, private)] {
            let _ = fs::remove_file(path);
            if let Some(content) = content {
                fs::write(path, content).unwrap();
            }
        }
        let error = Authority::open(Some(dir.path())).unwrap_err();
        let now = (fs::read(&pem).ok(), fs::read(&key).ok());
        assert_eq!(
            now,
            (certificate.map(Into::into), private.map(Into::into)),
            "left alone"
        );
        (matches!(error, TlsError::Half { .. }), error.to_string())
    };
    for (files, half, words) in [
        ((Some(&good_pem[..]), None), true, "ca.key is not"),
        ((None, Some(&good_key[..])), true, "ca.pem is not"),
        (
            (Some(&good_pem[..]), Some(&other_key[..])),
            false,
            "does not belong to the key",
        ),
        (
            (Some(&good_pem[..]), Some(&b"nonsense"[..])),
            false,
            "ca.key: no private key",
        ),
        (
            (Some(&b"nonsense"[..]), Some(&good_key[..])),
            false,
            "ca.pem: no certificate",
        ),
    ] {
        let (was_half, said) = refusal(files.0, files.1);
        assert!(was_half == half && said.contains(words), "{said}");
    }
}

#[test]
fn a_certificate_that_may_not_sign_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let plain = rcgen::CertificateParams::default().self_signed(&key).unwrap();
    fs::write(dir.path().join("ca.pem"), plain.pem()).unwrap();
    fs::write(dir.path().join("ca.key"), key.serialize_pem()).unwrap();
    let said = Authority::open(Some(dir.path())).unwrap_err().to_string();
    assert!(said.contains("is not a CA's"), "{said}");
}

#[test]
fn names_are_signed_once_and_the_bound_holds() {
    let authority = Authority::open(None).unwrap();
    let first = leaf(&authority, "first.test");
    assert_eq!(first, leaf(&authority, "FIRST.test"), "case makes no other name");
    for n in 1..REMEMBERED {
        leaf(&authority, &format!("{n}.test"));
    }
    assert_eq!(first, leaf(&authority, "first.test"), "a thousand names fit");
    leaf(&authority, "one-more.test");
    assert_ne!(first, leaf(&authority, "first.test"), "the oldest went");
}

#[test]
fn settings_are_made_once_for_an_address_and_its_protocols() {
    let authority = Authority::open(None).unwrap();
    let settings = authority.server_config(&[b"http/1.1"], LOCAL);
    assert!(Arc::ptr_eq(&settings, &authority.server_config(&[b"http/1.1"], LOCAL)));
    assert!(!Arc::ptr_eq(&settings, &authority.server_config(&[], LOCAL)));
    let mapped = "::ffff:192.0.2.7".parse().unwrap();
    assert!(Arc::ptr_eq(&settings, &authority.server_config(&[b"http/1.1"], mapped)));
}
