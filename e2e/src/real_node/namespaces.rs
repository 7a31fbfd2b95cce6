//! The system calls behind a room of its own: namespaces for the thread that asks, and mounts in them.
//! Does I/O; elsewhere than on Linux everything is refused.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::path::Path;

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};

    const NONE: Option<&str> = None;

    pub fn network() -> io::Result<()> {
        Ok(unshare(CloneFlags::CLONE_NEWNET)?)
    }

    pub fn processes() -> io::Result<()> {
        Ok(unshare(CloneFlags::CLONE_NEWPID)?)
    }

    pub fn mounts() -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let all = Path::new("/");
        // First cut off from the machine's own mounts, then shared again among what runs in here:
        // containers are given mounts that must keep up with ours.
        for how in [MsFlags::MS_PRIVATE, MsFlags::MS_SHARED] {
            mount(NONE, all, NONE, how | MsFlags::MS_REC, NONE)?;
        }
        Ok(())
    }

    pub fn memory(at: &Path) -> io::Result<()> {
        let mode = Some("mode=755");
        Ok(mount(
            Some("tmpfs"),
            at,
            Some("tmpfs"),
            MsFlags::empty(),
            mode,
        )?)
    }

    pub fn bind(from: &Path, to: &Path) -> io::Result<()> {
        Ok(mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE)?)
    }

    pub fn overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) -> io::Result<()> {
        let [lower, upper, work] = [lower, upper, work].map(Path::display);
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let none = MsFlags::empty();
        Ok(mount(
            Some("overlay"),
            at,
            Some("overlay"),
            none,
            Some(options.as_str()),
        )?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::Path;

    fn unsupported() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn network() -> io::Result<()> {
        unsupported()
    }

    pub fn processes() -> io::Result<()> {
        unsupported()
    }

    pub fn mounts() -> io::Result<()> {
        unsupported()
    }

    pub fn memory(_: &Path) -> io::Result<()> {
        unsupported()
    }

    pub fn bind(_: &Path, _: &Path) -> io::Result<()> {
        unsupported()
    }

    pub fn overlay(_: &Path, _: &Path, _: &Path, _: &Path) -> io::Result<()> {
        unsupported()
    }
}

/// Gives this thread, and what it starts, an empty network.
pub(super) fn own_network() -> io::Result<()> {
    system::network()
}

/// Gives what this thread starts process ids of their own. The first process it starts is the one all
/// others end with, and none can be started after it.
pub(super) fn own_processes() -> io::Result<()> {
    system::processes()
}

/// Gives this thread, and what it starts, mounts of their own.
pub(super) fn own_mounts() -> io::Result<()> {
    system::mounts()
}

/// Mounts an empty file system in memory over `at`.
pub(super) fn memory(at: &Path) -> io::Result<()> {
    system::memory(at)
}

/// Shows `from` at `to`, too.
pub(super) fn bind(from: &Path, to: &Path) -> io::Result<()> {
    system::bind(from, to)
}

/// Mounts `lower` at `at`, with what is changed kept in `upper`.
pub(super) fn overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) -> io::Result<()> {
    system::overlay(lower, upper, work, at)
}
