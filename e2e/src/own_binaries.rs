//! Where Sandgate's own binaries are. Reads the environment and the file system.

use std::path::{Path, PathBuf};

/// Set by `cargo xtask`: the folder that holds `sandgate-webhook` and `sandgate-controller`.
pub const VARIABLE: &str = "SANDGATE_BIN_DIR";

/// A binary of ours is not built.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} does not exist: build it with `cargo build --bins`, or run `cargo xtask test`, which does", .0.display()
)]
pub struct NotBuilt(PathBuf);

/// Sandgate's own binaries.
#[derive(Clone, Debug)]
pub struct OwnBinaries {
    /// `sandgate-webhook`
    pub webhook: PathBuf,
    /// `sandgate-controller`
    pub controller: PathBuf,
}

impl OwnBinaries {
    /// Those in `SANDGATE_BIN_DIR`, or next to the running program (a test's own folder is `deps`).
    pub fn find() -> Result<Self, NotBuilt> {
        Self::within(&folder())
    }

    /// Those in `folder`.
    pub fn within(folder: &Path) -> Result<Self, NotBuilt> {
        let have = |name: &str| {
            let path = folder.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                Err(NotBuilt(path))
            }
        };
        Ok(Self {
            webhook: have("sandgate-webhook")?,
            controller: have("sandgate-controller")?,
        })
    }
}

/// `SANDGATE_BIN_DIR`, or the folder of the running program.
pub fn folder() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(next_to_us, PathBuf::from)
}

fn next_to_us() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(Path::new("."));
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    folder.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_binary_is_named_with_the_command_that_builds_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = OwnBinaries::within(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("sandgate-webhook") && error.contains("cargo"),
            "{error}"
        );
    }
}
