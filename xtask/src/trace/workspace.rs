//! Asks cargo what the workspace is made of and lists its sources. Does I/O.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// The workspace as cargo sees it.
pub struct Workspace {
    /// Its top folder.
    pub root: PathBuf,
    /// Folders that hold a folder of test reports for each nextest profile: in the build folder
    /// (`CARGO_TARGET_DIR`), and where nextest puts them unless it is told otherwise.
    pub test_reports: BTreeSet<PathBuf>,
    /// Everything cargo can build in it.
    pub targets: Vec<Target>,
    packages: Vec<PathBuf>,
}

/// One library, binary, integration test, example or benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name in a test run, as cargo-nextest writes it.
    pub binary: String,
    /// Its root source file.
    pub root: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<MetadataTarget>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

/// Reads the workspace that holds this crate.
pub fn load() -> anyhow::Result<Workspace> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .context("failed to run `cargo metadata`")?;
    ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).context("failed to read `cargo metadata`")?;
    Ok(workspace(metadata))
}

fn workspace(metadata: Metadata) -> Workspace {
    let mut targets = Vec::new();
    let mut packages = Vec::new();
    for package in metadata.packages {
        packages.extend(package.manifest_path.parent().map(Path::to_owned));
        for target in package.targets {
            targets.push(Target {
                binary: binary(&package.name, &target),
                root: target.src_path,
            });
        }
    }
    targets.sort_by(|a, b| a.binary.cmp(&b.binary));
    packages.sort();
    let test_reports = [
        metadata.target_directory.join("nextest"),
        metadata.workspace_root.join("target/nextest"),
    ];
    Workspace {
        root: metadata.workspace_root,
        test_reports: test_reports.into(),
        targets,
        packages,
    }
}

fn binary(package: &str, target: &MetadataTarget) -> String {
    match target.kind.first().map(String::as_str) {
        Some("test") => format!("{package}::{}", target.name),
        Some(kind @ ("bin" | "example" | "bench")) => format!("{package}::{kind}/{}", target.name),
        Some("custom-build") => format!("{package}::build-script"),
        _ => package.to_owned(),
    }
}

impl Workspace {
    /// Every Rust source file in the packages' own folders, whether a target uses it or not.
    pub fn sources(&self) -> anyhow::Result<BTreeSet<PathBuf>> {
        let mut found = BTreeSet::new();
        for package in &self.packages {
            for folder in ["src", "tests", "benches", "examples"] {
                collect(&package.join(folder), &mut found)?;
            }
        }
        Ok(found)
    }
}

fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let entries = folder
        .read_dir()
        .with_context(|| format!("failed to list {}", folder.display()))?;
    for entry in entries {
        let path = entry
            .with_context(|| format!("failed to list {}", folder.display()))?
            .path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_named_as_a_test_run_names_them() {
        let metadata = serde_json::json!({
            "workspace_root": "/w", "target_directory": "/t",
            "packages": [{"name": "p", "manifest_path": "/w/p/Cargo.toml", "targets": [
                {"name": "p", "kind": ["lib"], "src_path": "/w/p/src/lib.rs"},
                {"name": "run", "kind": ["bin"], "src_path": "/w/p/src/main.rs"},
                {"name": "claims", "kind": ["test"], "src_path": "/w/p/tests/claims.rs"},
                {"name": "speed", "kind": ["bench"], "src_path": "/w/p/benches/speed.rs"},
            ]}],
        });
        let workspace = workspace(serde_json::from_value(metadata).unwrap());
        let binaries: Vec<_> = workspace
            .targets
            .iter()
            .map(|t| t.binary.as_str())
            .collect();
        assert_eq!(binaries, ["p", "p::bench/speed", "p::bin/run", "p::claims"]);
    }

    #[test]
    fn this_workspace_is_found_with_this_very_file() {
        let workspace = load().unwrap();
        assert!(workspace.root.join("docs/requirements.tsv").is_file());
        let here = workspace.root.join("xtask/src/trace/workspace.rs");
        assert!(workspace.sources().unwrap().contains(&here));
    }
}
