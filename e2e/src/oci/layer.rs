//! The one layer of an image: its tree as a compressed tar. Does I/O.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::{Compression, GzBuilder};

use super::OciError;
use super::digest::Measured;
use super::documents::Blob;
use super::tree::{Node, Tree};

/// "Unknown", as gzip's own header says it: the system that packs must not show.
const NO_SYSTEM: u8 = 255;

/// What is known of a layer that was written.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The tar itself.
    pub(super) unpacked: Blob,
    /// The same, compressed.
    pub(super) compressed: Blob,
}

/// Writes `tree` into `layer`; what cannot be written becomes the error that `failed` makes of it.
pub(super) fn write(
    tree: &Tree,
    layer: &File,
    failed: impl Fn(io::Error) -> OciError,
) -> Result<Sizes, OciError> {
    let compressed = GzBuilder::new()
        .mtime(0)
        .operating_system(NO_SYSTEM)
        .write(Measured::new(BufWriter::new(layer)), Compression::default());
    let mut tar = tar::Builder::new(Measured::new(compressed));
    for (path, node) in tree.nodes() {
        // One file at a time is in memory: its size cannot change between header and content.
        let added = match node {
            Node::Folder(mode) => folder(&mut tar, path, *mode),
            Node::Text(text) => file(&mut tar, path, 0o644, text.as_bytes()),
            Node::Link(target) => link(&mut tar, path, target),
            Node::File(source) => {
                let (bytes, mode) = read(source).map_err(|problem| OciError::Source {
                    path: source.clone(),
                    source: problem,
                })?;
                file(&mut tar, path, mode, &bytes)
            }
        };
        added.map_err(&failed)?;
    }
    let (gzip, unpacked) = tar.into_inner().map_err(&failed)?.finish();
    let (mut out, compressed) = gzip.finish().map_err(&failed)?.finish();
    out.flush().map_err(&failed)?;
    Ok(Sizes {
        unpacked,
        compressed,
    })
}

/// Adds a file that belongs to nobody and was never changed.
pub(super) fn file(
    tar: &mut tar::Builder<impl Write>,
    path: &str,
    mode: u32,
    bytes: &[u8],
) -> io::Result<()> {
    let mut header = header(tar::EntryType::Regular, mode);
    header.set_size(u64::try_from(bytes.len()).map_err(io::Error::other)?);
    tar.append_data(&mut header, path, bytes)
}

fn folder(tar: &mut tar::Builder<impl Write>, path: &str, mode: u32) -> io::Result<()> {
    let mut header = header(tar::EntryType::Directory, mode);
    tar.append_data(&mut header, format!("{path}/"), io::empty())
}

fn link(tar: &mut tar::Builder<impl Write>, path: &str, target: &str) -> io::Result<()> {
    let mut header = header(tar::EntryType::Symlink, 0o777);
    tar.append_link(&mut header, path, target)
}

/// A header that carries no time and no owner.
pub(super) fn header(kind: tar::EntryType, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    header
}

/// A file of this machine, and its mode in the image: of its own only "may be run" is kept.
fn read(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    let may_run = fs::metadata(path)?.permissions().mode() & 0o111 != 0;
    Ok((fs::read(path)?, if may_run { 0o755 } else { 0o644 }))
}
