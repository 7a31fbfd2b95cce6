//! What is read from an X.509 certificate, and keys that never show themselves. Pure.

use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::PublicKeyData as _;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Why a certificate or key could not be read. Never carries the bytes.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The text is not PEM.
    #[error("failed to read the PEM text")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// The PEM text holds no certificate.
    #[error("the PEM text holds no certificate")]
    Empty,
    /// The certificate is not X.509.
    #[error("failed to read the certificate as X.509")]
    X509,
    /// The certificate's validity lies outside what the system clock can express.
    #[error("the certificate's validity cannot be expressed by the system clock")]
    Validity,
    /// The key is not a private key of a supported kind.
    #[error("failed to read the private key; it must be PKCS#8 PEM")]
    Key(#[source] rcgen::Error),
    /// Certificate and key do not belong together.
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
}

/// First 128 bits of the SHA-256 of a certificate, in hex: names it in the Secret and in logs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    fn of(der: &[u8]) -> Self {
        let digest = Sha256::digest(der);
        Self(digest.iter().take(16).fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        }))
    }

    /// The 32 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A private key as PKCS#8 PEM. `Debug` does not print it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPem(String);

impl KeyPem {
    /// Wraps PEM text, unread.
    pub fn new(pem: impl Into<String>) -> Self {
        Self(pem.into())
    }

    /// The text, for writing it where keys belong.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeyPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPem(…)")
    }
}

/// One certificate and what we read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    der: CertificateDer<'static>,
    fingerprint: Fingerprint,
    not_before: SystemTime,
    not_after: SystemTime,
    names: Vec<String>,
    public_key: Vec<u8>,
    authority: bool,
}

impl Certificate {
    /// Reads one DER certificate.
    pub fn from_der(der: CertificateDer<'static>) -> Result<Self, CertificateError> {
        let (not_before, not_after, names, public_key, authority) = read(&der)?;
        let fingerprint = Fingerprint::of(&der);
        Ok(Self {
            der,
            fingerprint,
            not_before,
            not_after,
            names,
            public_key,
            authority,
        })
    }

    /// Reads every certificate of a PEM text, in order.
    ///
    /// # Errors
    /// The text is broken, one certificate is, or there is none.
    pub fn read_all(pem: &[u8]) -> Result<Vec<Self>, CertificateError> {
        let read = CertificateDer::pem_slice_iter(pem)
            .map(|der| Self::from_der(der.map_err(CertificateError::Pem)?))
            .collect::<Result<Vec<_>, _>>()?;
        if read.is_empty() {
            Err(CertificateError::Empty)
        } else {
            Ok(read)
        }
    }

    /// The certificate as DER.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.der
    }

    /// The certificate as PEM, ending in a newline.
    pub fn pem(&self) -> String {
        let text = STANDARD.encode(&self.der);
        let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
        for (position, character) in text.chars().enumerate() {
            if position > 0 && position % 64 == 0 {
                pem.push('\n');
            }
            pem.push(character);
        }
        pem.push_str("\n-----END CERTIFICATE-----\n");
        pem
    }

    /// The certificate's short name.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// First instant of validity.
    pub fn not_before(&self) -> SystemTime {
        self.not_before
    }

    /// Last instant of validity.
    pub fn not_after(&self) -> SystemTime {
        self.not_after
    }

    /// DNS names (lower case) and addresses it is valid for.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it may sign others.
    pub fn is_authority(&self) -> bool {
        self.authority
    }

    /// Whether `now` lies in its validity.
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.not_before <= now && now < self.not_after
    }

    /// When two thirds of its life are over: the moment to renew it.
    pub fn renewal_due(&self) -> SystemTime {
        let life = self
            .not_after
            .duration_since(self.not_before)
            .unwrap_or(Duration::ZERO);
        self.not_before + life / 3 * 2
    }

    /// Whether `key` is this certificate's private key.
    pub fn check_key(&self, key: &KeyPem) -> Result<(), CertificateError> {
        let pair = rcgen::KeyPair::from_pem(key.expose()).map_err(CertificateError::Key)?;
        if pair.subject_public_key_info() == self.public_key {
            Ok(())
        } else {
            Err(CertificateError::KeyMismatch)
        }
    }
}

/// The PEM texts of several certificates, one after the other.
pub fn to_pem<'a>(certificates: impl IntoIterator<Item = &'a Certificate>) -> String {
    certificates.into_iter().map(Certificate::pem).collect()
}

/// A host in the one spelling that names are compared in.
pub fn canonical_host(host: &str) -> String {
    let bare = host.trim().trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .map_or_else(|_| bare.to_ascii_lowercase(), |ip| ip.to_string())
}

type Read = (SystemTime, SystemTime, Vec<String>, Vec<u8>, bool);

fn read(der: &[u8]) -> Result<Read, CertificateError> {
    let (_, x509) = X509Certificate::from_der(der).map_err(|_| CertificateError::X509)?;
    let names = x509
        .subject_alternative_name()
        .map_err(|_| CertificateError::X509)?
        .map(|san| san.value.general_names.iter().filter_map(host).collect())
        .unwrap_or_default();
    Ok((
        at(x509.validity().not_before.timestamp())?,
        at(x509.validity().not_after.timestamp())?,
        names,
        x509.public_key().raw.to_vec(),
        x509.is_ca(),
    ))
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        GeneralName::IPAddress(bytes) => <[u8; 4]>::try_from(*bytes)
            .map(IpAddr::from)
            .or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from))
            .ok()
            .map(|ip| ip.to_string()),
        _ => None,
    }
}

fn at(timestamp: i64) -> Result<SystemTime, CertificateError> {
    let seconds = u64::try_from(timestamp).map_err(|_| CertificateError::Validity)?;
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .ok_or(CertificateError::Validity)
}
