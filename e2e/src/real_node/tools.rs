//! Programs that come with the machine: where they are, and what they say. Runs processes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::room::Room;

/// Administrators' programs are not on everybody's `PATH`.
const ALSO: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Debian's and the CNI project's own place for network plugins.
const PLUGINS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];

/// Where programs are looked for.
fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    on_path.into_iter().chain(ALSO.map(PathBuf::from))
}

/// The same, as the variable `PATH` of a process.
pub(super) fn search() -> OsString {
    std::env::join_paths(folders()).unwrap_or_default()
}

/// The program `name`, if there is one.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    folders()
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The folder of network plugins that holds all of `names`.
pub(super) fn plugins(names: &[&str]) -> Option<&'static Path> {
    PLUGINS
        .map(Path::new)
        .into_iter()
        .find(|folder| names.iter().all(|name| folder.join(name).is_file()))
}

/// Why a program did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It could not be run.
    #[error("failed to run {0}")]
    Run(&'static str, #[source] io::Error),
    /// It refused.
    #[error("{program} refused: {said}")]
    Refused {
        /// Which.
        program: &'static str,
        /// What it said.
        said: String,
    },
}

/// Runs `program` in `room` with `input`; what it said, unless it failed.
pub(super) fn run(
    room: &Room,
    program: &'static str,
    arguments: &[&str],
    input: &str,
) -> Result<String, ToolError> {
    let mut command = Command::new(find(program).unwrap_or_else(|| program.into()));
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let talk = || {
        let mut child = room.spawn(command)?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ended early says why on standard error.
            drop(stdin.write_all(input.as_bytes()));
        }
        child.wait_with_output()
    };
    let output = talk().map_err(|source| ToolError::Run(program, source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ToolError::Refused { program, said })
}
