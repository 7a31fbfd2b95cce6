//! Programs of Debian packages, to be measured beside ours or to run in sandboxes: fetched and checked by
//! apt, unpacked into the cache, and not installed. Does I/O: runs `apt-get` and `dpkg-deb`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::folders::{self, FolderError};

/// Why there are none. Each text is one sentence with the way out.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A program that Debian has is not here.
    #[error("{program} cannot be run, which Debian's systems have")]
    Missing {
        /// Which.
        program: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It refused, most often because it knows no such package or reaches no mirror.
    #[error("{program} refused, `apt-get update` may help; it said: {said}")]
    Refused {
        /// Which.
        program: &'static str,
        /// The last thing it said.
        said: String,
    },
    /// The cache could not be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What the packages may count on besides themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// What is installed on this machine.
    ThisMachine,
    /// Nothing: what they need is unpacked, too, and the folder is one to live in.
    Nothing,
}

/// Packages that are unpacked, with those they need.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// What stands for `/`.
    pub root: PathBuf,
    archives: Vec<String>,
}

impl Unpacked {
    /// The folder of these packages, in the versions that this machine's Debian has now. Blocks: seconds
    /// the first time.
    pub fn ensure(packages: &[&str], beside: Beside) -> Result<Self, DebianError> {
        let cache = folders::cache()?.join("debian");
        folders::make(&cache)?;
        let lock = folders::lock_file(&cache.join(".lock"))?;
        lock.lock()
            .map_err(|source| FolderError::at(&cache, source))?;
        // Where each archive is and which hash it has: what is unpacked depends on nothing else.
        let wanted = run("apt-get", &install("--print-uris", packages, beside))?;
        let pin = format!("{:x}", Sha256::digest(&wanted));
        let root = cache.join(pin.get(..16).unwrap_or(&pin));
        if !root.is_dir() {
            unpack(&cache, packages, beside, &root)?;
        }
        Ok(Self {
            root,
            archives: archives_in(&wanted),
        })
    }

    /// The version of a package.
    pub fn version(&self, package: &str) -> Option<&str> {
        let archive = self
            .archives
            .iter()
            .find_map(|archive| archive.strip_prefix(package)?.strip_prefix('_'))?;
        archive.split('_').next()
    }
}

fn install<'a>(how: &'a str, packages: &[&'a str], beside: Beside) -> Vec<&'a str> {
    let mut arguments = vec!["install", "-qq", "-y", "--no-install-recommends"];
    // Also what is installed already: it is to come from one place.
    arguments.extend(["--reinstall", how]);
    if beside == Beside::Nothing {
        // As if nothing were installed.
        arguments.extend(["-o", "Dir::State::status=/dev/null"]);
    }
    arguments.extend(packages);
    arguments
}

/// The names of the archives that apt would fetch: `'URI' NAME SIZE HASH` a line.
fn archives_in(uris: &str) -> Vec<String> {
    uris.lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .map(str::to_owned)
        .collect()
}

fn unpack(cache: &Path, packages: &[&str], beside: Beside, root: &Path) -> Result<(), DebianError> {
    let at = |source| FolderError::at(cache, source);
    let fresh = tempfile::tempdir_in(cache).map_err(at)?;
    let archives = fresh.path().join("archives");
    folders::make(&archives.join("partial"))?;
    let place = format!("Dir::Cache::archives={}", archives.display());
    let mut arguments = install("--download-only", packages, beside);
    // Nothing of the system is touched, so nobody need wait for it.
    arguments.extend(["-o", &place, "-o", "Debug::NoLocking=1"]);
    run("apt-get", &arguments)?;
    let unpacked = fresh.path().join("root");
    for entry in fs::read_dir(&archives).map_err(at)? {
        let archive = entry.map_err(at)?.path();
        if archive.extension().is_some_and(|ending| ending == "deb") {
            let [archive, unpacked] = [&archive, &unpacked].map(|path| path.display().to_string());
            run("dpkg-deb", &["--extract", &archive, &unpacked])?;
        }
    }
    Ok(fs::rename(&unpacked, root).map_err(at)?)
}

fn run(program: &'static str, arguments: &[&str]) -> Result<String, DebianError> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| DebianError::Missing { program, source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().unwrap_or_default().to_owned();
    Err(DebianError::Refused { program, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_very_package() {
        let uris = "'http://deb.debian.org/x' squid-common_5.7-2+deb12u6_all.deb 315212 SHA256:aa\n\
                    'http://deb.debian.org/y' squid_5.7-2+deb12u7_amd64.deb 2664232 SHA256:bb\n";
        let unpacked = Unpacked {
            root: PathBuf::new(),
            archives: archives_in(uris),
        };
        assert_eq!(unpacked.version("squid"), Some("5.7-2+deb12u7"));
        assert_eq!(unpacked.version("squid-common"), Some("5.7-2+deb12u6"));
        assert_eq!(unpacked.version("tinyproxy"), None);
    }

    #[test]
    fn a_program_that_refuses_is_quoted() {
        let error = run("dpkg-deb", &["--extract", "/nowhere.deb", "/nowhere"]).unwrap_err();
        // Elsewhere than on Debian it is missing, which is said as well.
        assert!(error.to_string().contains("dpkg-deb"), "{error}");
    }
}
