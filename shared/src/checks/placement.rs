//! What is put into a sandbox for its Connections (K-004, K-005, O-031, O-032). Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{
    Bound, Failure,
    roles::{MOST_BYTES, Role, placed_files, variables},
    session,
    table::Case,
};
use crate::{concealed::Concealed, names::hash};

/// What the Connections of a claim put into its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Variables, each a reference to a key of a Connection's own Secret.
    pub env: Vec<PlacedEnv>,
    /// Files under HOME.
    pub files: Vec<PlacedBytes>,
    /// Further arguments of the container.
    pub args: Vec<String>,
    /// Hosts that may be reached, as the Connections write them.
    pub hosts: BTreeSet<String>,
    /// Digest ([`super::digest`]) of the bindings that stand, those without room among them: what has room
    /// is the class's, whose edits change no sandbox.
    pub digest: String,
}

/// A variable of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEnv {
    /// Its name.
    pub name: String,
    /// Name of the Secret in the claim's namespace.
    pub secret: String,
    /// The key that holds its value.
    pub key: String,
}

/// A file of the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedBytes {
    /// Its path relative to HOME.
    pub path: String,
    /// The key of the rendered Secret that holds it. It depends on the path alone, so that no other
    /// file's going or coming changes it.
    pub key: String,
    /// What it holds.
    pub bytes: Concealed,
}

/// The placement of a case that checks, of the bindings that stand.
pub(super) fn of(case: &Case<'_, '_>, standing: &[Bound<'_>]) -> Result<Placement, Failure> {
    let mut placement = Placement {
        digest: digest(standing),
        ..Placement::default()
    };
    for role in case.roles {
        placement.env.extend(placed_variables(role));
        placement.files.extend(placed(role));
        placement.args.extend(session::arguments(role)?);
        let hosts = role.bound.found.iter().flat_map(|found| &found.hosts);
        placement.hosts.extend(hosts.cloned());
    }
    Ok(placement)
}

/// What the rendered Secret of a bound claim holds (K-005): every file of the bindings that still stand,
/// whatever the class says now, since a running sandbox may have it mounted. Of two files at one path the
/// first stays, and what no Secret can hold is left out.
pub fn rendered(kept: &[Bound<'_>]) -> Vec<PlacedBytes> {
    let mut size = 0;
    let mut files: BTreeMap<String, PlacedBytes> = BTreeMap::new();
    for one in kept {
        for file in placed(&Role::of(one, None)) {
            let larger = size + file.bytes.reveal().len();
            if larger <= MOST_BYTES && !files.contains_key(&file.key) {
                size = larger;
                files.insert(file.key.clone(), file);
            }
        }
    }
    files.into_values().collect()
}

fn placed_variables(role: &Role<'_>) -> impl Iterator<Item = PlacedEnv> {
    let secret = role.bound.secret.map(|secret| secret.name.clone());
    role.variables().filter_map(move |variable| {
        Some(PlacedEnv {
            name: variable.name.clone(),
            secret: secret.clone()?,
            key: variable.key.clone(),
        })
    })
}

fn placed(role: &Role<'_>) -> impl Iterator<Item = PlacedBytes> {
    role.files.iter().filter_map(|file| {
        Some(PlacedBytes {
            path: file.path.to_owned(),
            key: format!("file-{}", hash(file.path)),
            bytes: file.bytes.as_ref().ok()?.clone(),
        })
    })
}

/// The digest of what the bindings place, by names alone: roles, Connections, Secrets, keys, variables
/// and paths, never a value (K-031). Neither the order of anything nor the class has a part in it.
pub fn digest(bound: &[Bound<'_>]) -> String {
    let mut described: Vec<_> = bound.iter().map(described).collect();
    described.sort();
    hash(&described.join("\n"))
}

/// A binding by names alone.
fn described(bound: &Bound<'_>) -> String {
    let mut env: Vec<_> = variables(bound.found)
        .map(|variable| [variable.name.as_str(), variable.key.as_str()])
        .collect();
    env.sort_unstable();
    let mut files: Vec<_> = placed_files(bound.found)
        .map(|file| (file.path.as_str(), file.key.as_deref()))
        .collect();
    files.sort_unstable();
    let secret = bound.secret.map(|secret| secret.name.as_str());
    json!([bound.role, bound.connection, secret, env, files]).to_string()
}
