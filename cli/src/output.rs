//! Where a report goes: the terminal, a JSON file, a picture. Does I/O.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::isolation::report::Report;
use crate::isolation::{svg, terminal};

/// Why a report could not be put somewhere.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file could not be written.
    #[error("failed to write {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The report is no JSON.
    #[error("failed to write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// The terminal is gone.
    #[error("failed to print the report")]
    Print(#[source] io::Error),
}

/// Prints the report; in colours on a terminal that may have them.
pub fn print(report: &Report) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = terminal::render(report, colour);
    out.write_all(text.as_bytes()).map_err(OutputError::Print)
}

/// Writes the report as JSON.
pub fn json(report: &Report, path: &Path) -> Result<(), OutputError> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    write(path, &text)
}

/// Draws the report.
pub fn picture(report: &Report, path: &Path) -> Result<(), OutputError> {
    write(path, &svg::render(report))
}

fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    std::fs::write(path, text).map_err(|source| OutputError::File {
        path: path.to_owned(),
        source,
    })
}
