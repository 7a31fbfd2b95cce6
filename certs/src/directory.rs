//! The TLS directory between a controller and the webhook beside it. Does file I/O, except
//! [`next_files`], which is pure.
//!
//! Four files: `tls.crt` (leaf chain), `tls.key` (PKCS#8), `ca.crt` (the CAs that every live
//! `caBundle` holds) and `server-names` (each host that the configurations name, one a line). Each is
//! replaced by renaming a finished file over it. Between two renames a reader can see a key beside
//! another key's certificate; it must keep what it had and look again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use crate::certificate::{Certificate, KeyPem, canonical_host, to_pem};
use crate::store::Stored;
use crate::trust;

/// File of the leaf chain.
pub const CERTIFICATE: &str = "tls.crt";
/// File of the leaf's key.
pub const KEY: &str = "tls.key";
/// File of the CAs that every live `caBundle` holds.
pub const AUTHORITIES: &str = "ca.crt";
/// File of the hosts that the webhook configurations name.
pub const SERVER_NAMES: &str = "server-names";

/// A file of the TLS directory could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The file could not be read.
    #[error("failed to read {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file could not be written.
    #[error("failed to write {path}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The directory's content, unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Leaf chain, PEM.
    pub certificate: String,
    /// Key of the leaf.
    pub key: KeyPem,
    /// CAs that every live `caBundle` holds, PEM; may be empty.
    pub authorities: String,
    /// Hosts that the configurations name.
    pub server_names: Vec<String>,
}

impl TlsFiles {
    /// Changes whenever any file's meaning does.
    pub fn digest(&self) -> [u8; 32] {
        let names = self.server_names.join("\n");
        let mut hash = Sha256::new();
        for part in [
            &self.certificate,
            self.key.expose(),
            &self.authorities,
            &names,
        ] {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }
}

/// A directory that holds [`TlsFiles`].
#[derive(Clone, Debug)]
pub struct TlsDirectory(PathBuf);

impl TlsDirectory {
    /// Names the directory; nothing is read.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads all four files.
    ///
    /// # Errors
    /// A file is missing (kind `NotFound` in the source) or unreadable.
    pub fn read(&self) -> Result<TlsFiles, DirectoryError> {
        let names = self.read_file(SERVER_NAMES)?;
        Ok(TlsFiles {
            certificate: self.read_file(CERTIFICATE)?,
            key: KeyPem::new(self.read_file(KEY)?),
            authorities: self.read_file(AUTHORITIES)?,
            server_names: names
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }

    /// Writes the files whose content differs; says whether any did. The directory must exist.
    pub fn write(&self, files: &TlsFiles) -> Result<bool, DirectoryError> {
        let mut names = files.server_names.join(
            "
",
        );
        names.push('\n');
        // Trust and names first: a leaf that appears after them is one they already explain.
        let mut changed = self.replace(AUTHORITIES, &files.authorities, 0o644)?;
        changed |= self.replace(SERVER_NAMES, &names, 0o644)?;
        changed |= self.replace(KEY, files.key.expose(), 0o600)?;
        changed |= self.replace(CERTIFICATE, &files.certificate, 0o644)?;
        Ok(changed)
    }

    fn read_file(&self, name: &str) -> Result<String, DirectoryError> {
        let path = self.0.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(DirectoryError::Read { path, source }),
        }
    }

    fn replace(&self, name: &str, content: &str, mode: u32) -> Result<bool, DirectoryError> {
        if self
            .read_file(name)
            .is_ok_and(|standing| standing == content)
        {
            return Ok(false);
        }
        let path = self.0.join(name);
        let finished = self.0.join(format!(".{name}.next"));
        let write = || -> io::Result<()> {
            match fs::remove_file(&finished) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // The mode is set when the file is made: there is no moment in which others may read it.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&finished)?;
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
            fs::rename(&finished, &path)
        };
        write().map_err(|source| DirectoryError::Write {
            path: path.clone(),
            source,
        })?;
        Ok(true)
    }
}

/// What a controller should have in its TLS directory: `standing` is what every live `caBundle` holds
/// ([`trust::held_by_all`]), `names` each host that the configurations name.
///
/// The leaf changes to the stored one as soon as that verifies against `standing`; until then a leaf
/// that does verify stays, and one that does not is replaced, since nothing is lost. `None`: there is
/// no leaf to write yet.
pub fn next_files(
    current: Option<&TlsFiles>,
    stored: &Stored,
    standing: &[Certificate],
    names: &[String],
    now: SystemTime,
) -> Option<TlsFiles> {
    let works = |pem: &str| {
        let chain: Vec<_> = Certificate::read_all(pem.as_bytes())
            .unwrap_or_default()
            .into_iter()
            .map(|certificate| certificate.der().clone())
            .collect();
        names
            .iter()
            .all(|host| trust::verify(&chain, standing, &canonical_host(host), now).is_ok())
    };
    let fresh = stored
        .leaf
        .as_ref()
        .map(|leaf| (leaf.certificate.pem(), leaf.key.clone()));
    let held = current.map(|files| (files.certificate.clone(), files.key.clone()));
    let (certificate, key) = match (fresh, held) {
        (Some(fresh), Some(held)) => {
            if !works(&fresh.0) && works(&held.0) {
                held
            } else {
                fresh
            }
        }
        (fresh, held) => fresh.or(held)?,
    };
    Some(TlsFiles {
        certificate,
        key,
        authorities: to_pem(standing),
        server_names: names.to_vec(),
    })
}

#[cfg(test)]
mod tests;
