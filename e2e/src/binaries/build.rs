//! Builds one Go binary from a module of this crate, once per machine. Does I/O: runs `go build`.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};

use crate::folders::{self, FolderError};
use crate::process;
use crate::progress::Step;
use crate::room::Room;

/// The Go modules live next to this crate's sources.
pub(super) const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A binary to build: the module that pins it, its package and its linker flags.
pub(crate) struct Recipe {
    /// What it is called.
    pub name: &'static str,
    /// The folder of its `go.mod`, seen from this crate.
    pub module: &'static str,
    /// Its package.
    pub package: &'static str,
    /// What the linker is told.
    pub linker_flags: &'static str,
    /// Whether it links no C library, so that it runs in an image that has none.
    pub is_static: bool,
}

/// Why a binary could not be had. Each text is one sentence with the way out.
#[derive(Debug, thiserror::Error)]
pub enum BinariesError {
    /// No Go toolchain.
    #[error(
        "Go is not installed, and {0} is built with it: install Go 1.24 or newer from https://go.dev/dl (it fetches the exact version itself) and start again"
    )]
    GoMissing(&'static str),
    /// The build ran out of disk.
    #[error(
        "the disk filled up while building {0}: free about 3 GB (`go clean -cache` helps) and start again"
    )]
    DiskFull(&'static str),
    /// The modules could not be fetched.
    #[error(
        "the Go modules of {name} could not be fetched: check the network or the GOPROXY setting and start again; go said: {last}"
    )]
    NoNetwork {
        /// What was built.
        name: &'static str,
        /// The last thing go said.
        last: String,
    },
    /// The build failed for another reason.
    #[error("go build of {name} failed; it said:\n{output}")]
    Build {
        /// What was built.
        name: &'static str,
        /// The end of its output.
        output: String,
    },
    /// `go` could not be run or heard.
    #[error("failed to run go")]
    Run(#[source] io::Error),
    /// `cargo` could not be run or heard.
    #[error("failed to run cargo")]
    Cargo(#[source] io::Error),
    /// It did not build a crate.
    #[error("cargo could not build {name}; it said:\n{output}")]
    Crate {
        /// What was built.
        name: &'static str,
        /// What it said.
        output: String,
    },
    /// The cache could not be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Recipe {
    /// Finds the binary in `KUBEBUILDER_ASSETS` (where set) or the cache, or builds it, saying so on
    /// standard error. Blocks: minutes the first time, then milliseconds.
    pub(crate) fn ensure(&self) -> Result<PathBuf, BinariesError> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        ensure(self, &folders::cache()?, assets.as_deref())
    }
}

fn ensure(recipe: &Recipe, cache: &Path, assets: Option<&Path>) -> Result<PathBuf, BinariesError> {
    if let Some(given) = assets
        .map(|assets| assets.join(recipe.name))
        .filter(|path| path.is_file())
    {
        return Ok(given);
    }
    let module = Path::new(HERE).join(recipe.module);
    let folder = cache.join(recipe.module).join(pin_of(&module)?);
    let binary = folder.join(recipe.name);
    once(&folder, &binary, || build(recipe, &module, &binary))?;
    Ok(binary)
}

/// Builds a binary of this folder, unless it is there.
pub(super) fn once(
    folder: &Path,
    binary: &Path,
    build: impl FnOnce() -> Result<(), BinariesError>,
) -> Result<(), BinariesError> {
    if binary.is_file() {
        return Ok(());
    }
    folders::make(folder)?;
    // Another process may be building the same: wait for it, then look again.
    let lock = folders::lock_file(&folder.join(".lock"))?;
    lock.lock()
        .map_err(|source| FolderError::at(folder, source))?;
    if binary.is_file() {
        return Ok(());
    }
    build()
}

/// The first 16 hex digits of the hash of `go.mod`, `go.sum` and the module's own sources: what is
/// built depends on nothing else.
fn pin_of(module: &Path) -> Result<String, FolderError> {
    let pinned = ["go.mod", "go.sum"].map(|name| module.join(name));
    hash_of(pinned.into_iter().chain(sources_in(module)?))
}

/// The first 16 hex digits of the hash of these files, one behind the other.
pub(super) fn hash_of(files: impl IntoIterator<Item = PathBuf>) -> Result<String, FolderError> {
    let mut hash = Sha256::new();
    for path in files {
        hash.update(fs::read(&path).map_err(|source| FolderError::at(&path, source))?);
    }
    Ok(format!("{:x}", hash.finalize()).chars().take(16).collect())
}

/// The Go files of the module's folders, in a fixed order.
fn sources_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let entries = fs::read_dir(folder).map_err(|source| FolderError::at(folder, source))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        if path.is_dir() {
            sources.extend(sources_in(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "go") {
            sources.push(path);
        }
    }
    Ok(sources)
}

