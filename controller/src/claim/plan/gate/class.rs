//! Whether the claim's class exists and offers what the claim asks for (C-003 to C-005, Q35). Pure.

use sandgate_shared::{
    api::{SandboxClaim, SandboxClaimSpec, SandboxClassSpec},
    reason,
};

use super::bindings;
use crate::claim::{observed::Observed, plan::Finding};

pub(super) fn fits(observed: &Observed) -> Option<Finding> {
    let Some(class) = observed.class.found() else {
        return Some(class_missing(&observed.claim));
    };
    workspace_supported(&observed.claim.spec, class).or_else(|| scratch_permitted(class))
}

/// What is said of a class that does not exist. It names the other kind as the way out, for there
/// is no fallback between them (C-003).
pub(in crate::claim::plan) fn class_missing(claim: &SandboxClaim) -> Finding {
    let class = &claim.spec.class_ref;
    let wanted = class.kind.as_str();
    let (place, other) = match wanted {
        "SandboxClass" => (" in the claim's namespace", "ClusterSandboxClass"),
        _ => ("", "SandboxClass"),
    };
    Finding {
        reason: reason::CLASS_NOT_FOUND,
        message: format!(
            "{wanted} {:?} does not exist{place}; create it, or name a {other} by classRef.kind, then make the claim again",
            class.name,
        ),
    }
}

/// An explicit mount, scratch too, and a place to sync back to each need a class with a workspace
/// (C-005, Q62).
fn workspace_supported(spec: &SandboxClaimSpec, class: &SandboxClassSpec) -> Option<Finding> {
    let mounts = bindings(spec).next().map(|_| "mounts");
    let wants = mounts.or(spec.target_path.as_ref().map(|_| "targetPath"))?;
    (!has_workspace(class)).then(|| Finding {
        reason: reason::WORKSPACE_NOT_SUPPORTED,
        message: format!(
            "the claim sets {wants} and class {:?} has no filesystem.workspace to mount at; leave {wants} out or name a class that has one",
            spec.class_ref.name,
        ),
    })
}

/// A class that lists mount roles and not `scratch` takes no scratch claim (Q35).
fn scratch_permitted(class: &SandboxClassSpec) -> Option<Finding> {
    let roles = class.mounts.as_deref().unwrap_or_default();
    let listed = roles.is_empty() || roles.iter().any(|entry| entry.role == "scratch");
    (has_workspace(class) && !listed).then(|| Finding {
        reason: reason::MOUNT_NOT_PERMITTED,
        message: "the class does not list role scratch in its mounts; add it there, or bind a role that it lists"
            .to_owned(),
    })
}

fn has_workspace(class: &SandboxClassSpec) -> bool {
    let files = class.filesystem.as_ref();
    files.is_some_and(|files| files.workspace.is_some())
}
