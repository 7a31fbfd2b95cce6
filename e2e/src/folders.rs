//! Where the harness keeps files: a cache that outlives it, and one folder per run that does not.
//! Does I/O.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a folder could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where caches go.
    #[error("no folder for caches is known: set HOME or XDG_CACHE_HOME")]
    NoHome,
    /// The disk is full.
    #[error("the disk that holds {} is full: free some space (about 3 GB for a first build) and start again", path.display())]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// Anything else the file system refused.
    #[error("failed to use {}", path.display())]
    Io {
        /// What was being read or written.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl FolderError {
    /// Says what was being touched when `source` happened.
    pub fn at(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::StorageFull {
            Self::DiskFull {
                path: path.to_owned(),
            }
        } else {
            Self::Io {
                path: path.to_owned(),
                source,
            }
        }
    }
}

/// `$XDG_CACHE_HOME/sandgate`, or `~/.cache/sandgate`: shared by every checkout on this machine.
pub fn cache() -> Result<PathBuf, FolderError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or(FolderError::NoHome)?;
    Ok(base.join("sandgate"))
}

/// Makes `path` and its parents.
pub fn make(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|source| FolderError::at(path, source))
}

/// Writes `path` so that a reader sees the old text or the new one, never half of it, and nobody but
/// this user can read it.
pub fn write_private(path: &Path, text: &str) -> Result<(), FolderError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let fresh = path.with_extension("new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .map_err(|source| FolderError::at(&fresh, source))?;
    file.write_all(text.as_bytes())
        .map_err(|source| FolderError::at(&fresh, source))?;
    fs::rename(&fresh, path).map_err(|source| FolderError::at(path, source))
}

/// Opens (and makes) the file at `path` for locking.
pub fn lock_file(path: &Path) -> Result<File, FolderError> {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|source| FolderError::at(path, source))
}

/// The folder of one run: removed when dropped, or by the next run when its owner was killed.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Held for life: an unlocked folder has no owner any more.
    _lock: File,
}

impl RunFolder {
    /// Makes a new folder under the cache, after removing those whose owner is gone.
    pub fn create() -> Result<Self, FolderError> {
        Self::create_in(&cache()?.join("runs"))
    }

    fn create_in(runs: &Path) -> Result<Self, FolderError> {
        make(runs)?;
        // One at a time, or a folder made but not yet locked would look abandoned.
        let gate = lock_file(&runs.join(".gate"))?;
        gate.lock()
            .map_err(|source| FolderError::at(runs, source))?;
        sweep(runs)?;
        let path = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(runs)
            .map_err(|source| FolderError::at(runs, source))?
            .keep();
        let lock = lock_file(&path.join(".lock"))?;
        lock.lock()
            .map_err(|source| FolderError::at(&path, source))?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder inside it.
    pub fn folder(&self, name: &str) -> Result<PathBuf, FolderError> {
        let path = self.path.join(name);
        make(&path)?;
        Ok(path)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed now, the next run removes.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Removes the folders that no living process holds.
fn sweep(runs: &Path) -> Result<(), FolderError> {
    let entries = fs::read_dir(runs).map_err(|source| FolderError::at(runs, source))?;
    for path in entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
    {
        let abandoned = match File::open(path.join(".lock")).map(|lock| lock.try_lock()) {
            Ok(Err(TryLockError::WouldBlock)) => false,
            Ok(_) | Err(_) => true,
        };
        if abandoned {
            // The processes of a run that was just killed may still be writing as they die: what cannot be
            // removed now, the next run removes.
            drop(fs::remove_dir_all(&path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_removes_what_a_killed_run_left_and_spares_the_living() {
        let runs = tempfile::tempdir().unwrap();
        let living = RunFolder::create_in(runs.path()).unwrap();
        let killed = runs.path().join("run-killed");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(".lock"), "").unwrap();

        let next = RunFolder::create_in(runs.path()).unwrap();

        assert!(!killed.exists());
        assert!(living.path().exists());
        let gone = next.path().to_owned();
        drop(next);
        assert!(!gone.exists());
    }

    #[test]
    fn a_private_file_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write_private(&path, "first").unwrap();
        write_private(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
