//! The images of what makes a node work, written once and kept in the cache. Does I/O.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::binaries::NodeBinaries;
use crate::folders::{self, FolderError};
use crate::oci::{Image, OciError};

/// Holds a pod's namespaces.
pub(super) const PAUSE: &str = "sandgate.local/pause:1";

/// CoreDNS.
pub(super) const DNS: &str = "sandgate.local/coredns:1";

/// Enforces NetworkPolicies.
pub(super) const ENFORCER: &str = "sandgate.local/kube-network-policies:1";

/// Why an image could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// It could not be read or kept.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] OciError),
}

/// The archives of all of them. Blocks: seconds the first time.
pub(super) fn archives(binaries: &NodeBinaries, probe: &Path) -> Result<[PathBuf; 3], ImagesError> {
    let cache = folders::cache()?.join("images");
    folders::make(&cache)?;
    Ok([
        archive(&cache, PAUSE, probe, &["/sandgate-probe", "pause"])?,
        archive(&cache, DNS, &binaries.dns, &["/coredns"])?,
        archive(
            &cache,
            ENFORCER,
            &binaries.enforcer,
            &["/kube-network-policies"],
        )?,
    ])
}

/// An image called `name` that holds one program and starts it so.
fn archive(
    cache: &Path,
    name: &str,
    program: &Path,
    entrypoint: &[&str],
) -> Result<PathBuf, ImagesError> {
    let content = fs::read(program).map_err(|source| FolderError::at(program, source))?;
    let mut hash = Sha256::new();
    for part in [name.as_bytes(), entrypoint.join(" ").as_bytes(), &content] {
        hash.update(Sha256::digest(part));
    }
    let archive = cache.join(format!("{:x}.tar", hash.finalize()));
    if !archive.is_file() {
        let at = entrypoint.first().copied().unwrap_or_default();
        let image = Image {
            name: name.to_owned(),
            entrypoint: entrypoint.iter().map(ToString::to_string).collect(),
            files: vec![(program.to_owned(), at.to_owned())],
            ..Image::default()
        };
        image.write(&archive)?;
    }
    Ok(archive)
}
