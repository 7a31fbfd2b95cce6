//! CAs and leaf as they are kept in the Secret. Pure.
//!
//! Keys of the Secret's data: `ca-<fingerprint>.crt` and `.key` for each CA, `tls.crt` and `tls.key`
//! for the leaf. What cannot be read is left out and named in [`Stored::unreadable`]; the next write
//! of the Secret removes it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use k8s_openapi::ByteString;

use crate::certificate::{Certificate, CertificateError, KeyPem, to_pem};

/// A CA that can sign: certificate and key belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The CA's certificate.
    pub certificate: Certificate,
    /// Its key. Leaves the controller for the Secret only.
    pub key: KeyPem,
}

/// The serving certificate: certificate and key belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The leaf's certificate.
    pub certificate: Certificate,
    /// Its key.
    pub key: KeyPem,
}

/// The Secret, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Every readable CA, oldest first.
    pub authorities: Vec<Authority>,
    /// The leaf, if there is a readable one.
    pub leaf: Option<Leaf>,
    /// Keys of the Secret's data that could not be read, each with the reason, for a log line.
    pub unreadable: Vec<String>,
}

impl Stored {
    /// Reads the Secret's data. Never fails: what cannot be read is reported in `unreadable`.
    pub fn from_data(data: &BTreeMap<String, ByteString>) -> Self {
        let mut stored = Self::default();
        for name in data.keys() {
            let Some(stem) = name.strip_suffix(".crt") else {
                if !name
                    .strip_suffix(".key")
                    .is_some_and(|s| data.contains_key(&format!("{s}.crt")))
                {
                    stored.unreadable.push(format!("{name}: nothing of ours"));
                }
                continue;
            };
            match pair(data, stem) {
                Ok((certificate, key)) if stem == "tls" => {
                    stored.leaf = Some(Leaf { certificate, key });
                }
                Ok((certificate, key)) if certificate.is_authority() => {
                    stored.authorities.push(Authority { certificate, key });
                }
                Ok(_) => stored
                    .unreadable
                    .push(format!("{name}: the certificate is not a CA")),
                Err(error) => stored.unreadable.push(format!("{name}: {error}")),
            }
        }
        stored.authorities.sort_by_key(|authority| {
            (
                authority.certificate.not_before(),
                authority.certificate.fingerprint().clone(),
            )
        });
        stored
    }

    /// The Secret's whole data.
    pub fn to_data(&self) -> BTreeMap<String, ByteString> {
        let mut data = BTreeMap::new();
        let mut put = |stem: &str, certificate: &Certificate, key: &KeyPem| {
            data.insert(
                format!("{stem}.crt"),
                ByteString(certificate.pem().into_bytes()),
            );
            data.insert(
                format!("{stem}.key"),
                ByteString(key.expose().as_bytes().to_vec()),
            );
        };
        for Authority { certificate, key } in &self.authorities {
            put(
                &format!("ca-{}", certificate.fingerprint()),
                certificate,
                key,
            );
        }
        if let Some(Leaf { certificate, key }) = &self.leaf {
            put("tls", certificate, key);
        }
        data
    }

    /// What every `caBundle` should hold: the CAs that have not expired, as PEM, oldest first.
    pub fn bundle(&self, now: SystemTime) -> String {
        to_pem(
            self.authorities
                .iter()
                .map(|authority| &authority.certificate)
                .filter(|certificate| now < certificate.not_after()),
        )
    }
}

fn pair(
    data: &BTreeMap<String, ByteString>,
    stem: &str,
) -> Result<(Certificate, KeyPem), CertificateError> {
    let text = |suffix: &str| {
        data.get(&format!("{stem}.{suffix}"))
            .map(|bytes| bytes.0.as_slice())
            .unwrap_or_default()
    };
    let certificate = Certificate::read_all(text("crt"))?
        .into_iter()
        .next()
        .ok_or(CertificateError::Empty)?;
    let key = KeyPem::new(String::from_utf8_lossy(text("key")));
    certificate.check_key(&key)?;
    Ok((certificate, key))
}

#[cfg(test)]
mod tests;
