//! What fetches pages as programs of other people do. Does I/O: runs `go` and `cargo`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::build::{HERE, hash_of, once};
use super::{BinariesError, PLAIN, Recipe};
use crate::folders;
use crate::process;
use crate::progress::Step;
use crate::room::Room;

/// One that leaves its proxy to Go's library.
const GO_CLIENT: Recipe = Recipe {
    name: "go-client",
    module: "clients/go",
    package: ".",
    linker_flags: PLAIN,
    is_static: true,
};

/// One that leaves it to reqwest, and where its crate is.
const RUST_CLIENT: &str = "rust-client";
const CRATE: &str = "clients/rust";

/// A client in Go, built as [`Binaries::ensure`](super::Binaries::ensure) builds.
pub fn go_client() -> Result<PathBuf, BinariesError> {
    GO_CLIENT.ensure()
}

/// A client in Rust, built by the cargo that builds us, once per machine. It needs the C library of this
/// machine's distribution.
pub fn rust_client() -> Result<PathBuf, BinariesError> {
    let source = Path::new(HERE).join(CRATE);
    let pinned = ["Cargo.toml", "Cargo.lock", "src/main.rs"].map(|part| source.join(part));
    let folder = folders::cache()?.join(CRATE).join(hash_of(pinned)?);
    let binary = folder.join("bin").join(RUST_CLIENT);
    once(&folder, &binary, || install(&source, &folder))?;
    Ok(binary)
}

/// Builds it in a folder that goes when it is built, and puts it into `folder`.
fn install(source: &Path, folder: &Path) -> Result<(), BinariesError> {
    let step = Step::begin(&format!("building {RUST_CLIENT}"));
    let target = tempfile::tempdir_in(folder).map_err(BinariesError::Cargo)?;
    let mut command = process::bound_to_us(Path::new("cargo"), "INT");
    command
        .current_dir(source)
        .args([
            "install",
            "--locked",
            "--quiet",
            "--no-track",
            "--path",
            ".",
        ])
        .arg("--root")
        .arg(folder)
        .arg("--target-dir")
        .arg(target.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let room = Room::here().map_err(BinariesError::Cargo)?;
    let child = room.spawn(command).map_err(BinariesError::Cargo)?;
    let output = child.wait_with_output().map_err(BinariesError::Cargo)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(BinariesError::Crate {
            name: RUST_CLIENT,
            output: said.into_owned(),
        });
    }
    step.done();
    Ok(())
}
