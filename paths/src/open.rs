//! Opens directories through no symbolic link. Does I/O.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use crate::below::Below;

/// How often an open is begun anew because somebody moved a directory above it at that moment.
const ATTEMPTS: usize = 16;

const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What a component is that is no directory.
pub(crate) enum Obstacle {
    Missing,
    Symlink,
    Other,
}

/// Whether the kernel, and what filters its calls, lets a process use `openat2` below `root`.
pub(crate) fn has_openat2(root: &OwnedFd) -> bool {
    openat2(root, c".", DIRECTORY, Mode::empty(), beneath()).is_ok()
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

/// Whether the whole path is a directory, asked for at once; `None` if it is not, or if the kernel did not
/// say.
pub(crate) fn whole(root: BorrowedFd<'_>, path: &Below) -> Option<OwnedFd> {
    for _ in 0..ATTEMPTS {
        match openat2(root, path.as_str(), DIRECTORY, Mode::empty(), beneath()) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened.ok(),
        }
    }
    None
}

/// Opens one component.
pub(crate) fn component(
    parent: BorrowedFd<'_>,
    name: &str,
) -> Result<Result<OwnedFd, Obstacle>, Errno> {
    for _ in 0..ATTEMPTS {
        match openat(parent, name, DIRECTORY, Mode::empty()) {
            Ok(opened) => return Ok(Ok(opened)),
            Err(Errno::NOENT) => return Ok(Err(Obstacle::Missing)),
            Err(Errno::INTR) => {}
            // Which of the two: the kernel says either, for a link as for anything else.
            // If none stands there any more, it has become a directory meanwhile.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                if let Some(obstacle) = obstacle(parent, name)? {
                    return Ok(Err(obstacle));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::AGAIN)
}

/// What stands where no directory was; `None` if one is there now.
fn obstacle(parent: BorrowedFd<'_>, name: &str) -> Result<Option<Obstacle>, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(parent, name, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(Some(Obstacle::Missing)),
        Err(error) => return Err(error),
    };
    let stat = fstat(opened.as_fd())?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => None,
        FileType::Symlink => Some(Obstacle::Symlink),
        _ => Some(Obstacle::Other),
    })
}
