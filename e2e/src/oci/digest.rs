//! Digests as registries write them, and a writer that takes one of what passes. Pure.

use std::fmt;
use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::documents::Blob;

/// The SHA-256 of some bytes, in hexadecimal; shown as `sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest(String);

impl Digest {
    /// Of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)))
    }

    /// The hexadecimal digits alone: the name of the file that holds the bytes.
    pub(super) fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.0)
    }
}

/// Passes on what is written, counting and digesting it.
pub(super) struct Measured<W> {
    inner: W,
    hash: Sha256,
    size: u64,
}

impl<W: Write> Measured<W> {
    pub(super) fn new(inner: W) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            size: 0,
        }
    }

    /// What was written to, and what is known of the bytes that went there.
    pub(super) fn finish(self) -> (W, Blob) {
        let blob = Blob {
            digest: Digest(format!("{:x}", self.hash.finalize())),
            size: self.size,
        };
        (self.inner, blob)
    }
}

impl<W: Write> Write for Measured<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        let taken = bytes.get(..written).unwrap_or(bytes);
        self.hash.update(taken);
        self.size = self
            .size
            .saturating_add(u64::try_from(taken.len()).map_err(io::Error::other)?);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
