//! The hosts that may be reached: read from the mounted file, then matched (E-003, E-019 to E-021). Pure.
//!
//! The file is JSON, `{"hosts": ["api.github.com", "*.example.com"]}`: cut short anywhere it is no longer
//! JSON, so half a file never opens half a name. One wrong entry refuses the whole, by name: an entry
//! passed over would be a host that is shut for no reason anybody sees.

use std::collections::HashSet;

use sandgate_shared::net::host::{HostEntry, HostError};
use serde::Deserialize;
use thiserror::Error;

use crate::target::Name;

/// The largest file, in bytes: as much as a ConfigMap holds.
pub const LARGEST_FILE: usize = 1024 * 1024;
/// The most entries; 16 Connections of 32 hosts are 512.
pub const MOST_ENTRIES: usize = 4096;
/// As much of a wrong entry as is told.
const TOLD: usize = 64;

/// Why a file is no allowlist.
#[derive(Debug, Error)]
pub enum AllowlistError {
    /// More than a ConfigMap could hold.
    #[error("failed to read the allowlist: it is larger than {LARGEST_FILE} bytes")]
    Large,
    /// Not JSON of that form, or only the beginning of it.
    #[error(r#"failed to read the allowlist: it must be {{"hosts": ["api.example.com", ...]}}"#)]
    Form(#[from] serde_json::Error),
    /// More entries than any claim has.
    #[error("failed to read the allowlist: it has more than {MOST_ENTRIES} hosts")]
    Many,
    /// An entry that is no host.
    #[error("failed to read the allowlist: entry {place} is {entry:?}")]
    Entry {
        /// Its place, from 1.
        place: usize,
        /// The beginning of it.
        entry: String,
        /// What is wrong with it.
        source: HostError,
    },
    /// An entry that is a host in another form than hosts are written in.
    #[error(
        "failed to read the allowlist: entry {place} is {entry:?}; write it in lower case, without a trailing dot"
    )]
    Spelling {
        /// Its place, from 1.
        place: usize,
        /// The beginning of it.
        entry: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    hosts: Vec<String>,
}

/// The hosts of all Connections of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowlist {
    exactly: HashSet<Box<str>>,
    below: HashSet<Box<str>>,
}

impl Allowlist {
    /// Reads the content of a file. One of no bytes names no host.
    ///
    /// # Errors
    /// Why nothing of it counts.
    pub fn read(content: &[u8]) -> Result<Self, AllowlistError> {
        let mut all = Self::default();
        if content.is_empty() {
            return Ok(all);
        }
        if content.len() > LARGEST_FILE {
            return Err(AllowlistError::Large);
        }
        let file: File = serde_json::from_slice(content)?;
        if file.hosts.len() > MOST_ENTRIES {
            return Err(AllowlistError::Many);
        }
        for (index, text) in file.hosts.iter().enumerate() {
            let place = index + 1;
            let told = || text.chars().take(TOLD).collect();
            let entry: HostEntry = text.parse().map_err(|source| AllowlistError::Entry {
                place,
                entry: told(),
                source,
            })?;
            let host = entry.host().as_str();
            if text.strip_prefix("*.").unwrap_or(text) != host {
                return Err(AllowlistError::Spelling {
                    place,
                    entry: told(),
                });
            }
            match entry {
                HostEntry::Exactly(_) => all.exactly.insert(host.into()),
                HostEntry::Below(_) => all.below.insert(host.into()),
            };
        }
        Ok(all)
    }

    /// Whether an entry covers `name`: itself, or `*.` and anything it ends in, behind a dot.
    pub fn covers(&self, name: &Name) -> bool {
        let name = name.as_str();
        self.exactly.contains(name)
            || name.match_indices('.').any(|(dot, _)| {
                let above = name.get(dot + 1..);
                above.is_some_and(|above| self.below.contains(above))
            })
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.exactly.len() + self.below.len()
    }

    /// Whether nothing may be reached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
