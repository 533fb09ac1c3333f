//! Leaf certificates, as strict verifiers want them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcgen::string::Ia5String;
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use std::sync::Arc;
use time::{Duration, OffsetDateTime};

use super::TlsError;
use super::pair::Pair;

/// The longest life that clients of public certificates accept, in days.
const LEAF_DAYS: i64 = 397;

/// X.520 allows no longer common name, while a host name may have 253 characters.
const LONGEST_COMMON_NAME: usize = 64;

/// Says whom a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// A name, asked for by SNI; always in lower case.
    Name(String),
    /// No name was asked for: the address at which the connection arrived.
    Address(IpAddr),
}

impl Subject {
    pub(super) fn name(name: &str) -> Self {
        Self::Name(name.to_ascii_lowercase())
    }

    fn alternative_names(&self) -> Result<Vec<SanType>, rcgen::Error> {
        match self {
            Self::Name(name) => Ok(vec![SanType::DnsName(Ia5String::try_from(name.as_str())?)]),
            Self::Address(local) => {
                let mut addresses: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                if !addresses.contains(local) {
                    addresses.insert(0, *local);
                }
                let localhost = SanType::DnsName(Ia5String::try_from("localhost")?);
                Ok(addresses
                    .into_iter()
                    .map(SanType::IpAddress)
                    .chain([localhost])
                    .collect())
            }
        }
    }

    fn common_name(&self) -> Option<String> {
        let name = match self {
            Self::Name(name) => name.clone(),
            Self::Address(local) => local.to_string(),
        };
        (name.len() <= LONGEST_COMMON_NAME).then_some(name)
    }
}

/// Signs leaves. All of them share one key of this process, so that a new name costs one signature.
pub(super) struct Issuer {
    authority: rcgen::Issuer<'static, KeyPair>,
    authority_der: CertificateDer<'static>,
    leaf_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
}

impl Issuer {
    pub(super) fn new(pair: Pair, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let leaf_key = KeyPair::generate()?;
        let der = PrivatePkcs8KeyDer::from(leaf_key.serialize_der());
        let signing_key = provider
            .key_provider
            .load_private_key(der.into())
            .expect("ring reads the key that ring has just made");
        let authority = rcgen::Issuer::from_ca_cert_der(&pair.certificate, pair.key)?;
        Ok(Self {
            authority,
            authority_der: pair.certificate,
            leaf_key,
            signing_key,
        })
    }

    pub(super) fn issue(&self, subject: &Subject) -> Result<CertifiedKey, TlsError> {
        let mut leaf = CertificateParams::default();
        leaf.subject_alt_names = subject.alternative_names()?;
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::OrganizationName, "ackdrop");
        if let Some(name) = subject.common_name() {
            leaf.distinguished_name.push(DnType::CommonName, name);
        }
        // Also makes rcgen write a subjectKeyIdentifier, which it leaves out for a plain `NoCa`.
        leaf.is_ca = IsCa::ExplicitNoCa;
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.serial_number = Some(serial());
        (leaf.not_before, leaf.not_after) = life(LEAF_DAYS);
        let leaf = leaf.signed_by(&self.leaf_key, &self.authority)?;
        let chain = vec![leaf.der().clone(), self.authority_der.clone()];
        Ok(CertifiedKey::new(chain, Arc::clone(&self.signing_key)))
    }
}

/// Draws a serial number. Left to itself rcgen derives it from the key, which all leaves share.
pub(super) fn serial() -> SerialNumber {
    let mut bytes = [0; 16];
    fastrand::fill(&mut bytes);
    // Positive, and never shortened by a leading zero.
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&bytes)
}

/// Returns the two dates of a life that began a day ago, so that a client whose clock is behind accepts it too.
pub(super) fn life(days: i64) -> (OffsetDateTime, OffsetDateTime) {
    let start = OffsetDateTime::now_utc() - Duration::DAY;
    // Both dates count as inside, so a life of whole days is a second too long.
    (start, start + Duration::days(days) - Duration::SECOND)
}
