//! May this claim have objects at all? A named, ordered list of small checks (C-002 to C-005,
//! C-028, C-032, C-034, C-036, P-016). Pure.

mod class;
mod leaving;
mod names;
mod provenance;
mod runtime;

use sandgate_shared::{
    api::{SandboxClaim, SandboxClaimSpec, sandbox_claim::MountBinding},
    reason::condition,
};

use super::{Finding, Settings};
use crate::claim::observed::Observed;

pub(super) use class::class_missing;
pub(super) use names::{conflict, owns};
pub use provenance::awaits_proof;

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
    if let Some(over) = leaving::judge(observed) {
        return over;
    }
    if let Some(unproven) = provenance::judge(observed, settings) {
        return unproven;
    }
    if let Some(finding) = provenance::not_built(&claim.spec) {
        return Gate::Wait(finding);
    }
    let before_bind = !ever_bound(claim);
    let checks = [
        names::name_conflict(observed),
        before_bind.then(|| runtime::allows(observed)).flatten(),
        before_bind.then(|| class::fits(observed)).flatten(),
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

fn bindings(spec: &SandboxClaimSpec) -> impl Iterator<Item = &MountBinding> {
    spec.mounts.iter().flatten().chain(&spec.mount)
}