fn build(recipe: &Recipe, module: &Path, binary: &Path) -> Result<(), BinariesError> {
    let mut step = Step::begin(&format!("building {}", recipe.name));
    let fresh = binary.with_extension("new");
    // Interrupted, go removes what it was working on; killed, it leaves a folder behind.
    let mut command = process::bound_to_us(Path::new("go"), "INT");
    command
        .current_dir(module)
        .args([
            "build",
            "-v",
            "-mod=readonly",
            "-ldflags",
            recipe.linker_flags,
            "-o",
        ])
        .arg(&fresh)
        .arg(recipe.package)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if recipe.is_static {
        command.env("CGO_ENABLED", "0");
    }
    if !go_is_installed() {
        return Err(BinariesError::GoMissing(recipe.name));
    }
    let room = Room::here().map_err(BinariesError::Run)?;
    let mut child = room.spawn(command).map_err(BinariesError::Run)?;
    let mut said: Vec<String> = Vec::new();
    let (mut compiled, mut fetched) = (0_usize, 0_usize);
    if let Some(output) = child.stderr.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(BinariesError::Run)?;
            if line.starts_with("go: downloading") {
                fetched += 1;
                step.advance(&format!("{fetched} modules fetched"));
            } else {
                compiled += 1;
                step.advance(&format!("{compiled} packages compiled"));
            }
            said.push(line);
        }
    }
    let status = child.wait().map_err(BinariesError::Run)?;
    if !status.success() {
        drop(fs::remove_file(&fresh));
        return Err(explain(recipe.name, &said));
    }
    fs::rename(&fresh, binary).map_err(|source| FolderError::at(binary, source))?;
    step.done();
    Ok(())
}

pub(super) fn go_is_installed() -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join("go").is_file()))
}

/// Turns what `go build` said into the sentence a person can act on.
pub(super) fn explain(name: &'static str, said: &[String]) -> BinariesError {
    let output = said.join("\n");
    if process::disk_is_full(&output) {
        return BinariesError::DiskFull(name);
    }
    let no_network = [
        "dial tcp",
        "no such host",
        "connection refused",
        "i/o timeout",
        "proxyconnect",
    ];
    if let Some(last) = said
        .iter()
        .rev()
        .find(|line| no_network.iter().any(|sign| line.contains(sign)))
    {
        return BinariesError::NoNetwork {
            name,
            last: last.clone(),
        };
    }
    let end = said
        .get(said.len().saturating_sub(20)..)
        .unwrap_or_default();
    BinariesError::Build {
        name,
        output: end.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_full_disk_a_dead_network_and_a_broken_build_are_told_apart() {
        let full = explain("etcd", &lines("a/b\nmkdir /x: no space left on device"));
        assert!(matches!(full, BinariesError::DiskFull("etcd")), "{full}");
        let offline = explain(
            "etcd",
            &lines("go: x@v1: Get \"https://p\": dial tcp: no route"),
        );
        assert!(offline.to_string().contains("GOPROXY"), "{offline}");
        let broken = explain("etcd", &lines("x.go:1: syntax error"));
        assert!(
            broken.to_string().ends_with("x.go:1: syntax error"),
            "{broken}"
        );
    }

    #[test]
    fn another_pin_is_another_folder_of_the_cache() {
        let module = tempfile::tempdir().unwrap();
        fs::write(module.path().join("go.mod"), "module m\n").unwrap();
        fs::write(module.path().join("go.sum"), "").unwrap();
        let before = pin_of(module.path()).unwrap();
        assert_eq!(before.len(), 16);
        fs::write(module.path().join("go.sum"), "one line more\n").unwrap();
        let after = pin_of(module.path()).unwrap();
        assert_ne!(after, before);
        fs::create_dir(module.path().join("own")).unwrap();
        fs::write(module.path().join("own/main.go"), "package main\n").unwrap();
        assert_ne!(pin_of(module.path()).unwrap(), after);
    }

    #[test]
    fn what_kubebuilder_assets_holds_is_not_built() {
        let assets = tempfile::tempdir().unwrap();
        let given = assets.path().join("etcd");
        fs::write(&given, "").unwrap();
        let cache = tempfile::tempdir().unwrap();
        let recipe = Recipe {
            name: "etcd",
            module: "control-plane",
            package: "go.etcd.io/etcd/server/v3",
            linker_flags: "",
            is_static: false,
        };
        assert_eq!(
            ensure(&recipe, cache.path(), Some(assets.path())).unwrap(),
            given
        );
        assert!(!cache.path().join("control-plane").exists());
    }
}
