//! May this claim have objects at all? A named, ordered list of small checks (C-002 to C-005,
//! C-028, C-032, C-034, C-036, P-016). Pure.

use k8s_openapi::jiff::Timestamp;
use sandgate_shared::{
    api::{
        ClaimPhase, SandboxClaim, SandboxClaimSpec, SandboxClassSpec, sandbox_claim::MountBinding,
    },
    names,
    reason::{self, condition},
    trust::Verdict,
};

use super::{Finding, Settings, intent::is_ours};
use crate::claim::observed::{Lookup, ObjectKind, Observed};

/// The answer.
pub(super) enum Gate {
    /// The claim or its namespace is being deleted.
    LeaveAlone,
    /// The claim is final.
    Over,
    /// Not yet.
    Wait(Finding),
    /// The operator wrote it: to be recorded first.
    Verify,
    /// Never.
    Fail(Finding),
    /// Yes.
    Build,
}

/// Judges the claim. What depends on class and runtime ends a claim only before its first bind
/// (C-034): an administrator's later edit never takes a running sandbox away.
pub(super) fn judge(observed: &Observed, settings: &Settings) -> Gate {
    let claim = &observed.claim;
    let going = claim.metadata.deletion_timestamp.is_some() || observed.namespace_terminating;
    if going || claim.metadata.uid.is_none() {
        return Gate::LeaveAlone;
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    if matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed)) {
        return Gate::Over;
    }
    if let Some(unproven) = provenance(observed, settings) {
        return unproven;
    }
    if let Some(finding) = not_built(&claim.spec) {
        return Gate::Wait(finding);
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
    holds(claim, condition::BOUND)
}

fn holds(claim: &SandboxClaim, name: &str) -> bool {
    let conditions = claim
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    conditions
        .unwrap_or_default()
        .iter()
        .any(|found| found.type_ == name && found.status == "True")
}

/// Whether the claim holds something that only the operator may write, it is not recorded that the
/// operator did, and that can still be found out. A claim that was bound once keeps running (P-017).
pub fn awaits_proof(claim: &SandboxClaim) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    let over = matches!(phase, Some(ClaimPhase::Failed | ClaimPhase::Completed));
    !over
        && !holds(claim, condition::PROVENANCE_VERIFIED)
        && !ever_bound(claim)
        && Reserved::of(&claim.spec).is_some()
}

/// What the claim has to wait for or fails for as nothing says who wrote it; or that it is now known.
fn provenance(observed: &Observed, settings: &Settings) -> Option<Gate> {
    let claim = &observed.claim;
    let reserved = Reserved::of(&claim.spec).filter(|_| awaits_proof(claim))?;
    let words = reserved.words();
    let created = claim.metadata.creation_timestamp.as_ref();
    // The API server has given one to every claim that it stores.
    let created = created.map_or(Timestamp::MIN, |created| created.0);
    let verdict = observed.trust.about(created, settings.claim_policy_grace);
    Some(match verdict {
        Verdict::Verified => Gate::Verify,
        Verdict::Awaited(what) => Gate::Wait(Finding {
            reason: reason::PROVENANCE_UNPROVEN,
            message: format!(
                "the claim {words}, which only the operator may write, and it is not known yet that it wrote this claim: {what}"
            ),
        }),
        Verdict::Unprovable(why) => Gate::Fail(Finding {
            reason: reserved.reason(),
            message: format!(
                "the claim {words}, which only the operator may write, and nothing proves that it wrote this claim: {why}"
            ),
        }),
    })
}

/// Whether the live object of a kind is this claim's own.
pub(super) fn owns(observed: &Observed, kind: ObjectKind) -> bool {
    let uid = observed.claim.metadata.uid.as_deref().unwrap_or_default();
    let known = observed.memory.applied.get(&kind);
    observed
        .live(kind)
        .is_some_and(|live| is_ours(live, uid, known.map(|record| record.uid.as_str())))
}

/// What of a claim only the operator may write. Where there is more than one such thing, the first in
/// this order is spoken of (P-016, Q61).
#[derive(Clone, Copy)]
enum Reserved {
    Enrolment,
    Mount,
    Connections,
    TargetPath,
}

impl Reserved {
    /// Role `scratch` is nobody's to keep.
    fn of(spec: &SandboxClaimSpec) -> Option<Self> {
        let mounts_more = bindings(spec).any(|binding| binding.role() != "scratch");
        let connects = spec.connections.iter().flatten().next().is_some();
        if spec.enrolment.is_some() {
            Some(Self::Enrolment)
        } else if mounts_more {
            Some(Self::Mount)
        } else if connects {
            Some(Self::Connections)
        } else if spec.target_path.is_some() {
            Some(Self::TargetPath)
        } else {
            None
        }
    }

    /// The end of a sentence about the claim.
    const fn words(self) -> &'static str {
        match self {
            Self::Enrolment => "is an enrolment",
            Self::Mount => "mounts a directory beyond its own scratch",
            Self::Connections => "binds a Connection",
            Self::TargetPath => "names a targetPath",
        }
    }

    /// Why a claim with it fails (P-020 to P-023).
    const fn reason(self) -> &'static str {
        match self {
            Self::Enrolment => reason::ENROLMENT_NOT_GRANTED,
            Self::Mount => reason::MOUNT_NOT_GRANTED,
            Self::Connections => reason::CONNECTIONS_NOT_GRANTED,
            Self::TargetPath => reason::TARGET_PATH_NOT_GRANTED,
        }
    }
}

/// What this version has nothing to build from yet: a sandbox without it would not be what was asked
/// for (C-036). A `targetPath` asks for nothing before work is promoted.
fn not_built(spec: &SandboxClaimSpec) -> Option<Finding> {
    match Reserved::of(spec)? {
        Reserved::TargetPath => None,
        reserved => Some(Finding {
            reason: reason::PART_NOT_BUILT,
            message: format!(
                "the claim {}, which this version of the operator does not build yet; it waits for one that does",
                reserved.words()
            ),
        }),
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
