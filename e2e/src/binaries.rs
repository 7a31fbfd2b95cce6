//! The real API server and its companions, built once per machine from the pinned Go modules and
//! kept in the cache. Does I/O: runs `go build`.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};

use crate::folders::{self, FolderError};
use crate::process;
use crate::progress::Step;

/// The Go modules live next to this crate's sources.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Without these the server calls itself v0.0.0, and clients and policies misbehave.
const KUBERNETES: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.36.3 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=36";
const PLAIN: &str = "-s -w";

/// A binary to build: the module that pins it, its package and its linker flags.
struct Recipe {
    name: &'static str,
    module: &'static str,
    package: &'static str,
    linker_flags: &'static str,
}

const fn kubernetes(name: &'static str, package: &'static str) -> Recipe {
    Recipe {
        name,
        module: "control-plane",
        package,
        linker_flags: KUBERNETES,
    }
}

const ETCD: Recipe = Recipe {
    name: "etcd",
    module: "control-plane",
    package: "go.etcd.io/etcd/server/v3",
    linker_flags: PLAIN,
};
const API_SERVER: Recipe = kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver");
const CONTROLLERS: Recipe = kubernetes(
    "kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
);
const SCHEDULER: Recipe = kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler");
const KUBECTL: Recipe = kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl");
const KWOK: Recipe = Recipe {
    name: "kwok",
    module: "fake-node",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    linker_flags: PLAIN,
};

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
    /// The cache could not be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Where each binary is.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// `etcd`
    pub etcd: PathBuf,
    /// `kube-apiserver`
    pub api_server: PathBuf,
    /// `kube-controller-manager`
    pub controllers: PathBuf,
    /// `kube-scheduler`
    pub scheduler: PathBuf,
    /// `kubectl`
    pub kubectl: PathBuf,
    /// `kwok`, which plays the kubelet
    pub kwok: PathBuf,
}

impl Binaries {
    /// Finds each binary in `KUBEBUILDER_ASSETS` (where set) or the cache, and builds the rest,
    /// saying so on standard error. Blocks: minutes the first time, then milliseconds.
    pub fn ensure() -> Result<Self, BinariesError> {
        let cache = folders::cache()?;
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let have = |recipe: &Recipe| ensure(recipe, &cache, assets.as_deref());
        Ok(Self {
            etcd: have(&ETCD)?,
            api_server: have(&API_SERVER)?,
            controllers: have(&CONTROLLERS)?,
            scheduler: have(&SCHEDULER)?,
            kubectl: have(&KUBECTL)?,
            kwok: have(&KWOK)?,
        })
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
    if binary.is_file() {
        return Ok(binary);
    }
    folders::make(&folder)?;
    // Another process may be building the same: wait for it, then look again.
    let lock = folders::lock_file(&folder.join(".lock"))?;
    lock.lock()
        .map_err(|source| FolderError::at(&folder, source))?;
    if !binary.is_file() {
        build(recipe, &module, &binary)?;
    }
    Ok(binary)
}

/// The first 16 hex digits of the hash of `go.mod` and `go.sum`: what is built depends on nothing
/// else.
fn pin_of(module: &Path) -> Result<String, FolderError> {
    let mut hash = Sha256::new();
    for name in ["go.mod", "go.sum"] {
        let path = module.join(name);
        hash.update(fs::read(&path).map_err(|source| FolderError::at(&path, source))?);
    }
    Ok(format!("{:x}", hash.finalize()).chars().take(16).collect())
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
    if !go_is_installed() {
        return Err(BinariesError::GoMissing(recipe.name));
    }
    let mut child = process::spawn(command).map_err(BinariesError::Run)?;
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

fn go_is_installed() -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join("go").is_file()))
}

/// Turns what `go build` said into the sentence a person can act on.
fn explain(name: &'static str, said: &[String]) -> BinariesError {
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
        assert_ne!(pin_of(module.path()).unwrap(), before);
    }

    #[test]
    fn what_kubebuilder_assets_holds_is_not_built() {
        let assets = tempfile::tempdir().unwrap();
        let given = assets.path().join("etcd");
        fs::write(&given, "").unwrap();
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(
            ensure(&ETCD, cache.path(), Some(assets.path())).unwrap(),
            given
        );
        assert!(!cache.path().join("control-plane").exists());
    }
}
