//! May this claim have objects at all? A named, ordered list of small checks (C-002 to C-005,
//! C-028, C-032, C-034, C-036, P-016). Pure.

use sandgate_shared::{
    api::{
        ClaimPhase, SandboxClaim, SandboxClaimSpec, SandboxClassSpec, sandbox_claim::MountBinding,
    },
    names,
    reason::{self, condition},
};

use super::{Finding, intent::is_ours};
use crate::claim::observed::{Lookup, ObjectKind, Observed};

/// The answer.
pub(super) enum Gate {
    /// The claim or its namespace is being deleted.
    LeaveAlone,
    /// The claim is final.
    Over,
    /// Not yet.
    Wait(Finding),
    /// Never.
    Fail(Finding),
    /// Yes.
    Build,
}

/// Judges the claim. What depends on class and runtime ends a claim only before its first bind
/// (C-034): an administrator's later edit never takes a running sandbox away.
pub(super) fn judge(observed: &Observed) -> Gate {
    let claim = &observed.claim;
    let going = claim.metadata.deletion_timestamp.is_some() || observed.namespace_terminating;
    if going || claim.metadata.uid.is_none() {
        return Gate::LeaveAlone;
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    if matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed)) {
        return Gate::Over;
    }
    if let Some(why) = needs_proof(&claim.spec) {
        return Gate::Wait(Finding {
            reason: reason::PROVENANCE_UNPROVEN,
            message: format!(
                "the claim {why}, which only the operator may write, and nothing proves that it wrote this claim; a claim without it needs no proof"
            ),
        });
    }
    let before_bind = !ever_bound(claim);
    let checks = [
        name_conflict(observed),
        before_bind.then(|| runtime_allows(observed)).flatten(),
        before_bind.then(|| class_fits(observed)).flatten(),
    ];
    match checks.into_iter().flatten().next() {
        Some(finding) => Gate::Fail(finding),
        None => Gate::Build,
    }
}

/// Whether the claim was bound once; remembered in a condition that is never removed (Q14).
pub(super) fn ever_bound(claim: &SandboxClaim) -> bool {
    let conditions = claim
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|found| found.type_ == condition::BOUND && found.status == "True")
}

/// Whether the live object of a kind is this claim's own.
pub(super) fn owns(observed: &Observed, kind: ObjectKind) -> bool {
    let uid = observed.claim.metadata.uid.as_deref().unwrap_or_default();
    let known = observed.memory.applied.get(&kind);
    observed
        .live(kind)
        .is_some_and(|live| is_ours(live, uid, known.map(|record| record.uid.as_str())))
}

/// What of the claim only the operator may write, in the order in which a refusal would name it
/// (P-016, Q61). Role `scratch` needs no proof.
fn needs_proof(spec: &SandboxClaimSpec) -> Option<&'static str> {
    let mounts_more = bindings(spec).any(|binding| binding.role() != "scratch");
    let connects = spec.connections.iter().flatten().next().is_some();
    if spec.enrolment.is_some() {
        Some("is an enrolment")
    } else if mounts_more {
        Some("mounts a directory beyond its own scratch")
    } else if connects {
        Some("binds a Connection")
    } else if spec.target_path.is_some() {
        Some("names a targetPath")
    } else {
        None
    }
}

fn bindings(spec: &SandboxClaimSpec) -> impl Iterator<Item = &MountBinding> {
    spec.mounts.iter().flatten().chain(&spec.mount)
}

/// A foreign object of one of our names is never adopted and never touched.
fn name_conflict(observed: &Observed) -> Option<Finding> {
    let foreign = ObjectKind::OWNED
        .into_iter()
        .find(|kind| observed.live(*kind).is_some() && !owns(observed, *kind))?;
    Some(conflict(observed, foreign))
}

/// What is said of a foreign object.
pub(super) fn conflict(observed: &Observed, kind: ObjectKind) -> Finding {
    let claim = observed.claim.metadata.name.as_deref().unwrap_or_default();
    Finding {
        reason: reason::NAME_CONFLICT,
        message: format!(
            "{} {} exists and does not belong to this claim; it was left as it is. Delete or rename it, or make the claim again under another name",
            kind.as_str(),
            names::sandbox(claim),
        ),
    }
}

fn runtime_allows(observed: &Observed) -> Option<Finding> {
    let named = observed.claim.spec.agent_runtime_ref.as_ref();
    let name = named.map(|named| named.name.as_str()).unwrap_or_default();
    match &observed.runtime {
        Lookup::Missing => Some(Finding {
            reason: reason::AGENT_RUNTIME_NOT_FOUND,
            message: format!(
                "AgentRuntime {name:?} does not exist in the claim's namespace; create it there, then make the claim again"
            ),
        }),
        Lookup::Found(runtime) => {
            let sandbox = runtime.sandbox.as_ref();
            let enabled = sandbox.and_then(|sandbox| sandbox.enabled) == Some(true);
            (!enabled).then(|| Finding {
                reason: reason::SANDBOXES_DISABLED,
                message: format!(
                    "AgentRuntime {name:?} has no sandboxes: set its spec.sandbox.enabled to true, then make the claim again"
                ),
            })
        }
    }
}

fn class_fits(observed: &Observed) -> Option<Finding> {
    let Some(class) = observed.class.found() else {
        return Some(class_missing(&observed.claim));
    };
    workspace_supported(&observed.claim.spec, class).or_else(|| scratch_permitted(class))
}

/// What is said of a class that does not exist. It names the other kind as the way out, for there
/// is no fallback between them (C-003).
pub(super) fn class_missing(claim: &SandboxClaim) -> Finding {
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

/// An explicit mount, scratch too, needs a class with a workspace (C-005, Q62).
fn workspace_supported(spec: &SandboxClaimSpec, class: &SandboxClassSpec) -> Option<Finding> {
    let mounts = bindings(spec).next().is_some();
    (mounts && !has_workspace(class)).then(|| Finding {
        reason: reason::WORKSPACE_NOT_SUPPORTED,
        message: format!(
            "the claim sets mounts and class {:?} has no filesystem.workspace to mount at; leave mounts out or name a class that has one",
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
