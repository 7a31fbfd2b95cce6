//! A directory below which is looked and made. Does I/O.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fchmod, mkdirat, openat};
use rustix::io::Errno;
use thiserror::Error;

use crate::below::Below;
use crate::open::{self, Obstacle};

/// How often a component is made that somebody takes away again at that moment.
const ATTEMPTS: usize = 16;

/// The file system did not answer as one does.
#[derive(Debug, Error)]
pub enum PathsError {
    /// The root cannot be opened.
    #[error("failed to open the directory {path}")]
    Root {
        /// The root.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A component cannot be opened, though it is there.
    #[error("failed to open {at}")]
    Open {
        /// The path up to that component, from the root.
        at: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A component cannot be made.
    #[error("failed to make the directory {at}")]
    Make {
        /// The path up to that component, from the root.
        at: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A directory, and so is each component above.
    Directory,
    /// Nothing.
    Missing {
        /// The path up to the first component that is not there.
        at: String,
    },
    /// A symbolic link, wherever it leads.
    Symlink {
        /// The path up to the first component that is one.
        at: String,
    },
    /// Something else that is no directory.
    NotDirectory {
        /// The path up to the first component that is none.
        at: String,
    },
}

/// A directory below which is looked and made.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    at_once: bool,
}

impl Root {
    /// Opens a directory, through links if there are any on the way to it.
    pub fn open(path: &Path) -> Result<Self, PathsError> {
        let root = Self::stepwise(path)?;
        let at_once = open::has_openat2(&root.directory);
        Ok(Self { at_once, ..root })
    }

    /// Opens a directory to be used as on a kernel without `openat2`: what is below is opened one
    /// component after the other.
    pub fn stepwise(path: &Path) -> Result<Self, PathsError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            openat(CWD, path, flags, Mode::empty()).map_err(|error| PathsError::Root {
                path: path.to_owned(),
                source: error.into(),
            })?;
        Ok(Self {
            directory,
            at_once: false,
        })
    }

    /// What is at a path. What was a directory can be something else a moment later.
    pub fn look(&self, path: &Below) -> Result<Seen, PathsError> {
        if self.at_once && open::whole(self.directory.as_fd(), path).is_some() {
            return Ok(Seen::Directory);
        }
        let mut above: Option<OwnedFd> = None;
        for (index, name) in path.components().enumerate() {
            let parent = above.as_ref().unwrap_or(&self.directory);
            match opened(parent, name, path, index)? {
                Ok(directory) => above = Some(directory),
                Err(obstacle) => return Ok(seen(&obstacle, path.first(index + 1))),
            }
        }
        Ok(Seen::Directory)
    }

    /// Makes each directory of a path that is missing, with these permissions whatever the process' mask
    /// is; what is there is left as it is. What is at the path then: a directory, or what stands in the
    /// way of one.
    ///
    /// Permissions are set after a directory is made. A process that dies in between leaves one that has
    /// fewer.
    pub fn make(&self, path: &Below, permissions: u32) -> Result<Seen, PathsError> {
        let mut above: Option<OwnedFd> = None;
        for (index, name) in path.components().enumerate() {
            let parent = above.as_ref().unwrap_or(&self.directory);
            match made(parent, name, permissions, path, index)? {
                Ok(directory) => above = Some(directory),
                Err(obstacle) => return Ok(seen(&obstacle, path.first(index + 1))),
            }
        }
        Ok(Seen::Directory)
    }
}

fn seen(obstacle: &Obstacle, at: String) -> Seen {
    match obstacle {
        Obstacle::Missing => Seen::Missing { at },
        Obstacle::Symlink => Seen::Symlink { at },
        Obstacle::Other => Seen::NotDirectory { at },
    }
}

fn opened(
    parent: &OwnedFd,
    name: &str,
    path: &Below,
    index: usize,
) -> Result<Result<OwnedFd, Obstacle>, PathsError> {
    open::component(parent.as_fd(), name).map_err(|error| PathsError::Open {
        at: path.first(index + 1),
        source: error.into(),
    })
}

/// Opens a component, and makes it before where it is missing.
fn made(
    parent: &OwnedFd,
    name: &str,
    permissions: u32,
    path: &Below,
    index: usize,
) -> Result<Result<OwnedFd, Obstacle>, PathsError> {
    for _ in 0..ATTEMPTS {
        match opened(parent, name, path, index)? {
            Err(Obstacle::Missing) => match make_one(parent, name, permissions) {
                // Opened anew: what is there now need not be what was made.
                Ok(()) | Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => {
                    return Err(PathsError::Make {
                        at: path.first(index + 1),
                        source: error.into(),
                    });
                }
            },
            settled => return Ok(settled),
        }
    }
    Ok(Err(Obstacle::Missing))
}

fn make_one(parent: &OwnedFd, name: &str, permissions: u32) -> Result<(), Errno> {
    // Nobody but us may be in it before its permissions stand.
    mkdirat(parent, name, Mode::RWXU)?;
    // A descriptor that names a path alone cannot carry permissions.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(parent, name, flags, Mode::empty())?;
    fchmod(directory, Mode::from_raw_mode(permissions))
}
