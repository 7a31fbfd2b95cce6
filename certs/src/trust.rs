//! Whether a leaf is one that the API server will accept, and which CAs every `caBundle` holds.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::certificate::{Certificate, Fingerprint};

/// How long a new CA must have stood in every `caBundle` before a leaf of it is served: API servers
/// do not acknowledge a change of the bundle, they only promise to see it soon.
pub const SETTLING: Duration = Duration::from_mins(1);

/// Why a leaf would not be accepted.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The host is neither a DNS name nor an address.
    #[error("{0:?} is neither a DNS name nor an address")]
    Name(String),
    /// The bundle holds no certificate that is valid now.
    #[error("the CA bundle holds no CA that is valid now")]
    NoAuthority,
    /// The verifier could not be built from the bundle.
    #[error("failed to build a verifier from the CA bundle")]
    Verifier(#[source] rustls::client::VerifierBuilderError),
    /// There is no certificate to verify.
    #[error("the certificate chain is empty")]
    NoLeaf,
    /// The leaf does not hold for this host.
    #[error("the leaf is not accepted for {host}")]
    Refused {
        /// The host it was verified for.
        host: String,
        /// What the verifier found.
        #[source]
        source: rustls::Error,
    },
}

/// Verifies `chain` (leaf first) for `host` as the API server does: against `bundle`, by name, with
/// validity (the CA's too) and the serverAuth usage checked at `now`.
pub fn verify(
    chain: &[CertificateDer<'_>],
    bundle: &[Certificate],
    host: &str,
    now: SystemTime,
) -> Result<(), VerifyError> {
    let name = ServerName::try_from(host).map_err(|_| VerifyError::Name(host.to_owned()))?;
    let (leaf, intermediates) = chain.split_first().ok_or(VerifyError::NoLeaf)?;
    let mut roots = RootCertStore::empty();
    // A trust anchor carries no validity of its own, so an expired CA must not become one.
    roots.add_parsable_certificates(
        bundle
            .iter()
            .filter(|authority| authority.is_valid_at(now))
            .map(|authority| authority.der().clone()),
    );
    if roots.is_empty() {
        return Err(VerifyError::NoAuthority);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(VerifyError::Verifier)?;
    let since_epoch = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    verifier
        .verify_server_cert(
            leaf,
            intermediates,
            &name,
            &[],
            UnixTime::since_unix_epoch(since_epoch),
        )
        .map(|_| ())
        .map_err(|source| VerifyError::Refused {
            host: host.to_owned(),
            source,
        })
}

/// The CAs that **every** bundle holds, in the order of the first one. An unreadable or empty bundle
/// holds none; without any bundle nothing is held.
pub fn held_by_all<B: AsRef<[u8]>>(bundles: &[B]) -> Vec<Certificate> {
    let mut read = bundles
        .iter()
        .map(|bundle| Certificate::read_all(bundle.as_ref()).unwrap_or_default());
    let Some(first) = read.next() else {
        return Vec::new();
    };
    let others: Vec<BTreeSet<Fingerprint>> = read
        .map(|bundle| {
            bundle
                .iter()
                .map(|authority| authority.fingerprint().clone())
                .collect()
        })
        .collect();
    first
        .into_iter()
        .filter(|authority| {
            others
                .iter()
                .all(|other| other.contains(authority.fingerprint()))
        })
        .collect()
}

/// How long each CA has stood in every `caBundle` without a break, as far as this process saw. Measured
/// by the monotonic clock: a wall clock that jumps makes no bundle older. After a change of leader it
/// starts anew, which costs at most [`SETTLING`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingSince(BTreeMap<Fingerprint, Sighting>);

/// When a CA was seen in every `caBundle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sighting {
    first: Instant,
    last: Instant,
}

impl StandingSince {
    /// Takes note of what every bundle holds now (see [`held_by_all`]).
    pub fn observe(&mut self, held: &[Certificate], now: Instant) {
        let sighting = |authority: &Certificate| {
            let seen = self.0.get(authority.fingerprint());
            let first = seen.map_or(now, |seen| seen.first);
            (
                authority.fingerprint().clone(),
                Sighting { first, last: now },
            )
        };
        self.0 = held.iter().map(sighting).collect();
    }

    /// Whether the CA stands everywhere at all.
    pub fn stands(&self, authority: &Fingerprint) -> bool {
        self.0.contains_key(authority)
    }

    /// Whether the CA had stood everywhere for [`SETTLING`] when it was last seen.
    pub fn is_settled(&self, authority: &Fingerprint) -> bool {
        let stood = |seen: &Sighting| seen.last.saturating_duration_since(seen.first);
        self.0
            .get(authority)
            .map(stood)
            .is_some_and(|stood| stood >= SETTLING)
    }
}
