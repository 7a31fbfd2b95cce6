//! The images of what makes a node work, written once and kept in the cache. Does I/O.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::tools;
use crate::binaries::NodeBinaries;
use crate::folders::{self, FolderError};
use crate::oci::{Image, OciError};

/// Holds a pod's namespaces.
pub(super) const PAUSE: &str = "sandgate.local/pause:1";

/// CoreDNS.
pub(super) const DNS: &str = "sandgate.local/coredns:1";

/// Enforces NetworkPolicies.
pub(super) const ENFORCER: &str = "sandgate.local/kube-network-policies:1";

/// Everyday programs, to be run by nobody in particular.
pub const EVERYDAY: &str = "sandgate.local/busybox:1";

/// The same, run by another user, of another group: one whom nothing of Sandgate's belongs to.
pub const STRANGER: &str = "sandgate.local/busybox-of-a-stranger:1";

/// The program they all are.
pub(super) const BUSYBOX: &str = "busybox";

/// Those that somebody here runs.
const PROGRAMS: [&str; 7] = ["dd", "httpd", "mkdir", "rm", "sh", "tail", "touch"];

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
pub(super) fn archives(binaries: &NodeBinaries, probe: &Path) -> Result<[PathBuf; 5], ImagesError> {
    Ok([
        archive_of(&program(PAUSE, probe, &["/sandgate-probe", "pause"]))?,
        archive_of(&program(DNS, &binaries.dns, &["/coredns"]))?,
        archive_of(&program(
            ENFORCER,
            &binaries.enforcer,
            &["/kube-network-policies"],
        ))?,
        archive_of(&everyday(EVERYDAY, "65532:65532"))?,
        archive_of(&everyday(STRANGER, "1234:1234"))?,
    ])
}

/// An image called `name` that holds one program and starts it so, as root.
fn program(name: &str, program: &Path, entrypoint: &[&str]) -> Image {
    let at = entrypoint.first().copied().unwrap_or_default();
    Image {
        name: name.to_owned(),
        entrypoint: entrypoint.iter().map(ToString::to_string).collect(),
        files: vec![(program.to_owned(), at.to_owned())],
        ..Image::default()
    }
}

fn everyday(name: &str, user: &str) -> Image {
    let at = format!("/bin/{BUSYBOX}");
    let links = PROGRAMS.map(|name| (at.clone(), format!("/bin/{name}")));
    let program = tools::find(BUSYBOX).unwrap_or_else(|| BUSYBOX.into());
    Image {
        name: name.to_owned(),
        user: Some(user.to_owned()),
        files: vec![(program, at)],
        links: links.to_vec(),
        ..Image::default()
    }
}

/// The archive of an image, written unless it is there: it is named after what goes into it. Blocks: the longer
/// the first time, the larger it is.
pub fn archive_of(image: &Image) -> Result<PathBuf, ImagesError> {
    let cache = folders::cache()?.join("images");
    folders::make(&cache)?;
    let mut hash = Sha256::new();
    hash.update(Sha256::digest(format!("{image:?}")));
    for (program, _) in &image.files {
        let content = fs::read(program).map_err(|source| FolderError::at(program, source))?;
        hash.update(Sha256::digest(&content));
    }
    let archive = cache.join(format!("{:x}.tar", hash.finalize()));
    if !archive.is_file() {
        image.write(&archive)?;
    }
    Ok(archive)
}
