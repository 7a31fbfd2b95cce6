//! Builds the image a second time from a copy of the sources in another folder: what comes out must
//! not depend on where. Does I/O.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use sandgate_e2e::oci::Written;
use tokio::process::Command;

use super::build::{Make, Place};
use super::make;

/// Fails unless a copy gives what `first` is.
pub async fn check(place: &Place, name: &str, first: &Written) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new()
        .prefix("sandgate-elsewhere-")
        .tempdir()
        .context("failed to make a folder for a copy of the sources")?;
    let elsewhere = Place {
        sources: folder.path().join("a folder of another name"),
        target: folder.path().join("built"),
        cargo_home: place.cargo_home.clone(),
    };
    copy(&place.sources, &elsewhere.sources).await?;
    let second = make(
        &elsewhere,
        Make::Shipped,
        name,
        &folder.path().join("image.tar"),
    )
    .await?;
    ensure!(
        second == *first,
        "a copy of the sources gives another image: {} here, {} there",
        first.digest,
        second.digest
    );
    Ok(())
}

/// Copies what git keeps or would keep, as it is now.
async fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(from)
        .output()
        .await
        .context("failed to run git")?;
    if !listed.status.success() {
        bail!(
            "git could not list the sources: {}",
            String::from_utf8_lossy(&listed.stderr).trim()
        );
    }
    let files = String::from_utf8(listed.stdout).context("a file's name is not UTF-8")?;
    for file in files.split_terminator('\0').map(PathBuf::from) {
        let (source, copy) = (from.join(&file), to.join(&file));
        // Listed, but removed since.
        if !source.is_file() {
            continue;
        }
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("failed to make {}", parent.display()))?;
        }
        fs::copy(&source, &copy).with_context(|| format!("failed to copy {}", source.display()))?;
    }
    Ok(())
}
