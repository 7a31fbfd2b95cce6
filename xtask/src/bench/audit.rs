//! The API server's audit log, read for what one user wrote. Reads one file; the rest is pure.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Context;
use sandgate_shared::names;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    #[serde(rename = "requestURI", default)]
    request_uri: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
    request_object: Option<Object>,
    response_object: Option<Object>,
}

#[derive(Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Debug, Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    #[serde(default)]
    api_group: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    subresource: String,
}

/// What is read of a body; a patch may lack all of it.
#[derive(Debug, Default, Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

/// A request that the API server carried out and that may have changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Plural of the kind.
    pub resource: String,
    /// Where; empty for kinds without namespaces.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// What became of it.
    pub effect: Effect,
}

impl fmt::Display for Write {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resource,
            namespace,
            name,
            ..
        } = self;
        write!(formatter, "{resource} {namespace}/{name}")
    }
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It moved a resourceVersion.
    Moved,
    /// What was written stood already.
    Unchanged,
    /// It was a dry run.
    DryRun,
}

/// A log that grows.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    user: String,
    read_to: u64,
    /// The newest resourceVersion the user has seen of each object it wrote.
    versions: HashMap<ObjectRef, String>,
}

impl AuditLog {
    /// The log at `path`, of which only what `user` did is of interest.
    pub fn new(path: &Path, user: String) -> Self {
        Self {
            path: path.to_owned(),
            user,
            read_to: 0,
            versions: HashMap::new(),
        }
    }

    /// The writes since the last call. A line that is still being written is left for the next.
    pub fn writes(&mut self) -> anyhow::Result<Vec<Write>> {
        let failed = || format!("failed to read {}", self.path.display());
        let mut file = File::open(&self.path).with_context(failed)?;
        file.seek(SeekFrom::Start(self.read_to))
            .with_context(failed)?;
        let mut reader = BufReader::new(file);
        let mut writes = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            let length = reader.read_line(&mut line).with_context(failed)?;
            if !line.ends_with('\n') {
                return Ok(writes);
            }
            self.read_to += u64::try_from(length)?;
            // Most lines are somebody else's; those are not worth parsing.
            if !line.contains(&self.user) {
                continue;
            }
            let parsed = serde_json::from_str(&line).with_context(|| {
                format!("{} holds a line that is no event", self.path.display())
            })?;
            if let Some(write) = judge(parsed, &self.user, &mut self.versions) {
                writes.push(write);
            }
        }
    }
}

/// Groups whose objects are questions: creating one asks, and stores nothing. A token of a ServiceAccount is
/// asked for in the same way.
const QUESTIONS: [&str; 2] = ["authentication.k8s.io", "authorization.k8s.io"];

/// What `line` did if `user` wrote something with success.
fn judge(line: Line, user: &str, versions: &mut HashMap<ObjectRef, String>) -> Option<Write> {
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    let succeeded = line
        .response_status
        .is_some_and(|status| (200..300).contains(&status.code));
    if line.user.username != user || !succeeded || !writes.contains(&line.verb.as_str()) {
        return None;
    }
    let mut object = line.object_ref.unwrap_or_default();
    // Of one object there is one resourceVersion, whichever part of it is written.
    let part = std::mem::take(&mut object.subresource);
    if QUESTIONS.contains(&object.api_group.as_str()) || part == "token" {
        return None;
    }
    let answer = line.response_object.unwrap_or_default().metadata;
    if object.name.is_empty() {
        object.name = answer.name;
    }
    let version = answer.resource_version;
    let standing = line
        .request_object
        .map(|request| request.metadata.resource_version)
        .filter(|version| !version.is_empty())
        .or_else(|| versions.get(&object).cloned());
    let effect = if line.request_uri.contains("dryRun=All") {
        Effect::DryRun
    } else if !version.is_empty() && standing.as_ref() == Some(&version) {
        Effect::Unchanged
    } else {
        Effect::Moved
    };
    if effect != Effect::DryRun && !version.is_empty() {
        versions.insert(object.clone(), version);
    }
    Some(Write {
        resource: object.resource,
        namespace: object.namespace,
        name: object.name,
        effect,
    })
}

/// Writes counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that moved a resourceVersion, Events, Leases and the baseline policy apart.
    pub moved: Vec<Write>,
    /// The same, for each claim they were for.
    pub per_claim: BTreeMap<String, usize>,
    /// Those that found their object as wanted.
    pub unchanged: usize,
    /// Dry runs.
    pub dry_runs: usize,
    /// Events.
    pub events: usize,
    /// Those of the baseline policy, once a namespace.
    pub baseline: usize,
}

impl FromIterator<Write> for Tally {
    fn from_iter<I: IntoIterator<Item = Write>>(writes: I) -> Self {
        let mut tally = Self::default();
        for write in writes {
            match (write.effect, write.resource.as_str()) {
                // Whoever leads says so every few seconds, whatever else there is to do.
                (_, "leases") => {}
                (Effect::DryRun, _) => tally.dry_runs += 1,
                (Effect::Unchanged, _) => tally.unchanged += 1,
                (Effect::Moved, "events") => tally.events += 1,
                (Effect::Moved, "networkpolicies") if write.name == names::BASELINE_POLICY => {
                    tally.baseline += 1;
                }
                (Effect::Moved, _) => {
                    let claim = write.name.strip_suffix("-sandbox").unwrap_or(&write.name);
                    *tally.per_claim.entry(claim.to_owned()).or_default() += 1;
                    tally.moved.push(write);
                }
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests;
