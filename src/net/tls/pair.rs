//! The CA's certificate and key, and the two files that keep them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::TlsError;
use super::issue::{life, serial};

const CERTIFICATE: &str = "ca.pem";
const KEY: &str = "ca.key";
const CA_DAYS: i64 = 3_650;

/// Holds a CA: its certificate and the key that belongs to it.
pub(super) struct Pair {
    pub(super) certificate_pem: String,
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: KeyPair,
}

impl Pair {
    /// Makes a new CA, in memory.
    pub(super) fn make() -> Result<Self, TlsError> {
        let key = KeyPair::generate()?;
        let mut ca = CertificateParams::default();
        ca.distinguished_name = rcgen::DistinguishedName::new();
        ca.distinguished_name.push(DnType::OrganizationName, "ackdrop");
        // A name of its own: two CAs of one name in one trust store hide each other.
        ca.distinguished_name
            .push(DnType::CommonName, format!("ackdrop test CA {:08x}", fastrand::u32(..)));
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        ca.serial_number = Some(serial());
        (ca.not_before, ca.not_after) = life(CA_DAYS);
        let certificate = ca.self_signed(&key)?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            certificate: certificate.der().clone(),
            key,
        })
    }

    /// Reads the CA kept in `dir`, or makes it there if neither file exists.
    pub(super) fn open(dir: &Path) -> Result<Self, TlsError> {
        if let Some(pair) = Self::find(dir)? {
            return Ok(pair);
        }
        fs::create_dir_all(dir).map_err(at(dir))?;
        // Of several processes that start at once, one makes the pair and the others read it. The lock is the
        // folder's own, goes with its process, and leaves no file behind.
        let folder = File::open(dir).map_err(at(dir))?;
        folder.lock().map_err(at(dir))?;
        if let Some(pair) = Self::find(dir)? {
            return Ok(pair);
        }
        refuse_half(dir)?;
        let pair = Self::make()?;
        write_whole(&dir.join(KEY), pair.key.serialize_pem().as_bytes(), 0o600)?;
        write_whole(&dir.join(CERTIFICATE), pair.certificate_pem.as_bytes(), 0o644)?;
        folder.sync_all().map_err(at(dir))?;
        Ok(pair)
    }

    /// Reads the pair if both files are there. The certificate is written last, so where it is, the key is.
    fn find(dir: &Path) -> Result<Option<Self>, TlsError> {
        let (Some(certificate), Some(key)) = (read(&dir.join(CERTIFICATE))?, read(&dir.join(KEY))?) else {
            return Ok(None);
        };
        Self::check(dir, certificate, &key).map(Some)
    }

    fn check(dir: &Path, certificate_pem: String, key_pem: &str) -> Result<Self, TlsError> {
        let broken = |file: &str, reason: String| TlsError::Broken {
            path: dir.join(file),
            reason,
        };
        let key = KeyPair::from_pem(key_pem)
            .map_err(|error| broken(KEY, format!("no private key in PKCS #8 PEM ({error})")))?;
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|error| broken(CERTIFICATE, format!("no certificate in PEM ({error})")))?;
        let (_, parsed) = X509Certificate::from_der(&certificate)
            .map_err(|error| broken(CERTIFICATE, format!("no X.509 certificate ({error})")))?;
        if parsed.public_key().raw != key.subject_public_key_info() {
            return Err(broken(CERTIFICATE, "does not belong to the key in ca.key".to_owned()));
        }
        if let Some(reason) = unfit(&parsed) {
            return Err(broken(CERTIFICATE, reason));
        }
        Ok(Self {
            certificate_pem,
            certificate,
            key,
        })
    }
}

/// Says why clients would refuse what this certificate signs.
fn unfit(certificate: &X509Certificate<'_>) -> Option<String> {
    let signs = certificate
        .key_usage()
        .is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()));
    if !certificate.is_ca() || !signs {
        return Some("is not a CA's: basicConstraints CA:TRUE and keyCertSign are needed".to_owned());
    }
    if !certificate.validity().is_valid() {
        let validity = certificate.validity();
        return Some(format!(
            "is valid only from {} to {}",
            validity.not_before, validity.not_after
        ));
    }
    None
}

fn refuse_half(dir: &Path) -> Result<(), TlsError> {
    let (certificate, key) = (dir.join(CERTIFICATE), dir.join(KEY));
    match (certificate.exists(), key.exists()) {
        (true, false) => Err(TlsError::Half {
            present: certificate,
            missing: key,
        }),
        (false, true) => Err(TlsError::Half {
            present: key,
            missing: certificate,
        }),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<Option<String>, TlsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

/// Writes beside the target and renames, so that the target is never seen half written. Needs the folder's lock.
fn write_whole(path: &Path, content: &[u8], mode: u32) -> Result<(), TlsError> {
    let beside = path.with_extension("new");
    // What a crash left may have another mode.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&beside)(error)),
        _ => {}
    }
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> TlsError {
    let path = path.to_owned();
    |source| TlsError::File { path, source }
}
