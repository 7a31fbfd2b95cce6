//! The sources of a Go module that a binary is built from. Does I/O: runs `go mod download`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::build::{self, BinariesError, Recipe};
use crate::process;
use crate::room::Room;

/// What `go mod download -json` tells of a module.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Downloaded {
    dir: PathBuf,
}

impl Recipe {
    /// The folder with the sources of `module`, one of those the binary is built from: Go's own cache of
    /// modules, where they are put if they are not there. Blocks.
    pub(crate) fn source(&self, module: &str) -> Result<PathBuf, BinariesError> {
        if !build::go_is_installed() {
            return Err(BinariesError::GoMissing(self.name));
        }
        let mut command = process::bound_to_us(Path::new("go"), "INT");
        command
            .current_dir(Path::new(build::HERE).join(self.module))
            .args(["mod", "download", "-json", module])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let room = Room::here().map_err(BinariesError::Run)?;
        let child = room.spawn(command).map_err(BinariesError::Run)?;
        let output = child.wait_with_output().map_err(BinariesError::Run)?;
        let said = String::from_utf8_lossy(&output.stdout);
        // Where it fails, the answer says why instead.
        serde_json::from_str(&said)
            .map(|downloaded: Downloaded| downloaded.dir)
            .map_err(|_| {
                let complaint = String::from_utf8_lossy(&output.stderr);
                let lines = said.lines().chain(complaint.lines());
                build::explain(self.name, &lines.map(str::to_owned).collect::<Vec<_>>())
            })
    }
}
