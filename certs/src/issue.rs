//! Making CAs and leaves: ECDSA P-256, every field set by us. No I/O; draws random keys.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use crate::certificate::{Certificate, CertificateError, KeyPem, canonical_host};
use crate::plan::{Plan, Signer};
use crate::store::{Authority, Leaf, Stored};

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// No key could be drawn.
    #[error("failed to generate a key")]
    Key(#[source] rcgen::Error),
    /// A name is neither a DNS name nor an address.
    #[error("failed to put the names {names:?} into a certificate")]
    Names {
        /// The names asked for.
        names: Vec<String>,
        /// What is wrong with them.
        #[source]
        source: rcgen::Error,
    },
    /// The certificate could not be signed.
    #[error("failed to sign the certificate")]
    Sign(#[source] rcgen::Error),
    /// The CA could not be used to sign.
    #[error("failed to use the CA for signing")]
    Authority(#[source] rcgen::Error),
    /// The plan names a CA that is not stored.
    #[error("the plan signs with CA {0}, which is not stored")]
    UnknownAuthority(String),
    /// What was made could not be read back.
    #[error("failed to read back the certificate just made")]
    ReadBack(#[source] CertificateError),
}

/// How long certificates live; more than 100 years is taken as 100 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Of a CA. Default 365 days.
    pub authority: Duration,
    /// Of a leaf; never longer than its CA. Default 30 days.
    pub leaf: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60;
        Self {
            authority: Duration::from_secs(365 * DAY),
            leaf: Duration::from_secs(30 * DAY),
        }
    }
}

/// Does what `plan` says and returns what is to be stored.
pub fn carry_out(
    plan: &Plan,
    stored: &Stored,
    names: &[String],
    lifetimes: Lifetimes,
    now: SystemTime,
) -> Result<Stored, IssueError> {
    let mut next = Stored {
        authorities: stored
            .authorities
            .iter()
            .filter(|authority| !plan.retire.contains(authority.certificate.fingerprint()))
            .cloned()
            .collect(),
        leaf: stored.leaf.clone(),
        unreadable: Vec::new(),
    };
    if plan.authority.is_some() {
        next.authorities.push(authority(lifetimes.authority, now)?);
    }
    if let Some((signer, _)) = &plan.leaf {
        let signing = match signer {
            Signer::New => next.authorities.last(),
            Signer::Stored(wanted) => next
                .authorities
                .iter()
                .find(|authority| authority.certificate.fingerprint() == wanted),
        };
        let signing = signing.ok_or_else(|| match signer {
            Signer::New => IssueError::UnknownAuthority("new".to_owned()),
            Signer::Stored(wanted) => IssueError::UnknownAuthority(wanted.to_string()),
        })?;
        next.leaf = Some(leaf(signing, names, lifetimes.leaf, now)?);
    }
    Ok(next)
}

/// Makes a CA that may sign leaves and nothing else.
pub fn authority(lifetime: Duration, now: SystemTime) -> Result<Authority, IssueError> {
    let key = generate()?;
    let mut params = CertificateParams::default();
    // Each CA gets a subject of its own, so that a verifier never tries the wrong key for a name.
    let since_epoch = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    params.distinguished_name = common_name(&format!(
        "sandgate webhook CA {}.{:09}",
        since_epoch.as_secs(),
        since_epoch.subsec_nanos()
    ));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let (not_before, not_after) = validity(lifetime, now);
    params.not_before = not_before.into();
    params.not_after = not_after.into();
    let made = params.self_signed(&key).map_err(IssueError::Sign)?;
    let certificate = Certificate::from_der(made.der().clone()).map_err(IssueError::ReadBack)?;
    Ok(Authority {
        certificate,
        key: KeyPem::new(key.serialize_pem()),
    })
}

/// Makes a leaf for `names` (DNS names and addresses), signed by `signer`.
pub fn leaf(
    signer: &Authority,
    names: &[String],
    lifetime: Duration,
    now: SystemTime,
) -> Result<Leaf, IssueError> {
    let hosts: Vec<String> = names.iter().map(|host| canonical_host(host)).collect();
    let mut params = CertificateParams::new(hosts).map_err(|source| IssueError::Names {
        names: names.to_vec(),
        source,
    })?;
    params.distinguished_name = common_name("sandgate-webhook");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let (not_before, not_after) = validity(lifetime, now);
    params.not_before = not_before.into();
    params.not_after = not_after.min(signer.certificate.not_after()).into();
    let signing_key = KeyPair::from_pem(signer.key.expose()).map_err(IssueError::Authority)?;
    let issuer = Issuer::from_ca_cert_der(signer.certificate.der(), signing_key)
        .map_err(IssueError::Authority)?;
    let key = generate()?;
    let made = params.signed_by(&key, &issuer).map_err(IssueError::Sign)?;
    let certificate = Certificate::from_der(made.der().clone()).map_err(IssueError::ReadBack)?;
    Ok(Leaf {
        certificate,
        key: KeyPem::new(key.serialize_pem()),
    })
}

/// Validity starts an hour before now, so that a verifier whose clock is behind accepts it; less for
/// a life so short that an hour would already count as most of it.
fn validity(lifetime: Duration, now: SystemTime) -> (SystemTime, SystemTime) {
    // X.509 has no year 10000, and a sum past it would be a panic rather than an error.
    let lifetime = lifetime.min(Duration::from_hours(100 * 365 * 24));
    let backdating = Duration::from_hours(1).min(lifetime / 10);
    (now - backdating, now + lifetime)
}

fn generate() -> Result<KeyPair, IssueError> {
    // P-256 rather than Ed25519, which API servers in FIPS mode refuse.
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(IssueError::Key)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

#[cfg(test)]
mod tests;
