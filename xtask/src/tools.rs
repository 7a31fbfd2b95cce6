//! The tools the commands stand on: cargo, and the folder of our own binaries. Does I/O.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

/// The version all machines run tests with.
const NEXTEST: &str = "0.9.143";

/// The top folder of the repository.
pub fn root() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask is not inside the repository")
}

/// The folder cargo builds binaries into: ours runs from there.
pub fn binaries() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("failed to find the running program")?;
    Ok(program
        .parent()
        .context("the running program has no folder")?
        .to_owned())
}

/// `cargo` with these arguments: the one that runs us.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs `cargo` and fails unless it succeeds.
pub async fn run_cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let words = arguments.join(" ");
    let status = cargo(arguments)
        .status()
        .await
        .with_context(|| format!("failed to run cargo {words}"))?;
    if !status.success() {
        bail!("cargo {words} failed");
    }
    Ok(())
}

/// Installs `cargo-nextest` where it is missing.
pub async fn ensure_nextest() -> anyhow::Result<()> {
    let there = cargo(&["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .await
        .context("failed to run cargo")?;
    if there.success() {
        return Ok(());
    }
    eprintln!("installing cargo-nextest {NEXTEST}, which runs the tests (once, a few minutes)");
    run_cargo(&["install", "cargo-nextest", "--locked", "--version", NEXTEST]).await
}
