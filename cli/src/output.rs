//! Where a report goes: the terminal, a JSON file, a picture. Does I/O.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

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
    say(|colour| terminal::render(report, colour))
}

/// Prints what `render` makes; it is told whether it may use colours.
pub fn say(render: impl FnOnce(bool) -> String) -> Result<(), OutputError> {
    let mut out = io::stdout().lock();
    let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = render(colour);
    out.write_all(text.as_bytes()).map_err(OutputError::Print)
}

/// The files that a report goes to.
#[derive(Debug, Default)]
pub struct Files {
    json: Option<Target>,
    picture: Option<Target>,
}

/// A file that is open to be written, and still holds what it held.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    file: File,
}

impl Files {
    /// Opens those that are named; nothing in them changes yet.
    pub fn open(json: Option<&Path>, picture: Option<&Path>) -> Result<Self, OutputError> {
        Ok(Self {
            json: json.map(Target::open).transpose()?,
            picture: picture.map(Target::open).transpose()?,
        })
    }

    /// Writes the report into each.
    pub fn write(mut self, report: &Report) -> Result<(), OutputError> {
        let picture = self.picture.take();
        self.write_json(report)?;
        picture.map_or(Ok(()), |target| target.write(&svg::render(report)))
    }

    /// Writes a report that has no picture.
    pub fn write_json(self, report: &impl Serialize) -> Result<(), OutputError> {
        if let Some(target) = self.json {
            let mut text = serde_json::to_string_pretty(report)?;
            text.push('\n');
            target.write(&text)?;
        }
        Ok(())
    }
}

impl Target {
    fn open(path: &Path) -> Result<Self, OutputError> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path);
        let path = path.to_owned();
        match file {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(OutputError::File { path, source }),
        }
    }

    fn write(mut self, text: &str) -> Result<(), OutputError> {
        let written = self.file.write_all(text.as_bytes());
        // A pipe or terminal has no length to set.
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let written = written.and_then(|()| match self.file.metadata() {
            Ok(found) if found.is_file() => self.file.set_len(length),
            _ => Ok(()),
        });
        written.map_err(|source| OutputError::File {
            path: self.path,
            source,
        })
    }
}

#[cfg(test)]
mod tests;
