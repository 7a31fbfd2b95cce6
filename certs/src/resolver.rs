//! The leaf being served, swapped whole and without a restart. Pure but for the shared pointer.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;

use crate::certificate::{Certificate, CertificateError, canonical_host};
use crate::directory::TlsFiles;
use crate::trust::{self, VerifyError};

/// A set of files that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// `tls.crt` is unreadable.
    #[error("tls.crt: failed to read the leaf")]
    Leaf(#[source] CertificateError),
    /// `tls.key` is unreadable.
    #[error("tls.key: failed to read the key")]
    Key(#[source] rustls_pki_types::pem::Error),
    /// Key and leaf do not belong together, or the key is of no supported kind.
    #[error("tls.key: the key cannot serve the leaf in tls.crt")]
    Mismatch(#[source] rustls::Error),
    /// `ca.crt` is unreadable.
    #[error("ca.crt: failed to read the CA bundle")]
    Authorities(#[source] CertificateError),
}

/// Why a set, though readable, would not be accepted by the API server now.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The leaf has expired.
    #[error("the leaf has expired")]
    Expired,
    /// The leaf is not valid yet.
    #[error("the leaf is not valid yet; is a clock wrong?")]
    NotYetValid,
    /// No configuration names a host.
    #[error("server-names is empty: the webhook configurations name no host yet")]
    NoNames,
    /// The leaf does not verify for a host that the configurations name.
    #[error("the API server would refuse the leaf")]
    Refused(#[source] VerifyError),
}

/// Everything the webhook serves with, read and checked together.
#[derive(Debug)]
pub struct ServingSet {
    certified: Arc<CertifiedKey>,
    leaf: Certificate,
    authorities: Vec<Certificate>,
    names: Vec<String>,
}

impl ServingSet {
    /// Reads the files and checks that key and leaf belong together.
    pub fn parse(files: &TlsFiles) -> Result<Self, ServingError> {
        let chain =
            Certificate::read_all(files.certificate.as_bytes()).map_err(ServingError::Leaf)?;
        let leaf = chain
            .first()
            .cloned()
            .ok_or(ServingError::Leaf(CertificateError::Empty))?;
        let key = PrivateKeyDer::from_pem_slice(files.key.expose().as_bytes())
            .map_err(ServingError::Key)?;
        let chain = chain
            .into_iter()
            .map(|certificate| certificate.der().clone())
            .collect();
        let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .map_err(ServingError::Mismatch)?;
        // Empty is a state of its own (nothing is trusted yet), told by `fitness`.
        let authorities = if files.authorities.trim().is_empty() {
            Vec::new()
        } else {
            Certificate::read_all(files.authorities.as_bytes())
                .map_err(ServingError::Authorities)?
        };
        let names = files
            .server_names
            .iter()
            .map(|host| canonical_host(host))
            .collect();
        Ok(Self {
            certified: Arc::new(certified),
            leaf,
            authorities,
            names,
        })
    }

    /// Whether the API server would accept the leaf for every host that the configurations name.
    pub fn fitness(&self, now: SystemTime) -> Result<(), Unfit> {
        if now < self.leaf.not_before() {
            return Err(Unfit::NotYetValid);
        }
        if self.leaf.not_after() <= now {
            return Err(Unfit::Expired);
        }
        if self.names.is_empty() {
            return Err(Unfit::NoNames);
        }
        self.names.iter().try_for_each(|host| {
            trust::verify(&self.certified.cert, &self.authorities, host, now)
                .map_err(Unfit::Refused)
        })
    }

    /// The leaf's certificate.
    pub fn leaf(&self) -> &Certificate {
        &self.leaf
    }
}

/// Hands out the current leaf to each new connection; established ones keep theirs.
#[derive(Default)]
pub struct Resolver(ArcSwapOption<ServingSet>);

impl Resolver {
    /// A resolver without a leaf: every handshake fails until [`Self::swap`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves `set` from the next handshake on.
    pub fn swap(&self, set: Arc<ServingSet>) {
        self.0.store(Some(set));
    }

    /// What is served now.
    pub fn current(&self) -> Option<Arc<ServingSet>> {
        self.0.load_full()
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaf = self.current().map(|set| set.leaf.fingerprint().clone());
        f.debug_struct("Resolver").field("leaf", &leaf).finish()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load().as_ref().map(|set| Arc::clone(&set.certified))
    }
}

#[cfg(test)]
mod tests;
