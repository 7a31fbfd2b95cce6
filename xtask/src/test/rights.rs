//! What the tests saw the operator use of its rights. Does I/O.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;
use sandgate_e2e::rights::{self, NEVER_ASKED_FOR, Record};
use tempfile::TempDir;

/// What is seen while tests run.
#[derive(Debug)]
pub struct Sightings {
    /// Where each cluster of a test leaves what it saw.
    folder: TempDir,
    seen: Record,
}

impl Sightings {
    /// Nothing yet.
    pub fn begin() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("failed to make a folder for what tests see")?;
        Ok(Self {
            folder,
            seen: Record::default(),
        })
    }

    /// The variable by which tests know where to leave what they saw.
    pub fn variable(&self) -> (&'static str, &OsStr) {
        (rights::VARIABLE, self.folder.path().as_os_str())
    }

    /// Adds a cluster that tests shared, while its audit log is there.
    pub fn add(&mut self, audit_log: &Path) -> anyhow::Result<()> {
        let record = Record::read(audit_log);
        self.seen
            .add(record.with_context(|| format!("failed to read {}", audit_log.display()))?);
        Ok(())
    }

    /// Everything that was seen.
    pub fn end(mut self) -> anyhow::Result<Rights> {
        let entries = fs::read_dir(self.folder.path()).context("failed to list what tests saw")?;
        for entry in entries {
            let path = entry.context("failed to list what tests saw")?.path();
            let text = fs::read_to_string(&path).context("failed to read what a test saw")?;
            let record = serde_json::from_str(&text).context("failed to read what a test saw")?;
            self.seen.add(record);
        }
        Ok(Rights(self.seen))
    }
}

/// What was seen of the operator's rights, to be told in a paragraph.
#[derive(Debug)]
pub struct Rights(Record);

impl Rights {
    /// Whether each right was used, and none was missing.
    pub fn hold(&self) -> bool {
        self.0.unused().is_empty() && self.0.refused.is_empty()
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = rights::all();
        let used = all.iter().filter(|right| self.0.used.contains(right));
        write!(
            formatter,
            "── the operator used {} of the {} rights its roles give it",
            used.count(),
            all.len()
        )?;
        for (right, why) in NEVER_ASKED_FOR {
            write!(formatter, "\n    never asked for: {right}: {why}")?;
        }
        for right in self.0.unused() {
            write!(
                formatter,
                "\n    ✗ never used: {right}; take it out of the roles, or say in e2e/src/rights.rs what it is for"
            )?;
        }
        for request in &self.0.refused {
            write!(formatter, "\n    ✗ refused: {request}; no role gives it")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_that_were_not_used_and_requests_that_were_refused_are_listed() {
        let mut record = Record {
            used: rights::all(),
            refused: Vec::new(),
        };
        assert!(Rights(record.clone()).hold());
        let dropped = record.used.pop_first().unwrap();
        record.refused.push("list nodes".to_owned());
        let rights = Rights(record);
        assert!(!rights.hold());
        let said = rights.to_string();
        assert!(said.contains(&format!("never used: {dropped}")), "{said}");
        assert!(said.contains("refused: list nodes"), "{said}");
    }

    #[test]
    fn what_each_cluster_left_is_counted() {
        let sightings = Sightings::begin().unwrap();
        let (name, folder) = sightings.variable();
        assert_eq!(name, "SANDGATE_RIGHTS");
        let mut record = Record::default();
        record.used.extend(rights::all().into_iter().take(3));
        let text = serde_json::to_string(&record).unwrap();
        fs::write(Path::new(folder).join("one.json"), text).unwrap();
        let said = sightings.end().unwrap().to_string();
        assert!(said.contains("the operator used 3 of"), "{said}");
    }
}
