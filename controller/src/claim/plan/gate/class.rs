//! Whether the claim's class exists and offers what the claim asks for (C-003 to C-005). Pure.

use sandgate_shared::{
    api::{SandboxClaim, SandboxClaimSpec, SandboxClassSpec},
    reason,
};

use super::{bindings, mount};
use crate::claim::{observed::Observed, plan::Finding};

pub(super) fn fits(observed: &Observed) -> Option<Finding> {
    let Some(class) = observed.class.found() else {
        return Some(class_missing(&observed.claim));
    };
    workspace_supported(&observed.claim.spec, class).or_else(|| {
        let mounts = has_workspace(class);
        mounts.then(|| mount::permitted(observed, class)).flatten()
    })
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
            "the claim sets {wants} and class {:?} has no filesystem.workspace to mount at; leave {wants} out or name a class that has one, then make the claim again",
            spec.class_ref.name,
        ),
    })
}

pub(in crate::claim::plan) fn has_workspace(class: &SandboxClassSpec) -> bool {
    let files = class.filesystem.as_ref();
    files.is_some_and(|files| files.workspace.is_some())
}
