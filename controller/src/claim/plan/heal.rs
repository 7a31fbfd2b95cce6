//! What a dry run of our own intent says about a live object: unchanged, or edited by a stranger,
//! and where (O-040). Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Intent, Stored};
use crate::claim::digest::ours;
use crate::claim::observed::{HeldBack, LiveObject, ObjectKind};

/// Most paths reported of one object.
const MAX_PATHS: usize = 16;

/// What follows from the dry run of a PUT.
#[derive(Clone, Debug, PartialEq)]
pub enum DryRun {
    /// The PUT would change nothing: keep the digest, write nothing.
    Same(Stored),
    /// A stranger changed these paths: make the PUT for real.
    Heal(Vec<String>),
    /// A stranger changed only paths that came back too often: leave them for now.
    HoldBack(HeldBack),
}

impl Intent {
    /// Compares what stands with what the API server would make of [`Intent::merged`].
    pub fn judge_dry_run(&self, live: &Value, returned: &Value) -> DryRun {
        let stands = LiveObject::read(live).unwrap_or_default();
        let paths = changed_paths(live, returned);
        if paths.is_empty() {
            return DryRun::Same(Stored {
                uid: stands.uid,
                resource_version: stands.resource_version,
                digest: stands.digest,
            });
        }
        let until = paths.iter().map(|path| self.resting.get(path).copied());
        match until
            .collect::<Option<Vec<_>>>()
            .and_then(|all| all.into_iter().min())
        {
            Some(until) => DryRun::HoldBack(HeldBack {
                digest: stands.digest,
                paths,
                until,
                opens: self.kind == ObjectKind::NetworkPolicy && opens_more(live, returned),
            }),
            None => DryRun::Heal(paths),
        }
    }
}

impl Stored {
    /// Reads what the API server returned.
    pub fn read(object: &Value) -> Option<Self> {
        let live = LiveObject::read(object)?;
        Some(Self {
            uid: live.uid,
            resource_version: live.resource_version,
            digest: live.digest,
        })
    }
}

/// Whether a policy has a rule that is not meant. Without one it is narrower, if anything: the baseline
/// shuts what it no longer speaks of.
fn opens_more(live: &Value, intended: &Value) -> bool {
    ["/spec/ingress", "/spec/egress"].iter().any(|path| {
        let rules = |policy: &Value| policy.pointer(path).and_then(Value::as_array).cloned();
        let meant = rules(intended).unwrap_or_default();
        let mut stands = rules(live).into_iter().flatten();
        stands.any(|rule| !meant.contains(&rule))
    })
}

/// The paths at which two objects differ in what is ours, the shallowest that say it, sorted.
fn changed_paths(live: &Value, intended: &Value) -> Vec<String> {
    let mut paths = BTreeSet::new();
    compare(&ours(live), &ours(intended), String::new(), &mut paths);
    paths.into_iter().take(MAX_PATHS).collect()
}

fn compare(live: &Value, intended: &Value, path: String, paths: &mut BTreeSet<String>) {
    if live == intended {
        return;
    }
    match (live, intended) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let below = format!("{path}.{key}");
                descend(left.get(key), right.get(key), below, paths);
            }
        }
        (Value::Array(left), Value::Array(right)) => compare_lists(left, right, path, paths),
        _ => {
            paths.insert(path);
        }
    }
}

fn descend(
    left: Option<&Value>,
    right: Option<&Value>,
    path: String,
    paths: &mut BTreeSet<String>,
) {
    match (left, right) {
        (Some(left), Some(right)) => compare(left, right, path, paths),
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => {
            paths.insert(path);
        }
    }
}

/// Lists of named things (containers, ports, owners) are compared by name, so that one insertion is
/// reported as one path; others by position.
fn compare_lists(left: &[Value], right: &[Value], path: String, paths: &mut BTreeSet<String>) {
    let before = paths.len();
    if let (Some(left), Some(right)) = (by_name(left), by_name(right)) {
        let keys: BTreeSet<&&str> = left.keys().chain(right.keys()).collect();
        for key in keys {
            let below = format!("{path}[{key}]");
            descend(
                left.get(*key).copied(),
                right.get(*key).copied(),
                below,
                paths,
            );
        }
    } else {
        for index in 0..left.len().max(right.len()) {
            let below = format!("{path}[{index}]");
            descend(left.get(index), right.get(index), below, paths);
        }
    }
    if paths.len() == before {
        paths.insert(path);
    }
}

fn by_name(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let mut named = BTreeMap::new();
    for item in list {
        let name = item.get("uid").or_else(|| item.get("name"))?.as_str()?;
        if named.insert(name, item).is_some() {
            return None;
        }
    }
    Some(named)
}
