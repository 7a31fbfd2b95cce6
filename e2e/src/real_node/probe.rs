//! The statically linked probe, which runs in images that hold nothing else: taken out of the archive of
//! our image, and kept in the cache. Does I/O.

use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tar::Archive;

use crate::folders::{self, FolderError};

/// Names the archive of our image; `cargo xtask` sets it.
pub const IMAGE_VARIABLE: &str = "SANDGATE_IMAGE";

/// Its name in the image.
const NAME: &str = "sandgate-probe";

/// Why there is no probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nobody says where our image is.
    #[error(
        "there is no image: build it with `cargo xtask image` and name it in {IMAGE_VARIABLE}, or run `cargo xtask test`, which does"
    )]
    NoImage,
    /// The archive could not be read.
    #[error("failed to read the image {}", archive.display())]
    Read {
        /// The archive.
        archive: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The image lacks it.
    #[error("the image {} holds no /{NAME}: build it with `cargo xtask image`", .0.display())]
    Missing(PathBuf),
    /// It could not be kept.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The archive of our image, if it was built.
pub fn image() -> Result<PathBuf, ProbeError> {
    let named = std::env::var_os(IMAGE_VARIABLE).map(PathBuf::from);
    named.ok_or(ProbeError::NoImage)
}

/// The probe that is in the image of `archive`.
pub(super) fn within(archive: &Path) -> Result<PathBuf, ProbeError> {
    let failed = |source| ProbeError::Read {
        archive: archive.to_owned(),
        source,
    };
    let index = index_of(archive).map_err(failed)?;
    let kept = folders::cache()?.join("probe");
    let kept = kept.join(format!("{:x}", Sha256::digest(&index)));
    folders::make(&kept)?;
    let probe = kept.join(NAME);
    if probe.is_file() {
        return Ok(probe);
    }
    let fresh = tempfile::NamedTempFile::new_in(&kept).map_err(failed)?;
    if !copy_out(archive, fresh.as_file()).map_err(failed)? {
        return Err(ProbeError::Missing(archive.to_owned()));
    }
    let runs = Permissions::from_mode(0o755);
    fs::set_permissions(fresh.path(), runs).map_err(failed)?;
    fresh
        .persist(&probe)
        .map_err(|refused| failed(refused.error))?;
    Ok(probe)
}

/// Names everything in the archive by its digest, and so names the archive.
fn index_of(archive: &Path) -> io::Result<Vec<u8>> {
    let mut files = Archive::new(BufReader::new(File::open(archive)?));
    for file in files.entries()? {
        let mut file = file?;
        if file.path()?.ends_with("index.json") {
            let mut index = Vec::new();
            file.read_to_end(&mut index)?;
            return Ok(index);
        }
    }
    Err(io::Error::other("it has no index.json"))
}

/// Copies the probe out of whichever layer holds it; false if none does.
fn copy_out(archive: &Path, mut to: &File) -> io::Result<bool> {
    let mut blobs = Archive::new(BufReader::new(File::open(archive)?));
    for blob in blobs.entries()? {
        let mut layer = Archive::new(GzDecoder::new(blob?));
        // What is no layer is no archive either, and has no entries.
        for file in layer.entries()?.map_while(Result::ok) {
            let mut file = file;
            if file.path()?.as_ref() == Path::new(NAME) {
                io::copy(&mut file, &mut to)?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::Image;

    fn image(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        let files = files.iter().map(|(name, text)| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            (path, format!("/{name}"))
        });
        let archive = folder.join("image.tar");
        let image = Image {
            name: "sandgate.local/trial:1".to_owned(),
            files: files.collect(),
            ..Image::default()
        };
        image.write(&archive).unwrap();
        archive
    }

    #[test]
    fn the_probe_comes_out_of_an_image_as_it_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let archive = image(folder.path(), &[("a", "first"), (NAME, "the probe")]);
        let out = tempfile::NamedTempFile::new().unwrap();
        assert!(copy_out(&archive, out.as_file()).unwrap());
        assert_eq!(fs::read_to_string(out.path()).unwrap(), "the probe");
    }

    #[test]
    fn an_image_without_a_probe_is_named_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let archive = image(folder.path(), &[("a", "first")]);
        let error = within(&archive).unwrap_err().to_string();
        assert!(
            error.contains("image.tar") && error.contains("cargo xtask image"),
            "{error}"
        );
    }
}
