//! Writes an image from scratch as one OCI archive, without a daemon or a registry. Does I/O; what
//! stands in the image and in its documents is decided by [`tree`] and [`documents`].
//!
//! The same inputs give the same bytes, wherever and whenever: names are sorted, nothing carries a
//! time or an owner, and of a file's mode only "may be run" is kept.

mod content;
mod digest;
mod documents;
mod layer;
#[cfg(test)]
mod tests;
mod tree;

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use self::documents::{Blob, Documents, LAYOUT};
use self::tree::Tree;

/// What an image holds. Each file lies at the absolute path it is given, each link leads from `at`
/// to `target`; folders come by themselves, with `/tmp` for everybody and names for the users 0 and
/// 65532.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// What pods call it: `sandgate.local/sandgate:0.1.0`.
    pub name: String,
    /// `uid:gid`; root without it.
    pub user: Option<String>,
    /// What runs when a pod names no command. Empty: a pod's arguments are the whole command.
    pub entrypoint: Vec<String>,
    /// File on this machine, absolute path in the image.
    pub files: Vec<(PathBuf, String)>,
    /// Target of a symbolic link, absolute path at which it lies.
    pub links: Vec<(String, String)>,
}

/// An archive that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Digest of the manifest, as a container runtime shows it: `sha256:…`.
    pub digest: String,
    /// Size of the layer as a registry would hold it.
    pub compressed: u64,
    /// Size of the layer unpacked.
    pub unpacked: u64,
}

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// A file that should go into the image is not there, or cannot be read.
    #[error("failed to read {} for the image", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A path in the image is not usable.
    #[error(
        "the path {0:?} cannot be in an image: give it absolute, without `.`, `..` or an empty part"
    )]
    Path(String),
    /// Two things want to lie at one place.
    #[error("two things lie at {0} in the image: give each a path of its own")]
    Clash(String),
    /// A link leads nowhere.
    #[error("the link {0} has no target")]
    NoTarget(String),
    /// The archive could not be written.
    #[error("failed to write {}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A document of the image could not be written down.
    #[error("failed to describe the image")]
    Document(#[from] serde_json::Error),
}

impl Image {
    /// Writes the archive, replacing one that stands there only when the new one is whole.
    pub fn write(&self, archive: &Path) -> Result<Written, OciError> {
        let failed = |source| OciError::Archive {
            path: archive.to_owned(),
            source,
        };
        let tree = Tree::of(&self.files, &self.links)?;
        let folder = match archive.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut layer = tempfile::tempfile_in(folder).map_err(failed)?;
        let sizes = layer::write(&tree, &layer, failed)?;
        let documents = Documents::new(self, &sizes)?;

        layer.rewind().map_err(failed)?;
        let fresh = NamedTempFile::new_in(folder).map_err(failed)?;
        pack(fresh.as_file(), &documents, &sizes.compressed, layer).map_err(failed)?;
        // A temporary file is its owner's alone; an archive is for whoever imports it.
        let readable = fs::Permissions::from_mode(0o644);
        fresh.as_file().set_permissions(readable).map_err(failed)?;
        fresh
            .persist(archive)
            .map_err(|refused| failed(refused.error))?;
        Ok(Written {
            digest: documents.manifest.blob.digest.to_string(),
            compressed: sizes.compressed.size,
            unpacked: sizes.unpacked.size,
        })
    }
}

/// The archive around the layer: the index first, then the blobs by their digests.
fn pack(file: &File, documents: &Documents, layer: &Blob, bytes: File) -> io::Result<()> {
    let mut archive = tar::Builder::new(BufWriter::new(file));
    layer::file(&mut archive, "oci-layout", 0o644, LAYOUT)?;
    layer::file(&mut archive, "index.json", 0o644, &documents.index)?;
    for document in [&documents.config, &documents.manifest] {
        let path = document.blob.path();
        layer::file(&mut archive, &path, 0o644, &document.text)?;
    }
    let mut header = layer::header(tar::EntryType::Regular, 0o644);
    header.set_size(layer.size);
    archive.append_data(&mut header, layer.path(), bytes)?;
    archive.into_inner()?.flush()
}
